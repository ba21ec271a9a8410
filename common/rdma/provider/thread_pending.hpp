// A set-up that is under way over several libraries' blocking calls: a thread of its own goes
// through the steps (authenticated stream, connection, queue pair, keys), each of which may have to
// wait for the peer or the network. They are many, they are the libraries' own blocking calls, and
// a set-up is rare: a thread reads better than a state for each of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

// Until when a set-up must be over, and whether its owner has given it up meanwhile.
class SetupDeadline {
 public:
  using Clock = std::chrono::steady_clock;
  explicit SetupDeadline(std::chrono::milliseconds timeout, std::stop_token given_up = {})
      : at_(Clock::now() + timeout), given_up_(std::move(given_up)) {}

  bool over() const { return given_up_.stop_requested() || Clock::now() >= at_; }
  // Whoever waits for something else looks at over() again by then.
  Clock::time_point next_look() const {
    constexpr auto kLookEvery = std::chrono::milliseconds(20);  // how long giving up may take
    return std::min(at_, Clock::now() + kLookEvery);
  }
  std::chrono::milliseconds left() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now());
    return std::max(left, std::chrono::milliseconds(0));
  }

 private:
  Clock::time_point at_;
  std::stop_token given_up_;
};

class ThreadPending final : public PendingConnection {
 public:
  // Runs on the new thread; throws SetupError; comes back soon after it was told to stop.
  using SetUp = std::function<Connected(const std::stop_token& given_up)>;
  explicit ThreadPending(SetUp set_up);
  std::optional<Connected> poll() override;
  void wait(std::chrono::milliseconds timeout) override { outcome_.wait_for(timeout); }

 private:
  // What the thread leaves behind: the connection, or why there is none. Plain data: an exception
  // that two threads share is destroyed by either.
  struct Outcome {
    Connected connected;
    SetupCause cause = SetupCause::kSystem;
    std::string failure;  // empty: connected
  };
  static Outcome outcome_of(const SetUp& set_up, const std::stop_token& given_up) noexcept;

  std::future<Outcome> outcome_;
  std::jthread thread_;  // last: told to stop and joined before anything it uses goes
};

}  // namespace tickpath::rdma::detail
