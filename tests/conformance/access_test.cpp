// Rights and bounds: what a peer may not do fails, and ends the queue pair on both sides.
#include <functional>

#include "tests/conformance/provider_fixture.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::rdma::conformance {
namespace {

struct Forbidden {
  const char* what;
  std::function<void(WorkRequest&)> spoil;
  Opcode opcode = Opcode::kWrite;
  std::size_t remote = kFull;
};

class ForbiddenRequest {
 public:
  static std::vector<Forbidden> all() {
    const auto nothing = [](WorkRequest&) {};
    return {
        {"a wrong rkey", [](WorkRequest& r) { r.rkey ^= 0x40; }},
        {"an rkey of zero", [](WorkRequest& r) { r.rkey = 0; }},
        {"an rkey of a region that does not exist",
         [](WorkRequest& r) { r.rkey = (r.rkey & 0xf) == 0xf ? r.rkey ^ 0x8 : r.rkey | 0xf; }},
        {"an address before the region", [](WorkRequest& r) { r.remote_address -= 8; }},
        {"an end behind the region",
         [](WorkRequest& r) { r.remote_address += kMainBytes - r.length_bytes + 8; }},
        {"an address far away", [](WorkRequest& r) { r.remote_address += 1ull << 40; }},
        {"an end beyond the address space",
         [](WorkRequest& r) { r.remote_address = ~std::uint64_t{7}; }},
        {"a length that wraps", [](WorkRequest& r) { r.remote_address = ~std::uint64_t{0} - 63; }},
        {"a WRITE through a narrowed grant", nothing, Opcode::kWrite, kNarrowed},
        {"a WRITE to a read-only region", nothing, Opcode::kWrite, kReadOnly},
        {"a WRITE_WITH_IMM to a read-only region", nothing, Opcode::kWriteWithImm, kReadOnly},
        {"a FETCH_ADD on a read-only region", nothing, Opcode::kFetchAdd, kReadOnly},
        {"a COMPARE_SWAP on a region without atomics", nothing, Opcode::kCompareSwap, kWriteOnly},
        {"a READ of a write-only region", nothing, Opcode::kRead, kWriteOnly},
        {"a READ with a wrong rkey", [](WorkRequest& r) { r.rkey ^= 0x80; }, Opcode::kRead},
        {"a FETCH_ADD behind the region", [](WorkRequest& r) { r.remote_address += kMainBytes; },
         Opcode::kFetchAdd},
    };
  }
};

TEST_P(Fabric, FailsWhatThePeerDidNotAllow) {
  peer().ask("listen " + address_);
  EndpointOptions options{.initial_receives = 2};
  std::size_t index = 0;
  for (const Forbidden& each : ForbiddenRequest::all()) {
    SCOPED_TRACE(each.what);
    const bool atomic = each.opcode == Opcode::kFetchAdd || each.opcode == Opcode::kCompareSwap;
    if (atomic && !has(Capability::kAtomics)) continue;
    peer().tell("accept initial_receives=1");
    mine().connect(address_, options, "hello");
    peer().answer();
    peer().ask("fill main 0 64 5");
    WorkRequest request = mine().request(each.opcode, 1, 0, 8, each.remote, 0, 0);
    each.spoil(request);
    post(request);
    // The failure first, although unsignalled; then the receives are flushed.
    expect_done(1, CompletionStatus::kRemoteAccess);
    expect_done(kFirstReceiveId, CompletionStatus::kFlushed);
    expect_done(kFirstReceiveId + 1, CompletionStatus::kFlushed);
    EXPECT_EQ(mine().queue_pair().state(), QueuePairState::kError);
    EXPECT_NE(mine().queue_pair().error_text().find("access"), std::string::npos);
    EXPECT_EQ(mine().queue_pair().post_send(mine().request(Opcode::kWrite, 2, 0, 8, kFull, 0, 0)),
              PostStatus::kNotReady);
    EXPECT_EQ(mine().post_receive(1, 0, 64), PostStatus::kNotReady);
    // The other side fails too, and nothing was touched.
    EXPECT_EQ(peer().ask("poll 1 5000").substr(0, 9), "1 1000:3:");
    EXPECT_EQ(peer().ask("state").substr(0, 5), "error");
    EXPECT_EQ(peer().ask("word 0"), std::to_string(0x0505050505050505u));
    mine().use(++index);
  }
}

TEST_P(Fabric, AllowsExactlyWhatWasGranted) {
  connect();
  peer().ask("fill read-only 0 64 9");
  post(mine().request(Opcode::kRead, 1, 0, 64, kReadOnly, 0, kSignaled));
  expect_done(1);
  EXPECT_EQ(std::to_integer<int>(mine().memory().data()[63]), 9);
  post(mine().request(Opcode::kRead, 2, 0, 8, kNarrowed, kMainBytes - 8, kSignaled));
  expect_done(2);
  post(mine().request(Opcode::kWrite, 3, 0, 64, kWriteOnly, kSmallBytes - 64, kSignaled));
  expect_done(3);
  EXPECT_EQ(peer_sum("write-only", kSmallBytes - 64, 64),
            std::to_string(checksum(mine().memory().data(), 64)));
  post(mine().request(Opcode::kWrite, 4, 0, 8, kFull, kMainBytes - 8, kSignaled));
  expect_done(4);
}

TEST_P(Fabric, ARevokedRegionEndsInARemoteAccessErrorAndChangesNoByte) {
  connect();
  const auto write = [&](std::uint64_t wr_id) {
    return mine().request(Opcode::kWrite, wr_id, 0, 8, kFull, 0, kSignaled);
  };
  post(write(1));
  expect_done(1);
  // Taken back one region; the others stay.
  EXPECT_EQ(peer().ask("revoke write-only"), "1");
  EXPECT_EQ(peer().ask("revoke write-only"), "0");
  post(write(2));
  expect_done(2);
  EXPECT_EQ(peer().ask("revoke main"), "2");  // both grants of it
  peer().ask("fill main 0 64 5");
  fill_pattern(0, 8, 3);
  // shm learns of it within about a millisecond: until then the key still works.
  Completion completion;
  const auto limit = std::chrono::steady_clock::now() + test_support::kPatience;
  do {
    peer().ask("fill main 0 64 5");
    post(write(3));
    completion = one();
  } while (completion.status == CompletionStatus::kSuccess &&
           std::chrono::steady_clock::now() < limit);
  EXPECT_EQ(to_string(completion.status), to_string(CompletionStatus::kRemoteAccess));
  EXPECT_TRUE(becomes_error());
  EXPECT_EQ(peer().ask("word 0"), std::to_string(0x0505050505050505u));
}

TEST_P(Fabric, RevokesForOneConnectionOnly) {
  peer().ask("listen " + address_);
  for (int i = 0; i < 2; ++i) {
    peer().tell("accept");
    mine().connect(address_, {}, "hello");
    peer().answer();
  }
  EXPECT_EQ(peer().ask("revoke main"), "2");  // of the connection accepted last
  mine().use(0);
  for (std::uint64_t i = 0; i < 20; ++i) {
    post(mine().request(Opcode::kWrite, i, 0, 8, kFull, 0, kSignaled));
    expect_done(i);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_P(Fabric, FailsARequestWhoseLocalBytesAreNotItsOwn) {
  peer().ask("listen " + address_);
  const std::function<void(WorkRequest&)> spoils[] = {
      [](WorkRequest& r) { r.lkey = 0; },
      [](WorkRequest& r) { r.lkey ^= 0x10000; },
      [](WorkRequest& r) { r.local_address = static_cast<const char*>(r.local_address) - 1; },
      [](WorkRequest& r) {
        r.local_address = static_cast<const char*>(r.local_address) + kMainBytes;
      },
      [this](WorkRequest& r) {  // readable, but a READ writes it
        r.opcode = Opcode::kRead;
        r.local_address = mine().unwritable().data();
        r.lkey = mine().unwritable().lkey();
      },
  };
  std::size_t index = 0;
  for (const auto& spoil : spoils) {
    SCOPED_TRACE(index);
    peer().tell("accept");
    mine().connect(address_, {}, "hello");
    peer().answer();
    WorkRequest request = mine().request(Opcode::kWrite, 1, 0, 64, kFull, 0, 0);
    spoil(request);
    post(request);
    expect_failed(1, CompletionStatus::kLocalProtection);
    EXPECT_EQ(mine().queue_pair().state(), QueuePairState::kError);
    mine().use(++index);
  }
}

// The device writes what was asked for while nobody here polls: not into memory that is gone.
TEST_P(Fabric, TouchesNoMemoryThatIsGoneWhileRequestsAreUnderWay) {
  constexpr std::uint32_t kBytes = 32 * 1024;
  constexpr std::uint64_t kReads = 12;
  connect();
  // Granted to nobody, so nothing keeps its pages: a byte that is written there ends this process.
  auto memory = mine().device().allocate(kReads * kBytes, kLocalWrite, "goes");
  for (std::uint64_t i = 0; i < kReads; ++i) {
    WorkRequest request = mine().request(Opcode::kRead, i, 0, kBytes, kFull, i * kBytes, kSignaled);
    request.local_address = memory->data() + i * kBytes;
    request.lkey = memory->lkey();
    post(request);
  }
  memory.reset();
  const std::vector<Completion> done = mine().poll(kReads, 5000);
  ASSERT_EQ(done.size(), kReads);
  CompletionStatus expected = CompletionStatus::kSuccess;
  for (std::uint64_t i = 0; i < kReads; ++i) {
    EXPECT_EQ(done[i].wr_id, i);
    // Done, then one that failed, then flushed ones.
    if (expected != done[i].status && expected == CompletionStatus::kSuccess) {
      if (!vague(done[i].status)) {
        EXPECT_EQ(done[i].status, CompletionStatus::kLocalProtection);
      }
      expected = CompletionStatus::kFlushed;
    } else {
      EXPECT_EQ(done[i].status, expected);
    }
  }
}

TEST_P(Fabric, FailsAReceiveIntoMemoryThatIsNotItsOwn) {
  QueuePair& queue_pair = connect();
  ASSERT_EQ(queue_pair.post_receive({.wr_id = 8,
                                     .local_address = mine().unwritable().data(),
                                     .length_bytes = 64,
                                     .lkey = mine().unwritable().lkey()}),
            PostStatus::kOk);
  peer().ask("send 1 0 8 1");
  expect_failed(8, CompletionStatus::kLocalProtection);
  EXPECT_TRUE(becomes_error());
}

TEST_P(Fabric, FlushesTheRequestsBehindAFailedOne) {
  connect();
  post(mine().request(Opcode::kSend, 1, 0, 8, kFull, 0, kSignaled));  // waits for a receive
  WorkRequest bad = mine().request(Opcode::kWrite, 2, 0, 8, kFull, 0, 0);
  bad.rkey ^= 0x100;
  post(bad);
  post(mine().request(Opcode::kWrite, 3, 0, 8, kFull, 0, 0));
  post(mine().request(Opcode::kSend, 4, 0, 8, kFull, 0, kSignaled));
  EXPECT_TRUE(mine().poll(1, 20).empty());
  peer().ask("receive 1 0 64");
  expect_done(1);
  expect_done(2, CompletionStatus::kRemoteAccess);
  expect_done(3, CompletionStatus::kFlushed);
  expect_done(4, CompletionStatus::kFlushed);
}

}  // namespace
}  // namespace tickpath::rdma::conformance
