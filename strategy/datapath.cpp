#include "strategy/datapath.hpp"

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

StrategyDatapath::StrategyDatapath(market::MarketReader& market, OrderChannels& orders,
                                   Engine& engine, rdma::CompletionChannel* channel)
    : market_(market), orders_(orders), engine_(engine), channel_(channel) {
  if (channel_ == nullptr) return;
  wake_storage_[0] = channel_->file_descriptor();
  wake_ = wake_storage_;
}

bool StrategyDatapath::turn() noexcept {
  const std::uint64_t now_ns = clock_.to_ns(tsc_now());
  engine_.advance(now_ns);
  Handler handler{engine_};
  std::size_t work = orders_.poll(handler, now_ns);
  engine_.on_directory_behind(market_.directory_behind());
  const std::size_t updates = market_.poll(handler, now_ns, kUpdatesPerTurn);
  work += updates;
  const bool engine_worked = engine_.on_turn();
  // Relaxed: the flag alone matters; what the control thread did before is not read here.
  if (stop_requested_.load(std::memory_order_relaxed)) [[unlikely]]
    advance_stop(now_ns, updates < kUpdatesPerTurn && !market_.directory_behind());
  return work != 0 || engine_worked;
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
  orders_.close();
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
