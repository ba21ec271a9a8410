// A monitor of four strategies, with events and quotes to give it.
#pragma once

#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "risk/monitor.hpp"

namespace tickpath::risk::fed {

using wire::EventKind;
using wire::OrderEvent;
using wire::ReportKind;
using wire::RequestKind;

inline constexpr std::uint64_t kMs = 1'000'000;

class Risk : public ::testing::Test {
 protected:
  static MonitorOptions options() {
    MonitorOptions made{
        .instruments_max = 16, .strategies_max = 4, .rows_max = 16, .orders_max = 8};
    made.order_limits.order_shares_max = 5'000;
    return made;
  }
  void limit(const StrategyLimits& limits) { monitor->set_limits(1, limits); }

  static OrderEvent event(EventKind kind, std::uint64_t order_id, std::uint8_t strategy = 1) {
    return {.order_id = order_id,
            .instrument_id = 3,
            .event = kind,
            .side = Side::kBuy,
            .strategy_id = strategy};
  }
  // With the number that oeg would give it.
  void take(OrderEvent made) {
    made.row_event = ++numbers[made.strategy_id];
    monitor->on_event(made);
  }
  void request(std::uint64_t id, std::uint32_t shares, Side side = Side::kBuy,
               std::uint8_t strategy = 1) {
    OrderEvent made = event(EventKind::kRequested, id, strategy);
    made.request_kind = RequestKind::kNew;
    made.shares = shares;
    made.side = side;
    take(made);
  }
  void report(ReportKind kind, std::uint64_t id, std::uint64_t target = 0,
              std::uint32_t leaves = 0) {
    OrderEvent made = event(EventKind::kReported, id);
    made.report_kind = kind;
    made.target_order_id = target;
    made.leaves_shares = leaves;
    take(made);
  }
  void fill(std::uint64_t id, std::uint32_t shares, std::uint32_t price, std::uint32_t leaves = 0,
            Side side = Side::kBuy) {
    OrderEvent made = event(EventKind::kReported, id);
    made.report_kind = ReportKind::kFill;
    made.shares = shares;
    made.price = price;
    made.leaves_shares = leaves;
    made.cumulative_shares = shares;
    made.side = side;
    take(made);
  }
  void quote(std::uint32_t bid, std::uint32_t ask, wire::FeedState feed = wire::FeedState::kGood) {
    wire::BookUpdate update{
        .instrument_id = 3, .best_bid = bid, .best_ask = ask, .kind = wire::UpdateKind::kAdd};
    update.set_states(feed, wire::TradingState::kTrading);
    monitor->on_update(update);
  }
  const Row& row() const { return monitor->ledger().rows()[0]; }
  LimitKind breach(std::uint32_t id = 1) const {
    return static_cast<LimitKind>(monitor->view(id).breach_kind.get());
  }

  std::unique_ptr<Monitor> monitor = std::make_unique<Monitor>(options());
  std::map<std::uint8_t, std::uint32_t> numbers;  // of events, by strategy
};

}  // namespace tickpath::risk::fed
