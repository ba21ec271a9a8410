// P&L against cases computed by hand; prices in 1/10,000.
#include "risk/ledger.hpp"

#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace tickpath::risk {
namespace {

std::int64_t narrow(Int128 value) { return static_cast<std::int64_t>(value); }

class LedgerOf : public ::testing::Test {
 protected:
  Ledger ledger{16, 4, 8};
  Row& row = *ledger.row(1, 3);
  const StrategySums& sums() const { return ledger.strategies()[0]; }
};

TEST_F(LedgerOf, ALongPositionEarnsWhatTheMarkIsAboveItsAverageCost) {
  ledger.fill(row, {Side::kBuy, 100, {1'000'000}});  // 100 at 100.00
  ledger.fill(row, {Side::kBuy, 300, {1'020'000}});  // 300 at 102.00: average 101.50
  ledger.quote(3, 1'029'000, 1'031'000, 0);          // middle 103.00
  EXPECT_EQ(row.position, 400);
  EXPECT_EQ(row.cash, -406'000'000);
  EXPECT_EQ(narrow(row.cost), 406'000'000);
  EXPECT_EQ(narrow(row.realised()), 0);
  EXPECT_EQ(narrow(row.unrealised()), 400 * 15'000);  // 400 x 1.50
  EXPECT_EQ(narrow(row.notional), 412'000'000);
}

TEST_F(LedgerOf, ASaleRealisesAgainstTheAverageAndKeepsItForTheRest) {
  ledger.fill(row, {Side::kBuy, 100, {1'000'000}});
  ledger.fill(row, {Side::kBuy, 300, {1'020'000}});   // average 101.50
  ledger.fill(row, {Side::kSell, 200, {1'010'000}});  // 200 x -0.50 = -100.00
  EXPECT_EQ(narrow(row.realised()), -1'000'000);
  EXPECT_EQ(row.position, 200);
  EXPECT_EQ(narrow(row.cost), 203'000'000);  // still 101.50 each
  ledger.quote(3, 1'014'000, 1'016'000, 0);  // 101.50: nothing unrealised
  EXPECT_EQ(narrow(row.unrealised()), 0);
}

TEST_F(LedgerOf, AShortPositionEarnsWhenThePriceFalls) {
  ledger.fill(row, {Side::kSell, 100, {500'000}});  // short 100 at 50.00
  EXPECT_EQ(narrow(row.cost), -50'000'000);
  ledger.quote(3, 479'900, 480'100, 0);               // 48.00
  EXPECT_EQ(narrow(row.unrealised()), 100 * 20'000);  // 100 x 2.00
  ledger.fill(row, {Side::kBuy, 40, {490'000}});      // 40 x 1.00
  EXPECT_EQ(narrow(row.realised()), 400'000);
  EXPECT_EQ(narrow(row.unrealised()), 60 * 20'000);
}

TEST_F(LedgerOf, AFeeIsALossAndARebateAGain) {
  ledger.fill(row, {Side::kBuy, 100, {1'000'000}});
  ledger.quote(3, 1'000'000, 1'000'000, 0);
  ledger.charge(row, 1'234'001);  // 1.234001: in 1/10,000 rounded up, as a loss is
  EXPECT_EQ(narrow(row.pnl), -12'341);
  EXPECT_EQ(narrow(row.realised()), -12'341);
  EXPECT_EQ(narrow(sums().pnl), -12'341);
  EXPECT_EQ(narrow(sums().realised), -12'341);
  EXPECT_EQ(row.cash, -100'000'000) << "without fees";
  ledger.charge(row, -2'234'001);  // a rebate of 2.234001
  EXPECT_EQ(narrow(row.pnl), 10'000);
  EXPECT_EQ(narrow(ledger.total().pnl), 10'000);
  wire::PositionRow theirs{.position_shares = 100, .cash = -100'000'000, .fees = 5'000'000};
  ledger.adopt(row, theirs);
  EXPECT_EQ(narrow(sums().pnl), -50'000);
}

TEST_F(LedgerOf, AFillThroughZeroClosesOneSideAndOpensTheOtherAtItsPrice) {
  ledger.fill(row, {Side::kBuy, 100, {1'000'000}});
  ledger.fill(row, {Side::kSell, 250, {1'010'000}});  // closes 100 (+100.00), short 150 at 101.00
  EXPECT_EQ(row.position, -150);
  EXPECT_EQ(narrow(row.realised()), 1'000'000);
  EXPECT_EQ(narrow(row.cost), -151'500'000);
  ledger.fill(row, {Side::kBuy, 150, {1'000'000}});  // +150.00, flat
  EXPECT_EQ(row.position, 0);
  EXPECT_EQ(narrow(row.cost), 0);
  EXPECT_EQ(narrow(row.realised()), 2'500'000);
  EXPECT_EQ(row.cash, 2'500'000);
}

TEST_F(LedgerOf, TheMarkIsTheLastTradeWhileASideIsMissing) {
  ledger.fill(row, {Side::kBuy, 10, {1'000'000}});
  ledger.quote(3, 990'000, 0, 0);
  EXPECT_EQ(narrow(row.unrealised()), 0) << "no mark yet: nothing is made up";
  ledger.quote(3, 990'000, 0, 1'005'000);
  EXPECT_EQ(narrow(row.unrealised()), 50'000);
  ledger.quote(3, 1'000'000, 1'000'001, 0);  // the middle has half a unit
  EXPECT_EQ(narrow(row.unrealised()), 5);
}

TEST_F(LedgerOf, SumsAreOverInstrumentsAndTheTotalOverStrategies) {
  Row& second = *ledger.row(1, 4);
  Row& other = *ledger.row(9, 3);
  ledger.fill(row, {Side::kBuy, 100, {1'000'000}});
  ledger.fill(second, {Side::kSell, 10, {2'000'000}});
  ledger.fill(other, {Side::kSell, 100, {1'000'000}});
  ledger.quote(3, 1'000'000, 1'002'000, 0);  // 100.10: +10.00 for 1, -10.00 for 9
  ledger.quote(4, 1'990'000, 1'990'000, 0);  // 199.00: +10.00 for 1
  EXPECT_EQ(narrow(sums().pnl), 200'000);
  EXPECT_EQ(narrow(sums().gross_notional), 100'100'000 + 19'900'000);
  EXPECT_EQ(narrow(ledger.total().pnl), 100'000);
  EXPECT_EQ(narrow(ledger.total().gross_notional), 2 * 100'100'000 + 19'900'000);
}

TEST_F(LedgerOf, PricesAndSharesAtTheirLimitsDoNotOverflow) {
  constexpr std::uint32_t kMax = std::numeric_limits<std::uint32_t>::max();
  for (int i = 0; i < 4; ++i) ledger.fill(row, {Side::kBuy, kMax, {kMax}});
  EXPECT_EQ(row.position, 4 * std::int64_t{kMax});
  EXPECT_EQ(row.cash, std::numeric_limits<std::int64_t>::min()) << "saturated, not wrapped";
  ledger.quote(3, kMax, kMax, 0);
  EXPECT_EQ(row.notional, Int128{4} * kMax * kMax);
}

TEST_F(LedgerOf, RoundsTheCashOfAnExecutionOnceAndGivesBackWhatItTook) {
  ledger.fill(row, {Side::kBuy, 3, {12'345, 67}});  // 3 x 1.234567 = 3.703701
  EXPECT_EQ(row.cash, -37'037);
  ledger.fill(row, {Side::kSell, 150, {12'345, 1}});  // 185.17650 + 0.00015, half: away from zero
  EXPECT_EQ(row.cash, -37'037 + 1'851'752);
  EXPECT_EQ(narrow(row.realised()), row.cash + narrow(row.cost));
  ledger.fill(row, {Side::kSell, 150, {12'345, 1}, false});
  EXPECT_EQ(row.cash, -37'037);
  ledger.fill(row, {Side::kBuy, 3, {12'345, 67}, false});
  EXPECT_EQ(row.cash, 0);
  EXPECT_EQ(row.position, 0);
}

TEST_F(LedgerOf, AFullTableGivesNoRow) {
  for (std::uint32_t i = 0; i < 8; ++i) ledger.row(1, i);
  EXPECT_EQ(ledger.row(1, 9), nullptr);
  EXPECT_NE(ledger.row(1, 3), nullptr);
  EXPECT_EQ(ledger.row(1, 16), nullptr);
  for (std::uint8_t id = 2; id < 5; ++id) (void)ledger.strategy(id);
  EXPECT_EQ(ledger.strategy(7), Ledger::kNone);
}

// Random fills and quotes: the identities of ledger.hpp hold after each, and the sums are the sums.
TEST_F(LedgerOf, KeepsItsIdentitiesUnderRandomTrading) {
  std::mt19937 random(7);
  for (int step = 0; step < 50'000; ++step) {
    Row& at = *ledger.row(static_cast<std::uint8_t>(1 + random() % 2),
                          3u + static_cast<std::uint32_t>(random() % 2));
    const auto price = static_cast<std::uint32_t>(900'000 + random() % 200'000);
    if (random() % 3 == 0) {
      ledger.quote(at.instrument, price, price + 100, 0);
    } else {
      ledger.fill(at, {random() % 2 == 0 ? Side::kBuy : Side::kSell,
                       static_cast<std::uint32_t>(1 + random() % 500),
                       {price}});
    }
    ASSERT_EQ(at.realised(), Int128{at.cash} + at.cost);
    ASSERT_TRUE(at.position != 0 || at.cost == 0);
    ASSERT_TRUE((at.position > 0) == (at.cost > 0) || at.position == 0);
    Int128 pnl = 0;
    Int128 realised = 0;
    Int128 notional = 0;
    for (const Row& each : ledger.rows()) {
      pnl += each.pnl;
      realised += each.realised();
      notional += each.notional;
    }
    ASSERT_EQ(ledger.total().pnl, pnl);
    ASSERT_EQ(ledger.total().realised, realised);
    ASSERT_EQ(ledger.total().gross_notional, notional);
  }
}

}  // namespace
}  // namespace tickpath::risk
