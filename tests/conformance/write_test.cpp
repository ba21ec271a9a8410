// WRITE, WRITE_WITH_IMM and READ: what lands where, in which order.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/conformance/provider_fixture.hpp"

namespace tickpath::rdma::conformance {

// The peer polls the slots of a ring while they are written, round after round. It must never see a
// sequence number before the rest of its slot, nor a later slot before an earlier one. Slots of
// `bytes`, from the start of our memory or inline.
void Fabric::write_ring(std::uint64_t slots, std::uint64_t count, std::uint32_t bytes) {
  peer().tell("ring " + std::to_string(slots) + " " + std::to_string(count) + " " +
              std::to_string(bytes));
  const bool fits = bytes <= 64;
  std::vector<std::uint64_t> slot(bytes / 8);
  for (std::uint64_t sequence = 1; sequence <= count; ++sequence) {
    // Not inline, it is fetched by the device when it likes: each has a place of its own until the
    // signalled one behind it is done.
    const std::size_t from = fits ? 0 : (sequence % 64) * bytes;
    std::ranges::fill(slot, sequence);
    if (!fits) std::memcpy(mine().memory().data() + from, slot.data(), bytes);
    WorkRequest request = mine().request(Opcode::kWrite, sequence, from, bytes, kFull,
                                         (sequence % slots) * bytes, fits ? kInline : 0);
    if (fits) request.local_address = slot.data();
    if (sequence % 64 == 0) request.flags |= kSignaled;
    post(request);
    if (sequence % 64 == 0) expect_done(sequence);
  }
  std::uint64_t intact = 0, overrun = 0, torn = 0;
  const std::string answer = peer().answer();
  ASSERT_EQ(std::sscanf(answer.c_str(), "%lu %lu %lu", &intact, &overrun, &torn), 3) << answer;
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(intact + overrun, count);
  EXPECT_GE(intact, slots - 1);  // at the least the last round is there in full
}

namespace {

TEST_P(Fabric, WritesEveryLengthAndAlignmentAndNothingBesideIt) {
  connect();
  fill_pattern(0, 5000, 3);
  std::uint64_t wr_id = 0;
  for (const std::uint32_t length :
       {1u, 2u, 3u, 7u, 8u, 9u, 15u, 16u, 31u, 63u, 64u, 65u, 127u, 128u, 1000u, 4096u}) {
    for (const std::uint32_t shift : {0u, 1u, 4u, 8u, 16u, 60u}) {
      peer().ask("fill main 0 8192 238");
      const std::uint64_t at = 256 + shift;
      post(mine().request(Opcode::kWrite, ++wr_id, shift, length, kFull, at, kSignaled));
      expect_done(wr_id);
      std::vector<std::byte> expected(8192, std::byte{238});
      std::memcpy(expected.data() + at, mine().memory().data() + shift, length);
      ASSERT_EQ(peer_sum("main", 0, 8192), std::to_string(checksum(expected.data(), 8192)))
          << length << " bytes at " << at;
    }
  }
}

TEST_P(Fabric, WritesALargeRegionInOneRequest) {
  connect();
  fill_pattern(0, kMainBytes, 5);
  post(mine().request(Opcode::kWrite, 1, 0, kMainBytes, kFull, 0, kSignaled));
  expect_done(1);
  EXPECT_EQ(peer_sum("main", 0, kMainBytes),
            std::to_string(checksum(mine().memory().data(), kMainBytes)));
}

TEST_P(Fabric, AWriteOfNothingCompletesAndTouchesNoKey) {
  connect();
  WorkRequest request = mine().request(Opcode::kWrite, 9, 0, 0, kFull, 0, kSignaled);
  request.rkey = 0;
  request.lkey = 0;
  post(request);
  expect_done(9);
}

TEST_P(Fabric, FreesAnInlineBufferWhenPostingReturns) {
  const QueuePair& queue_pair = connect();
  ASSERT_GE(queue_pair.inline_bytes(), 64u);
  std::uint64_t value[8];
  for (std::uint64_t i = 0; i < 100; ++i) {
    for (std::uint64_t& each : value) each = i;
    WorkRequest request = mine().request(Opcode::kWrite, i, 0, 64, kFull, i * 64,
                                         kInline | (i == 99 ? kSignaled : 0));
    request.local_address = value;  // outside every region: inline needs no lkey
    request.lkey = 0;
    post(request);
  }
  expect_done(99);
  for (const std::uint64_t i : {0, 57, 99}) {
    EXPECT_EQ(peer().ask("word " + std::to_string(i * 64 + 56)), std::to_string(i));
  }
}

TEST_P(Fabric, RefusesAnInlineRequestThatIsTooLong) {
  QueuePair& queue_pair = connect();
  const std::uint32_t length = queue_pair.inline_bytes() + 1;
  EXPECT_EQ(queue_pair.post_send(mine().request(Opcode::kWrite, 1, 0, length, kFull, 0, kInline)),
            PostStatus::kBadRequest);
  post(mine().request(Opcode::kWrite, 2, 0, 8, kFull, 0, kSignaled));
  expect_done(2);
}

TEST_P(Fabric, PlacesTheLastWordOfASlotLast) {
  if (!has(Capability::kLastWordLast)) GTEST_SKIP() << "no " << name_of(Capability::kLastWordLast);
  connect();
  constexpr std::uint64_t kSlots = 64;
  write_ring(kSlots, work(300'000) / kSlots * kSlots, 64);
}

// Over several lines, and with the smallest packets over several of these.
TEST_P(Fabric, PlacesTheLastWordOfSeveralLinesLast) {
  if (!has(Capability::kLastWordLast)) GTEST_SKIP() << "no " << name_of(Capability::kLastWordLast);
  connect();
  constexpr std::uint64_t kSlots = 64;
  write_ring(kSlots, work(50'000) / kSlots * kSlots, 1536);
}

TEST_P(Fabric, MakesAWriteVisibleBeforeTheSendThatFollowsIt) {
  connect({}, "initial_receives=8");
  for (std::uint64_t i = 1; i <= 8; ++i) {
    std::memcpy(mine().memory().data(), &i, 8);
    post(mine().request(Opcode::kWrite, i, 0, 8, kFull, 64, 0));
    post(mine().request(Opcode::kSend, i, 0, 8, kFull, 0, kSignaled));
    expect_done(i);
    peer().ask("poll 1 5000");
    EXPECT_EQ(peer().ask("word 64"), std::to_string(i));
  }
}

TEST_P(Fabric, AWriteWithImmediateConsumesAReceiveAndCarriesItsNumber) {
  connect({}, "initial_receives=2");
  fill_pattern(0, 100, 8);
  WorkRequest request = mine().request(Opcode::kWriteWithImm, 1, 0, 100, kFull, 640, kSignaled);
  request.imm_data = 0xcafe0001;
  post(request);
  expect_done(1);
  EXPECT_EQ(peer().ask("poll 1 5000"), "1 1000:0:100:" + std::to_string(0xcafe0001));
  EXPECT_EQ(peer_sum("main", 640, 100), std::to_string(checksum(mine().memory().data(), 100)));
  // The receive's buffer stays as it was.
  EXPECT_EQ(peer_sum("main", kReceiveOffset, 64),
            std::to_string(checksum(std::vector<std::byte>(64).data(), 64)));
  request.length_bytes = 0;
  request.wr_id = 2;
  post(request);
  expect_done(2);
  EXPECT_EQ(peer().ask("poll 1 5000"), "1 1001:0:0:" + std::to_string(0xcafe0001));
}

TEST_P(Fabric, ReadsThePeersBytesOfEveryLength) {
  connect();
  peer().ask("fill main 0 8192 17");
  peer().ask("fill main 100 50 99");
  for (const std::uint32_t length : {1u, 8u, 64u, 65u, 200u, 4096u}) {
    std::memset(mine().memory().data(), 0, 8192);
    post(mine().request(Opcode::kRead, length, 8, length, kFull, 64, kSignaled));
    const Completion done = one();
    EXPECT_EQ(done.status, CompletionStatus::kSuccess);
    EXPECT_EQ(done.opcode, Opcode::kRead);
    EXPECT_EQ(done.byte_length, length);
    EXPECT_EQ(peer_sum("main", 64, length),
              std::to_string(checksum(mine().memory().data() + 8, length)));
    EXPECT_EQ(std::to_integer<int>(mine().memory().data()[7]), 0);
    EXPECT_EQ(std::to_integer<int>(mine().memory().data()[8 + length]), 0);
  }
}

TEST_P(Fabric, AReadSeesTheWriteBeforeIt) {
  connect();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    std::memcpy(mine().memory().data(), &i, 8);
    post(mine().request(Opcode::kWrite, i, 0, 8, kFull, 512, 0));
    post(mine().request(Opcode::kRead, i, 64, 8, kFull, 512, kSignaled | kFence));
    expect_done(i);
    std::uint64_t seen = 0;
    std::memcpy(&seen, mine().memory().data() + 64, 8);
    ASSERT_EQ(seen, i);
  }
}

TEST_P(Fabric, AFencedWriteCarriesWhatTheReadBeforeItBrought) {
  connect();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    std::memcpy(mine().memory().data(), &i, 8);
    post(mine().request(Opcode::kWrite, i, 0, 8, kFull, 512, 0));
    post(mine().request(Opcode::kRead, i, 64, 8, kFull, 512, 0));
    post(mine().request(Opcode::kWrite, i, 64, 8, kFull, 1024, kFence));
    post(mine().request(Opcode::kRead, i, 128, 8, kFull, 1024, kSignaled));
    expect_done(i);
    std::uint64_t seen = 0;
    std::memcpy(&seen, mine().memory().data() + 128, 8);
    ASSERT_EQ(seen, i);
  }
}

TEST_P(Fabric, AFencedSendCarriesWhatTheReadBeforeItBrought) {
  constexpr std::uint64_t kCount = 8;
  connect({}, "initial_receives=" + std::to_string(kCount));
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    std::memcpy(mine().memory().data(), &i, 8);
    post(mine().request(Opcode::kWrite, i, 0, 8, kFull, 512, 0));
    post(mine().request(Opcode::kRead, i, 64, 8, kFull, 512, 0));
    post(mine().request(Opcode::kSend, i, 64, 8, kFull, 0, kSignaled | kFence));
    expect_done(i);
    peer().ask("poll 1 5000");
    const std::size_t received = kReceiveOffset + (i - 1) * kReceiveBytes;
    EXPECT_EQ(peer().ask("word " + std::to_string(received)), std::to_string(i));
  }
}

TEST_P(Fabric, SendsInlineAsMuchAsTheQueuePairWasGranted) {
  EndpointOptions options;
  options.queue_pair.inline_bytes = mine().device().info().inline_bytes_max;
  const QueuePair& queue_pair = connect(options);
  const std::vector<std::byte> bytes(queue_pair.inline_bytes(), std::byte{0x5a});
  ASSERT_GE(bytes.size(), 64u);
  WorkRequest request = mine().request(Opcode::kWrite, 1, 0, queue_pair.inline_bytes(), kFull, 64,
                                       kInline | kSignaled);
  request.local_address = bytes.data();  // outside every region
  request.lkey = 0;
  post(request);
  expect_done(1);
  EXPECT_EQ(peer_sum("main", 64, bytes.size()),
            std::to_string(checksum(bytes.data(), bytes.size())));
}

}  // namespace
}  // namespace tickpath::rdma::conformance
