// A gateway without sockets or fabric: every port records what reaches it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "oeg/gateway.hpp"

namespace tickpath::oeg {

struct FakeVenue final : VenuePort {
  std::vector<fix::NewOrderSingle> orders;
  std::vector<fix::OrderCancelRequest> cancels;
  std::vector<fix::OrderCancelReplaceRequest> replaces;
  std::vector<fix::OrderStatusRequest> status_requests;
  std::uint32_t seq = 1;
  bool logged_on = true;
  bool trades = true;
  bool reports_missing = false;
  bool full = false;
  bool slow = false;

  fix::SendStatus send(const fix::NewOrderSingle& message, fix::SendTimes&) override {
    return take(orders, message);
  }
  fix::SendStatus send(const fix::OrderCancelRequest& message, fix::SendTimes&) override {
    return take(cancels, message);
  }
  fix::SendStatus send(const fix::OrderCancelReplaceRequest& message, fix::SendTimes&) override {
    return take(replaces, message);
  }
  fix::SendStatus send(const fix::OrderStatusRequest& message, fix::SendTimes&) override {
    return take(status_requests, message);
  }
  bool up() const noexcept override { return logged_on; }
  bool takes_orders() const noexcept override { return trades; }
  bool behind_gap() const noexcept override { return reports_missing; }
  bool congested() const noexcept override { return slow; }
  std::uint32_t next_seq() const noexcept override { return seq; }

 private:
  template <class Message>
  fix::SendStatus take(std::vector<Message>& list, const Message& message) {
    if (!logged_on) return fix::SendStatus::kDown;
    if (full) return fix::SendStatus::kFull;
    list.push_back(message);
    ++seq;
    return fix::SendStatus::kSent;
  }
};

struct FakeStrategies final : StrategyPort {
  std::vector<wire::OrderReport> reports;
  std::vector<std::size_t> dropped;
  std::size_t credits = 1'000'000;

