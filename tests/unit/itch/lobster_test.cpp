#include "common/feeds/recordings/lobster.hpp"

#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/matching/feed_sink.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch {
namespace {

using test::Bytes;
using testing::HasSubstr;

struct Converted {
  test::Collected all;
  std::string damage;
  std::string remarks;
  LobsterCounts counts;
};

Converted convert(std::string_view text, std::string_view rows = {}) {
  const Bytes bytes = test::to_bytes(text);
  const Bytes book = test::to_bytes(rows);
  LobsterReader reader(test_support::open_memory(bytes, "t.csv"), "AAPL",
                       rows.empty() ? nullptr : test_support::open_memory(book, "b.csv"));
  return {.all = test::collect(reader),
          .damage = reader.damage(),
          .remarks = reader.remarks(),
          .counts = reader.counts()};
}

// What every converted day begins and ends with is tested once; the rest is about the events.
constexpr std::size_t kStartMessages = 6;
constexpr std::size_t kEndMessages = 3;

std::vector<Bytes> events_of(std::string_view text) {
  Converted converted = convert(text);
  EXPECT_EQ(converted.damage, "");
  std::vector<Bytes>& messages = converted.all.messages;
  return {messages.begin() + kStartMessages, messages.end() - kEndMessages};
}

Header at(std::uint64_t ns) { return {.stock_locate = 1, .tracking_number = 0, .timestamp = ns}; }

constexpr std::uint64_t kOpen = 34'200'000'000'000;

TEST(Lobster, StartsAndEndsTheDayAtTheTimesOfItsEvents) {
  const Converted converted = convert("34200.5,1,10,100,5853300,1\n34201,3,10,100,5853300,1\n");
  std::string types;
  for (const Bytes& m : converted.all.messages) types += static_cast<char>(m[0]);
  EXPECT_EQ(types, "SRHYSSADSSS");
  std::string codes;
  for (const Bytes& m : converted.all.messages) {
    if (m[0] == std::byte{'S'}) codes += decode_as<SystemEvent>(m.data()).event_code;
  }
  EXPECT_EQ(codes, "OSQMEC");
  EXPECT_EQ(decode_as<StockDirectory>(converted.all.messages[1].data()).stock.view(), "AAPL");
  EXPECT_EQ(decode_as<StockTradingAction>(converted.all.messages[2].data()).trading_state, 'T');
  EXPECT_EQ(converted.all.times.front(), kOpen + 500'000'000);
  EXPECT_EQ(converted.all.times.back(), kOpen + 1'000'000'000);
  EXPECT_THAT(converted.remarks, testing::StartsWith("no orderbook file beside it"));
}

TEST(Lobster, TurnsEachEventIntoItsItchMessage) {
  const auto events = events_of(
      "34200.000000001,1,10,100,5853300,1\n"
      "34200.000000002,2,10,30,5853300,1\n"
      "34200.000000003,4,10,20,5853300,1\n"
      "34200.000000004,3,10,50,5853300,1\n"
      "34200.000000005,5,0,7,5853400,-1\n"
      "34200.000000006,7,0,0,-1,-1\n"
      "34200.000000007,7,0,0,0,-1\n"
      "34200.000000008,7,0,0,1,-1\n"
      "34200.000000009,6,-1,12345,5853500,-1\n");
  ASSERT_EQ(events.size(), 9U);
  EXPECT_EQ(events[0], test::encoded(AddOrder{.header = at(kOpen + 1),
                                              .order_reference_number = 10,
                                              .buy_sell_indicator = 'B',
                                              .shares = 100,
                                              .stock = "AAPL",
                                              .price = 5853300}));
  EXPECT_EQ(events[1],
            test::encoded(OrderCancel{
                .header = at(kOpen + 2), .order_reference_number = 10, .cancelled_shares = 30}));
  EXPECT_EQ(events[2], test::encoded(OrderExecuted{.header = at(kOpen + 3),
                                                   .order_reference_number = 10,
                                                   .executed_shares = 20,
                                                   .match_number = 1}));
  EXPECT_EQ(events[3],
            test::encoded(OrderDelete{.header = at(kOpen + 4), .order_reference_number = 10}));
  EXPECT_EQ(events[4], test::encoded(NonCrossTrade{.header = at(kOpen + 5),
                                                   .buy_sell_indicator = 'S',
                                                   .shares = 7,
                                                   .stock = "AAPL",
                                                   .price = 5853400,
                                                   .match_number = 2}));
  const char states[] = {'H', 'Q', 'T'};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(events[5 + i],
              test::encoded(StockTradingAction{
                  .header = at(kOpen + 6 + i), .stock = "AAPL", .trading_state = states[i]}));
  }
  EXPECT_EQ(events[8], test::encoded(CrossTrade{.header = at(kOpen + 9),
                                                .shares = 12345,
                                                .stock = "AAPL",
                                                .cross_price = 5853500,
                                                .match_number = 3,
                                                .cross_type = 'O'}));
}

// At 13:05: no closing cross, which would end the orders that wait for it.
TEST(Lobster, ACrossInAHaltIsThatOfTheHalt) {
  const auto events = events_of(
      "46800,7,0,0,-1,1\n"
      "47100,6,-1,500,5853500,1\n"
      "47101,7,0,0,1,1\n"
      "57600,6,-1,700,5853600,1\n");
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(decode_as<CrossTrade>(events[1].data()).cross_type, 'H');
  EXPECT_EQ(decode_as<CrossTrade>(events[3].data()).cross_type, 'C');
}

TEST(Lobster, ReadsTimesExactly) {
  detail::LobsterEvent event;
  const auto time_of = [&event](std::string_view time) {
    EXPECT_EQ(detail::parse_lobster_line(std::string(time) + ",1,1,1,1,1", event), "") << time;
    return event.time_ns;
  };
  EXPECT_EQ(time_of("34200"), kOpen);
  EXPECT_EQ(time_of("34200.1"), kOpen + 100'000'000);
  EXPECT_EQ(time_of("34200.004241176"), kOpen + 4'241'176);
  EXPECT_EQ(time_of("34200.0042411769999"), kOpen + 4'241'176);
  EXPECT_EQ(time_of("86399.999999999"), 86'399'999'999'999U);
  EXPECT_EQ(time_of("0.000000001"), 1U);
}

TEST(Lobster, AddsAnOrderFromBeforeTheWindowJustBeforeALargerId) {
  const auto events = events_of(
      "34200,1,100,10,500,1\n"
      "34201,1,200,10,500,1\n"
      "34202,4,50,20,510,-1\n"
      "34203,3,50,30,510,-1\n"
      "34204,3,150,40,490,1\n");
  std::vector<std::pair<char, std::uint64_t>> order;
  for (const Bytes& m : events) {
    order.emplace_back(static_cast<char>(m[0]),
                       decode_as<OrderDelete>(m.data()).order_reference_number);
  }
  using Expected = std::vector<std::pair<char, std::uint64_t>>;
  EXPECT_EQ(
      order,
      (Expected{{'A', 50}, {'A', 100}, {'A', 150}, {'A', 200}, {'E', 50}, {'D', 50}, {'D', 150}}));
  EXPECT_EQ(events[0], test::encoded(AddOrder{.header = at(kOpen),
                                              .order_reference_number = 50,
                                              .buy_sell_indicator = 'S',
                                              .shares = 50,
                                              .stock = "AAPL",
                                              .price = 510}));
  EXPECT_EQ(decode_as<AddOrder>(events[2].data()).header.timestamp, kOpen + 1'000'000'000);
}

TEST(Lobster, CountsWhatItHadToCorrect) {
  const Converted converted = convert(
      "34200,1,1,10,500,1\n"
      "34200,1,1,10,500,1\n"  // the same id again
      "34199,4,1,15,500,1\n"  // earlier, and more than there is
      "34201,3,1,10,500,1\n"  // gone
      "34202,1,2,10,500,1\n"
      "34203,2,2,10,500,1\n"   // all of it: a deletion
      "34204,3,3,5,500,1\n");  // never submitted
  EXPECT_EQ(converted.damage, "");
  EXPECT_EQ(converted.counts.repeated_submissions, 1U);
  EXPECT_EQ(converted.counts.clamped_executions, 1U);
  EXPECT_EQ(converted.counts.dropped_events, 1U);
  EXPECT_EQ(converted.counts.time_reversals, 1U);
  EXPECT_EQ(converted.counts.earlier_orders, 1U);
  EXPECT_EQ(converted.counts.lines, 7U);
  EXPECT_THAT(converted.remarks, HasSubstr("1 executions were cut"));
  EXPECT_TRUE(std::is_sorted(converted.all.times.begin(), converted.all.times.end()));
  EXPECT_EQ(converted.all.counts.at('E'), 1U);
  EXPECT_EQ(converted.all.counts.at('D'), 2U);
}

TEST(Lobster, NamesTheLineThatIsWrongAfterEverythingBeforeIt) {
  const std::string good = "34200,1,1,10,500,1\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"34200,1,2,10,500", "not 6 fields separated by commas: \"34200,1,2,10,500\""},
      {"34200,1,2,10,500,1,9", "not 6 fields separated by commas"},
      {"", "not 6 fields"},
      {"x,1,2,10,500,1", "not a time of day: \"x\""},
      {"86400,1,2,10,500,1", "not a time of day"},
      {"34200.,1,2,10,500,1", "not a time of day"},
      {"34200,0,2,10,500,1", "not an event type from 1 to 7: \"0\""},
      {"34200,8,2,10,500,1", "not an event type"},
      {"34200,1,x,10,500,1", "not an order id: \"x\""},
      {"34200,1,0,10,500,1", "an order event without an order id"},
      {"34200,1,2,-5,500,1", "not a size: \"-5\""},
      {"34200,1,2,0,500,1", "the size is 0"},
      {"34200,1,2,10,1.5,1", "not a price: \"1.5\""},
      {"34200,1,2,10,0,1", "the price 0 does not fit"},
      {"34200,1,2,10,4294967296,1", "the price 4294967296 does not fit"},
      {"34200,1,2,10,500,0", "not a direction: \"0\""},
      {"34200,7,0,0,2,-1", "the price of a halt is not -1, 0 or 1"},
  };
  for (const auto& [line, what] : cases) {
    const Converted converted = convert(good + line + "\n" + good);
    EXPECT_EQ(converted.all.status, ReadStatus::kDamaged) << line;
    EXPECT_THAT(converted.damage, HasSubstr("t.csv: line 2: " + what)) << line;
    EXPECT_EQ(converted.all.messages.size(), kStartMessages + 1) << line;
  }
}

