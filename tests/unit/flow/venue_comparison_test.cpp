#include "common/feeds/flow/venue_comparison.hpp"

#include <array>
#include <memory>

#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "common/feeds/generator/venues.hpp"
#include "common/feeds/itch/codec.hpp"

namespace tickpath::flow {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// A recording that a test writes by hand.
class Written final : public itch::RecordingReader {
 public:
  template <class Message>
  Written& at(std::uint64_t time_ns, Message message) {
    message.header.timestamp = time_ns;
    std::array<std::byte, itch::kMaxMessageBytes> bytes;
    const std::size_t length = itch::encode(message, bytes.data());
    messages_.push_back(
        {{bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}, time_ns});
    return *this;
  }
  Written& list(std::uint16_t locate, const char* stock) {
    return at(0, itch::StockDirectory{.header = {locate, 0, 0}, .stock = itch::Stock(stock)});
  }
  Written& hours(std::uint64_t time_ns, char code) {
    return at(time_ns, itch::SystemEvent{.header = {}, .event_code = code});
  }
  Written& state(std::uint64_t time_ns, std::uint16_t locate, char state) {
    return at(time_ns, itch::StockTradingAction{.header = {locate, 0, 0}, .trading_state = state});
  }
  Written& add(std::uint64_t time_ns, std::uint16_t locate, std::uint64_t reference, char side,
               std::uint32_t price) {
    return at(time_ns, itch::AddOrder{.header = {locate, 0, 0},
                                      .order_reference_number = reference,
                                      .buy_sell_indicator = side,
                                      .shares = 100,
                                      .price = price});
  }
  Written& remove(std::uint64_t time_ns, std::uint16_t locate, std::uint64_t reference) {
    return at(time_ns,
              itch::OrderDelete{.header = {locate, 0, 0}, .order_reference_number = reference});
  }

  itch::ReadStatus next(itch::RecordedMessage& message) override {
    if (next_ == messages_.size()) return itch::ReadStatus::kEnd;
    message = {messages_[next_].first, messages_[next_].second};
    ++next_;
    return itch::ReadStatus::kMessage;
  }
  std::uint64_t file_bytes_read() const override { return 0; }
  std::uint64_t file_bytes_total() const override { return 0; }
  itch::RecordingFormat format() const noexcept override {
    return itch::RecordingFormat::kBinaryFile;
  }

