// Random markets with random orders of ours in between, against the reference that searches a list.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "reference_market.hpp"
#include "report_log.hpp"
#include "sim/matching/matcher.hpp"

namespace tickpath::sim {
namespace {

// Prices in a band this narrow meet each other all the time.
constexpr std::uint32_t kPriceLow = 100;
constexpr std::uint32_t kPriceHigh = 108;
constexpr unsigned kLocates = 2;

// Sanitizers make a market ten times as slow.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kSeeds = 25;
#else
constexpr std::uint64_t kSeeds = 150;
#endif

MatcherOptions small_options(HaltRule rule) {
  MatcherOptions options;
  options.book = {.orders_max = 4096, .levels_max = 1024};
  options.live_orders_max = 4096;
  options.order_ids_max = 8192;
  options.halt_rule = rule;
  return options;
}

class RandomMarket {
 public:
  RandomMarket(std::uint64_t seed, HaltRule rule)
      : random_(seed), rule_(rule), matcher_(small_options(rule), log_) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      ASSERT_EQ(log_.brief.size(), reference_.log.size()) << "after step " << i;
      for (; compared_ < log_.brief.size(); ++compared_)
        ASSERT_EQ(log_.brief[compared_], reference_.log[compared_]) << "after step " << i;
    }
    check_conservation();
    matcher_.close();
    reference_.close();
    ASSERT_EQ(log_.brief, reference_.log);
    EXPECT_EQ(matcher_.live_orders(), 0u);
  }

  const MatcherCounters& counters() const { return matcher_.counters(); }

