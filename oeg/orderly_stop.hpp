// The orderly end, step by step: no new orders, cancels, logout, the last events. Datapath thread,
// where nothing else is said.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/clock/clock.hpp"
#include "oeg/drop_copy.hpp"
#include "oeg/gateway.hpp"
#include "oeg/venue_link.hpp"

namespace tickpath::oeg {

class OrderlyStop {
 public:
  // cancels: open orders are cancelled first.
  OrderlyStop(bool cancels, Gateway& gateway, VenueLink& venue, DropCopy& drop_copy) noexcept
      : cancels_(cancels), gateway_(gateway), venue_(venue), drop_copy_(drop_copy) {}

  // Control thread. settle_ns: open orders and reports have so long to settle.
  void request(std::int64_t settle_ns) noexcept {
    requested_ns_.store(settle_ns, std::memory_order_relaxed);
  }
  bool is_requested() const noexcept { return requested_ns_.load(std::memory_order_relaxed) >= 0; }
  // Any thread. Relaxed: a state for waiting, nothing is ordered by it.
  bool is_done() const noexcept {
    return stage_.load(std::memory_order_relaxed) == Stage::kStopped;
  }
  const char* stage_name() const noexcept;

  // Each turn once it is requested. True: a step was made.
  bool advance(TscTicks now) noexcept;
  // A standby has nothing to end.
  void finish() noexcept { set_stage(Stage::kStopped); }

 private:
  enum class Stage : std::uint8_t { kRunning, kSettling, kLoggingOut, kClosing, kStopped };

  void set_stage(Stage stage) noexcept { stage_.store(stage, std::memory_order_relaxed); }
  void set_deadline(TscTicks now, std::int64_t ns) noexcept {
    deadline_ = {now.value + converter_.from_ns(static_cast<std::uint64_t>(ns)).value};
  }

  const bool cancels_;
  Gateway& gateway_;
  VenueLink& venue_;
  DropCopy& drop_copy_;
  clock::TickConverter converter_;
  TscTicks deadline_;
  std::atomic<std::int64_t> requested_ns_{-1};  // how long to settle; -1: not asked to stop
  std::atomic<Stage> stage_{Stage::kRunning};
};

}  // namespace tickpath::oeg