TEST(Lobster, RefusesAFileWhoseFirstLineIsNoEvent) {
  const auto error_of = [](std::string_view text) -> std::string {
    const Bytes bytes = test::to_bytes(text);
    return test_support::error_of<RecordingError>(
        [&] { LobsterReader reader(test_support::open_memory(bytes, "t.csv"), "AAPL"); });
  };
  EXPECT_EQ(error_of(""), "t.csv: the file is empty");
  EXPECT_THAT(error_of("Time,Type,OrderID,Size,Price,Direction\n"),
              HasSubstr("t.csv: line 1: not a time of day: \"Time\""));
  EXPECT_THAT(error_of(std::string(70'000, 'x')), HasSubstr("no end of line within 64 KiB"));
}

TEST(Lobster, ReadsLinesWithCarriageReturnsAndALastLineWithoutAnEnd) {
  const auto events = events_of("34200,1,1,10,500,1\r\n34201,3,1,10,500,1");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(static_cast<char>(events[1][0]), 'D');
}

TEST(Lobster, FindsSymbolAndDayInTheFileName) {
  const LobsterName name = parse_lobster_name("AAPL_2012-06-21_34200000_37800000_message_50.csv");
  EXPECT_EQ(name.stock, "AAPL");
  EXPECT_EQ(name.midnight_ns, 1'340'236'800'000'000'000u);
  for (const char* other :
       {"AAPL.csv", "_2012-06-21_message_1.csv", "AAPL_message_50.csv",
        "AAPL_2012-06-31_message_50.csv", "AAPL_2012-06-21_orderbook_50.csv", ""}) {
    EXPECT_EQ(parse_lobster_name(other).stock, "") << other;
  }
}

// (type, reference, shares; of E, X and D the last is 0) of each message about an order.
using OrderMessage = std::tuple<char, std::uint64_t, std::uint32_t>;
std::vector<OrderMessage> order_messages(const Converted& converted) {
  std::vector<OrderMessage> result;
  for (const Bytes& m : converted.all.messages) {
    const char type = static_cast<char>(m[0]);
    if (type == 'A') {
      const auto add = decode_as<AddOrder>(m.data());
      result.emplace_back(type, add.order_reference_number, add.shares);
    } else if (type == 'D' || type == 'E' || type == 'X') {
      result.emplace_back(type, decode_as<OrderDelete>(m.data()).order_reference_number, 0);
    }
  }
  return result;
}

constexpr std::uint64_t kUnnamed = detail::kUnnamedId;
static_assert((kUnnamed & sim::kOwnNumbers) == 0, "sim drops what has a number of its own");

// An order that came behind order 10 is behind it still.
TEST(LobsterOrderbook, AnOrderKeepsItsPlaceWhileItsLevelIsOutOfTheWindow) {
  const Converted converted = convert(
      "34200,1,10,100,500,1\n"
      "34201,1,11,60,510,1\n"  // one level is displayed: 500 leaves
      "34202,3,11,60,510,1\n"  // and is back, before its successor is gone
      "34203,4,10,30,500,1\n",
      "9999999999,0,500,100\n9999999999,0,510,60\n9999999999,0,500,100\n9999999999,0,500,70\n");
  EXPECT_EQ(converted.damage, "");
  EXPECT_EQ(order_messages(converted),
            (std::vector<OrderMessage>{{'A', 10, 100}, {'A', 11, 60}, {'D', 11, 0}, {'E', 10, 0}}));
  EXPECT_EQ(converted.counts.unnamed_orders, 0U);
}

TEST(LobsterOrderbook, ALevelThatIsBackIsWhatItsRowSays) {
  const std::string events =
      "34200,1,10,100,500,1\n"
      "34201,1,12,50,500,1\n"
      "34202,1,13,60,510,1\n"  // one level is displayed: 500 leaves
      "34203,3,13,60,510,1\n";
  const std::string rows =
      "9999999999,0,500,100\n9999999999,0,500,150\n9999999999,0,510,60\n9999999999,0,500,";
  // In turn: order 12 lost 20 shares, 30 more came behind it, the level has ended.
  const std::vector<OrderMessage> before{{'A', 10, 100}, {'A', 12, 50}, {'A', 13, 60}};
  const auto after = [&](const std::string& shares) {
    std::vector<OrderMessage> all = order_messages(convert(events, rows + shares));
    EXPECT_EQ(std::vector(all.begin(), all.begin() + 3), before);
    return std::vector(all.begin() + 3, all.end());
  };
  EXPECT_THAT(after("130\n"),
              ::testing::UnorderedElementsAre(OrderMessage{'D', 13, 0}, OrderMessage{'X', 12, 0}));
  EXPECT_THAT(after("180\n"), ::testing::UnorderedElementsAre(OrderMessage{'D', 13, 0},
                                                              OrderMessage{'A', kUnnamed, 30}));
  const std::string ended = rows.substr(0, rows.size() - 4);
  EXPECT_THAT(order_messages(convert(events, ended + "490,10\n")),
              ::testing::IsSupersetOf({OrderMessage{'D', 10, 0}, OrderMessage{'D', 12, 0}}));
}

TEST(LobsterOrderbook, SharesWithoutAnOrderAreAnUnnamedOneThatEventsTakeFrom) {
  const Converted converted = convert(
      "34200,1,10,100,500,1\n"  // 50 shares were there before
      "34201,4,7,20,500,1\n"    // of an order that the file never names
      "34202,3,8,30,500,1\n"
      "34203,4,9,40,500,1\n",  // now there is only order 10 to be executed
      "600,5,500,150\n600,5,500,130\n600,5,500,100\n600,5,500,60\n");
  EXPECT_EQ(converted.damage, "");
  EXPECT_EQ(order_messages(converted), (std::vector<OrderMessage>{{'A', kUnnamed, 50},
                                                                  {'A', kUnnamed + 1, 5},
                                                                  {'A', 10, 100},
                                                                  {'E', kUnnamed, 0},
                                                                  {'D', kUnnamed, 0},
                                                                  {'E', 10, 0}}));
  EXPECT_EQ(converted.counts.dropped_events, 0U);
}

// Damaged: the book is what the rows say all the same.
TEST(LobsterOrderbook, AnOrderThatIsNamedTwiceStaysWhereItWasNamedFirst) {
  const Converted converted = convert(
      "34200,1,10,100,500,1\n"  // out of sight at once
      "34201,1,10,50,510,1\n"   // again, elsewhere
      "34202,4,11,50,510,1\n",  // takes it, and the level comes where it was first
      "600,5,505,120\n600,5,510,50\n600,5,500,120\n");
  EXPECT_EQ(converted.damage, "");
  EXPECT_EQ(order_messages(converted), (std::vector<OrderMessage>{{'A', kUnnamed, 120},
                                                                  {'A', kUnnamed + 1, 5},
                                                                  {'A', 10, 100},
                                                                  {'A', kUnnamed + 2, 50},
                                                                  {'A', kUnnamed + 3, 20},
                                                                  {'E', kUnnamed + 2, 0},
                                                                  {'D', kUnnamed, 0}}));
}

TEST(LobsterOrderbook, MustHaveARowForEachEventAndNoMore) {
  const std::string events = "34200,1,10,100,500,1\n34201,2,10,40,500,1\n";
  const std::string row = "600,5,500,100\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {row, "b.csv: ends before the message file: 1 rows"},
      {row + row + row, "b.csv: line 3: has no line in the message file, which ends before it"},
      {row + "600,5,500\n", "b.csv: line 2: not 4 fields for each level"},
      {row + "600,x,500,1\n", "b.csv: line 2: not a size: \"x\""},
      {row + "-600,5,500,1\n", "b.csv: line 2: the price -600 does not fit"},
      {row + "600,5,500,1,600,5,490,1\n", "b.csv: line 2: the levels are not in order of price"},
  };
  for (const auto& [rows, what] : cases) {
    const Converted converted = convert(events, rows);
    EXPECT_EQ(converted.all.status, ReadStatus::kDamaged) << rows;
    EXPECT_THAT(converted.damage, HasSubstr(what)) << rows;
  }
}

TEST(Lobster, TakesOutWhatALaterEventProvesGone) {
  const Converted converted = convert(
      "34200,1,1,10,500,1\n"
      "34200,1,2,10,510,1\n"
      "34200,1,3,10,520,-1\n"
      "34201,4,1,5,500,1\n"   // 510 would have traded first
      "34202,1,4,10,520,1\n"  // 520 on offer would have traded with it
      "34203,7,0,0,-1,1\n"    // halted: orders gather
      "34204,1,5,10,510,-1\n");
  EXPECT_EQ(order_messages(converted), (std::vector<OrderMessage>{{'A', 1, 10},
                                                                  {'A', 2, 10},
                                                                  {'A', 3, 10},
                                                                  {'D', 2, 0},
                                                                  {'E', 1, 0},
                                                                  {'D', 3, 0},
                                                                  {'A', 4, 10},
                                                                  {'A', 5, 10}}));
  EXPECT_EQ(converted.counts.proven_gone, 2U);
  EXPECT_THAT(converted.remarks, HasSubstr("2 orders were taken out late"));
}

TEST(OpenRecording, FindsTheOrderbookFileBesideALobsterMessageFile) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "MSFT_2012-06-21_1_2_message_1.csv",
                   test::to_bytes("34200,1,1,10,500,1\n"));
  EXPECT_THAT(test::collect(*open_recording(folder / "MSFT_2012-06-21_1_2_message_1.csv")).counts,
              testing::Contains(testing::Pair('A', 1U)));
  test::write_file(folder / "MSFT_2012-06-21_1_2_orderbook_1.csv",
                   test::to_bytes("600,5,500,10\n"));
  const auto recording = open_recording(folder / "MSFT_2012-06-21_1_2_message_1.csv");
  EXPECT_THAT(test::collect(*recording).counts, testing::Contains(testing::Pair('A', 2U)));
}

