// The gateway's core: requests from strategies become FIX messages or rejects, reports from the
// exchange become reports to strategies. No sockets, no fabric: those are ports.
//
//   OrderEntry         a request: checked (OrderChecks), sent (OrderSender) or refused
//   OwnCancels         what oeg cancels by itself
//   VenueReports       a message of the venue; OrderBooking and ExecutionBooking book it
//   Recorder           journal, drop copy, positions and exceptions of either
//   ReportQueues       what goes to strategies, and waits for their credits
//   Books              orders, positions, executions, market, strategies, counters
//
// Order of effects for a request: checks, ledger, journal, FIX store and socket (one call), then
// drop copy and positions. For a report: ledger, journal, drop copy, positions, strategy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/trace/stamp.hpp"
#include "common/wire/control_block.hpp"
#include "common/wire/order_messages.hpp"
#include "oeg/books.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/execution_booking.hpp"
#include "oeg/gateway_counters.hpp"
#include "oeg/gateway_options.hpp"
#include "oeg/held_symbols.hpp"
#include "oeg/order_booking.hpp"
#include "oeg/order_checks.hpp"
#include "oeg/order_entry.hpp"
#include "oeg/order_sender.hpp"
#include "oeg/own_cancels.hpp"
#include "oeg/ports.hpp"
#include "oeg/recorder.hpp"
#include "oeg/report_queues.hpp"
#include "oeg/strategy_slots.hpp"
#include "oeg/venue_reports.hpp"

namespace tickpath::oeg {

class Gateway {
 public:
  // Control thread. The ports outlive the gateway.
  Gateway(const GatewayOptions& options, VenuePort& venue, StrategyPort& strategies,
          EventPort& events, JournalPort& journal, trace::TraceWriter& trace);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // ---- its parts. Control thread before the datapath starts, and on recovery; datapath thread
  Ledger& ledger() noexcept { return books_.ledger; }
  const Ledger& ledger() const noexcept { return books_.ledger; }
  Instruments& instruments() noexcept { return books_.instruments; }
  Executions& executions() noexcept { return books_.executions; }
  StrategySlots& slots() noexcept { return books_.slots; }
  const StrategySlots& slots() const noexcept { return books_.slots; }
  HeldSymbols& held_symbols() noexcept { return held_; }
  OrderChecks& checks() noexcept { return checks_; }
  const OrderChecks& checks() const noexcept { return checks_; }
  // What the session calls.
  VenueReports& reports() noexcept { return reports_; }
  // Any thread.
  const GatewayCounters& counters() const noexcept { return books_.counters; }

  // ---- strategies; datapath thread

  void on_strategy_connected(std::size_t slot) noexcept { queues_.connect(books_.slots[slot]); }
  void on_strategy_lost(std::size_t slot) noexcept;
  // ReportQueues::begin_positions().
  void begin_positions(std::size_t slot) noexcept { queues_.begin_positions(books_.slots[slot]); }
  void on_request(std::size_t slot, const wire::OrderRequest& request) noexcept {
    entry_.on_request(books_.slots[slot], request);
  }
  // OrderEntry::requests_taken().
  std::size_t requests_taken(std::size_t slot) const noexcept {
    return entry_.requests_taken(books_.slots[slot]);
  }
  // The strategy's open orders are to be cancelled by oeg, if so configured.
  void orphan_orders(std::size_t slot) noexcept { queues_.orphan_orders(books_.slots[slot]); }
  // Strategies of the last run that have not come back: their orders are orphans.
  void give_up_awaited() noexcept;

  // ---- conditions; datapath thread

  void set_control_block(const wire::ControlBlock& block) noexcept;
  // Every open order is to be cancelled, as if its strategy had gone.
  void cancel_everything() noexcept;

  // Each turn: reports that waited for credits, cancels of orphans. True if anything was done.
  bool turn() noexcept;
  // Every request that was sent has its answer.
  bool nothing_unanswered() const noexcept;
  // Nothing is open, nothing unanswered, nothing waits for a strategy.
  bool settled() const noexcept;
  // A strategy does not have everything yet that it gets from us: do not sleep.
  bool reports_wait() const noexcept { return queues_.wait(); }
  // Recorder::in_entry().
  bool in_entry() const noexcept { return recorder_.in_entry(); }
  // Tells whoever takes the drop copy that this one leads, in a pair.
  void tell_leads() noexcept;
  // ExecutionBooking::book_by_hand().
  ManualResult book_by_hand(const ManualTrade& trade) noexcept {
    return executions_.book_by_hand(trade);
  }

  // ---- recovery; control thread, before the datapath starts

  void set_recovered(const RecoveredCounts& counts) noexcept { counts.give(books_.counters); }
  // The last request was journaled, and counted, but never left.
  void forget_unsent(Order& order, std::uint64_t request_id, wire::ReportKind reject) noexcept;
  // Ids of oeg's own cancels; `incarnation` differs at every start.
  void set_own_incarnation(std::uint16_t incarnation) noexcept {
    books_.own_ids.begin(incarnation);
  }
  // In a pair: the epoch of this leadership, by which strategies know the newest leader.
  void set_epoch(std::uint32_t epoch) noexcept { queues_.set_epoch(epoch); }
  // Strategies of the last run are expected back; reports for them wait until give_up_awaited().
  void await_strategies() noexcept;

 private:
  void show_open_orders(StrategySlot& slot) noexcept;

  const GatewayOptions options_;
  const VenuePort& venue_;
  Books books_;
  HeldSymbols held_;
  OrderChecks checks_;
  Recorder recorder_;
  ReportQueues queues_;
  OrderSender sender_;
  OrderEntry entry_;
  OwnCancels cancels_;
  OrderBooking orders_;
  ExecutionBooking executions_;
  VenueReports reports_;
};

}  // namespace tickpath::oeg
