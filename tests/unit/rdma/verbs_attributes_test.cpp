// From durations to the codes of verbs, and from the statuses of verbs to ours.
#include <gtest/gtest.h>

#include "common/rdma/verbs/attributes.hpp"

namespace tickpath::rdma::detail {
namespace {

ibv_device_attr device(int rd_atom, int init_rd_atom) {
  ibv_device_attr attributes{};
  attributes.max_qp_rd_atom = rd_atom;
  attributes.max_qp_init_rd_atom = init_rd_atom;
  return attributes;
}

TEST(VerbsAttributes, LeaveOutAtomicsWhereTheDeviceHasNone) {
  constexpr AccessFlags kAllRights = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
  ibv_device_attr attributes = device(16, 16);
  attributes.atomic_cap = IBV_ATOMIC_NONE;
  EXPECT_EQ(possible_access(attributes, kAllRights), kAllRights & ~AccessFlags{kRemoteAtomic});
  EXPECT_EQ(atomic_reach(attributes), AtomicReach::kNone);
  attributes.atomic_cap = IBV_ATOMIC_HCA;
  EXPECT_EQ(possible_access(attributes, kAllRights), kAllRights);
  EXPECT_EQ(atomic_reach(attributes), AtomicReach::kDevice);
  attributes.atomic_cap = IBV_ATOMIC_GLOB;
  EXPECT_EQ(atomic_reach(attributes), AtomicReach::kCpu);
}

// InfiniBand volume 1, table 46.
TEST(VerbsAttributes, RoundAnRnrPauseUpToTheNextCode) {
  EXPECT_EQ(rnr_timer_code(10), 1);
  EXPECT_EQ(rnr_timer_code(11), 2);
  EXPECT_EQ(rnr_timer_code(640), 12);
  EXPECT_EQ(rnr_timer_code(20'000), 22);
  EXPECT_EQ(rnr_timer_us(22), 20'480u);
  EXPECT_EQ(rnr_timer_code(491'520), 31);
  EXPECT_EQ(rnr_timer_code(491'521), 0);
  EXPECT_EQ(rnr_timer_us(0), 655'360u);
  for (unsigned us = 1; us < 655'360; us += 97) EXPECT_GE(rnr_timer_us(rnr_timer_code(us)), us);
}

TEST(VerbsAttributes, LetAllTriesLastAtLeastThePeerTimeoutAndLessThanTwiceAsLong) {
  for (const std::int64_t ms : {1, 5, 20, 50, 100, 1000, 10'000}) {
    VerbsOptions options{.peer_timeout_ns = ms * 1'000'000};
    const VerbsAttributes attributes = verbs_attributes(options, {}, device(16, 16), 16, 640);
    EXPECT_EQ(attributes.retry_cnt, 7);
    EXPECT_GE(detection_ns(attributes), options.peer_timeout_ns) << ms;
    EXPECT_LT(detection_ns(attributes), 2 * options.peer_timeout_ns) << ms;
  }
}

// link::HeartbeatOptions counts on it: 35 ms, a beat of 5 ms, a READ each millisecond.
TEST(VerbsAttributes, RepeatALostPacketSixTimesWithinTheHeartbeatsPatienceByDefault) {
  const VerbsAttributes attributes = verbs_attributes({}, {}, device(16, 16), 16, 640);
  EXPECT_EQ(attributes.timeout, 10);
  EXPECT_EQ(attributes.retry_cnt, 7);
  EXPECT_LT(6'000'000 + 6 * ack_timeout_ns(attributes.timeout), 35'000'000);
}

TEST(VerbsAttributes, TakeWhatIsGivenInsteadOfWhatFollows) {
  VerbsOptions options{.timeout = 14, .retry_cnt = 3, .rnr_retry = 2};
  const VerbsAttributes attributes =
      verbs_attributes(options, QueuePairOptions{.rnr_retry = 7}, device(16, 16), 16, 640);
  EXPECT_EQ(attributes.timeout, 14);
  EXPECT_EQ(attributes.retry_cnt, 3);
  EXPECT_EQ(attributes.rnr_retry, 2);
}

TEST(VerbsAttributes, AConnectionsOwnPeerTimeoutGoesBeforeTheDevices) {
  EXPECT_GE(detection_ns(verbs_attributes({}, QueuePairOptions{.peer_timeout_ms = 1000},
                                          device(16, 16), 16, 640)),
            1'000'000'000);
}

TEST(VerbsAttributes, AskForNoMoreReadsThanThePeerAnswers) {
  const VerbsAttributes attributes = verbs_attributes({}, {}, device(8, 12), 4, 640);
  EXPECT_EQ(attributes.max_rd_atomic, 4);
  EXPECT_EQ(attributes.max_dest_rd_atomic, 8);
  EXPECT_EQ(verbs_attributes({}, {}, device(8, 2), 4, 640).max_rd_atomic, 2);
}

TEST(VerbsAttributes, RefuseValuesThatVerbsCannotCarry) {
  EXPECT_THROW(verbs_attributes(VerbsOptions{.timeout = 32}, {}, device(1, 1), 1, 640), SetupError);
  EXPECT_THROW(verbs_attributes({}, QueuePairOptions{.rnr_retry = 8}, device(1, 1), 1, 640),
               SetupError);
}

TEST(VerbsAttributes, AddTheLocalWriteThatRemoteWritesNeed) {
  EXPECT_EQ(access_flags(kRemoteRead), IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(access_flags(kRemoteWrite), IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(access_flags(kRemoteAtomic), IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(access_flags(0), 0);
}

TEST(VerbsAttributes, MapEveryFailureToOneOfOurs) {
  for (int status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_GENERAL_ERR; ++status) {
    EXPECT_NE(completion_status(static_cast<ibv_wc_status>(status), false),
              CompletionStatus::kSuccess);
  }
  EXPECT_EQ(completion_status(IBV_WC_REM_INV_REQ_ERR, false), CompletionStatus::kRemoteInvalid);
  EXPECT_EQ(completion_status(IBV_WC_REM_INV_REQ_ERR, true), CompletionStatus::kLocalLength);
  EXPECT_EQ(completion_status(IBV_WC_REM_ACCESS_ERR, true), CompletionStatus::kFlushed);
  // A refused WRITE_WITH_IMM, as mlx5 says it.
  EXPECT_EQ(completion_status(IBV_WC_LOC_ACCESS_ERR, true), CompletionStatus::kFlushed);
  EXPECT_EQ(completion_status(IBV_WC_LOC_ACCESS_ERR, false), CompletionStatus::kLocalProtection);
}

}  // namespace
}  // namespace tickpath::rdma::detail
