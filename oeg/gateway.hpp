// The gateway's core: requests from strategies become FIX messages or rejects, reports from the
// exchange become reports to strategies. No sockets, no fabric: those are ports.
//
// Order of effects for a request: checks, ledger, journal, FIX store and socket (one call), then
// drop copy and positions. For a report: ledger, journal, drop copy, positions, strategy.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "common/fix/session.hpp"
#include "common/trace/stamp.hpp"
#include "common/wire/control_block.hpp"
#include "oeg/instruments.hpp"
#include "oeg/ledger.hpp"
#include "oeg/limits.hpp"
#include "oeg/ports.hpp"
#include "oeg/risk_checks.hpp"
#include "oeg/strategy_slot.hpp"

namespace tickpath::oeg {

struct GatewayOptions {
  std::uint32_t strategies_max = 16;
  std::uint32_t orders_max = 1u << 16;  // open at once, over all strategies
  std::uint32_t positions_max = 1u << 12;
  std::uint32_t instruments_max = 1u << 14;
  std::uint32_t report_queue = 4096;  // reports kept for a strategy that is out of credits
  bool cancel_orphans = true;         // cancel the open orders of a strategy that is gone
  Limits limits;
};

// Of one kind of request; new orders, and cancels with replacements.
struct FlowCounters {
  Counter received;
  Counter refused;
  Counter sent;
  Counter accepted;
  Counter rejected;  // by the venue
  // Cancels by oeg itself, for strategies that are gone or at its end; in no figure above.
  Counter own;
  Counter own_answered;
};

struct GatewayCounters {
  FlowCounters orders;
  FlowCounters changes;
  std::array<Counter, 32> refused_for;  // by RejectReason
  Counter reports_received;             // from the venue
  Counter reports_sent;                 // into strategies' channels, oeg's own answers included
  Counter reports_queued;               // waited for credits first
  Counter reports_dropped;              // for strategies that are gone
  Counter fills;
  Counter restated;            // orders that lost shares at the venue without a trade
  Counter unknown_reports;     // about no order that we know
  Counter impossible_reports;  // that cannot follow the order's state
  Counter lost_by_venue;       // open here, unknown there: expired
  Counter ignored_reports;     // pending-new and the like: nothing changes
  Counter orphaned_orders;     // open when their strategy left
  Counter strategies_dropped;  // did not read their reports
  Counter journal_lost;        // changes that the journal had no room for
  Counter events;
};

class Gateway final : public fix::Handler {
 public:
  // Control thread. The ports outlive the gateway.
  Gateway(const GatewayOptions& options, VenuePort& venue, StrategyPort& strategies,
          EventPort& events, JournalPort& journal, trace::TraceWriter& trace);

  // ---- control thread, before the datapath starts, and on recovery
  Ledger& ledger() noexcept { return ledger_; }
  const Ledger& ledger() const noexcept { return ledger_; }
  Instruments& instruments() noexcept { return instruments_; }

  // ---- strategies; datapath thread

  StrategySlot& slot(std::size_t index) noexcept { return slots_[index]; }
  const StrategySlot& slot(std::size_t index) const noexcept { return slots_[index]; }
  // Slots in use: the first so many. Any thread.
  std::size_t slot_count() const noexcept { return slots_used_.load(std::memory_order_acquire); }
  // The slot of a strategy id, made at the first call; nullptr: no slot left. Control thread, which
  // alone assigns slots; the datapath meets a slot by the first connection or order that uses it.
  StrategySlot* assign_slot(std::uint8_t strategy) noexcept;
  std::size_t slot_index(const StrategySlot& slot) const noexcept {
    return static_cast<std::size_t>(&slot - slots_.data());
  }

  void on_strategy_connected(std::size_t slot) noexcept;
  void on_strategy_lost(std::size_t slot) noexcept;
  // Tells a connected strategy what it holds, in order with its reports, over the next turns. The
  // end is told once the orders that it left behind, if oeg cancels them, are settled.
  void begin_positions(std::size_t slot) noexcept { slots_[slot].next_position = 0; }
  void on_request(std::size_t slot, const wire::OrderRequest& request) noexcept;
  // The strategy's open orders are to be cancelled by oeg, if so configured.
  void orphan_orders(std::size_t slot) noexcept;
  // Strategies of the last run that have not come back: their orders are orphans.
  void give_up_awaited() noexcept;

  // ---- conditions; datapath thread

  void set_control_block(const wire::ControlBlock& block) noexcept;
  void set_risk_alive(bool alive) noexcept { conditions_.risk_alive = alive; }
  // No new order or replacement from now on.
  void stop_accepting() noexcept { conditions_.accepting = false; }
  // Every open order is to be cancelled, as if its strategy had gone.
  void cancel_everything() noexcept;