 private:
  std::vector<std::pair<std::vector<std::byte>, std::uint64_t>> messages_;
  std::size_t next_ = 0;
};

VenueComparison compare(itch::RecordingReader& a, itch::RecordingReader& b) {
  std::array<itch::RecordingReader*, 2> both{&a, &b};
  return compare_venues(both);
}

// The first venue's quote goes up by two ticks at 10 ms, the second's follows at 12 ms; at 20 ms
// the second's ask comes down to the first's bid, and leaves at 25 ms.
TEST(VenueComparison, MeasuresHowLongQuotesAreCrossedAndLockedAndWhoMovedFirst) {
  Written a, b;
  a.list(1, "AAA").hours(0, 'Q').add(0, 1, 1, 'B', 10'000).add(0, 1, 2, 'S', 10'100);
  a.remove(10 * kMs, 1, 2).add(10 * kMs, 1, 3, 'S', 10'300).add(10 * kMs, 1, 4, 'B', 10'200);
  a.hours(40 * kMs, 'M');
  b.list(7, "AAA").hours(0, 'Q').add(0, 7, 1, 'B', 10'000).add(0, 7, 2, 'S', 10'100);
  b.remove(12 * kMs, 7, 2).add(12 * kMs, 7, 3, 'S', 10'300).add(12 * kMs, 7, 4, 'B', 10'100);
  b.remove(20 * kMs, 7, 4).add(20 * kMs, 7, 5, 'S', 10'200).remove(25 * kMs, 7, 5);
  b.hours(40 * kMs, 'M');
  const VenueComparison all = compare(a, b);
  EXPECT_EQ(all.symbols, 1U);
  EXPECT_EQ(all.compared_ns, 40 * kMs);
  EXPECT_EQ(all.crossed.times, 1U);
  EXPECT_EQ(all.crossed.total_ns, 2 * kMs);
  EXPECT_EQ(all.crossed.median_ns, 2 * kMs);
  EXPECT_EQ(all.crossed.longest_ns, 2 * kMs);
  EXPECT_EQ(all.locked.times, 1U);
  EXPECT_EQ(all.locked.total_ns, 5 * kMs);
  EXPECT_EQ(all.busiest.symbol, "AAA");
  EXPECT_EQ(all.busiest.crossed_ns, 2 * kMs);
  EXPECT_DOUBLE_EQ(all.leads[0], 1);
  EXPECT_DOUBLE_EQ(all.leads[1], 0);
  EXPECT_GT(all.correlation[lag_bin(2 * kMs)], 0.5);
  EXPECT_EQ(all.correlation[lag_bin(-2 * std::int64_t{kMs})], 0);
}

// What one instant brings is one step; neither a pause nor the time outside the hours counts.
TEST(VenueComparison, ComparesInstantsWhileBothTrade) {
  Written a, b;
  a.list(1, "AAA")
      .list(2, "ONLY")
      .hours(0, 'S')
      .add(0, 1, 1, 'B', 10'000)
      .add(0, 1, 2, 'S', 10'100);
  b.list(1, "AAA").hours(0, 'S').add(0, 1, 1, 'B', 10'200).add(0, 1, 2, 'S', 10'300);
  a.hours(kMs, 'Q').state(2 * kMs, 1, 'P').state(5 * kMs, 1, 'T');
  b.hours(kMs, 'Q');
  a.remove(6 * kMs, 1, 1).remove(6 * kMs, 1, 2).add(6 * kMs, 1, 3, 'B', 11'000);
  a.add(6 * kMs, 1, 4, 'S', 11'100).hours(9 * kMs, 'M');
  b.remove(6 * kMs, 1, 1).remove(6 * kMs, 1, 2).add(6 * kMs, 1, 3, 'B', 11'000);
  b.add(6 * kMs, 1, 4, 'S', 11'100).hours(9 * kMs, 'M');
  const VenueComparison all = compare(a, b);
  EXPECT_EQ(all.symbols, 1U);
  EXPECT_EQ(all.compared_ns, 5 * kMs) << "1 to 2, and 5 to 9";
  EXPECT_EQ(all.crossed.times, 2U);
  EXPECT_EQ(all.crossed.total_ns, 2 * kMs) << "1 to 2, and 5 to 6";
  EXPECT_EQ(all.locked.times, 0U);
  EXPECT_DOUBLE_EQ(all.together, 1);
}

TEST(VenueComparison, PutsEachLagIntoItsBin) {
  constexpr std::size_t kSame = kLagEdgesNs.size();
  EXPECT_EQ(lag_bin(0), kSame);
  EXPECT_EQ(lag_bin(1), kSame + 1);
  EXPECT_EQ(lag_bin(30'000), kSame + 1);
  EXPECT_EQ(lag_bin(30'001), kSame + 2);
  EXPECT_EQ(lag_bin(10'000'000), kLagBins - 1);
  EXPECT_EQ(lag_bin(-10'000'000), 0U);
  EXPECT_EQ(lag_bin(-1), kSame - 1);
}

TEST(VenueComparison, RefusesLessThanTwoRecordings) {
  Written a;
  std::array<itch::RecordingReader*, 1> one{&a};
  EXPECT_THROW((void)compare_venues(one), Error);
}

VenueComparison generated(std::uint64_t seed, double lag_ns, const std::vector<double>& leads) {
  const itch::GeneratorOptions all{.symbols = 20, .messages = 200'000, .seed = seed};
  itch::VenueMarket market = itch::market_of(all, 2);
  set_shares(market, all, {60, 40}, leads);
  market.lag_ns = lag_ns;
  itch::Generator a(itch::options_of_venue(all, market, 0));
  itch::Generator b(itch::options_of_venue(all, market, 1));
  return compare(a, b);
}

double share(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

class GeneratedVenues : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, GeneratedVenues, testing::Range<std::uint64_t>(1, 4));

// The ranges of common/feeds/generator/DESIGN.md, "Several venues".
TEST_P(GeneratedVenues, AreLockedAndCrossedForAsLongAsTheDesignSays) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  const VenueComparison all = generated(GetParam(), itch::VenueMarket::kLagNs, {60, 40});
  EXPECT_EQ(all.symbols, 20U);
  const ComparedSymbol& busiest = all.busiest;
  EXPECT_EQ(busiest.symbol, "ZAAA");
  EXPECT_GT(share(busiest.locked_ns, busiest.compared_ns), 0.01);
  EXPECT_LT(share(busiest.locked_ns, busiest.compared_ns), 0.06);
  EXPECT_GT(share(busiest.crossed_ns, busiest.compared_ns), 0.001);
  EXPECT_LT(share(busiest.crossed_ns, busiest.compared_ns), 0.01);
  EXPECT_GT(share(all.locked.total_ns, all.compared_ns), 0.002);
  EXPECT_LT(share(all.locked.total_ns, all.compared_ns), 0.015);
  EXPECT_GT(share(all.crossed.total_ns, all.compared_ns), 0.0005);
  EXPECT_LT(share(all.crossed.total_ns, all.compared_ns), 0.005);
  EXPECT_GT(all.crossed.times, 200U);
  EXPECT_GT(all.crossed.median_ns, 200'000U);
  EXPECT_LT(all.crossed.median_ns, 450'000U);
  EXPECT_LE(all.crossed.longest_ns, 7 * kMs);
  EXPECT_NEAR(all.leads[0], 0.6, 0.08);
  EXPECT_NEAR(all.leads[1], 0.4, 0.08);
}

// A day of 2.5 s; the second one would begin anew at 09:30.
TEST(GeneratedVenues, AreComparedOnTheFirstOfSeveralDays) {
  const itch::GeneratorOptions all{.symbols = 4, .messages = 100'000, .days = 2};
  const itch::VenueMarket market = itch::market_of(all, 2);
  itch::Generator a(itch::options_of_venue(all, market, 0));
  itch::Generator b(itch::options_of_venue(all, market, 1));
  const VenueComparison compared = compare(a, b);
  EXPECT_GT(compared.compared_ns, 4 * 2'300 * kMs);
  EXPECT_LT(compared.compared_ns, 4 * 2'500 * kMs);
  EXPECT_LT(a.file_bytes_read(), 60'000U) << "the rest is not read";
}

TEST(GeneratedVenues, LeadAsOftenAsTheyAreTold) {
  const VenueComparison all = generated(1, itch::VenueMarket::kLagNs, {1, 9});
  EXPECT_NEAR(all.leads[1], 0.9, 0.08);
}

TEST(GeneratedVenues, AreNeverLockedOrCrossedWithoutALag) {
  const VenueComparison all = generated(1, 0, {60, 40});
  EXPECT_EQ(all.locked.times, 0U);
  EXPECT_EQ(all.crossed.times, 0U);
  EXPECT_GT(all.compared_ns, 100'000 * kMs);
  EXPECT_GT(all.correlation[lag_bin(0)], 0.7) << "their prices are one price";
  EXPECT_GT(all.together, 0.9);
}

}  // namespace
}  // namespace tickpath::flow
