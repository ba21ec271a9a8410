// What a peer can do to the queues: no receives for what is sent to it (RNR storm), and more
// completions than fit. A row of the fault table each.
#include <cstring>
#include <future>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/endpoint.hpp"
#include "tests/fault/fault_run.hpp"
#include "tests/fault/fault_table.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::test_support {
namespace {

using namespace rdma;
using conformance::Endpoint;
using conformance::EndpointOptions;

constexpr std::uint32_t kDepth = 64;
constexpr std::uint32_t kRetries = 3;
constexpr double kPatienceMs = 20'000;         // for what must come
constexpr std::uint32_t kRnrTimerUs = 20'480;  // one of the times that verbs can express

// Two sides; each connect() adds a connection, and what it returns is its number on both.
class Storm : public ::testing::Test {
 protected:
  void SetUp() override { receiver_.listen(address_); }

  std::size_t connect(const EndpointOptions& sender, const EndpointOptions& receiver) {
    auto accepted = std::async(std::launch::async, [&] { receiver_.accept(receiver, "welcome"); });
    sender_.connect(address_, sender, "hello");
    accepted.get();
    return sender_.queue_pairs().size() - 1;
  }
  // A request that is refused must not touch the bytes of one that waits.
  static std::size_t slot_of(std::uint64_t number) { return number % (2 * kDepth) * 64; }
  PostStatus send(std::size_t connection, std::uint64_t number) {
    sender_.use(connection);
    std::byte* const text = sender_.memory().data() + slot_of(number);
    std::memcpy(text, &number, sizeof(number));
    return sender_.queue_pair().post_send(
        sender_.request(Opcode::kSend, number, slot_of(number), 8, 0, 0, kSignaled));
  }
  // What arrives next at the receiver. The sender is polled as well: on shm that moves what waits
  // for a receive along.
  std::uint64_t received() {
    const std::int64_t from_ns = monotonic_ns();
    std::vector<Completion> done;
    while (done.empty() && ms_since(from_ns) < kPatienceMs) {
      for (const Completion& each : sender_.poll(1, 0)) sent_.push_back(each);
      done = receiver_.poll(1, 0);
    }
    std::uint64_t number = ~std::uint64_t{0};
    if (done.empty() || done[0].status != CompletionStatus::kSuccess) return number;
    std::memcpy(&number, receiver_.memory().data() + done[0].wr_id * 64, sizeof(number));
    return number;
  }
  // The sender's next `count` completions; fewer where they do not come.
  std::vector<Completion> completed(std::size_t count) {
    const std::int64_t from_ns = monotonic_ns();
    while (sent_.size() < count && ms_since(from_ns) < kPatienceMs)
      for (const Completion& each : sender_.poll(count - sent_.size(), 0)) sent_.push_back(each);
    return std::exchange(sent_, {});
  }
  void post_receives(std::size_t connection, std::uint64_t first, std::uint64_t count) {
    receiver_.use(connection);
    for (std::uint64_t id = first; id < first + count; ++id)
      ASSERT_EQ(receiver_.post_receive(id, id * 64, 64), PostStatus::kOk);
  }
  // One message over a connection that works.
  void passes(std::size_t connection, std::uint64_t number) {
    post_receives(connection, 1000, 1);
    ASSERT_EQ(send(connection, number), PostStatus::kOk);
    ASSERT_EQ(received(), number);
    const auto done = completed(1);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].wr_id, number);
    EXPECT_EQ(done[0].status, CompletionStatus::kSuccess);
  }

  std::vector<Completion> sent_;  // the sender's, not yet asked for
  std::string address_ = test_support::fresh_endpoint();
  Endpoint sender_{test_support::provider_name()};
  Endpoint receiver_{test_support::provider_name()};
};

