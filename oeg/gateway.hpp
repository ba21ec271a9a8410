// The gateway's core: requests from strategies become FIX messages or rejects, reports from the
// exchange become reports to strategies. No sockets, no fabric: those are ports.
//
// Order of effects for a request: checks, ledger, journal, FIX store and socket (one call), then
// drop copy and positions. For a report: ledger, journal, drop copy, positions, strategy.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/cpu.hpp"
#include "common/clock/clock.hpp"
#include "common/fix/session.hpp"
#include "common/trace/stamp.hpp"
#include "common/wire/control_block.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/executions.hpp"
#include "oeg/instruments.hpp"
#include "oeg/ledger.hpp"
#include "oeg/limits.hpp"
#include "oeg/ports.hpp"
#include "oeg/risk_checks.hpp"
#include "oeg/strategy_slot.hpp"

namespace tickpath::oeg {

// What the venue's refusal of a cancel or replacement says.
trading::RejectReason reason_of(fix::CxlRejReason reason) noexcept;

struct GatewayOptions {
  std::uint32_t strategies_max = 16;
  std::uint32_t orders_max = 1u << 16;  // open at once, over all strategies
  std::uint32_t positions_max = 1u << 12;
  std::uint32_t instruments_max = 1u << 14;
  std::uint32_t executions_max = 1u << 18;  // remembered: against repetitions, for cancellations
  bool stop_on_exception = true;            // no new order in a symbol that has an exception
  // Orders and replacements that are older are not sent again.
  std::int64_t resend_age_max_ns = 1'000'000'000;
  // Reports kept for a strategy that is out of credits. At half of it, with what its requests on
  // their way will bring, its further requests wait; at all of it, the venue does. As much again is
  // there for what cannot be held back: messages that QuickFIX had queued behind a gap.
  std::uint32_t report_queue = 4096;
  // The venue waits so long for a strategy that takes no report; then it is cut off.
  std::int64_t unread_max_ns = 1'000'000'000;
  // A request without an answer for so long does not keep an order alive that is to go.
  std::int64_t answer_max_ns = 1'000'000'000;
  bool market_order_protection = true;  // a market order is sent as a limit at the collar
  bool cancel_orphans = true;           // cancel the open orders of a strategy that is gone
  // New orders refused by the checks that are journaled, for people; further ones are counted
  // alone, so that a strategy gone wild cannot fill the disk.
  std::uint64_t refusals_journaled_max = 1u << 16;
  Limits limits;
};

// Counters of one kind of request: new orders, or cancels with replacements.
struct FlowCounters {
  TICKPATH_COUNTERS(
      received, refused, sent, accepted,
      rejected,  // by the venue
      // Cancels by oeg itself, for strategies that are gone or at its end; in no figure above.
      own, own_answered);
};

struct GatewayCounters {
  FlowCounters orders;
  FlowCounters changes;
  std::array<Counter, trading::kRejectReasonValues> refused_for;  // by RejectReason
  struct Reports {
    TICKPATH_COUNTERS(received,    // from the venue
                      sent,        // into strategies' channels, oeg's own answers included
                      queued,      // waited for credits first
                      dropped,     // for strategies that are gone
                      venue_held,  // times that a strategy's full queue made the venue wait
                      fills,
                      restated,        // orders that lost shares at the venue without a trade
                      triggered,       // stop orders whose price was reached, as the venue told
                      unknown,         // about no order that we know
                      impossible,      // that cannot follow the order's state
                      lost_by_venue,   // open here, unknown there: expired
                      ignored,         // pending-new and the like: nothing changes
                      status,          // answers to status requests: nothing has happened
                      repeated,        // PossDup or PossResend of what was booked before
                      fills_changed);  // executions that the venue took back or corrected
  } reports;
  Counter exceptions;          // oeg/exceptions.hpp
  Counter commissions;         // fills with a Commission (12)
  Counter overdue;             // orders canceled though a request had no answer
  Counter not_resent;          // orders and replacements too old, or not allowed any more
  Counter orphaned_orders;     // open when their strategy left
  Counter open_at_day_end;     // orders that the venue had not ended with the session's day
  Counter strategies_dropped;  // did not read their reports
  Counter journal_lost;        // changes that the journal had no room for
  Counter events;
};

// What of them a restart goes on from, as numbers: the checkpoint of the journal keeps it. 16 of
// them, in this order.
struct RecoveredCounts {
  struct Flow {
    std::uint64_t received, refused, sent, accepted, rejected, own, own_answered;
  };
  Flow orders;
  Flow changes;
  std::uint64_t reports_received;
  std::uint64_t fills;