TEST(OpenRecording, TakesLobsterFilesByNameAndTheirSymbolByNameOrOption) {
  const test::TemporaryFolder folder;
  const Bytes line = test::to_bytes("34200,1,1,10,500,1\n");
  const auto named = folder / "MSFT_2012-06-21_1_2_message_5.csv";
  test::write_file(named, line);
  test::write_file(folder / "other.csv", line);
  const auto stock_of = [](RecordingReader& reader) {
    return std::string(
        decode_as<StockDirectory>(test::collect(reader).messages[1].data()).stock.view());
  };
  EXPECT_EQ(stock_of(*open_recording(named)), "MSFT");
  EXPECT_EQ(stock_of(*open_recording(named, {.stock = "IBM"})), "IBM");
  EXPECT_EQ(stock_of(*open_recording(folder / "other.csv", {.stock = "IBM"})), "IBM");
  EXPECT_EQ(open_recording(named)->format(), RecordingFormat::kLobster);
  EXPECT_THROW(open_recording(folder / "other.csv"), RecordingError);
  EXPECT_THROW(open_recording(folder / "other.csv", {.stock = "TOOLONGNAME"}), RecordingError);
  EXPECT_THROW(open_recording(folder / "other.csv", {.stock = "A B"}), RecordingError);
}

}  // namespace
}  // namespace tickpath::itch
