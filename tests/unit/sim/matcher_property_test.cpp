// Random markets with random orders of ours in between, against the reference that searches a list.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "command_stream.hpp"
#include "random_stream.hpp"
#include "reference_market.hpp"
#include "report_log.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath::sim {
namespace {

// kReachedMin: how often each rule and reason must have been met; 0: not looked at, as the seeds
// left to sanitizers are too few to meet the rarest.
constexpr std::uint64_t kSeeds = test_support::seeds(40, 1);
constexpr std::uint64_t kReachedMin = test_support::kSanitized ? 0 : 40;
constexpr std::size_t kCommands = 8'000;

struct Rules {
  HaltRule halt;
  SelfMatchRule self_match;
  std::uint32_t band_basis_points = 0;
  CrossRule crosses = CrossRule::kRecorded;
  std::uint32_t price_low = 100;
};

// Orders seldom meet: queues become long, of many prices and of several orders at each.
constexpr std::size_t kDeepOrders = 600;
constexpr std::uint64_t kDeepSeeds = test_support::seeds(10, 1);

MatcherOptions options_of(const Rules& rules) {
  return {.book = {.orders_max = 4096, .levels_max = 1024},
          .live_orders_max = 4096,
          .order_ids_max = 1u << 16,
          .halt_rule = rules.halt,
          .self_match = rules.self_match,
          .display_shares_min = 1,
          .band_basis_points = rules.band_basis_points,
          .crosses = rules.crosses};
}

// One stream through both.
class Duel {
 public:
  explicit Duel(const Rules& rules)
      : matcher_(options_of(rules), log_),
        reference_(rules.halt, rules.self_match, rules.band_basis_points, rules.crosses) {}

  // Runs until the two disagree. Empty if they never do, else the first difference.
  std::string run(const Stream& stream) {
    for (const StreamCommand& command : stream) {
      apply(matcher_, command);
      apply(reference_, command);
      ++applied_;
      live_max_ = std::max<std::uint64_t>(live_max_, matcher_.live_orders());
      const std::size_t reports = std::max(log_.brief.size(), reference_.log.size());
      for (; compared_ < reports; ++compared_)
        if (at(log_.brief) != at(reference_.log))
          return "core:      " + at(log_.brief) + "\nreference: " + at(reference_.log) + "\n";
    }
    return matcher_.live_orders() == reference_.live_orders() ? "" : "live orders differ\n";
  }
  std::size_t applied() const { return applied_; }
  std::uint64_t live_orders_max() const { return live_max_; }
  const MatcherCounters& counters() const { return matcher_.counters(); }

  // Every share that someone bought someone sold, and no recorded share twice to us.
  void check_conservation() const {
    const MatcherCounters& c = matcher_.counters();
    std::map<std::uint32_t, RecordedAccount> ours;
    std::uint64_t bought = 0;
    std::uint64_t sold = 0;
    for (const Report& r : log_.all) {
      if (r.kind != ReportKind::kFill) continue;
      const std::int64_t sign = r.side == Side::kBuy ? 1 : -1;
      (sign > 0 ? bought : sold) += r.last_shares;
      ours[r.locate].position_shares += sign * r.last_shares;
      ours[r.locate].cash -= std::int64_t{r.last_price} * sign * r.last_shares;
    }
    EXPECT_EQ(bought, c.bought_from_recorded.get() + c.traded_live.get());
    EXPECT_EQ(sold, c.sold_to_recorded.get() + c.traded_live.get());
    for (const auto& [locate, account] : ours) {
      const RecordedAccount& other = matcher_.recorded_account(static_cast<Locate>(locate));
      EXPECT_EQ(account.position_shares + other.position_shares, 0);
      EXPECT_EQ(account.cash + other.cash, 0);
    }
    EXPECT_EQ(c.taken.get(), c.taken_released.get() + matcher_.taken_in_book());
    EXPECT_EQ(matcher_.taken_in_book(), reference_.taken_in_book());
    EXPECT_EQ(c.received.get(), c.accepted.get() + c.rejected.get());
    matcher_.book().verify();
  }
  std::uint64_t expired(Reason reason) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(log_.all, [&](const Report& r) {
      return r.kind == ReportKind::kExpired && r.reason == reason;
    }));
  }

 private:
  std::string at(const std::vector<LoggedReport>& log) const {
    std::ostringstream out;
    if (compared_ < log.size())
      out << log[compared_];
    else
      out << "nothing";
    return out.str();
  }

  ReportLog log_;
  Matcher matcher_;
  ReferenceMarket reference_;
  std::size_t compared_ = 0;
  std::size_t applied_ = 0;
  std::uint64_t live_max_ = 0;
};

std::string difference(const Stream& stream, const Rules& rules) {
  return std::make_unique<Duel>(rules)->run(stream);
}

// What the streams reached, over all seeds: one that never came to a rule proves nothing about it.
struct Reached {
  std::uint64_t fills[kFillSourceCount] = {};
  std::map<std::string, std::uint64_t> events;

