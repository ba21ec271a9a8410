// Rights taken back while the connection lives, and keys that were stolen before.
#include <cstring>

#include "tests/conformance/provider_fixture.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::rdma::conformance {
namespace {

constexpr std::uint64_t kPeerWord = 0x0505050505050505u;
constexpr std::uint64_t kMyWord = 0x0303030303030303u;

AccessFlags right_for(Opcode opcode) {
  switch (opcode) {
    case Opcode::kRead:
      return kRemoteRead;
    case Opcode::kFetchAdd:
    case Opcode::kCompareSwap:
      return kRemoteAtomic;
    default:
      return kRemoteWrite;
  }
}

// What the tests below do to both ends of a fabric.
struct Revoker {
  std::string address;
  Endpoint& mine;
  PeerProcess& peer;

  // One more connection, in use from now on at both ends.
  void connect_again(const std::string& peer_options = "") {
    peer.tell("accept " + peer_options);
    mine.connect(address, {}, "hello");
    peer.answer();
    mine.use(mine.queue_pairs().size() - 1);
  }
  // Sums over every byte that the peer has for us.
  std::string sums() {
    return peer.ask("sum main 0 " + std::to_string(kMainBytes)) + " " +
           peer.ask("sum write-only 0 " + std::to_string(kSmallBytes));
  }
  WorkRequest write(std::uint64_t wr_id) {
    return mine.request(Opcode::kWrite, wr_id, 0, 8, kFull, 0, kSignaled);
  }

  // Posts until the peer refuses it: on shm it learns of a revocation within about a millisecond.
  // Before each try all bytes are as they were, so that one changed by the refused request shows.
  CompletionStatus until_refused(const WorkRequest& request) {
    const auto limit = std::chrono::steady_clock::now() + test_support::kPatience;
    for (;;) {
      peer.ask("fill main 0 64 5");
      std::memset(mine.memory().data(), 3, 64);
      if (mine.queue_pair().post_send(request) != PostStatus::kOk)
        return CompletionStatus::kFlushed;
      const auto done = mine.poll(1, 10'000);
      if (done.empty()) return CompletionStatus::kGeneral;
      if (done[0].status != CompletionStatus::kSuccess || std::chrono::steady_clock::now() > limit)
        return done[0].status;
    }
  }
  void expect_refused_and_untouched(const WorkRequest& request) {
    EXPECT_EQ(to_string(until_refused(request)), to_string(CompletionStatus::kRemoteAccess));
    EXPECT_EQ(peer.ask("word 0"), std::to_string(kPeerWord));
    for (std::size_t i = 0; i < 64; ++i)
      ASSERT_EQ(std::to_integer<int>(mine.memory().data()[i]), 3) << "a byte came back, at " << i;
    EXPECT_EQ(mine.queue_pair().state(), QueuePairState::kError);
  }
};

TEST_P(Fabric, ARevocationEndsEveryKindOfAccessAndChangesNoByteOnEitherSide) {
  Revoker both{address_, mine(), peer()};
  peer().ask("listen " + address_);
  for (const Opcode opcode :
       {Opcode::kWrite, Opcode::kRead, Opcode::kFetchAdd, Opcode::kCompareSwap}) {
    if (right_for(opcode) == kRemoteAtomic && !has(Capability::kAtomics)) continue;
    SCOPED_TRACE(to_string(opcode));
    both.connect_again();
    WorkRequest request = mine().request(opcode, 1, 0, 8, kFull, 0, kSignaled);
    request.compare_add = opcode == Opcode::kCompareSwap ? kPeerWord : 1;
    request.swap = 77;
    post(request);
    expect_done(1);  // it works as long as the right stands
    EXPECT_EQ(peer().ask("revoke main"), "2");
    both.expect_refused_and_untouched(request);
  }
}

TEST_P(Fabric, ARevokedKeyIsWorthlessToAThiefWithAnotherConnection) {
  Revoker both{address_, mine(), peer()};
  peer().ask("listen " + address_);
  both.connect_again();
  const WorkRequest stolen = both.write(1);
  EXPECT_EQ(peer().ask("revoke main"), "2");
  EXPECT_EQ(to_string(both.until_refused(stolen)), to_string(CompletionStatus::kRemoteAccess));
  both.connect_again();
  both.expect_refused_and_untouched(stolen);
}

TEST_P(Fabric, AStolenKeyOfAnotherConnectionEndsInARemoteAccessErrorAndChangesNothing) {
  Revoker both{address_, mine(), peer()};
  peer().ask("listen " + address_);
  both.connect_again();  // the owner of the keys
  const std::size_t victim = mine().queue_pairs().size() - 1;
  std::uint64_t wr_id = 0;
  for (const std::size_t key : {kFull, kNarrowed, kWriteOnly}) {
    for (const Opcode opcode : {Opcode::kWrite, Opcode::kWriteWithImm, Opcode::kRead,
                                Opcode::kFetchAdd, Opcode::kCompareSwap}) {
      mine().use(victim);
      // Asked for what the key allows its owner, so that nothing but the theft can be refused.
      const AccessFlags right = right_for(opcode);
      if ((mine().queue_pair().remote_regions()[key].access & right) == 0) {
        if (right == kRemoteAtomic) has(Capability::kAtomics);
        continue;
      }
      SCOPED_TRACE(std::string(to_string(opcode)) + " by key " + std::to_string(key));
      WorkRequest stolen = mine().request(opcode, ++wr_id, 0, 8, key, 0, kSignaled);
      stolen.compare_add = opcode == Opcode::kCompareSwap ? kPeerWord : 1;
      stolen.swap = 77;
      // The thief: live rights of its own, and the other's key. The receive is for the immediate.
      both.connect_again("initial_receives=1");
      peer().ask("fill main 0 64 5");
      peer().ask("fill write-only 0 64 5");
      const std::string before = both.sums();
      std::memset(mine().memory().data(), 3, 64);
      post(stolen);
      expect_done(wr_id, CompletionStatus::kRemoteAccess);
      EXPECT_EQ(mine().queue_pair().state(), QueuePairState::kError);
      EXPECT_EQ(both.sums(), before);
      for (std::size_t i = 0; i < 64; ++i)
        ASSERT_EQ(std::to_integer<int>(mine().memory().data()[i]), 3) << "read at " << i;
      // The owner of the key has lost nothing.
      mine().use(victim);
      post(mine().request(Opcode::kWrite, ++wr_id, 0, 8, kFull, 0, kSignaled));
      expect_done(wr_id);
      EXPECT_EQ(peer().ask("word 0"), std::to_string(kMyWord));
    }
  }
}

TEST_P(Fabric, AConnectionAfterARevocationHasRightsAgain) {
  Revoker both{address_, mine(), peer()};
  peer().ask("listen " + address_);
  both.connect_again();
  const WorkRequest old = both.write(1);
  EXPECT_EQ(peer().ask("revoke main"), "2");
  EXPECT_EQ(to_string(both.until_refused(old)), to_string(CompletionStatus::kRemoteAccess));
  both.connect_again();
  const WorkRequest fresh = both.write(2);
  post(fresh);
  expect_done(2);
}

}  // namespace
}  // namespace tickpath::rdma::conformance
