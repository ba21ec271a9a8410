#include "strategy/datapath.hpp"

#include <algorithm>
#include <utility>

namespace tickpath::strategy {
namespace {

// Updates taken before reports are looked at again: a burst must not delay a report by more than
// some microseconds, and looking for a report costs one cached line.
constexpr std::size_t kUpdatesPerTurn = 32;

// After the last order is settled, reports that cross (a reject of a cancel, say) still have this
// long to arrive before the connection is closed.
constexpr std::uint64_t kLingerNs = 20'000'000;
// What mdh has published by then is taken in as well, however seldom this thread has run: it counts
// as published to us. Up to this long, for a feed may go on faster than we read.
constexpr std::uint64_t kLingerMaxNs = 1'000'000'000;

}  // namespace

StrategyDatapath::StrategyDatapath(std::vector<StackLinks> stacks, Engine& engine,
                                   rdma::CompletionChannel* channel, SharedValues* values)
    : stacks_(std::move(stacks)), engine_(engine), channel_(channel), values_(values) {
  if (channel_ == nullptr) return;
  wake_storage_[0] = channel_->file_descriptor();
  wake_ = wake_storage_;
}

bool StrategyDatapath::turn() noexcept {
  const std::uint64_t now_ns = clock_.to_ns(tsc_now());
  engine_.advance(now_ns);
  std::size_t work = 0;
  bool caught_up = true;
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    const StackLinks& stack = stacks_[i];
    Handler handler{engine_, i};
    work += stack.orders->poll(handler, now_ns);
    engine_.on_directory_behind(stack.market->directory_behind(), i);
    const std::size_t updates = stack.market->poll(handler, now_ns, kUpdatesPerTurn);
    work += updates;
    caught_up &= updates < kUpdatesPerTurn && !stack.market->directory_behind();
  }
  if (values_ != nullptr) work += values_->turn() ? 1 : 0;
  const bool engine_worked = engine_.on_turn();
  // Relaxed: the flag alone matters; what the control thread did before is not read here.
  if (stop_requested_.load(std::memory_order_relaxed)) [[unlikely]]
    advance_stop(now_ns, caught_up);
  return work != 0 || engine_worked;
}

void StrategyDatapath::arm() noexcept {
  for (const StackLinks& stack : stacks_) {
    stack.market->arm();
    stack.orders->arm();
  }
}

bool StrategyDatapath::may_sleep() noexcept {
  if (values_ != nullptr && !values_->may_sleep()) return false;
  return std::ranges::all_of(stacks_, [](const StackLinks& stack) {
    return stack.market->may_sleep() && stack.orders->may_sleep();
  });
}

void StrategyDatapath::on_thread_end() noexcept {
  for (const StackLinks& stack : stacks_) stack.market->close();
}

void StrategyDatapath::advance_stop(std::uint64_t now_ns, bool caught_up) noexcept {
  if (!stopping_) {
    stopping_ = true;
    engine_.begin_stop();
  }
  if (!engine_.drained()) {
    settled_at_ns_ = 0;
    return;
  }
  if (settled_at_ns_ == 0) settled_at_ns_ = now_ns;
  if (now_ns - settled_at_ns_ < (caught_up ? kLingerNs : kLingerMaxNs) ||
      drained_.load(std::memory_order_relaxed))
    return;
  for (const StackLinks& stack : stacks_) stack.orders->close();
  // Release, paired with the acquire in drained(): the control thread ends us after that.
  drained_.store(true, std::memory_order_release);
}

void StrategyDatapath::woken() noexcept {
  if (channel_ != nullptr) channel_->acknowledge();
}

void StrategyDatapath::request_stop() noexcept {
  stop_requested_.store(true, std::memory_order_relaxed);  // see turn()
}

bool StrategyDatapath::drained() const noexcept {
  return drained_.load(std::memory_order_acquire);  // see advance_stop()
}

}  // namespace tickpath::strategy