  void take(const GatewayCounters& counters) noexcept;
  void give(GatewayCounters& counters) const noexcept;
};
static_assert(sizeof(RecoveredCounts) == 16 * 8);

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
  // For a connection that has yet to be made. Where no slot is left, it takes that of a strategy
  // which is not connected and has never sent an order.
  StrategySlot* assign_slot_to_peer(std::uint8_t strategy) noexcept;
  std::size_t slot_index(const StrategySlot& slot) const noexcept {
    return static_cast<std::size_t>(&slot - slots_.data());
  }

  void on_strategy_connected(std::size_t slot) noexcept;
  // A standby's: it told nothing to the strategy, and has nothing to take back.
  void release_slot(std::size_t index) noexcept {
    slots_[index].taken.store(false, std::memory_order_release);
  }
  void on_strategy_lost(std::size_t slot) noexcept;
  // Tells a connected strategy what it holds, in order with its reports, over the next turns. The
  // end is told once the orders that it left behind, if oeg cancels them, are settled.
  void begin_positions(std::size_t slot) noexcept {
    slots_[slot].next_position = 0;
    slots_[slot].lead_untold = epoch_ != 0;
    slots_[slot].accepting_untold = true;
    slots_[slot].held_told = held_symbols_.empty() ? held_list_ : 0;
    slots_[slot].held_telling = 0;
  }
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
  // How many positions are valued anew at a time, and after how many turns.
  static constexpr std::uint32_t kValueEvery = 16;
  // Every request that was sent has its answer.
  bool nothing_unanswered() const noexcept;
  // Nothing is open, nothing unanswered, nothing waits for a strategy.
  bool settled() const noexcept;
  // The request was journaled and never sent: the ledger forgets it, and the journal says so.
  void reject_unsent(Order& order, std::uint64_t request_id) noexcept;

  // ---- recovery; control thread, before the datapath starts

  // Count what the last run did, so that requests and answers match over both.
  static void count_recovered_request(GatewayCounters& counters,
                                      const JournalRecord& record) noexcept;
  // Before the record is applied to `order`.
  static void count_recovered_report(GatewayCounters& counters, const Order& order,
                                     const JournalRecord& record) noexcept;
  void set_recovered(const RecoveredCounts& counts) noexcept { counts.give(counters_); }
  // The last request was counted, but never left.
  void uncount_unsent(const Order& order, const JournalRecord& record) noexcept {
    count_recovered_report(counters_, order, record);
  }
  // Ids of oeg's own cancels; `incarnation` differs at every start.
  void set_own_incarnation(std::uint16_t incarnation) noexcept;
  // In a pair: the epoch of this leadership, by which strategies know the newest leader.
  void set_epoch(std::uint32_t epoch) noexcept { epoch_ = epoch; }
  // Tells whoever takes the drop copy. Datapath thread.
  void tell_leads() noexcept;
  // Strategies of the last run are expected back; reports for them wait until give_up_awaited().
  void await_strategies() noexcept;

  // What the last run booked, so that what repeats it is known.
  Executions& executions() noexcept { return executions_; }

  // ---- exceptions; datapath thread (the control thread before it starts)

  // An exception of that symbol is open, since a former run or no more.
  void hold_symbol(const fix::Symbol& symbol) noexcept;
  void release_symbol(const fix::Symbol& symbol) noexcept;
  // A person books a trade, with no order. The position moves; the journal, risk and the strategy
  // get a corrected fill. The strategy has a slot.
  ManualResult book_by_hand(const ManualTrade& trade) noexcept;
  // How many requests to take from a strategy's channel now; the rest waits there, and its credits
  // with it. Datapath thread.
  std::size_t requests_taken(std::size_t slot) const noexcept;
  // A strategy does not have everything yet that it gets from us: do not sleep.
  bool reports_wait() const noexcept;
  // Why every new order of the strategy is refused now; kNone: none is for that.
  trading::RejectReason refuses_all(const StrategySlot& slot) const noexcept;

  // ---- fix::Handler
  // Room for whatever the next message brings. What is not read waits in the socket, and then at
  // the venue: a strategy that reads loses nothing.
  bool ready() noexcept override { return crowded_ == 0 && journal_.has_room_for_reports(); }
  void on_execution_report(const fix::ExecutionReport& report,
                           const fix::MessageInfo& info) noexcept override;
  void on_cancel_reject(const fix::OrderCancelReject& reject,
                        const fix::MessageInfo& info) noexcept override;
  void on_message_reject(const fix::MessageReject& reject,
                         const fix::MessageInfo& info) noexcept override;
  // A new day: what is open is over at the venue, unless it outlives a day. Its last reports may
  // still come; else a cancel finds out.
  void on_numbers_reset(bool new_day) noexcept override;
  // At a logon: what was sent before, and perhaps never arrived.
  bool may_resend(const fix::Resend& resend) noexcept override;
  void on_refused(const fix::RefusedMessage& refused,
                  const fix::MessageInfo& info) noexcept override;

