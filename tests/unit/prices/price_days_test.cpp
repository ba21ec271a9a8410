// Times that start anew, as mdh gives them to its price store.
#include "mdh/price_feed.hpp"
#include "tests/unit/prices/store_fixture.hpp"

namespace tickpath::prices::test {
namespace {

constexpr std::uint64_t kHour = 3'600 * kSecond;

class PriceDays : public PriceStores {
 protected:
  void trade(std::uint64_t time_ns, std::uint32_t price = 10'0000) {
    prices.on_update(trade_of(1, ++trace_, time_ns, price, 10));
    prices.flush();
  }
  std::vector<wire::HistoryLine> all(wire::HistoryKind kind) {
    std::vector<wire::HistoryLine> lines;
    (void)range(1, {.kind = kind}, lines);
    return lines;
  }
  std::uint64_t volume() {
    wire::LatestPrices latest;
    return client.get(symbol_name(1), latest) == PriceStatus::kOk ? latest.day_bar.volume : 0;
  }
  std::uint64_t days() const { return store.counters().days.get(); }

  mdh::PriceFeed prices{store};

 private:
  std::uint64_t trace_ = 0;
};

TEST_F(PriceDays, AMidnightBeginsADay) {
  for (const double minutes : {1438.5, 1439.8})
    trade(static_cast<std::uint64_t>(minutes * 60 * static_cast<double>(kSecond)));
  for (const std::uint64_t seconds : {5, 70, 130, 36'000, 36'001}) trade(seconds * kSecond);
  EXPECT_EQ(days(), 1u);
  const auto trades = entries_of<wire::PriceTrade>(all(wire::HistoryKind::kTrades));
  ASSERT_EQ(trades.size(), 5u);
  EXPECT_EQ(trades[0].time_ns, 5 * kSecond);
  EXPECT_EQ(trades[4].time_ns, 36'001 * kSecond);
  EXPECT_EQ(all(wire::HistoryKind::kBars1m).size(), 3u) << "and one that may grow";
  EXPECT_EQ(volume(), 50u);
}

TEST_F(PriceDays, TheClockFollowsMessagesThatChangeNoPrice) {
  wire::BookUpdate other = trade_of(wire::kNoInstrument, 1, 23 * kHour, 0, 0);
  other.kind = wire::UpdateKind::kInformation;
  prices.on_update(other);
  prices.on_update(trade_of(1, 2, 1 * kHour, 10'0000, 10));  // in the same burst
  prices.flush();
  EXPECT_EQ(days(), 1u);
  ASSERT_EQ(client.read_info(), PriceStatus::kOk);
  EXPECT_EQ(client.info().clock_ns, 1 * kHour);
  EXPECT_EQ(volume(), 10u);
}

TEST_F(PriceDays, ADayThatIsToldBeginsOnceHoweverItsTimesAre) {
  trade(20 * kHour);
  prices.begin_day();  // S 'O', or a midnight's S 'D'
  trade(13 * kHour);
  EXPECT_EQ(days(), 1u);
  prices.begin_day();
  trade(14 * kHour);  // later in the day than the last one
  EXPECT_EQ(days(), 2u);
  EXPECT_EQ(volume(), 10u);
  trade(23 * kHour);
  prices.begin_day();
  trade(1 * kHour);
  EXPECT_EQ(days(), 3u) << "told, and seen in the times";
}

// What no message stands for has its instrument's last time, which may be yesterday's.
TEST_F(PriceDays, AnUpdateOfNoMessageIsNoMidnight) {
  trade(23 * kHour);
  trade(1 * kHour);
  wire::BookUpdate stale = quote_of(1, 3, 23 * kHour, 1, 2);
  stale.kind = wire::UpdateKind::kFeedState;
  prices.on_update(stale);
  trade(1 * kHour + 1);
  EXPECT_EQ(entries_of<wire::PriceTrade>(all(wire::HistoryKind::kTrades)).back().time_ns,
            1 * kHour + 1);
  EXPECT_EQ(days(), 1u);
  EXPECT_EQ(volume(), 20u);
}

TEST_F(PriceDays, MessagesThatWereBridgedMayHaveBeenANight) {
  trade(15 * kHour);
  prices.begin_session();
  trade(15 * kHour + 1);
  EXPECT_EQ(days(), 0u);
  prices.begin_session();
  trade(10 * kHour);
  EXPECT_EQ(days(), 1u);
}

}  // namespace
}  // namespace tickpath::prices::test