TEST_F(Storm, AReceiverThatPostsNothingFailsItsSenderAfterTheRetriesAndNobodyElse) {
  EndpointOptions options;
  options.queue_pair.send_depth = kDepth;
  options.queue_pair.rnr_retry = kRetries;
  options.queue_pair.min_rnr_timer_us = kRnrTimerUs;
  const std::size_t other = connect({}, {});
  const std::size_t storm = connect(options, options);
  FaultRow row{"RNR storm: the receiver posts no receive, rnr_retry 3", "the sender",
               kRnrTimerUs * (kRetries + 1) / 1000.0 * static_cast<double>(time_scale())};
  const Lateness late;
  const std::int64_t from_ns = monotonic_ns();
  for (std::uint64_t i = 0; i < kDepth; ++i) ASSERT_EQ(send(storm, i), PostStatus::kOk);
  const auto done = completed(kDepth);
  row.measured_ms = ms_since(from_ns);
  row.late_ms = late.ms();
  ASSERT_EQ(done.size(), kDepth);
  for (std::uint64_t i = 0; i < kDepth; ++i) {
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(to_string(done[i].status),
              to_string(i == 0 ? CompletionStatus::kRnrRetryExceeded : CompletionStatus::kFlushed));
  }
  sender_.use(storm);
  EXPECT_THAT(sender_.queue_pair().error_text(), ::testing::HasSubstr("RNR"));
  passes(other, 4711);
  row.others_do = "another connection carries; " + std::to_string(kDepth - 1) +
                  " that waited are flushed, in order";
  const std::int64_t back_ns = monotonic_ns();
  passes(connect(options, options), 4712);
  row.came_back = "a new connection carries after " +
                  std::to_string(static_cast<long>(ms_since(back_ns))) + " ms";
  row.books_hold = !HasFailure();
  add_row(row);
}

TEST_F(Storm, AReceiverThatPostsLateLosesNothingWhereRetriesAreWithoutEnd) {
  EndpointOptions options;
  options.queue_pair.send_depth = kDepth;
  options.queue_pair.min_rnr_timer_us = 640;
  const std::size_t other = connect({}, {});
  const std::size_t storm = connect(options, options);
  FaultRow row{"RNR storm: the receiver posts no receive, rnr_retry 7 (default)",
               "the sender (its queue is full)", -1};
  const std::int64_t from_ns = monotonic_ns();
  for (std::uint64_t i = 0; i < kDepth; ++i) ASSERT_EQ(send(storm, i), PostStatus::kOk);
  EXPECT_EQ(send(storm, kDepth), PostStatus::kQueueFull);
  row.measured_ms = ms_since(from_ns);
  EXPECT_TRUE(sender_.poll(1, 200).empty()) << "it gave up";
  passes(other, 4711);
  const std::int64_t back_ns = monotonic_ns();
  post_receives(storm, 0, kDepth);
  for (std::uint64_t i = 0; i < kDepth; ++i) ASSERT_EQ(received(), i);
  const std::size_t arrived = completed(kDepth).size();
  EXPECT_EQ(arrived, kDepth);
  row.others_do = "another connection carries; " + std::to_string(arrived) + " wait";
  row.came_back = "all arrive, in order, " + std::to_string(static_cast<long>(ms_since(back_ns))) +
                  " ms after the receives are posted";
  row.books_hold = !HasFailure();
  add_row(row);
}

TEST_F(Storm, ACompletionQueueIsNotOverrun) {
  EndpointOptions options{.completion_depth = 8};
  options.queue_pair.send_depth = kDepth;
  options.queue_pair.receive_depth = kDepth;
  const std::size_t connection = connect(options, {});
  FaultRow row{"completion queue overrun attempts", "the poster (queue full)", -1};
  sender_.use(connection);
  const auto write = [&](std::uint64_t id) {
    return sender_.queue_pair().post_send(
        sender_.request(Opcode::kWrite, id, 0, 8, 0, 0, kSignaled));
  };
  const std::int64_t from_ns = monotonic_ns();
  std::uint64_t taken = 0;
  while (taken < kDepth && write(taken) == PostStatus::kOk) ++taken;
  EXPECT_EQ(taken, options.completion_depth);
  EXPECT_EQ(sender_.post_receive(1, 0, 64), PostStatus::kQueueFull);
  row.measured_ms = ms_since(from_ns);
  const std::int64_t back_ns = monotonic_ns();
  const auto done = completed(taken);
  ASSERT_EQ(done.size(), taken);
  for (std::uint64_t i = 0; i < taken; ++i) {
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(done[i].status, CompletionStatus::kSuccess);
  }
  EXPECT_EQ(write(taken), PostStatus::kOk);
  EXPECT_EQ(completed(1).size(), 1u);
  row.others_do = std::to_string(done.size()) + " of " + std::to_string(taken) +
                  " that were taken complete, in order";
  row.came_back = "takes requests again once completions are polled, after " +
                  std::to_string(static_cast<long>(ms_since(back_ns))) + " ms";
  row.books_hold = !HasFailure();
  add_row(row);
}

}  // namespace
}  // namespace tickpath::test_support