 private:
  std::uint32_t pick(std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random_);
  }
  std::uint64_t some_reference() { return pick(1, references_); }  // often gone already
  std::uint64_t some_order() {
    return orders_ == 0 ? 1 : pick(orders_ > 40 ? orders_ - 40 : 1, orders_);
  }
  std::uint64_t fresh_id() { return pick(0, 30) == 0 ? some_order() : ++orders_; }
  Locate some_locate() { return static_cast<Locate>(pick(1, kLocates)); }
  Side some_side() { return pick(0, 1) == 0 ? Side::kBuy : Side::kSell; }
  std::uint32_t some_price() { return pick(kPriceLow, kPriceHigh); }
  std::uint32_t some_shares() { return pick(0, 40) == 0 ? 0 : pick(1, 20); }
  Party some_party() {
    return {static_cast<std::uint8_t>(pick(0, 1)), static_cast<std::uint8_t>(pick(1, 2))};
  }

  void step() {
    const std::uint32_t what = pick(0, 99);
    if (what < 45) return recorded_event();
    if (what < 70) return enter();
    if (what < 80) return cancel();
    if (what < 98) return replace();
    const auto state = pick(0, 2) == 0 ? wire::TradingState::kHalted : wire::TradingState::kTrading;
    const Locate locate = some_locate();
    matcher_.on_trading_state(locate, state);
    reference_.trading_state(locate, state);
  }

  void recorded_event() {
    const std::uint32_t what = pick(0, 99);
    const std::uint32_t shares = some_shares();
    const std::uint32_t price = some_price();
    const std::uint64_t reference = some_reference();
    if (what < 45) {
      const std::uint64_t fresh = pick(0, 50) == 0 ? reference : ++references_;
      const Locate locate = some_locate();
      const Side side = some_side();
      matcher_.on_add(locate, fresh, side, shares, price);
      reference_.add(locate, fresh, side, shares, price);
    } else if (what < 60) {
      matcher_.on_execute(reference, shares);
      reference_.execute(reference, shares, 0, true);
    } else if (what < 67) {
      const bool printable = pick(0, 2) != 0;
      matcher_.on_execute_at(reference, shares, price, printable);
      reference_.execute(reference, shares, price, printable);
    } else if (what < 74) {
      matcher_.on_reduce(reference, shares);
      reference_.reduce(reference, shares);
    } else if (what < 82) {
      matcher_.on_delete(reference);
      reference_.remove(reference);
    } else if (what < 92) {
      const std::uint64_t fresh = pick(0, 20) == 0 ? some_reference() : ++references_;
      matcher_.on_replace(reference, fresh, shares, price);
      reference_.replace(reference, fresh, shares, price);
    } else {
      const Locate locate = some_locate();
      matcher_.on_hidden_trade(locate, shares, price);
      reference_.hidden_trade(locate, shares, price);
    }
  }

  void enter() {
    NewOrder order;
    order.order_id = fresh_id();
    order.locate = pick(0, 40) == 0 ? wire::kNoInstrument : some_locate();
    order.side = some_side();
    order.type = pick(0, 7) == 0 ? OrderType::kMarket : OrderType::kLimit;
    order.time_in_force = pick(0, 4) == 0 ? TimeInForce::kImmediateOrCancel : TimeInForce::kDay;
    order.shares = pick(0, 60) == 0 ? kOrderSharesMax + 1 : some_shares();
    if (order.type == OrderType::kLimit) order.price = {pick(0, 40) == 0 ? 0 : some_price()};
    order.party = some_party();
    sides_[order.order_id] = {order.locate, order.side, order.party};
    matcher_.enter(order);
    reference_.enter(order, rule_);
  }
  void cancel() {
    CancelOrder request;
    request.target_order_id = some_order();
    request.order_id = fresh_id();
    describe_target(request);
    matcher_.cancel(request);
    reference_.cancel(request);
  }
  void replace() {
    ReplaceOrder request;
    request.target_order_id = some_order();
    request.order_id = fresh_id();
    describe_target(request);
    request.shares = some_shares();
    request.price = {pick(0, 40) == 0 ? 0 : some_price()};
    sides_.try_emplace(request.order_id, sides_[request.target_order_id]);
    matcher_.replace(request);
    reference_.replace(request, rule_);
  }
  // Mostly what the target is, sometimes something else.
  template <class Request>
  void describe_target(Request& request) {
    const Known known = sides_[request.target_order_id];
    const bool wrong = pick(0, 20) == 0;
    request.locate = wrong ? some_locate() : known.locate;
    request.side = wrong ? some_side() : known.side;
    request.party = wrong ? some_party() : known.party;
  }

  // Every share that someone bought someone sold, and no recorded share twice to us.
  void check_conservation() {
    const MatcherCounters& c = matcher_.counters();
    std::map<std::uint32_t, RecordedAccount> ours;
    std::uint64_t bought = 0;
    std::uint64_t sold = 0;
    for (const Report& r : log_.all) {
      if (r.kind != ReportKind::kFill) continue;
      const std::int64_t sign = r.side == Side::kBuy ? 1 : -1;
      (sign > 0 ? bought : sold) += r.last_shares;
      ours[r.locate].position_shares += sign * r.last_shares;
      ours[r.locate].cash = ours[r.locate].cash - Price{r.last_price} * (sign * r.last_shares);
    }
    EXPECT_EQ(bought, c.bought_from_recorded.get() + c.traded_live.get());
    EXPECT_EQ(sold, c.sold_to_recorded.get() + c.traded_live.get());
    for (const auto& [locate, account] : ours) {
      const RecordedAccount& other = matcher_.recorded_account(static_cast<Locate>(locate));
      EXPECT_EQ(account.position_shares + other.position_shares, 0);
      EXPECT_EQ((account.cash + other.cash).value, 0);
    }
    EXPECT_EQ(c.taken.get(), c.taken_released.get() + matcher_.taken_in_book());
    EXPECT_EQ(matcher_.taken_in_book(), reference_.taken_in_book());
    EXPECT_EQ(c.new_orders.get(), c.accepted.get() + c.rejected.get());
    matcher_.book().verify();
  }

  struct Known {
    std::uint32_t locate = 1;
    Side side = Side::kBuy;
    Party party{};
  };
  std::mt19937_64 random_;
  HaltRule rule_;
  ReportLog log_;
  Matcher matcher_;
  ReferenceMarket reference_;
  std::map<std::uint64_t, Known> sides_;
  std::size_t compared_ = 0;
  std::uint32_t references_ = 1;
  std::uint32_t orders_ = 0;
};

class MatcherProperty : public testing::TestWithParam<HaltRule> {};

TEST_P(MatcherProperty, GivesTheReferencesReportsOnRandomMarkets) {
  std::uint64_t fills[kFillSourceCount] = {};
  std::uint64_t bent = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomMarket market(seed, GetParam());
    market.run(600);
    if (HasFatalFailure()) return;
    for (std::size_t i = 0; i < kFillSourceCount; ++i)
      fills[i] += market.counters().filled_shares[i].get();
    bent += market.counters().bent_executed.get();
  }
  // A stream that never reached a rule would prove nothing about it.
  for (std::size_t i = 1; i < kFillSourceCount; ++i)
    EXPECT_GT(fills[i], 4 * kSeeds) << name(static_cast<FillSource>(i));
  EXPECT_GT(bent, kSeeds);
}

INSTANTIATE_TEST_SUITE_P(HaltRules, MatcherProperty,
                         testing::Values(HaltRule::kReject, HaltRule::kRest));

}  // namespace
}  // namespace tickpath::sim
