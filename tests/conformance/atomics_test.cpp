// FETCH_ADD and COMPARE_SWAP: results, and atomicity between processes.
#include <cstring>

#include "tests/conformance/provider_fixture.hpp"

namespace tickpath::rdma::conformance {
namespace {

class AtomicWord {
 public:
  static std::uint64_t at(Endpoint& endpoint, std::size_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, endpoint.memory().data() + offset, 8);
    return value;
  }
};

TEST_P(Fabric, FetchAddReturnsTheOldValueAndWraps) {
  if (!has(Capability::kAtomics)) GTEST_SKIP() << "no " << name_of(Capability::kAtomics);
  connect();
  WorkRequest request = mine().request(Opcode::kFetchAdd, 1, 0, 8, kFull, 64, kSignaled);
  request.compare_add = ~std::uint64_t{0};
  post(request);
  expect_done(1);
  EXPECT_EQ(AtomicWord::at(mine(), 0), 0u);
  EXPECT_EQ(peer().ask("word 64"), std::to_string(~std::uint64_t{0}));
  request.compare_add = 5;
  post(request);
  expect_done(1);
  EXPECT_EQ(AtomicWord::at(mine(), 0), ~std::uint64_t{0});
  EXPECT_EQ(peer().ask("word 64"), "4");
}

TEST_P(Fabric, CompareSwapChangesOnlyWhatMatches) {
  if (!has(Capability::kAtomics)) GTEST_SKIP() << "no " << name_of(Capability::kAtomics);
  connect();
  WorkRequest request = mine().request(Opcode::kCompareSwap, 1, 0, 8, kFull, 64, kSignaled);
  request.compare_add = 1;
  request.swap = 50;
  post(request);
  expect_done(1);
  EXPECT_EQ(AtomicWord::at(mine(), 0), 0u);
  EXPECT_EQ(peer().ask("word 64"), "0");
  request.compare_add = 0;
  post(request);
  expect_done(1);
  EXPECT_EQ(AtomicWord::at(mine(), 0), 0u);
  EXPECT_EQ(peer().ask("word 64"), "50");
}

TEST_P(Fabric, RefusesAtomicsThatAreMisalignedOrNotEightBytes) {
  QueuePair& queue_pair = connect();
  for (const Opcode opcode : {Opcode::kFetchAdd, Opcode::kCompareSwap}) {
    EXPECT_EQ(queue_pair.post_send(mine().request(opcode, 1, 0, 8, kFull, 4, kSignaled)),
              PostStatus::kBadRequest);
    EXPECT_EQ(queue_pair.post_send(mine().request(opcode, 1, 0, 4, kFull, 0, kSignaled)),
              PostStatus::kBadRequest);
    EXPECT_EQ(queue_pair.post_send(mine().request(opcode, 1, 0, 8, kFull, 0, kInline)),
              PostStatus::kBadRequest);
  }
  EXPECT_EQ(queue_pair.state(), QueuePairState::kReadyToSend);
}

// Three processes add to one word of this process at the same time: no addition may be lost.
TEST_P(Fabric, LosesNoFetchAddOfSeveralProcesses) {
  if (!has(Capability::kAtomics)) GTEST_SKIP() << "no " << name_of(Capability::kAtomics);
  const std::uint64_t kCount = work(20'000);
  mine().listen(my_address_);
  PeerProcess second(GetParam().name), third(GetParam().name);
  PeerProcess* const peers[] = {&peer(), &second, &third};
  for (PeerProcess* each : peers) let_connect(*each, my_address_);
  for (PeerProcess* each : peers) each->tell("add 128 " + std::to_string(kCount));
  for (PeerProcess* each : peers) EXPECT_EQ(each->answer(), "");
  EXPECT_EQ(AtomicWord::at(mine(), 128), 3 * kCount);
}

// COMPARE_SWAP as a lock: two processes increment a plain word by READ and WRITE under it.
TEST_P(Fabric, LetsOnlyOneProcessHoldALockMadeOfCompareSwap) {
  if (!has(Capability::kAtomics)) GTEST_SKIP() << "no " << name_of(Capability::kAtomics);
  const std::uint64_t kCount = work(5'000);
  mine().listen(my_address_);
  PeerProcess second(GetParam().name);
  PeerProcess* const peers[] = {&peer(), &second};
  for (PeerProcess* each : peers) let_connect(*each, my_address_);
  for (PeerProcess* each : peers) each->tell("locked_add 192 256 " + std::to_string(kCount));
  for (PeerProcess* each : peers) EXPECT_EQ(each->answer(), "");
  EXPECT_EQ(AtomicWord::at(mine(), 256), 2 * kCount);
}

}  // namespace
}  // namespace tickpath::rdma::conformance
