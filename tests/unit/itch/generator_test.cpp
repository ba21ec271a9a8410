#include "sim/generator/generator.hpp"

#include <set>
#include <unordered_map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/recordings/binary_file.hpp"
#include "tests/support/generated_messages.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch {
namespace {

using testing::HasSubstr;

GeneratorOptions options_of(std::uint64_t seed, std::uint32_t symbols, std::uint64_t messages) {
  return {.symbols = symbols, .messages = messages, .seed = seed};
}

// Replays a generated recording into plain books, and fails on the first impossible message.
class Auditor {
 public:
  void operator()(const SystemEvent& m) noexcept { events_ += m.event_code; }
  void operator()(const StockDirectory& m) noexcept {
    EXPECT_TRUE(stocks_.emplace(m.header.stock_locate, m.stock.view()).second);
  }
  void operator()(const StockTradingAction& m) noexcept {
    states_[m.header.stock_locate] = m.trading_state;
  }
  void operator()(const AddOrder& m) noexcept { add(m); }
  void operator()(const AddOrderMpid& m) noexcept { add(m); }
  void operator()(const OrderExecuted& m) noexcept {
    execute(m.header, m.order_reference_number, m.executed_shares);
  }
  void operator()(const OrderExecutedWithPrice& m) noexcept {
    execute(m.header, m.order_reference_number, m.executed_shares);
  }
  void operator()(const OrderCancel& m) noexcept {
    const Order* order = find(m.header, m.order_reference_number);
    ASSERT_NE(order, nullptr);
    EXPECT_LT(m.cancelled_shares, order->shares);
    take(m.order_reference_number, m.cancelled_shares);
  }
  void operator()(const OrderDelete& m) noexcept {
    const Order* order = find(m.header, m.order_reference_number);
    ASSERT_NE(order, nullptr);
    take(m.order_reference_number, order->shares);
  }
  void operator()(const OrderReplace& m) noexcept {
    const Order* order = find(m.header, m.original_order_reference_number);
    ASSERT_NE(order, nullptr);
    const bool buy = order->buy;
    take(m.original_order_reference_number, order->shares);
    insert(m.header.stock_locate, m.new_order_reference_number, buy, m.price, m.shares);
  }
  void operator()(const NonCrossTrade& m) noexcept { expect_match(m.match_number); }
  void operator()(const CrossTrade& m) noexcept { expect_match(m.match_number); }
  void operator()(const auto&) noexcept {}

  const std::string& events() const { return events_; }
  std::size_t stocks() const { return stocks_.size(); }
  // Every symbol has a quote: no side of a book ran dry.
  std::size_t quoted() const {
    std::size_t count = 0;
    for (const auto& [locate, book] : books_) count += !book.bids.empty() && !book.asks.empty();
    return count;
  }

 private:
  struct Order {
    std::uint16_t locate;
    bool buy;
    std::uint32_t price;
    std::uint32_t shares;
  };
  struct Book {
    // price -> references in the order of time
    std::map<std::uint32_t, std::set<std::uint64_t>, std::greater<>> bids;
    std::map<std::uint32_t, std::set<std::uint64_t>> asks;
  };

  template <class Add>
  void add(const Add& m) {
    EXPECT_EQ(m.stock.view(), stocks_[m.header.stock_locate]);
    insert(m.header.stock_locate, m.order_reference_number, m.buy_sell_indicator == 'B', m.price,
           m.shares);
  }
  // References rise, so a set is a queue in the order of time.
  void insert(std::uint16_t locate, std::uint64_t reference, bool buy, std::uint32_t price,
              std::uint32_t shares) {
    EXPECT_GT(reference, last_reference_);
    last_reference_ = reference;
    EXPECT_GT(shares, 0U);
    EXPECT_GT(price, 0U);
    orders_[reference] = {locate, buy, price, shares};
    Book& book = books_[locate];
    if (buy) {
      book.bids[price].insert(reference);
    } else {
      book.asks[price].insert(reference);
    }
    if (!book.bids.empty() && !book.asks.empty()) {
      EXPECT_LT(book.bids.begin()->first, book.asks.begin()->first) << "locked or crossed";
    }
  }
  const Order* find(const Header& header, std::uint64_t reference) {
    const auto order = orders_.find(reference);
    EXPECT_NE(order, orders_.end()) << reference;
    if (order == orders_.end()) return nullptr;
    EXPECT_EQ(order->second.locate, header.stock_locate);
    return &order->second;
  }
  void take(std::uint64_t reference, std::uint32_t shares) {
    Order& order = orders_[reference];
    ASSERT_GE(order.shares, shares);
    order.shares -= shares;
    if (order.shares > 0) return;
    Book& book = books_[order.locate];
    const auto erase = [&](auto& side) {
      side[order.price].erase(reference);
      if (side[order.price].empty()) side.erase(order.price);
    };
    if (order.buy) {
      erase(book.bids);
    } else {
      erase(book.asks);
    }
    orders_.erase(reference);
  }
  void execute(const Header& header, std::uint64_t reference, std::uint32_t shares) {
    const Order* order = find(header, reference);
    ASSERT_NE(order, nullptr);
    EXPECT_EQ(states_[header.stock_locate], 'T') << "traded while halted";
    Book& book = books_[order->locate];
    const std::uint64_t first =
        order->buy ? *book.bids.begin()->second.begin() : *book.asks.begin()->second.begin();
    EXPECT_EQ(reference, first) << "not the first in price and time";
    take(reference, shares);
    ++matches_;
  }
  void expect_match(std::uint64_t number) {
    EXPECT_GT(number, last_match_);
    last_match_ = number;
  }

  std::map<std::uint16_t, std::string> stocks_;
  std::map<std::uint16_t, char> states_;
  std::map<std::uint16_t, Book> books_;
  std::unordered_map<std::uint64_t, Order> orders_;
  std::string events_;
  std::uint64_t last_reference_ = 0;
  std::uint64_t last_match_ = 0;
  std::uint64_t matches_ = 0;
};

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
  EXPECT_GT(share("C"), 0.0002);
  EXPECT_GT(share("J"), 0.0);
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

// Of all days: what begins and ends each, what auctions and halts bring.
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