  void add(const Duel& duel) {
    const MatcherCounters& c = duel.counters();
    for (std::size_t i = 0; i < kFillSourceCount; ++i) fills[i] += c.filled_shares[i].get();
    events["conflict"] += c.conflict_executed.get();
    events["triggered"] += c.triggered.get();
    events["repriced"] += c.repriced.get();
    events["replenished"] += c.replenished.get();
    // Not the core's own, or not to be reached here.
    const std::set<Reason> others{Reason::kCapacity, Reason::kDisplay, Reason::kRate,
                                  Reason::kAccounts, Reason::kTerms};
    for (std::size_t i = 1; i < kReasonCount; ++i)
      if (!others.contains(static_cast<Reason>(i)))
        events[std::string(describe(static_cast<Reason>(i)))] +=
            c.refused[i].get() + duel.expired(static_cast<Reason>(i));
  }
};

// Fails with the fewest commands of the stream that show a difference.
void expect_same_reports(Duel& duel, Stream stream, std::uint64_t seed, const Rules& rules) {
  const std::string failure = duel.run(stream);
  if (failure.empty()) return duel.check_conservation();
  stream.resize(duel.applied());
  const Stream least =
      minimised(stream, [&](const Stream& s) { return !difference(s, rules).empty(); });
  FAIL() << "seed " << seed << ", halt rule " << int(rules.halt) << ", self match rule "
         << int(rules.self_match) << "\n"
         << difference(least, rules) << print(least);
}

class MatcherProperty : public testing::TestWithParam<Rules> {};

TEST_P(MatcherProperty, GivesTheReferencesReportsInDeepBooks) {
  std::uint64_t most = 0;
  for (std::uint64_t seed = 1; seed <= kDeepSeeds && !HasFailure(); ++seed) {
    Duel duel(GetParam());
    RandomStream random(seed, {.prices = 40, .apart = 34, .orders = kDeepOrders, .calm = 40});
    expect_same_reports(duel, random.make(kCommands), seed, GetParam());
    most = std::max(most, duel.live_orders_max());
  }
  EXPECT_GT(most, kDeepOrders / 5);
}

TEST_P(MatcherProperty, GivesTheReferencesReportsOnRandomMarkets) {
  Reached reached;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Duel duel(GetParam());
    expect_same_reports(duel,
                        RandomStream(seed, {.price_low = GetParam().price_low}).make(kCommands),
                        seed, GetParam());
    if (HasFailure()) return;
    reached.add(duel);
  }
  if (kReachedMin == 0) return;
  for (std::size_t i = 1; i < kFillSourceCount; ++i)
    EXPECT_GT(reached.fills[i],
              (static_cast<FillSource>(i) == FillSource::kCross ? 4 : 50) * kSeeds)
        << name(static_cast<FillSource>(i));
  for (const auto& [what, count] : reached.events) {
    const bool only_when_refusing = what == describe(Reason::kNotTrading);
    if (only_when_refusing && GetParam().halt != HaltRule::kReject) continue;
    if (what == describe(Reason::kPriceBand) && GetParam().band_basis_points == 0) continue;
    const bool of_ticks =
        what == describe(Reason::kPriceTick) || what == describe(Reason::kStopTick);
    if (of_ticks && GetParam().price_low < 9'000) continue;
    EXPECT_GE(count, kReachedMin) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(
    EveryRule, MatcherProperty,
    testing::Values(Rules{HaltRule::kReject, SelfMatchRule::kCancelNewest},
                    Rules{HaltRule::kRest, SelfMatchRule::kCancelNewest, 0, CrossRule::kOwn},
                    Rules{HaltRule::kReject, SelfMatchRule::kCancelOldest},
                    Rules{HaltRule::kRest, SelfMatchRule::kCancelOldest, 300},
                    Rules{HaltRule::kReject, SelfMatchRule::kCancelBoth},
                    Rules{HaltRule::kRest, SelfMatchRule::kCancelBoth, 0, CrossRule::kRecorded,
                          9'994},
                    Rules{HaltRule::kReject, SelfMatchRule::kDecrement, 400},
                    Rules{HaltRule::kRest, SelfMatchRule::kDecrement, 0, CrossRule::kOwn}));

TEST(CommandStream, AFailingStreamIsCutDownToTheCommandsThatMatter) {
  Stream stream = RandomStream(7).make(test_support::kSanitized ? 500 : 2'000);
  // "Fails": an order with a display quantity was shown anew.
  const auto fails = [](const Stream& s) {
    Duel duel({HaltRule::kRest, SelfMatchRule::kCancelNewest});
    (void)duel.run(s);
    return duel.counters().replenished.get() != 0;
  };
  ASSERT_TRUE(fails(stream));
  stream = minimised(stream, fails);
  EXPECT_TRUE(fails(stream));
  // The order, who takes its first slice, and at most what it is pegged to.
  EXPECT_LE(stream.size(), 3u) << print(stream);
}

TEST(CommandStream, PrintsWhatCanBePastedIntoATest) {
  const Stream stream{
      Add{1, 2, Side::kSell, 100, 105},
      NewOrder{.order_id = 2, .price = {105}, .locate = 1, .shares = 20, .party = {0, 1}},
      State{1, wire::TradingState{2}}};
  EXPECT_EQ(print(stream),
            "const Stream stream{\n"
            "    Add{1, 2, Side::kSell, 100, 105},\n"
            "    NewOrder{.order_id = 2, .price = {105}, .locate = 1, .shares = 20, "
            ".party = {0, 1}, .side = Side::kBuy, .type = OrderType{2}, "
            ".time_in_force = TimeInForce{0}},\n"
            "    State{1, wire::TradingState{2}},\n"
            "};\n");
}

}  // namespace
}  // namespace tickpath::sim
