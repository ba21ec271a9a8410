// One plugin instance: its code, its orders, its positions, and the host functions it calls.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/book_update.hpp"
#include "common/wire/order_messages.hpp"
#include "common/wire/order_state.hpp"
#include "strategy/callback.hpp"
#include "strategy/counters.hpp"
#include "strategy/order_table.hpp"
#include "strategy/parameters.hpp"
#include "strategy/plugin.h"
#include "strategy/plugin_log.hpp"

namespace tickpath::strategy {

class Engine;

enum class InstanceState : std::uint8_t {
  kLoaded = 0,  // code is there, not started
  kRunning = 1,
  kStopping = 2,  // stop was called: no new orders any more
  kFailed = 3,    // contained: never called again, its orders are being cancelled
};

// A subscription that waits for the directory.
struct PendingSymbol {
  std::string symbol;
  std::uint8_t venue = 0;
  bool anywhere = false;  // of several venues: one that lists it is enough
  bool settled = false;
  bool unknown = false;  // orders came, and the feed had not listed it; it may yet
};

// What is between one instance and one oeg: that of a venue, or of one shard of it.
// How long the engine waits before it repeats cancels of its own that were refused for a passing
// reason (session down, rate). The wait doubles with each sweep that is refused: a venue that is
// away must not be asked for every open order a hundred times a second. The longest wait is short
// against any stop timeout.
inline constexpr std::uint64_t kSweepWaitMinNs = 10'000'000;
inline constexpr std::uint64_t kSweepWaitMaxNs = 640'000'000;

// Instruments in which an oeg refuses new orders, because a person has to look at a report.
class HeldInstruments {
 public:
  HeldInstruments() { ids_.reserve(kMax); }
  // kNoInstrument: of all of them.
  void on_held(std::uint32_t instrument, bool held) noexcept {
    if (instrument == wire::kNoInstrument) {
      all_ = held;
      if (!held) ids_.clear();
    } else if (ids_.size() < kMax) {
      ids_.push_back(instrument);
    } else {
      all_ = true;
    }
  }
  bool has(std::uint32_t instrument) const noexcept {
    return all_ || (!ids_.empty() && std::ranges::find(ids_, instrument) != ids_.end());
  }

 private:
  static constexpr std::size_t kMax = 4096;
  std::vector<std::uint32_t> ids_;
  bool all_ = false;
};

struct Gateway {
  bool connected = false;   // the engine's own cancels can be sent
  bool up = false;          // connected and, after an outage, recovered
  bool recovering = false;  // connected again, uncertain orders not settled yet
  // The reason for which its oeg refuses every new order, by the last kAccepting.
  trading::RejectReason refuses = trading::RejectReason::kNone;
  std::uint64_t next_sweep_ns = 0;                // the engine's cancels wait until then
  std::uint64_t sweep_wait_ns = kSweepWaitMinNs;  // and so long after the next refusal
  std::uint32_t given_up = 0;  // up to this request, none waits for an answer to a change any more
  std::uint32_t open_orders = 0;
  TextBuilder venue_text;  // as far as its parts have come; no other oeg's come between them
  std::uint64_t venue_text_order = 0;
  HeldInstruments held;
  bool accepts() const noexcept { return up && refuses == trading::RejectReason::kNone; }
  StrategyCounters counters;  // as Instance::counters, of this oeg alone
};

// How the newest orders ended: reports about them may still come.
class DoneOrders {
 public:
  void add(std::uint64_t id, trading::OrderState state) noexcept {
    entries_[next_++ % entries_.size()] = {id, state};
  }
  // Linear: late reports are rare. Of an order that was forgotten nothing better is known.
  trading::OrderState state_of(std::uint64_t id) const noexcept {
    for (const Entry& entry : entries_)
      if (entry.id == id) return entry.state;
    return trading::OrderState::kCanceled;
  }

 private:
  struct Entry {
    std::uint64_t id = 0;
    trading::OrderState state = trading::OrderState::kCanceled;
  };
  std::array<Entry, 256> entries_{};
  std::size_t next_ = 0;
};

struct Instance {
  Instance(Engine& engine_, std::uint32_t index_, std::uint8_t id_, std::string name_,
           const tickpath_plugin& plugin_, ParameterReader parameters_, std::size_t orders_max,
           std::uint32_t listings, std::size_t stacks);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  bool running() const noexcept { return state == InstanceState::kRunning; }
  // For status, from the control thread.
  InstanceState shown_state() const noexcept {
    return static_cast<InstanceState>(counters.state.get());
  }
  void set_state(InstanceState next) noexcept {
    state = next;
    counters.state.set(static_cast<std::uint64_t>(next));
  }
  // Called at all: running, or stopping and still notified of what becomes of its orders.
  bool alive() const noexcept {
    return state == InstanceState::kRunning || state == InstanceState::kStopping;
  }

  // Inside create: the engine does not know the instance yet.
  bool in_create() const noexcept { return setting_up && !known; }

  // For foreign_code: "plugin momentum (strategy 1) in book_change".
  const char* const& text_of(Callback callback) const noexcept {
    return callback_texts[static_cast<std::size_t>(callback)];
  }

  Engine& engine;
  const std::uint32_t index;  // in the engine's list and subscriber masks
  const std::uint8_t id;      // strategy id
  const std::string name;
  const tickpath_plugin& plugin;
  tickpath_host host{};
  void* self = nullptr;
  InstanceState state = InstanceState::kLoaded;

  ParameterReader parameters;
  std::vector<PendingSymbol> symbols;
  bool setting_up = false;  // inside create or start
  bool known = false;       // to the engine: create is over

  DoneOrders done;
  OrderTable orders;                         // of all venues: their ids are from one counter
  std::vector<tickpath_position> positions;  // by listing
  std::vector<Gateway> gateways;             // by stack
  std::uint16_t incarnation = 0;
  std::uint32_t next_order = 0;
  StrategyCounters counters;
  std::array<const char*, kCallbackNames.size()> callback_texts{};

  // Why the last callback failed; set by host.fail, read by the engine.
  char failure[LogRecord::kTextMax];
  std::size_t failure_length = 0;
  std::string_view failure_text() const noexcept { return {failure, failure_length}; }
  void set_failure(std::string_view text) noexcept;
};

// The table of host functions for this instance (host_functions.cpp).
void fill_host(Instance& instance, std::uint32_t listings) noexcept;

}  // namespace tickpath::strategy