  // A message of the venue is recorded in part: until it is recorded as a whole nothing of it may
  // take effect outside.
  bool in_entry() const noexcept { return in_entry_; }

  const GatewayCounters& counters() const noexcept { return counters_; }
  const Limits& limits() const noexcept { return limits_; }

  // The checks of a request, alone: what tests and the benchmark measure. Takes a token of the rate
  // limit when it comes so far.
  trading::RejectReason check_new(StrategySlot& slot, const wire::OrderRequest& request,
                                  std::uint32_t& row) noexcept;
  trading::RejectReason check_change(StrategySlot& slot, const wire::OrderRequest& request,
                                     Order*& order) noexcept;

 private:
  std::size_t unused_slot() noexcept;
  bool take_id(StrategySlot& slot, std::uint64_t order_id) noexcept;
  void value_positions() noexcept;
  void new_order(StrategySlot& slot, const wire::OrderRequest& request) noexcept;
  void change_order(StrategySlot& slot, const wire::OrderRequest& request) noexcept;
  template <class Message>
  void protect(Message& message, const wire::OrderRequest& request) const noexcept;
  fix::SendStatus send_cancel(const Order& order, std::uint64_t request_id,
                              fix::SendTimes& times) noexcept;
  fix::SendStatus send_replace(const Order& order, const wire::OrderRequest& request,
                               fix::SendTimes& times) noexcept;
  bool cancel_orphan(StrategySlot& slot, Order& order) noexcept;
  bool send_own_cancel(StrategySlot& slot, Order& order, std::uint64_t request_id) noexcept;
  // gateway_overdue.cpp
  bool is_overdue(const Order& order) const noexcept;
  trading::RejectReason check_second_cancel(const wire::OrderRequest& request,
                                            const Order& order) const noexcept;
  bool press(StrategySlot& slot, Order& order) noexcept;
  bool cancel_again(StrategySlot& slot, Order& order) noexcept;
  bool ask_for(Order& order) noexcept;
  void list_unanswered(Order& order) noexcept;
  void settle_overdue(const Order& before, std::uint32_t fix_seq) noexcept;
  static bool second_cancel_finds_none(Order& order) noexcept;
  void take_status(Order& order, const fix::ExecutionReport& report,
                   const fix::MessageInfo& info) noexcept;
  bool cancel_orphans(StrategySlot& slot) noexcept;
  void show_open_orders(StrategySlot& slot) noexcept;
  wire::OrderEvent refuse(StrategySlot& slot, const wire::OrderRequest& request,
                          trading::RejectReason reason, const Order* order) noexcept;
  void journal_refusal(const wire::OrderRequest& request, const wire::OrderEvent& event) noexcept;
  void stamp_sent(std::uint64_t order_id, TscTicks seen, TscTicks passed,
                  const fix::SendTimes& times) noexcept;

  // A venue's report, whatever FIX message it was.
  struct VenueReport {
    LedgerReport ledger;
    std::uint64_t execution_id = 0;
    trading::RejectReason reason = trading::RejectReason::kNone;
    std::uint32_t fix_seq = 0;  // 0: ours, the request never came to the venue
    bool repeated = false;      // PossDup or PossResend
    bool more = false;          // the same message may bring another record
    std::int64_t fee = 0;       // of a fill, 1/1,000,000
  };
  void book(Order& order, const VenueReport& report) noexcept;
  void book_end(Order& order, wire::ReportKind kind, trading::RejectReason reason,
                std::uint32_t fix_seq) noexcept;
  void book_unanswered(Order& order, std::uint64_t request_id, trading::RejectReason reason,
                       std::uint32_t fix_seq, bool more = false) noexcept;
  void expire_unknown(std::uint64_t order_id, std::uint32_t fix_seq) noexcept;
  void book_fill(Order* order, const fix::ExecutionReport& report,
                 const fix::MessageInfo& info) noexcept;
  bool is_new_execution(const fix::ExecutionReport& report, const fix::MessageInfo& info) noexcept;
  bool is_about(const Order& order, const fix::ExecutionReport& report,
                const fix::MessageInfo& info) noexcept;
  std::uint8_t strategy_of(std::uint64_t id) const noexcept;
  void journal(ExceptionNote& note, const wire::OrderEvent& event,
               const fix::ExecutionReport& report) noexcept;
  bool has_price(const Order* order, const fix::ExecutionReport& report,
                 const fix::MessageInfo& info) noexcept;
  bool take_total(const Order& order, const fix::ExecutionReport& report,
                  LedgerReport& change) const noexcept;
  bool take_quantities(const Order& order, const fix::ExecutionReport& report,
                       LedgerReport& change) const noexcept;
  void change_execution(Order* order, const fix::ExecutionReport& report,
                        const fix::MessageInfo& info) noexcept;
  void change_fill(const Execution& execution, Order* order, const VenueReport& report) noexcept;
  void except(ExceptionKind kind, const Order* order, const fix::ExecutionReport& report,
              const fix::MessageInfo& info) noexcept;
  bool is_held(const fix::Symbol& symbol) const noexcept;
  trading::RejectReason check_resend(const Order& order, const fix::Resend& resend) noexcept;
  static void count_answer(GatewayCounters& counters, const Order& order,
                           const LedgerReport& report) noexcept;
  // What was counted as sent was not, after all.
  static void count_unsent(GatewayCounters& counters, const Order& order, std::uint64_t request_id,
                           wire::ReportKind kind) noexcept;
  static bool answers_request(const Order& order, const LedgerReport& report) noexcept;

