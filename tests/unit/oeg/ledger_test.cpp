// A ledger taken as a whole is what one would be that was restored row by row, order by order, as
// a checkpoint is.
#include "oeg/ledger.hpp"

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace tickpath::oeg {
namespace {

constexpr std::uint32_t kOrdersMax = 32;
constexpr std::uint32_t kPositionsMax = 8;
constexpr std::uint8_t kStrategies = 3;

auto fields(const Order& o) {
  return std::tuple_cat(
      std::tuple(o.id, o.pending_id, o.trace_id, o.pending_trace_id, o.row, o.price, o.shares,
                 o.leaves, o.cumulative, o.pending_price, o.pending_shares, o.reserved_shares,
                 o.side, o.type, o.time_in_force, o.state, o.pending_kind, o.pending_own),
      std::tuple(o.former_day, o.second_cancel_id, o.asked_tsc, o.instrument, o.display_shares,
                 o.minimum_shares, o.stop_price, o.pending_stop_price, o.instructions, o.strategy,
                 o.orphan, o.second_cancel_own, o.second_cancel_stale, o.id_unknown, o.overdue));
}

auto fields(const Position& p) {
  return std::tuple(p.row.instrument_id, p.row.strategy_id, p.row.position_shares, p.row.cash,
                    p.row.open_buy_shares, p.row.open_sell_shares, p.row.events, p.row.fills,
                    p.row.fees, p.reserved_buy, p.reserved_sell);
}

void expect_same(Ledger& a, Ledger& b) {
  EXPECT_EQ(a.orders(), b.orders());
  EXPECT_EQ(a.open_orders(), b.open_orders());
  ASSERT_EQ(a.position_count(), b.position_count());
  for (std::uint32_t row = 0; row < a.position_count(); ++row)
    EXPECT_EQ(fields(a.position(row)), fields(b.position(row))) << "row " << row;
  for (std::uint8_t strategy = 0; strategy < kStrategies; ++strategy) {
    EXPECT_EQ(a.open_orders(strategy), b.open_orders(strategy));
    EXPECT_EQ(a.unanswered(strategy), b.unanswered(strategy));
    std::vector<decltype(fields(Order{}))> left;
    std::vector<decltype(fields(Order{}))> right;
    a.for_each(strategy, [&](Order& order) { left.push_back(fields(order)); });
    b.for_each(strategy, [&](Order& order) { right.push_back(fields(order)); });
    EXPECT_EQ(left, right) << "of strategy " << unsigned{strategy} << ", oldest first";
  }
}

// Steps that each say the same of two ledgers in the same state.
class Steps {
 public:
  void step(Ledger& ledger) {
    const std::uint32_t pick = number(8);
    if (pick < 3) return add(ledger);
    Order* const order = any(ledger);
    if (order == nullptr) return;
    if (pick == 3) return request(ledger, *order, wire::RequestKind::kReplace);
    if (pick == 4) return request(ledger, *order, wire::RequestKind::kCancel);
    if (pick == 5) return answer(ledger, *order);
    if (pick == 6)
      (void)ledger.set_second_cancel(*order, ++last_id_, number(2) == 0);
    else
      fill(ledger, *order);
  }

 private:
  std::uint32_t number(std::uint32_t below) {
    return static_cast<std::uint32_t>(random_() % below);
  }
  Order* any(Ledger& ledger) {
    Order* found = nullptr;
    std::size_t left =
        ledger.orders() == 0 ? 0 : number(static_cast<std::uint32_t>(ledger.orders()));
    for (std::uint8_t strategy = 0; strategy < kStrategies; ++strategy)
      ledger.for_each(strategy, [&](Order& order) {
        if (left-- == 0) found = &order;
      });
    return found;
  }
  void add(Ledger& ledger) {
    Order order;
    order.strategy = static_cast<std::uint8_t>(number(kStrategies));
    order.instrument = number(2);
    order.side = number(2) == 0 ? Side::kBuy : Side::kSell;
    order.price = 1 + number(100);
    order.shares = 100;
    order.display_shares = number(2);
    if (ledger.full()) return;
    order.id = ++last_id_;
    order.row = ledger.position_row(order.strategy, order.instrument);
    ledger.add(order);
  }
  void request(Ledger& ledger, Order& order, wire::RequestKind kind) {
    if (order.pending_id != 0 || trading::is_final(order.state)) return;
    const std::uint64_t id = ++last_id_;
    ledger.set_pending(order, kind, id, id, order.price, order.shares + 50, false);
  }
  void answer(Ledger& ledger, Order& order) {
    LedgerReport report;
    report.request_id = order.pending_id != 0 ? order.pending_id : order.id;
    report.leaves = order.leaves;
    report.cumulative = order.cumulative;
    report.kind = wire::ReportKind::kAccepted;
    if (order.pending_id != 0) {
      report.kind = order.pending_kind == wire::RequestKind::kReplace ? wire::ReportKind::kReplaced
                                                                      : wire::ReportKind::kCanceled;
    } else if (order.second_cancel_id != 0) {
      report.kind = wire::ReportKind::kCancelRejected;
      report.request_id = order.second_cancel_id;
    }
    trading::OrderState state{};
    (void)ledger.apply(order, report, state);
  }
  void fill(Ledger& ledger, Order& order) {
    if (trading::is_final(order.state) || order.leaves == 0) return;
    LedgerReport report;
    report.kind = wire::ReportKind::kFill;
    report.request_id = order.id;
    report.last_shares = std::min(order.leaves, 60u);
    report.last_price = {order.price, 5};
    report.leaves = order.leaves - report.last_shares;
    report.cumulative = order.cumulative + report.last_shares;
    trading::OrderState state{};
    const std::uint32_t row = order.row;
    if (ledger.apply(order, report, state)) ledger.charge(row, 3);
  }

  std::mt19937 random_{5};
  std::uint64_t last_id_ = 0;
};

void restore_one_by_one(Ledger& into, const Ledger& from) {
  for (std::uint32_t row = 0; row < from.position_count(); ++row)
    ASSERT_TRUE(into.restore(from.position(row).row));
  for (std::uint8_t strategy = 0; strategy < kStrategies; ++strategy)
    from.for_each(strategy, [&](const Order& order) { ASSERT_TRUE(into.restore(order)); });
}

TEST(LedgerTest, TakenAsAWholeIsWhatItIsOrderByOrderAndGoesOnAlike) {
  Ledger live(kOrdersMax, kPositionsMax);
  Steps steps;
  std::size_t most = 0;
  std::size_t second_cancels = 0;
  for (int i = 0; i < 2000; ++i) {
    steps.step(live);
    most = std::max(most, live.orders());
    if (i % 50 != 0) continue;
    Ledger taken(kOrdersMax, kPositionsMax);
    ASSERT_TRUE(taken.take(live));
    Ledger restored(kOrdersMax, kPositionsMax);
    restore_one_by_one(restored, live);
    expect_same(taken, restored);
    expect_same(taken, live);
    taken.for_each(0, [&](Order& order) {
      EXPECT_EQ(taken.find(order.id), &order);
      EXPECT_EQ(order.pending_id == 0 ? &order : taken.find(order.pending_id), &order);
      if (order.second_cancel_id == 0) return;
      ++second_cancels;
      EXPECT_EQ(taken.find(order.second_cancel_id), &order);
    });
    Steps after_taken = steps;
    Steps after_restored = steps;
    for (int k = 0; k < 100; ++k) {
      after_taken.step(taken);
      after_restored.step(restored);
    }
    expect_same(taken, restored);
  }
  EXPECT_EQ(most, kOrdersMax) << "it was full at some time";
  EXPECT_GT(second_cancels, 0u);
}

TEST(LedgerTest, IsTakenByALargerOneAndByNoneThatHasNoRoom) {
  Ledger live(kOrdersMax, kPositionsMax);
  Steps steps;
  while (live.orders() < 10) steps.step(live);
  Ledger larger(2 * kOrdersMax, 2 * kPositionsMax);
  ASSERT_TRUE(larger.take(live));
  expect_same(larger, live);
  while (larger.orders() < 2 * kOrdersMax) steps.step(larger);
  EXPECT_TRUE(larger.full());
  Ledger few_orders(4, kPositionsMax);
  EXPECT_FALSE(few_orders.take(live));
  Ledger few_positions(kOrdersMax, 1);
  EXPECT_FALSE(few_positions.take(live));
}

}  // namespace
}  // namespace tickpath::oeg