  bool send(std::size_t, const wire::OrderReport& report) noexcept override {
    if (credits == 0) return false;
    --credits;
    reports.push_back(report);
    return true;
  }
  void drop(std::size_t slot) noexcept override { dropped.push_back(slot); }
};

struct FakeEvents final : EventPort {
  std::function<void()> before = [] {};  // an event or an exception
  std::vector<wire::OrderEvent> events;
  void publish(const wire::OrderEvent& event) noexcept override {
    before();
    events.push_back(event);
  }
  std::map<std::size_t, wire::PositionRow> positions;
  void store_position(std::size_t row, const wire::PositionRow& position) noexcept override {
    positions[row] = position;
  }
  std::vector<ExceptionNote> exceptions;
  void note_exception(const ExceptionNote& note) noexcept override {
    before();
    exceptions.push_back(note);
  }
};

struct FakeJournal final : JournalPort {
  std::vector<JournalRecord> records;
  bool room = true;
  bool room_for_changes = true;
  bool room_for_reports = true;
  bool room_for_own_cancels = true;
  bool has_room() const noexcept override { return room; }
  bool has_room_for_changes() const noexcept override { return room_for_changes; }
  bool has_room_for_reports() const noexcept override { return room_for_reports; }
  bool has_room_for_own_cancels() const noexcept override { return room_for_own_cancels; }
  bool append(JournalRecord& record) noexcept override {
    record.sequence = records.size() + 1;
    records.push_back(record);
    return true;
  }
};

inline constexpr std::uint8_t kStrategy = 3;
inline constexpr std::uint32_t kInstrument = 7;

// One strategy, one instrument with a good market of 100.00 to 100.10.
struct GatewayFixture {
  explicit GatewayFixture(const Limits& limits = {}) { limit(limits); }
  void limit(const Limits& limits) {
    options.limits = limits;
    start();
  }
  // Anew, with the options as they are now.
  void start() {
    gateway = make();
    slot = gateway->slots().assign(kStrategy);
    gateway->on_strategy_connected(0);
    gateway->checks().set_risk_alive(true);
    gateway->instruments().set_symbol(kInstrument, "AAPL");
    set_market(1'000'000, 1'001'000);
  }
  std::unique_ptr<Gateway> make() {
    return std::make_unique<Gateway>(options, venue, strategies, events, journal, trace);
  }
  void set_market(std::uint32_t bid, std::uint32_t ask,
                  wire::FeedState feed = wire::FeedState::kGood) {
    wire::BookUpdate update{.instrument_id = kInstrument,
                            .best_bid = bid,
                            .best_ask = ask,
                            .kind = wire::UpdateKind::kAdd};
    update.set_states(feed, wire::TradingState::kTrading);
    gateway->instruments().update(update);
  }
  // The feed has a message of this time.
  void market_at(std::uint64_t exchange_time_ns, wire::UpdateKind kind = wire::UpdateKind::kAdd) {
    wire::BookUpdate update{.exchange_time_ns = exchange_time_ns,
                            .instrument_id = kInstrument,
                            .best_bid = 1'000'000,
                            .best_ask = 1'001'000,
                            .kind = kind};
    update.set_states(wire::FeedState::kGood, wire::TradingState::kTrading);
    gateway->instruments().update(update);
  }
  static std::uint64_t id(std::uint32_t counter) {
    return wire::OrderId::make(kStrategy, 1, counter);
  }
  wire::OrderRequest limit_order(std::uint32_t counter, std::uint32_t price = 1'000'000,
                                 std::uint32_t shares = 100, Side side = Side::kBuy) {
    return {.order_id = id(counter),
            .trace_id = 1000 + counter,
            .price = {price},
            .instrument_id = kInstrument,
            .shares = shares,
            .kind = wire::RequestKind::kNew,
            .side = side,
            .type = trading::OrderType::kLimit};
  }
  wire::OrderRequest cancel(std::uint32_t counter, std::uint64_t target) {
    return {.order_id = id(counter),
            .target_order_id = target,
            .instrument_id = kInstrument,
            .kind = wire::RequestKind::kCancel,
            .side = Side::kBuy};
  }
  wire::OrderRequest replace(std::uint32_t counter, std::uint64_t target, std::uint32_t price,
                             std::uint32_t shares) {
    wire::OrderRequest request = limit_order(counter, price, shares);
    request.kind = wire::RequestKind::kReplace;
    request.target_order_id = target;
    return request;
  }
  // Sends it; the reason if it was refused.
  trading::RejectReason request(const wire::OrderRequest& what) {
    const std::size_t before = strategies.reports.size();
    gateway->on_request(0, what);
    return strategies.reports.size() == before ? trading::RejectReason::kNone
                                               : strategies.reports.back().reason;
  }
  fix::MessageInfo info() { return {++report_seq, false, {}}; }
  void report(fix::ExecType type, std::uint64_t cl_ord_id, std::uint32_t leaves,
              std::uint32_t cumulative, std::uint32_t last_shares = 0, std::uint32_t last_price = 0,
              std::uint64_t original = 0) {
    fix::ExecutionReport message{.exec_id = ++executions,
                                 .cl_ord_id = cl_ord_id,
                                 .orig_cl_ord_id = original,
                                 .last_price = {last_price},
                                 .last_shares = last_shares,
                                 .leaves_qty = leaves,
                                 .cum_qty = cumulative,
                                 .exec_type = type,
                                 .symbol = fix::Symbol::from("AAPL")};
    const Order* const order = gateway->ledger().find(cl_ord_id);
    message.side = order != nullptr ? order->side : Side::kBuy;
    if (order != nullptr) message.symbol = gateway->instruments()[order->instrument].symbol;
    gateway->reports().on_execution_report(message, info());
  }
  void accept(std::uint64_t order_id, std::uint32_t shares = 100) {
    report(fix::ExecType::kNew, order_id, shares, 0);
  }
  // An order that the venue has taken.
  void rest(std::uint32_t counter, std::uint32_t shares = 100) {
    request(limit_order(counter, 1'000'000, shares));
    accept(id(counter), shares);
  }
  void reject_change(std::uint64_t request_id, std::uint64_t target,
                     fix::CxlRejReason reason = fix::CxlRejReason::kTooLateToCancel) {
    gateway->reports().on_cancel_reject(
        fix::OrderCancelReject{.cl_ord_id = request_id, .orig_cl_ord_id = target, .reason = reason},
        info());
  }
  void turn_to_the_end() {
    while (gateway->turn()) {
    }
  }
  void confirm_cancels() {
    for (const auto& cancel : venue.cancels)
      report(fix::ExecType::kCanceled, cancel.cl_ord_id, 0, 0, 0, 0, cancel.orig_cl_ord_id);
  }
  const wire::OrderReport& last() const { return strategies.reports.back(); }
  const wire::PositionRow& position() {
    return gateway->ledger().position(gateway->ledger().position_row(kStrategy, kInstrument)).row;
  }

  GatewayOptions options{.strategies_max = 4,
                         .orders_max = 64,
                         .positions_max = 16,
                         .instruments_max = 16,
                         .executions_max = 64,
                         .stop_on_exception = false,
                         .report_queue = 8,
                         // An hour, so that no test depends on how fast it runs.
                         .unread_max_ns = 3'600'000'000'000};
  FakeVenue venue;
  FakeStrategies strategies;
  FakeEvents events;
  FakeJournal journal;
  trace::TraceWriter trace{trace::TraceOptions{}};
  std::unique_ptr<Gateway> gateway;
  StrategySlot* slot = nullptr;
  std::uint32_t report_seq = 0;
  std::uint64_t executions = 0;
};

}  // namespace tickpath::oeg
