#include "common/feeds/generator/generator.hpp"

#include <cstring>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/fnv.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "tests/support/generated_messages.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/itch/market_auditor.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch {
namespace {

using testing::HasSubstr;

using test::Auditor;

GeneratorOptions options_of(std::uint64_t seed, std::uint32_t symbols, std::uint64_t messages) {
  return {.symbols = symbols, .messages = messages, .seed = seed};
}

class GeneratorSeeds : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, GeneratorSeeds,
                         testing::Range<std::uint64_t>(1, 1 + test_support::seeds(12, 3)));

TEST_P(GeneratorSeeds, WriteAPossibleMarket) {
  const std::uint64_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto symbols = static_cast<std::uint32_t>(1 + seed * seed * 3);
  const GeneratorOptions options =
      options_of(seed, symbols, generator_minimum_messages(symbols) + 20'000 * (seed % 4));
  Generator generator(options);
  Auditor auditor;
  RecordedMessage message;
  std::uint64_t count = 0;
  std::uint64_t last_ns = options.start_ns;
  while (!testing::Test::HasFailure() && generator.next(message) == ReadStatus::kMessage) {
    ++count;
    EXPECT_EQ(decode(message.bytes, auditor), DecodeStatus::kOk);
    EXPECT_EQ(message.timestamp_ns, timestamp_ns(message.bytes.data()));
    EXPECT_GE(message.timestamp_ns, last_ns);
    last_ns = message.timestamp_ns;
  }
  EXPECT_EQ(count, options.messages);
  EXPECT_EQ(generator.file_bytes_read(), generator.file_bytes_total());
  EXPECT_EQ(auditor.events(), "OSQMEC");
  EXPECT_EQ(auditor.stocks(), symbols);
  EXPECT_EQ(auditor.quoted(), symbols);
  const double length_ns = static_cast<double>(last_ns - options.start_ns);
  const double expected_ns =
      static_cast<double>(options.messages) / options.messages_per_second * 1e9;
  EXPECT_NEAR(length_ns / expected_ns, 1.0, 1e-6);
}

TEST(Generator, GivesTheSameBytesForTheSameOptionsAndOthersForAnotherSeed) {
  const auto a = test_support::generate_framed(options_of(7, 20, 20'000));
  const auto b = test_support::generate_framed(options_of(7, 20, 20'000));
  const auto c = test_support::generate_framed(options_of(8, 20, 20'000));
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == c);
}

// Recordings that a report or a test names by its options must stay what they were. A change of
// what is generated changes these numbers, and says so.
TEST(Generator, GivesTheBytesThatItGaveBefore) {
  const auto digest_of = [](const GeneratorOptions& options) {
    const auto framed = test_support::generate_framed(options);
    return fnv1a({reinterpret_cast<const char*>(framed.data()), framed.size()});
  };
  GeneratorOptions days = options_of(5, 20, 60'000);
  days.days = 3;
  days.halts = 2;
  EXPECT_EQ(digest_of(options_of(7, 20, 20'000)), 5524427574672686586U);
  EXPECT_EQ(digest_of(days), 12442659153047969612U);
}

TEST(Generator, FramesWhatItGivesOneByOne) {
  const GeneratorOptions options = options_of(3, 5, 5'000);
  const auto framed = test_support::generate_framed(options);
  FrameCursor cursor(framed);
  Generator generator(options);
  RecordedMessage message;
  std::span<const std::byte> frame;
  while (generator.next(message) == ReadStatus::kMessage) {
    ASSERT_EQ(cursor.next(frame), FrameStatus::kMessage);
    ASSERT_TRUE(std::ranges::equal(frame, message.bytes));
  }
  EXPECT_EQ(cursor.next(frame), FrameStatus::kEndOfSession);
  EXPECT_EQ(cursor.remaining(), 0U);
}

TEST(Generator, HasTheMixOfARealFeed) {
  constexpr std::uint64_t kMessages = 300'000;
  Generator generator(options_of(1, 50, kMessages));
  auto share = [counts = test::collect(generator).counts](const char* types) mutable {
    std::uint64_t sum = 0;
    for (; *types != '\0'; ++types) sum += counts[*types];
    return static_cast<double>(sum) / kMessages;
  };
  // LOBSTER's AAPL: 48.1 % added, 44.6 % deleted, 0.5 % reduced, 4.4 % executed, 2.4 % hidden;
  // books that fill add more, and a fiftieth of the deletions are replacements.
  EXPECT_NEAR(share("AF"), 0.49, 0.03);
  EXPECT_NEAR(share("DU"), 0.43, 0.03);
  EXPECT_NEAR(share("EC"), 0.044, 0.01);
  EXPECT_NEAR(share("X"), 0.005, 0.002);
  EXPECT_NEAR(share("U"), 0.009, 0.003);
  EXPECT_NEAR(share("P"), 0.024, 0.006);
  EXPECT_GT(share("F"), 0.005);
  EXPECT_GT(share("C"), 0.00005) << "where the value is beyond the quote";
  EXPECT_GT(share("J"), 0.0);
}

// In half of them the value is at a quote; in two of five it has passed one.
TEST(Generator, PrintsMostHiddenTradesAtTheQuoteAndNoneOutsideIt) {
  Generator generator(options_of(1, 10, 60'000));
  Auditor auditor;
  RecordedMessage message;
  while (generator.next(message) == ReadStatus::kMessage)
    ASSERT_EQ(decode(message.bytes, auditor), DecodeStatus::kOk);
  ASSERT_GT(auditor.prints(), 1'000U);
  EXPECT_NEAR(
      static_cast<double>(auditor.prints_at_quote()) / static_cast<double>(auditor.prints()), 0.93,
      0.04);
}

TEST(Generator, OpensWithABurstAndLeavesLongGaps) {
  GeneratorOptions options = options_of(1, 10, 200'000);
  options.messages_per_second = 10'000;
  Generator generator(options);
  const test::Collected all = test::collect(generator);
  std::size_t open = 0;
  while (all.messages[open][0] != std::byte{'S'} ||
         decode_as<SystemEvent>(all.messages[open].data()).event_code != 'Q') {
    ++open;
  }
  const double burst_ns = static_cast<double>(all.times[open + 1000] - all.times[open]);
  EXPECT_NEAR(burst_ns, 2.4e6, 0.4e6);
  std::vector<std::uint64_t> gaps;
  for (std::size_t i = open + 1001; i < all.times.size(); ++i) {
    gaps.push_back(all.times[i] - all.times[i - 1]);
  }
  std::ranges::sort(gaps);
  // Exponential gaps have 6.6 times their median there.
  EXPECT_GT(gaps[gaps.size() * 99 / 100], 12 * gaps[gaps.size() / 2]) << "a heavy tail";
}

TEST(Generator, ConcentratesActivityOnTheFirstSymbols) {
  Generator generator(options_of(1, 1000, 300'000));
  std::map<std::uint16_t, std::uint64_t> counts;
  RecordedMessage message;
  while (generator.next(message) == ReadStatus::kMessage)
    ++counts[stock_locate(message.bytes.data())];
  EXPECT_GT(counts[1], 20'000U);
  EXPECT_GT(counts[1], 5 * counts[10]);
  EXPECT_GT(counts[10], 4 * counts[100]);
  EXPECT_EQ(counts.size(), 1001U) << "every symbol, and locate 0 for the day";
}

// What begins and ends each day, what auctions and halts bring.
TEST(Generator, FramesDaysWithAuctionsAndHaltsAndLeavesNoOrderOvernight) {
  GeneratorOptions options = options_of(5, 20, 60'000);
  options.days = 3;
  options.halts = 2;
  Generator generator(options);
  std::map<char, int> events;
  std::map<std::string, int> crosses;
  std::map<char, int> imbalances;
  std::map<std::uint64_t, std::uint32_t> open;  // shares
  const auto take = [&open](std::uint64_t reference, std::uint32_t shares) {
    ASSERT_GE(open[reference], shares);
    if ((open[reference] -= shares) == 0) open.erase(reference);
  };
  std::uint64_t last_reference = 0;
  int halts = 0;
  int resumed = 0;
  std::uint64_t count = 0;
  RecordedMessage message;
  while (generator.next(message) == ReadStatus::kMessage) {
    ++count;
    const std::byte* const bytes = message.bytes.data();
    switch (static_cast<char>(bytes[0])) {
      case 'S': {
        const char code = decode_as<SystemEvent>(bytes).event_code;
        ++events[code];
        EXPECT_TRUE(code != 'O' || open.empty()) << "orders of yesterday";
        break;
      }
      case 'A':
      case 'F': {
        const auto added = decode_as<AddOrder>(bytes);
        EXPECT_GT(added.order_reference_number, last_reference) << "numbers go on";
        last_reference = added.order_reference_number;
        open[last_reference] = added.shares;
        break;
      }
      case 'U': {
        const auto replaced = decode_as<OrderReplace>(bytes);
        open.erase(replaced.original_order_reference_number);
        last_reference = replaced.new_order_reference_number;
        open[last_reference] = replaced.shares;
        break;
      }
      case 'D':
        EXPECT_EQ(open.erase(decode_as<OrderDelete>(bytes).order_reference_number), 1U);
        break;
      case 'X': {
        const auto reduced = decode_as<OrderCancel>(bytes);
        take(reduced.order_reference_number, reduced.cancelled_shares);
        break;
      }
      case 'E':
      case 'C': {  // the same fields first
        const auto executed = decode_as<OrderExecuted>(bytes);
        take(executed.order_reference_number, executed.executed_shares);
        break;
      }
      case 'Q':
        ++crosses[std::string(1, decode_as<CrossTrade>(bytes).cross_type)];
        break;
      case 'I':
        ++imbalances[decode_as<NetOrderImbalanceIndicator>(bytes).cross_type];
        break;
      case 'H': {
        const char state = decode_as<StockTradingAction>(bytes).trading_state;
        halts += state == StockTradingAction::kPaused;
        resumed += state == StockTradingAction::kQuotationOnly;
        break;
      }
      default:
        break;
    }
  }
  EXPECT_EQ(count, options.messages);
  for (const char code : {'O', 'S', 'Q', 'M', 'E', 'C'}) EXPECT_EQ(events[code], 3) << code;
  EXPECT_EQ(crosses["O"], 3 * 20);
  EXPECT_EQ(crosses["C"], 3 * 20);
  EXPECT_EQ(crosses["H"], 3 * 2);
  EXPECT_EQ(imbalances['O'], 3 * 20 * 3);
  EXPECT_EQ(imbalances['C'], 3 * 20 * 3);
  EXPECT_EQ(imbalances['H'], 3 * 2);
  EXPECT_EQ(halts, 3 * 2);
  EXPECT_EQ(resumed, 3 * 2);
}

// A whole trading day of a Poisson flow, whose only clusters are the burst at the open.
class GeneratedDay : public testing::Test {
 protected:
  static constexpr std::uint64_t kSecondNs = 1'000'000'000, kOpenNs = 34'200 * kSecondNs;
  static constexpr std::uint64_t kDayNs = 23'400 * kSecondNs;
  static GeneratorOptions whole_day() {
    GeneratorOptions options = options_of(3, 10, 120'000);
    options.messages_per_second = 120'000 / 23'400.0;
    options.clustering = 0;
    options.halts = 4;
    return options;
  }
  void SetUp() override {
    Generator generator(whole_day());
    all_ = test::collect(generator);
  }
  // Messages of orders and trades in the half-hour around this time, since the open.
  double busy(std::uint64_t from_ns) const {
    double count = 0;
    for (std::size_t i = 0; i < all_.times.size(); ++i)
      count += std::strchr("AFDUXECP", static_cast<char>(all_.messages[i][0])) != nullptr &&
               all_.times[i] >= kOpenNs + from_ns &&
               all_.times[i] < kOpenNs + from_ns + 1'800 * kSecondNs;
    return count;
  }
  test::Collected all_;
};

// A parabola, three times as high at its ends: over half-hours 2.7 times.
TEST_F(GeneratedDay, IsThreeTimesAsBusyAtTheOpenAndTheCloseAsAtNoon) {
  const double noon = busy(kDayNs / 2 - 900 * kSecondNs);
  EXPECT_NEAR(busy(kSecondNs) / noon, 2.7, 0.25) << "behind the burst";
  EXPECT_NEAR(busy(kDayNs - 1'800 * kSecondNs) / noon, 2.7, 0.25);
}

TEST_F(GeneratedDay, PairsAThirdThenHalfThenAllOfTheSharesOfACross) {
  std::map<std::uint16_t, std::vector<NetOrderImbalanceIndicator>> told;
  int crosses = 0;
  for (const test::Bytes& message : all_.messages) {
    const char type = static_cast<char>(message[0]);
    if (type == NetOrderImbalanceIndicator::kType) {
      const auto m = decode_as<NetOrderImbalanceIndicator>(message.data());
      told[m.header.stock_locate].push_back(m);
    }
    if (type != CrossTrade::kType) continue;
    const auto cross = decode_as<CrossTrade>(message.data());
    const auto before = std::exchange(told[cross.header.stock_locate], {});
    if (cross.cross_type == 'H') continue;  // one round
    ++crosses;
    ASSERT_EQ(before.size(), 3u);
    for (std::size_t round = 0; round < 3; ++round) {
      EXPECT_EQ(before[round].paired_shares, cross.shares / (3 - round));
      EXPECT_EQ(before[round].imbalance_shares, cross.shares * (2 - round) / 10);
    }
  }
  EXPECT_EQ(crosses, 2 * 10);
}

TEST_F(GeneratedDay, PausesForAHundredthOfTheDay) {
  std::map<std::uint16_t, std::uint64_t> paused_ns;
  int resumed = 0;
  for (std::size_t i = 0; i < all_.messages.size(); ++i) {
    if (static_cast<char>(all_.messages[i][0]) != StockTradingAction::kType) continue;
    const auto action = decode_as<StockTradingAction>(all_.messages[i].data());
    const std::uint16_t locate = action.header.stock_locate;
    if (action.trading_state == StockTradingAction::kPaused) paused_ns[locate] = all_.times[i];
    if (action.trading_state != StockTradingAction::kTrading || !paused_ns.contains(locate))
      continue;
    ++resumed;
    EXPECT_NEAR(static_cast<double>(all_.times[i] - paused_ns[locate]) / kDayNs, 0.01, 0.001);
    paused_ns.erase(locate);
  }
  EXPECT_EQ(resumed, 4);
}

TEST(Generator, WithoutAuctionsHasNeitherCrossNorImbalance) {
  GeneratorOptions options = options_of(5, 20, 20'000);
  options.auctions = false;
  options.halts = 0;
  Generator generator(options);
  const auto counts = test::collect(generator).counts;
  for (const char type : {'Q', 'I', 'J'}) EXPECT_EQ(counts.count(type) ? counts.at(type) : 0, 0U);
}

TEST(Generator, NamesSymbolsByRank) {
  EXPECT_EQ(generated_symbol(0), "ZAAA");
  EXPECT_EQ(generated_symbol(27), "ZABB");
  EXPECT_EQ(generated_symbol(26 * 26 * 26 - 1), "ZZZZ");
  EXPECT_EQ(generated_symbol(26 * 26 * 26), "ZBAAA");
}

TEST(Generator, RefusesOptionsOutsideTheirRange) {
  const auto error_of = [](auto change) -> std::string {
    GeneratorOptions options;
    change(options);
    return test_support::error_of<RecordingError>([&] { Generator generator(options); });
  };
  EXPECT_THAT(error_of([](GeneratorOptions& o) { o.symbols = 0; }), HasSubstr("symbols is 0"));
  EXPECT_THAT(error_of([](GeneratorOptions& o) { o.symbols = 10'001; }), HasSubstr("1 to 10000"));
  EXPECT_THAT(error_of([](GeneratorOptions& o) { o.messages = 1'406; }),
              HasSubstr("messages is 1406, 100 symbols need 1407"));
  EXPECT_THAT(error_of([](GeneratorOptions& o) { o.messages_per_second = 0; }), HasSubstr("rate"));
  EXPECT_THAT(error_of([](GeneratorOptions& o) { o.clustering = 1.1; }), HasSubstr("clustering"));
  EXPECT_THAT(error_of([](GeneratorOptions& o) { o.days = 0; }), HasSubstr("days is 0"));
  EXPECT_THAT(error_of([](GeneratorOptions& o) { o.messages_per_second = 1; }),
              HasSubstr("past midnight"));
  EXPECT_EQ(error_of([](GeneratorOptions& o) { o.messages = 1'407; }), "no error");
}

}  // namespace
}  // namespace tickpath::itch