  // Each turn: reports that waited for credits, cancels of orphans. True if anything was done.
  bool turn() noexcept;
  // Every request that was sent has its answer.
  bool nothing_unanswered() const noexcept;
  // Nothing is open, nothing unanswered, nothing waits for a strategy.
  bool settled() const noexcept;
  // The request was journaled and never sent: the ledger forgets it, and the journal says so.
  void reject_unsent(Order& order) noexcept;

  // ---- recovery; control thread, before the datapath starts

  // Counts what the last run did, so that requests and answers match over both.
  void count_recovered_request(const JournalRecord& record) noexcept;
  // Before the record is applied to `order`.
  void count_recovered_report(const Order& order, const JournalRecord& record) noexcept;
  // Ids of oeg's own cancels; `incarnation` differs at every start.
  void set_own_incarnation(std::uint16_t incarnation) noexcept;
  // Strategies of the last run are expected back; reports for them wait until give_up_awaited().
  void await_strategies() noexcept;

  // ---- fix::Handler
  void on_execution_report(const fix::ExecutionReport& report,
                           const fix::MessageInfo& info) noexcept override;
  void on_cancel_reject(const fix::OrderCancelReject& reject,
                        const fix::MessageInfo& info) noexcept override;
  void on_message_reject(const fix::MessageReject& reject,
                         const fix::MessageInfo& info) noexcept override;

  const GatewayCounters& counters() const noexcept { return counters_; }
  const Limits& limits() const noexcept { return limits_; }
  const wire::ControlBlock& control_block() const noexcept { return block_; }

  // The checks of a request, alone: what tests and the benchmark measure. Takes a token of the rate
  // limit when it comes so far.
  wire::RejectReason check_new(StrategySlot& slot, const wire::OrderRequest& request,
                               std::uint32_t& row) noexcept;
  wire::RejectReason check_change(StrategySlot& slot, const wire::OrderRequest& request,
                                  Order*& order) noexcept;

 private:
  bool take_id(StrategySlot& slot, std::uint64_t order_id) noexcept;
  void new_order(StrategySlot& slot, const wire::OrderRequest& request) noexcept;
  void change_order(StrategySlot& slot, const wire::OrderRequest& request) noexcept;
  fix::SendStatus send_change(const Order& order, fix::SendTimes& times) noexcept;
  bool cancel_orphan(StrategySlot& slot, Order& order) noexcept;
  bool cancel_orphans(StrategySlot& slot) noexcept;
  void refuse(StrategySlot& slot, const wire::OrderRequest& request, wire::RejectReason reason,
              const Order* order) noexcept;
  void stamp_sent(std::uint64_t order_id, TscTicks seen, TscTicks passed,
                  const fix::SendTimes& times) noexcept;

  // A venue's report, whatever FIX message it was.
  struct VenueReport {
    LedgerReport ledger;
    std::uint64_t execution_id = 0;
    wire::RejectReason reason = wire::RejectReason::kNone;
    std::uint32_t fix_seq = 0;
  };
  void book(Order& order, const VenueReport& report) noexcept;
  void expire_unknown(std::uint64_t order_id, std::uint32_t fix_seq) noexcept;
  void count_answer(const Order& order, const LedgerReport& report) noexcept;
  static bool answers_pending(const Order& order, const LedgerReport& report) noexcept;

  void journal(const wire::OrderEvent& event, const Order& order, std::uint32_t fix_seq,
               std::uint64_t execution_id) noexcept;
  void publish(const wire::OrderEvent& event, std::uint32_t row) noexcept;
  void report_to(StrategySlot& slot, const wire::OrderReport& report) noexcept;
  void count_sent(StrategySlot& slot, const wire::OrderReport& report) noexcept;
  bool tell_positions(StrategySlot& slot) noexcept;
  bool flush_reports(StrategySlot& slot) noexcept;
  void drop_reports(StrategySlot& slot) noexcept;

  GatewayOptions options_;
  VenuePort& venue_;
  StrategyPort& strategies_;
  EventPort& events_;
  JournalPort& journal_;
  trace::TraceWriter& trace_;
  const std::uint64_t hz_;

  Conditions conditions_;
  wire::ControlBlock block_{};
  Limits limits_;
  Instruments instruments_;
  Ledger ledger_;
  std::vector<StrategySlot> slots_;
  std::array<std::uint8_t, wire::kMaxStrategies> slot_of_;
  // Released by assign_slot() once a slot is filled in, acquired by slot_count(): without it the
  // datapath could walk into a slot whose id is not there yet.
  std::atomic<std::size_t> slots_used_{0};
  std::uint64_t own_cancels_ = 0;  // ids of oeg's own
  GatewayCounters counters_;
};

}  // namespace tickpath::oeg
