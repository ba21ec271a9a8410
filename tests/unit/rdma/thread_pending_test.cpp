// The hand-over between the thread of a verbs set-up and the control thread: without a device.
#include "common/rdma/provider/thread_pending.hpp"

#include <atomic>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/patience.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::rdma::detail {
namespace {

using test_support::kPatience;

TEST(ThreadPending, IsUnderWayUntilTheThreadIsDoneAndThenGivesWhatItMade) {
  std::atomic<bool> answered{false};
  ThreadPending pending([&](const std::stop_token& given_up) {
    const SetupDeadline deadline(kPatience, given_up);
    while (!answered.load() && !deadline.over()) std::this_thread::yield();
    return Connected{nullptr, std::vector<std::byte>(1000, std::byte{7})};
  });
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(pending.poll());
  answered.store(true);
  const Connected connected = wait_for(pending);
  EXPECT_EQ(connected.answer, std::vector<std::byte>(1000, std::byte{7}));
}

TEST(ThreadPending, ThrowsWhatTheSetUpThrew) {
  ThreadPending pending([](const std::stop_token&) -> Connected {
    throw SetupError(SetupCause::kRefused, "the peer said no");
  });
  const auto error = test_support::thrown<SetupError>([&] { wait_for(pending); });
  ASSERT_TRUE(error) << "connected";
  EXPECT_EQ(error->cause(), SetupCause::kRefused);
  EXPECT_STREQ(error->what(), "the peer said no");
}

// Its owner does not wait until the time of the set-up is over.
TEST(ThreadPending, GivenUpItTellsItsThreadAndIsGoneWithIt) {
  std::atomic<bool> begun{false}, over{false};
  auto pending = std::make_unique<ThreadPending>([&](const std::stop_token& given_up) -> Connected {
    const SetupDeadline deadline(std::chrono::hours(1), given_up);
    begun.store(true);
    while (!deadline.over()) std::this_thread::sleep_until(deadline.next_look());
    over.store(true);
    throw SetupError(SetupCause::kTimeout, "nobody is told");
  });
  while (!begun.load()) std::this_thread::yield();
  pending.reset();
  EXPECT_TRUE(over.load());
}

TEST(SetupDeadline, IsOverWhenItsTimeIsAndIsLookedAtOftenUntilThen) {
  using Clock = SetupDeadline::Clock;
  const SetupDeadline past(std::chrono::milliseconds(0));
  EXPECT_TRUE(past.over());
  EXPECT_EQ(past.left(), std::chrono::milliseconds(0));
  EXPECT_LE(past.next_look(), Clock::now());
  const SetupDeadline far(std::chrono::hours(1));
  EXPECT_FALSE(far.over());
  EXPECT_GT(far.left(), std::chrono::minutes(59));
  EXPECT_LT(far.next_look(), Clock::now() + std::chrono::minutes(1));
}

}  // namespace
}  // namespace tickpath::rdma::detail