  void take_report(const fix::ExecutionReport& report, const fix::MessageInfo& info) noexcept;
  void take_cancel_reject(const fix::OrderCancelReject& reject,
                          const fix::MessageInfo& info) noexcept;
  void take_message_reject(const fix::MessageReject& reject, const fix::MessageInfo& info) noexcept;
  // The only place that appends. `more`: the same message of the venue may bring another record.
  bool append(JournalRecord& record, bool more) noexcept;
  // After each message of the venue.
  void end_entry() noexcept;
  void journal(const wire::OrderEvent& event, const Order& order, std::uint32_t fix_seq,
               std::uint64_t execution_id, bool more = false, std::int64_t fee = 0) noexcept;
  void charge(const wire::OrderEvent& fill, std::uint32_t row, std::int64_t fee) noexcept;
  void publish(const wire::OrderEvent& event, std::uint32_t row) noexcept;
  void report_to(StrategySlot& slot, const wire::OrderReport& report) noexcept;
  void count_sent(StrategySlot& slot, const wire::OrderReport& report) noexcept;
  bool tell_strategy_leads(StrategySlot& slot) noexcept;
  bool tell_accepting(StrategySlot& slot) noexcept;
  bool tell_held(StrategySlot& slot) noexcept;
  Conditions conditions_now() const noexcept;
  bool tell_positions(StrategySlot& slot) noexcept;
  bool flush_reports(StrategySlot& slot) noexcept;
  void drop_reports(StrategySlot& slot) noexcept;
  void weigh_queue(StrategySlot& slot) noexcept;
  void cut_off(StrategySlot& slot) noexcept;

  GatewayOptions options_;
  VenuePort& venue_;
  StrategyPort& strategies_;
  EventPort& events_;
  JournalPort& journal_;
  trace::TraceWriter& trace_;
  const std::uint64_t hz_;

  Conditions conditions_;  // but for what the venue says each time: conditions_now()
  wire::ControlBlock block_{};
  std::uint64_t refusals_journaled_ = 0;
  Limits limits_;
  std::uint32_t turns_ = 0;
  struct HeldSymbol {
    fix::Symbol symbol;
    std::uint64_t exceptions;  // open ones
    bool operator==(const fix::Symbol& other) const noexcept { return symbol == other; }
  };
  std::vector<HeldSymbol> held_symbols_;
  // Open exceptions of symbols that found no room there: while there are any, all are held.
  std::uint64_t held_beyond_ = 0;
  std::uint64_t held_list_ = 1;  // raised with each change of what is held
  Instruments instruments_;
  Ledger ledger_;
  std::vector<StrategySlot> slots_;
  static constexpr std::uint8_t kNoSlot = 0xff;
  std::array<std::uint8_t, wire::kMaxStrategies> slot_of_;
  // Released by assign_slot() once a slot is filled in, acquired by slot_count(): without it the
  // datapath could walk into a slot whose id is not there yet.
  std::atomic<std::size_t> slots_used_{0};
  std::uint64_t own_cancels_ = 0;  // ids of oeg's own
  std::uint32_t epoch_ = 0;
  Executions executions_;
  std::size_t crowded_ = 0;  // strategies for which the venue waits
  const std::uint64_t unread_ticks_;
  const std::uint64_t answer_ticks_;
  std::uint64_t up_since_tsc_ = 0;  // the last logon that turn() has seen
  bool was_up_ = false;
  bool in_entry_ = false;  // the last record is not the last one of its entry
  // Exceptions of that entry, for a person: as many as a message can bring beside what is booked.
  std::array<ExceptionNote, 3> notes_;
  std::size_t noted_ = 0;
  GatewayCounters counters_;
};

}  // namespace tickpath::oeg
