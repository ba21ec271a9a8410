#include <bit>
#include <random>

#include "tests/unit/mdh/feed_fixture.hpp"

namespace tickpath::mdh::test {
namespace {

using wire::FeedState;
using wire::TradingState;
using wire::UpdateKind;

TEST_F(FeedTest, PublishesEachMessageWithTheQuoteAfterIt) {
  send({directory(7, "AAPL"), add(7, "AAPL", 1, 'B', 300, 99'0000)});
  send({add(7, "AAPL", 2, 'S', 200, 100'0000), execute(7, 1, 100)});
  EXPECT_EQ(kinds(), (std::vector{UpdateKind::kFeedState, UpdateKind::kDirectory, UpdateKind::kAdd,
                                  UpdateKind::kAdd, UpdateKind::kExecute}));
  EXPECT_EQ(last().trace_id, 4u);
  EXPECT_EQ(last().instrument_id, 0u);
  EXPECT_EQ(last().price, 99'0000u);
  EXPECT_EQ(last().shares, 100u);
  EXPECT_EQ(last().side, Side::kBuy);
  EXPECT_EQ(last().best_bid, 99'0000u);
  EXPECT_EQ(last().best_bid_shares, 200u);
  EXPECT_EQ(last().best_ask, 100'0000u);
  EXPECT_EQ(last().best_ask_shares, 200u);
  EXPECT_EQ(last().feed_state(), FeedState::kGood);
}

TEST_F(FeedTest, TellsEveryChangeOfAnOrder) {
  send({add(7, "AAPL", 1, 'S', 300, 100'0000)});
  sink.updates.clear();
  send({encoded(itch::OrderExecutedWithPrice{.header = header(7),
                                             .order_reference_number = 1,
                                             .executed_shares = 50,
                                             .execution_price = 101'0000}),
        encoded(itch::OrderCancel{
            .header = header(7), .order_reference_number = 1, .cancelled_shares = 50}),
        encoded(itch::OrderReplace{.header = header(7),
                                   .original_order_reference_number = 1,
                                   .new_order_reference_number = 2,
                                   .shares = 500,
                                   .price = 99'0000}),
        remove(7, 2)});
  ASSERT_EQ(kinds(), (std::vector{UpdateKind::kExecute, UpdateKind::kCancel, UpdateKind::kReplace,
                                  UpdateKind::kDelete}));
  EXPECT_EQ(sink.updates[0].price, 101'0000u) << "the price of the execution, not of the order";
  EXPECT_EQ(sink.updates[0].best_ask_shares, 250u);
  EXPECT_EQ(sink.updates[1].best_ask_shares, 200u);
  EXPECT_EQ(sink.updates[2].price, 99'0000u);
  EXPECT_EQ(sink.updates[2].best_ask_shares, 500u);
  EXPECT_EQ(sink.updates[3].shares, 500u);
  EXPECT_EQ(sink.updates[3].best_ask, 0u);
}

TEST_F(FeedTest, TellsACrossedBookAsStaleWhileItLasts) {
  const auto states = [this] {
    std::vector<FeedState> result;
    for (const wire::BookUpdate& update : sink.updates) result.push_back(update.feed_state());
    return result;
  };
  send({trading(7, "AAPL", 'T'), add(7, "AAPL", 1'000, 'B', 300, 99'0000)});
  sink.updates.clear();
  send({add(7, "AAPL", 2'000, 'S', 200, 99'0000), add(8, "MSFT", 2'500, 'B', 1, 5'0000)});
  EXPECT_EQ(kinds(), (std::vector{UpdateKind::kAdd, UpdateKind::kFeedState, UpdateKind::kDirectory,
                                  UpdateKind::kAdd}));
  EXPECT_EQ(states(), (std::vector{FeedState::kStale, FeedState::kStale, FeedState::kGood,
                                   FeedState::kGood}));
  EXPECT_EQ(sink.updates[1].instrument_id, 0u);
  EXPECT_EQ(image().feed_state(), FeedState::kStale);
  EXPECT_EQ(feed.crossed().now().get(), 1u);
  sink.updates.clear();
  send({encoded(itch::OrderDelete{.header = header(7, 5'000), .order_reference_number = 2'000})});
  EXPECT_EQ(kinds(), (std::vector{UpdateKind::kDelete, UpdateKind::kFeedState}));
  EXPECT_EQ(states(), (std::vector{FeedState::kGood, FeedState::kGood}));
  EXPECT_EQ(feed.crossed()[0].times.get(), 1u);
  EXPECT_EQ(feed.crossed()[0].total_ns.get(), 3'000u);
  EXPECT_EQ(feed.crossed().now().get(), 0u);
}

// Orders gather unmatched: such a book is the venue's own. What is crossed when trading begins is
// not.
TEST_F(FeedTest, ABookThatCrossesInAHaltIsNotStaleBeforeItTrades) {
  for (const char state : {'H', 'P', 'Q'}) {
    const auto reference = static_cast<std::uint64_t>(state) * 10;
    send({trading(7, "AAPL", state), add(7, "AAPL", reference, 'B', 300, 99'0000),
          add(7, "AAPL", reference + 1, 'S', 300, 98'0000)});
    EXPECT_EQ(last().feed_state(), FeedState::kGood) << state;
    EXPECT_GE(last().best_bid, last().best_ask) << state;
    EXPECT_EQ(feed.crossed().times().get(), 0u) << state;
  }
  send({trading(7, "AAPL", 'T')});
  EXPECT_EQ(last().feed_state(), FeedState::kStale);
  EXPECT_EQ(feed.crossed().times().get(), 1u);
}

TEST_F(FeedTest, ASymbolThatIsNoneIsRefusedAndNeverListed) {
  for (const char* symbol : {"\xff\xfe", "A\nB", "A B", " AB", ""}) {
    sink.updates.clear();
    const std::uint64_t refused = feed.counters().book.bad_symbols.get();
    const std::uint64_t reference = next;
    send({directory(7, symbol), trading(7, symbol, 'T'), add(7, symbol, reference, 'B', 1, 100)});
    EXPECT_EQ(feed.counters().book.bad_symbols.get(), refused + 3) << symbol;
    EXPECT_EQ(feed.instruments().size(), 0u) << symbol;
    EXPECT_TRUE(sink.rows.empty()) << symbol;
    for (const wire::BookUpdate& update : sink.updates)
      EXPECT_EQ(update.instrument_id, wire::kNoInstrument) << symbol;
  }
  send({directory(8, "AAPL"), add(8, "AAPL", 1'000, 'B', 1, 100)});
  EXPECT_EQ(feed.instruments().size(), 1u);
}

TEST_F(FeedTest, TellsTradesThatLeaveTheBookAlone) {
  send({directory(7, "AAPL"),
        encoded(itch::NonCrossTrade{
            .header = header(7), .shares = 30, .stock = "AAPL", .price = 98'0000}),
        encoded(itch::CrossTrade{.header = header(7),
                                 .shares = std::uint64_t{1} << 40,
                                 .stock = "AAPL",
                                 .cross_price = 97'0000})});
  EXPECT_EQ(sink.updates[2].kind, UpdateKind::kTrade);
  EXPECT_EQ(sink.updates[2].shares, 30u);
  EXPECT_EQ(last().kind, UpdateKind::kTrade);
  EXPECT_EQ(last().shares, 0xffff'ffffu);
  EXPECT_EQ(image().last_trade_price, 97'0000u);
}

// docs/MARKET_DATA.md, "What counts as a trade".
TEST_F(FeedTest, AnOddLotIsATradeAndABrokenOneStaysAsItWasTold) {
  send({directory(7, "AAPL"), encoded(itch::NonCrossTrade{.header = header(7),
                                                          .shares = 3,
                                                          .stock = "AAPL",
                                                          .price = 98'0000,
                                                          .match_number = 5})});
  EXPECT_EQ(last().kind, UpdateKind::kTrade);
  EXPECT_EQ(last().shares, 3u);
  send({encoded(itch::BrokenTrade{.header = header(7, 2), .match_number = 5})});
  EXPECT_EQ(last().kind, UpdateKind::kInformation);
  EXPECT_EQ(image().last_trade_price, 98'0000u);
  EXPECT_EQ(image().last_trade_shares, 3u);
}

// ITCH 5.0, 1.4.2: what is not printable comes again, in the cross.
TEST_F(FeedTest, TellsACrossAsOneTradeThoughItsOrdersLeaveTheBookOneByOne) {
  send({directory(7, "AAPL"), add(7, "AAPL", 1, 'S', 300, 100'0000)});
  sink.updates.clear();
  const auto executed = [](std::uint32_t shares, char printable) {
    return encoded(itch::OrderExecutedWithPrice{.header = header(7),
                                                .order_reference_number = 1,
                                                .executed_shares = shares,
                                                .printable = printable,
                                                .execution_price = 101'0000});
  };
  const auto cross = [](std::uint64_t shares, std::uint32_t price) {
    return encoded(itch::CrossTrade{
        .header = header(7), .shares = shares, .stock = "AAPL", .cross_price = price});
  };
  send({executed(20, 'Y'), executed(50, 'N')});
  EXPECT_EQ(kinds(), (std::vector{UpdateKind::kExecute, UpdateKind::kExecute}));
  EXPECT_TRUE(sink.updates[0].is_trade());
  EXPECT_FALSE(sink.updates[1].is_trade());
  EXPECT_EQ(last().best_ask_shares, 230u) << "the book changes all the same";
  EXPECT_EQ(image().last_trade_shares, 20u);
  send({cross(50, 101'0000)});
  EXPECT_TRUE(last().is_trade());
  EXPECT_EQ(image().last_trade_shares, 50u);
  send({cross(0, 0)});
  EXPECT_FALSE(last().is_trade()) << "a cross in which nothing traded";
  EXPECT_EQ(image().last_trade_price, 101'0000u);
}

TEST_F(FeedTest, GivesASymbolOfAFormerDayItsIdAndItsRowFromTheStart) {
  const std::chrono::sys_days today{std::chrono::days(20'000)};
  const std::vector<KnownSymbol> former{{"AAPL", today}, {"MSFT", today}};
  feed.remember(former, today);
  EXPECT_EQ(sink.rows.at(0).name(), "AAPL");
  EXPECT_EQ(sink.rows.at(1).name(), "MSFT");
  EXPECT_EQ(feed.counters().book.instruments.get(), 2u);
  // Today's feed names them in another order, and one more.
  send({directory(1, "IBM"), directory(2, "MSFT"), add(2, "MSFT", 1, 'B', 1, 5)});
  EXPECT_EQ(last().instrument_id, 1u);
  EXPECT_EQ(sink.rows.at(1).feed_locate, 2u);
  EXPECT_EQ(sink.rows.at(2).name(), "IBM");
  EXPECT_EQ(image().bids[0].price, 0u) << "not listed today";
}

TEST_F(FeedTest, AnnouncesAnInstrumentThatNoDirectoryMessageNamed) {
  send({add(9, "ZZZ", 1, 'B', 1, 5)});
  EXPECT_EQ(kinds(),
            (std::vector{UpdateKind::kFeedState, UpdateKind::kDirectory, UpdateKind::kAdd}));
  EXPECT_EQ(sink.rows.at(0).name(), "ZZZ");
  send({directory(9, "ZZZ")});
  EXPECT_EQ(sink.rows.at(0).round_lot_shares, 100u);
  EXPECT_EQ(feed.counters().book.instruments.get(), 1u);
}

TEST_F(FeedTest, CarriesTheTradingStateOfEachInstrument) {
  send({trading(7, "AAPL", 'T'), trading(8, "MSFT", 'H')});
  EXPECT_EQ(last().kind, UpdateKind::kTradingState);
  EXPECT_EQ(last().trading_state(), TradingState::kHalted);
  send({add(7, "AAPL", 1, 'B', 1, 5)});
  EXPECT_EQ(last().trading_state(), TradingState::kTrading);
  const auto halt = [](char market, char action) {
    return encoded(itch::OperationalHalt{.header = header(7),
                                         .stock = "AAPL",
                                         .market_code = market,
                                         .operational_halt_action = action});
  };
  send({halt('B', 'H')});
  EXPECT_EQ(last().trading_state(), TradingState::kTrading) << "another market's halt";
  send({halt('Q', 'H')});
  EXPECT_EQ(last().trading_state(), TradingState::kHalted);
  send({halt('Q', 'T')});
  EXPECT_EQ(last().trading_state(), TradingState::kTrading);
}

TEST_F(FeedTest, KeepsTenLevelsInImages) {
  std::vector<Bytes> messages;
  for (std::uint32_t i = 0; i < 15; ++i) {
    messages.push_back(add(7, "AAPL", 1 + i, 'B', 10 + i, 1'000 + i * 100));
    messages.push_back(add(7, "AAPL", 100 + i, 'S', 20 + i, 9'000 - i * 100));
  }
  messages.push_back(add(7, "AAPL", 200, 'B', 5, 2'400));
  send(messages);
  EXPECT_GT(sink.dirty[0], 0);
  const wire::BookImage shown = image();
  EXPECT_EQ(shown.bids[0], (wire::ImageLevel{2'400, 29, 2}));
  EXPECT_EQ(shown.bids[9], (wire::ImageLevel{1'500, 15, 1}));
  EXPECT_EQ(shown.asks[0], (wire::ImageLevel{7'600, 34, 1}));
  EXPECT_EQ(shown.asks[9], (wire::ImageLevel{8'500, 25, 1}));
  EXPECT_EQ(shown.trace_id, 31u);
  EXPECT_EQ(shown.feed_state(), FeedState::kGood);
}

TEST_F(FeedTest, MarksEveryBookStaleAtAGapAndGoesOn) {
  send({add(7, "AAPL", 1, 'B', 1, 500)});
  EXPECT_EQ(last().feed_state(), FeedState::kGood);
  next += 5;
  sink.dirty.clear();
  send({add(7, "AAPL", 2, 'B', 1, 600)});
  EXPECT_EQ(sink.updates[sink.updates.size() - 2].kind, UpdateKind::kFeedState);
  EXPECT_EQ(sink.updates[sink.updates.size() - 2].instrument_id, wire::kNoInstrument);
  EXPECT_EQ(last().feed_state(), FeedState::kStale);
  EXPECT_EQ(last().best_bid, 600u);
  EXPECT_EQ(feed.counters().gaps.get(), 1u);
  EXPECT_EQ(feed.counters().missed_messages.get(), 5u);
  EXPECT_EQ(sink.dirty.count(0), 1u);
  EXPECT_EQ(image().feed_state(), FeedState::kStale);
}

TEST_F(FeedTest, DropsDuplicatesWithoutATrace) {
  const Bytes first = packet("S", 1, {add(7, "AAPL", 1, 'B', 1, 500), remove(7, 1)});
  deliver(first);
  const std::size_t before = sink.updates.size();
  deliver(first);
  EXPECT_EQ(sink.updates.size(), before);
  EXPECT_EQ(feed.counters().duplicate_packets.get(), 1u);
  deliver(packet("S", 2, {remove(7, 1), add(7, "AAPL", 3, 'B', 1, 500)}));
  EXPECT_EQ(sink.updates.size(), before + 1) << "only the part that is new";
  EXPECT_EQ(last().trace_id, 3u);
  EXPECT_EQ(feed.counters().duplicate_messages.get(), 3u);
  EXPECT_EQ(feed.books().count(book::Status::kUnknownReference), 0u);
}

TEST_F(FeedTest, DropsMalformedPacketsWholeAndThenSeesTheGap) {
  send({add(7, "AAPL", 1, 'B', 1, 500)});
  Bytes bad = packet("S", 2, {add(7, "AAPL", 2, 'B', 1, 600), add(7, "AAPL", 3, 'B', 1, 700)});
  for (std::size_t length = 0; length < bad.size(); ++length)
    deliver(Bytes(bad.begin(), bad.begin() + static_cast<std::ptrdiff_t>(length)));
  EXPECT_EQ(feed.counters().malformed_packets.get(), bad.size());
  EXPECT_EQ(feed.books().orders_resting(), 1u);
  EXPECT_EQ(feed.state(), FeedState::kGood);
  bad.push_back(std::byte{0});
  deliver(bad);
  EXPECT_EQ(feed.books().orders_resting(), 1u) << "bytes behind the last message";
  next = 4;
  send({remove(7, 1)});
  EXPECT_EQ(feed.state(), FeedState::kStale);
}

TEST_F(FeedTest, PassesOverMessagesItDoesNotKnowAndKeepsTheNumbersGapless) {
  Bytes longer = add(7, "AAPL", 1, 'B', 1, 500);
  longer.push_back(std::byte{0});
  send({Bytes{}, Bytes{std::byte{'z'}}, longer, add(7, "AAPL", 2, 'B', 1, 500)});
  EXPECT_EQ(feed.counters().malformed_messages.get(), 3u);
  ASSERT_GE(sink.updates.size(), 5u);
  EXPECT_EQ(sink.updates[1].kind, UpdateKind::kInformation);
  EXPECT_EQ(sink.updates[1].instrument_id, wire::kNoInstrument);
  EXPECT_EQ(last().trace_id, 4u);
  EXPECT_EQ(last().best_bid_shares, 1u);
}

TEST_F(FeedTest, TellsTheImbalanceOfAnAuctionWhole) {
  itch::NetOrderImbalanceIndicator m;
  m.header.stock_locate = 7;
  m.header.timestamp = 123;
  m.paired_shares = std::uint64_t{1} << 40;
  m.imbalance_shares = 300;
  m.imbalance_direction = 'S';
  m.far_price = 990'000;
  m.near_price = 995'000;
  m.current_reference_price = 1'000'000;
  m.cross_type = 'O';
  m.price_variation_indicator = 'L';
  Bytes bytes(itch::NetOrderImbalanceIndicator::kLength);
  itch::encode(m, bytes.data());
  send({directory(7, "AAPL"), bytes});
  const auto told = std::bit_cast<wire::ImbalanceUpdate>(last());
  EXPECT_EQ(told.kind, UpdateKind::kImbalance);
  EXPECT_EQ(told.trace_id, 2u);
  EXPECT_EQ(told.exchange_time_ns, 123u);
  EXPECT_EQ(told.instrument_id, 0u);
  EXPECT_EQ(told.side, Side::kSell);
  EXPECT_EQ(told.reference_price, 1'000'000u);
  EXPECT_EQ(told.near_price, 995'000u);
  EXPECT_EQ(told.far_price, 990'000u);
  EXPECT_EQ(told.paired_shares, 0xffff'ffffu) << "as many as can be told";
  EXPECT_EQ(told.imbalance_shares, 300u);
  EXPECT_EQ(told.cross, 'O');
  EXPECT_EQ(last().feed_state(), FeedState::kGood);
}

TEST_F(FeedTest, CarriesWhatTheBookRefusesAsInformation) {
  send({directory(7, "AAPL"), execute(7, 99, 1)});
  EXPECT_EQ(last().kind, UpdateKind::kInformation);
  EXPECT_EQ(last().instrument_id, 0u);
  send({add(7, "AAPL", 1, 'B', 10, 500), execute(7, 1, 11)});
  EXPECT_EQ(last().kind, UpdateKind::kExecute);
  EXPECT_EQ(last().shares, 10u) << "what there was";
  EXPECT_EQ(last().best_bid, 0u);
  EXPECT_EQ(feed.books().count(book::Status::kSharesExceeded), 1u);
  EXPECT_EQ(feed.state(), FeedState::kGood);
}

TEST_F(FeedTest, ClearsTheBooksWhenTheSessionChanges) {
  send({directory(7, "AAPL"), add(7, "AAPL", 1, 'B', 10, 500), directory(8, "MSFT")});
  next += 1;  // a gap, which the new session makes good
  send({trading(7, "AAPL", 'T')});
  sink.updates.clear();
  deliver(packet("T", 1, {add(8, "AAPL", 1, 'S', 20, 600)}));
  EXPECT_EQ(kinds(),
            (std::vector{UpdateKind::kBookCleared, UpdateKind::kFeedState, UpdateKind::kFeedState,
                         UpdateKind::kDirectory, UpdateKind::kAdd}));
  EXPECT_EQ(sink.updates[1].feed_state(), FeedState::kUnknown) << "before its first message";
  EXPECT_EQ(last().instrument_id, 0u) << "the symbol keeps its id";
  EXPECT_EQ(last().best_bid, 0u);
  EXPECT_EQ(last().best_ask, 600u);
  EXPECT_EQ(last().feed_state(), FeedState::kGood);
  EXPECT_EQ(last().trading_state(), TradingState::kUnknown);
  EXPECT_EQ(sink.rows.at(0).feed_locate, 8u);
  EXPECT_EQ(feed.counters().sessions.get(), 2u);
  feed.books().verify();
}

TEST_F(FeedTest, ClearsTheBooksWhenAnotherDayBeginsInTheSession) {
  const auto event = [](char code) {
    return encoded(itch::SystemEvent{.header = header(0), .event_code = code});
  };
  send({event('O'), directory(7, "AAPL"), trading(7, "AAPL", 'T'), add(7, "AAPL", 1, 'B', 10, 500),
        directory(8, "MSFT")});
  send({event('O')});
  EXPECT_EQ(feed.books().orders_resting(), 1u) << "no day has ended";
  send({event('M'), event('E'), event('C')});
  EXPECT_EQ(feed.books().orders_resting(), 1u) << "what was left stays to be seen";
  const int day = last().day();
  EXPECT_EQ(sink.updates.front().day(), day);
  sink.updates.clear();
  send({event('O'), directory(7, "MSFT"), add(7, "MSFT", 1, 'S', 20, 600)});
  EXPECT_EQ(kinds(), (std::vector{UpdateKind::kBookCleared, UpdateKind::kInformation,
                                  UpdateKind::kDirectory, UpdateKind::kAdd}));
  EXPECT_EQ(sink.updates[0].feed_state(), FeedState::kGood) << "empty, and known to be";
  EXPECT_EQ(sink.updates[0].instrument_id, 0u);
  EXPECT_EQ(sink.updates[0].best_bid, 0u);
  EXPECT_EQ(sink.updates[3].instrument_id, 1u) << "the symbol keeps its id, with another locate";
  EXPECT_EQ(sink.updates[3].best_ask, 600u);
  EXPECT_EQ(last().feed_state(), FeedState::kGood);
  for (const wire::BookUpdate& update : sink.updates)
    EXPECT_EQ(update.day(), day + 1) << "kind " << static_cast<int>(update.kind);
  EXPECT_EQ(feed.counters().further_days.get(), 1u);
  EXPECT_EQ(feed.counters().sessions.get(), 1u);
  EXPECT_EQ(image().bids[0].price, 0u);
  feed.books().verify();
}

TEST_F(FeedTest, CountsAMidnightAsADayAndKeepsItsOrders) {
  send({add(7, "AAPL", 1, 'B', 10, 500)});
  const int day = last().day();
  send({encoded(
      itch::SystemEvent{.header = header(0), .event_code = itch::SystemEvent::kMidnight})});
  EXPECT_EQ(last().day(), day + 1);
  EXPECT_EQ(feed.books().orders_resting(), 1u);
}

TEST_F(FeedTest, KeepsItsSessionWhenADamagedPacketClaimsAnother) {
  send({add(7, "AAPL", 1, 'B', 10, 500)});
  Bytes other = packet("OTHER", 1, {add(7, "AAPL", 1, 'B', 10, 700)});
  other.pop_back();
  deliver(other);
  EXPECT_EQ(feed.books().orders_resting(), 1u);
  EXPECT_EQ(feed.counters().sessions.get(), 1u);
}

TEST_F(FeedTest, EndsWithTheSession) {
  send({add(7, "AAPL", 1, 'B', 10, 500)});
  deliver(packet("S", 2, {}));
  EXPECT_EQ(feed.counters().heartbeats.get(), 1u);
  deliver(end_of_session("S", 2));
  deliver(end_of_session("S", 2));
  EXPECT_EQ(last().kind, UpdateKind::kFeedState);
  EXPECT_EQ(last().feed_state(), FeedState::kEnded);
  EXPECT_EQ(sink.updates.size(), 4u) << "told once";
}

TEST_F(FeedTest, CountsSilenceAsStaleUntilTheFeedResumes) {
  feed.on_time({~std::uint64_t{0} - 1});
  EXPECT_EQ(feed.state(), FeedState::kUnknown) << "nothing was heard yet: nothing fell silent";
  send({add(7, "AAPL", 1, 'B', 10, 500)});
  const TscTicks second = clock::TickConverter().from_ns(1'000'000'000);
  feed.on_time(tsc_now());
  EXPECT_EQ(feed.state(), FeedState::kGood);
  feed.on_time({tsc_now().value + 2 * second.value});
  feed.on_time({tsc_now().value + 3 * second.value});
  EXPECT_EQ(feed.state(), FeedState::kStale);
  EXPECT_EQ(feed.counters().silences.get(), 1u);
  deliver(packet("S", 2, {}));
  EXPECT_EQ(feed.state(), FeedState::kGood);
  EXPECT_EQ(last().feed_state(), FeedState::kGood);
}

class FullBook : public FeedTest {
 protected:
  FullBook() : FeedTest(tiny()) {}
  static FeedOptions tiny() {
    FeedOptions options = small_options();
    options.instruments_max = 2;
    options.book.orders_max = 2;
    return options;
  }
};

TEST_F(FullBook, MarksTheInstrumentStaleThatAnOrderFindsNoRoomIn) {
  send({add(1, "A", 1, 'B', 1, 500), add(2, "B", 2, 'B', 1, 500), add(2, "B", 3, 'B', 1, 600)});
  EXPECT_EQ(last().kind, UpdateKind::kFeedState);
  EXPECT_EQ(last().instrument_id, 1u);
  EXPECT_EQ(last().feed_state(), FeedState::kStale);
  send({execute(1, 1, 1)});
  EXPECT_EQ(last().feed_state(), FeedState::kGood) << "the other instrument is in order";
  EXPECT_EQ(feed.books().count(book::Status::kOrdersFull), 1u);
}

TEST_F(FullBook, GoesOnWithoutRoomInTheDirectory) {
  send({add(1, "A", 1, 'B', 1, 500), directory(2, "B"), directory(3, "C"),
        add(3, "C", 2, 'B', 1, 500)});
  EXPECT_EQ(feed.counters().book.unlisted.get(), 2u);
  EXPECT_EQ(last().instrument_id, wire::kNoInstrument);
  EXPECT_EQ(last().trace_id, 4u);
}

TEST_F(FullBook, GivesANewSymbolTheIdOfOneThatNoFeedHasNamedForLong) {
  const std::chrono::sys_days today{std::chrono::days(20'000)};
  const std::vector<KnownSymbol> former{{"OLD", today - std::chrono::days(31)}, {"MSFT", today}};
  feed.remember(former, today - std::chrono::days(30));
  EXPECT_EQ(sink.rows.size(), 1u) << "nobody learns the id of OLD today";
  EXPECT_EQ(sink.rows.at(0).name(), "MSFT");
  EXPECT_EQ(sink.rows.at(0).listed_in, 0u);
  send({directory(1, "IBM"), directory(2, "MSFT"), add(1, "IBM", 1, 'B', 1, 5)});
  EXPECT_EQ(feed.counters().book.unlisted.get(), 0u);
  EXPECT_EQ(last().instrument_id, 0u);
  EXPECT_EQ(sink.rows.at(1).name(), "IBM") << "behind the rows that there were";
  EXPECT_EQ(sink.rows.at(1).instrument_id, 0u);
  EXPECT_NE(sink.rows.at(0).listed_in, 0u);
  const std::uint32_t first = sink.rows.at(1).listed_in;
  deliver(packet("T", 1, {directory(1, "IBM")}));
  EXPECT_NE(sink.rows.at(1).listed_in, first) << "another session has named it";
  deliver(packet("T", 2, {directory(3, "OLD")}));
  EXPECT_EQ(feed.counters().book.unlisted.get(), 1u) << "no id is free";
}

TEST_F(FeedTest, HandlesABurstAsItWouldHandleItsPacketsOneByOne) {
  std::mt19937_64 random(7);
  VectorSink other_sink;
  Feed other(small_options(), other_sink, trace, log);
  OneLine other_line(other, log);
  std::vector<Bytes> burst;
  std::uint64_t sequence = 1;
  for (int i = 0; i < 400; ++i) {
    std::vector<Bytes> messages;
    for (std::uint64_t n = random() % 6; n > 0; --n) {
      const auto locate = static_cast<std::uint16_t>(random() % 5);
      const std::uint64_t reference = random() % 300;
      if (random() % 2 == 0)
        messages.push_back(add(locate, "SYM", reference, random() % 2 == 0 ? 'B' : 'S', 10,
                               static_cast<std::uint32_t>(100 + random() % 20)));
      else if (random() % 2 == 0)
        messages.push_back(remove(locate, reference));
      else
        messages.push_back(execute(locate, reference, static_cast<std::uint32_t>(random() % 12)));
    }
    burst.push_back(packet("S", sequence, messages));
    if (random() % 10 != 0) sequence += messages.size();
  }
  for (const Bytes& bytes : burst) {
    line_a.collect(bytes, {});
    other_line.hear(bytes, {});
  }
  line_a.process({});
  ASSERT_EQ(sink.updates.size(), other_sink.updates.size());
  for (std::size_t i = 0; i < sink.updates.size(); ++i)
    ASSERT_EQ(std::memcmp(&sink.updates[i], &other_sink.updates[i], sizeof(wire::BookUpdate)), 0)
        << i;
  feed.books().verify();
}

}  // namespace
}  // namespace tickpath::mdh::test
