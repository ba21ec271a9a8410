// IEX DEEP 1.0 through the feed and the arbiter: books, states, sessions, gaps.
#include <algorithm>
#include <array>

#include "common/feeds/iex/iex_tp.hpp"
#include "mdh/arbiter.hpp"
#include "tests/support/deep_market.hpp"
#include "tests/unit/mdh/feed_fixture.hpp"

namespace tickpath::mdh::test {
namespace {

using test_support::DeepMarket;
using test_support::DeepQuote;
using wire::FeedState;
using wire::UpdateKind;

Bytes segment(std::uint64_t sequence, const std::vector<Bytes>& messages, std::uint32_t session = 7,
              std::uint16_t protocol = iex::kDeep10) {
  Bytes buffer(65'507);
  iex::SegmentBuilder builder(buffer, {.protocol = protocol, .channel = 1, .session = session});
  builder.begin(sequence);
  for (const Bytes& message : messages) EXPECT_TRUE(builder.append(message));
  const auto made = builder.finish(1);
  return {made.begin(), made.end()};
}
std::vector<Bytes> part(const std::vector<Bytes>& all, std::size_t at, std::size_t count) {
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
  return {first, first + static_cast<std::ptrdiff_t>(std::min(count, all.size() - at))};
}
template <class Message>
Bytes deep(const Message& message) {
  Bytes bytes(iex::kMaxMessageBytes);
  bytes.resize(iex::encode(message, bytes.data()));
  return bytes;
}
Bytes bid(iex::Price price, std::uint32_t size, std::uint8_t flags = 1,
          const char* symbol = "ZIEXT") {
  return deep(iex::BuyLevelUpdate{
      .flags = flags, .timestamp = 5, .symbol = symbol, .size = size, .price = price});
}
Bytes ask(iex::Price price, std::uint32_t size, std::uint8_t flags = 1) {
  return deep(iex::SellLevelUpdate{
      .flags = flags, .timestamp = 5, .symbol = "ZIEXT", .size = size, .price = price});
}

class DeepFeed : public FeedTest {
 protected:
  DeepFeed() : FeedTest(deep_options()) {}
  void say(const std::vector<Bytes>& messages) {
    deliver(segment(next, messages));
    next += messages.size();
  }
  // The quotes that were shown as good, each after an event of its instrument.
  std::map<std::string, std::vector<DeepQuote>> good_quotes() const {
    std::map<std::string, std::vector<DeepQuote>> quotes;
    for (const wire::BookUpdate& u : sink.updates) {
      if (u.kind < UpdateKind::kAdd || u.kind > UpdateKind::kReplace) continue;
      if (u.feed_state() != FeedState::kGood) continue;
      std::string name(sink.rows.at(u.instrument_id).symbol, 8);
      name.erase(name.find_last_not_of(' ') + 1);
      quotes[name].push_back({u.best_bid, u.best_bid_shares, u.best_ask, u.best_ask_shares});
    }
    return quotes;
  }
};

TEST_F(DeepFeed, ShowsTheBookAfterEachWholeEventAndNoOther) {
  DeepMarket market(8, 3);
  for (int i = 0; i < 5'000; ++i) market.event();
  for (std::size_t at = 0; at < market.messages.size(); at += 7) say(part(market.messages, at, 7));
  EXPECT_EQ(good_quotes(), market.quotes);
  EXPECT_EQ(feed.counters().book.instruments.get(), 8u);
  EXPECT_EQ(feed.counters().malformed_messages.get(), 0u);
  EXPECT_EQ(feed.counters().messages.get(), market.messages.size());
  EXPECT_EQ(feed.state(), FeedState::kGood);
  for (const auto& [id, row] : sink.rows) EXPECT_EQ(row.round_lot_shares, 100u);
  market.end();
  say({market.messages.back()});
  EXPECT_EQ(feed.state(), FeedState::kEnded);
}

// Two sessions of a capture, as sim plays them.
TEST_F(DeepFeed, AnotherDayInTheSessionIsGoodAgain) {
  const auto event = [](char code) {
    return deep(iex::SystemEvent{.event = code, .timestamp = 5});
  };
  say({event('O'), bid(100'000, 300), event('E'), event('C')});
  EXPECT_EQ(feed.state(), FeedState::kEnded);
  EXPECT_EQ(image().feed_state(), FeedState::kEnded);
  say({event('O')});
  EXPECT_EQ(feed.state(), FeedState::kGood);
  EXPECT_EQ(image().bids[0].price, 0u);
  EXPECT_EQ(feed.counters().further_days.get(), 1u);
  say({bid(200'000, 10), ask(200'100, 10)});
  EXPECT_EQ(last().feed_state(), FeedState::kGood);
  EXPECT_EQ(last().best_bid, 200'000u);
  EXPECT_EQ(feed.counters().sessions.get(), 1u);
  say({event('C')});
  EXPECT_EQ(feed.state(), FeedState::kEnded);
}

TEST_F(DeepFeed, TellsWhatHappenedAtTheLevel) {
  say({bid(100'000, 300), bid(100'000, 500), bid(100'000, 120), bid(100'000, 120),
       bid(100'000, 0)});
  const std::vector<wire::BookUpdate> all(sink.updates.end() - 5, sink.updates.end());
  const std::array<UpdateKind, 5> kinds{UpdateKind::kAdd, UpdateKind::kReplace, UpdateKind::kCancel,
                                        UpdateKind::kReplace, UpdateKind::kDelete};
  const std::array<std::uint32_t, 5> shares{300, 500, 380, 120, 120};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].kind, kinds[i]) << i;
    EXPECT_EQ(all[i].shares, shares[i]) << i;
    EXPECT_EQ(all[i].price, 100'000u);
    EXPECT_EQ(all[i].side, Side::kBuy);
    EXPECT_EQ(all[i].trace_id, i + 1);
  }
  EXPECT_EQ(last().best_bid, 0u);
}

TEST_F(DeepFeed, ABookInTransitionIsStaleUntilItsEventIsComplete) {
  say({bid(100'000, 300), ask(100'200, 100)});
  say({bid(100'200, 50, 0)});  // crossed for now
  EXPECT_EQ(last().feed_state(), FeedState::kStale);
  EXPECT_EQ(image().feed_state(), FeedState::kStale);
  say({ask(100'200, 0)});
  EXPECT_EQ(last().feed_state(), FeedState::kGood);
  EXPECT_EQ(last().best_bid, 100'200u);
  EXPECT_EQ(image().feed_state(), FeedState::kGood);
}

TEST_F(DeepFeed, AGapIsStaleToTheEndOfTheSessionAndTheNextIsGood) {
  say({bid(100'000, 300)});
  next += 3;
  say({bid(100'100, 200)});
  EXPECT_EQ(feed.counters().missed_messages.get(), 3u);
  EXPECT_EQ(last().feed_state(), FeedState::kStale);
  say({bid(100'000, 400)});  // this level is right, but nobody knows of the others
  EXPECT_EQ(last().feed_state(), FeedState::kStale);
  deliver(segment(1, {bid(99'000, 10)}, 8));
  EXPECT_EQ(feed.counters().sessions.get(), 2u);
  EXPECT_EQ(last().feed_state(), FeedState::kGood);
  EXPECT_EQ(last().best_bid, 99'000u);
}

TEST_F(DeepFeed, ALevelThatNoPriceCanSayMakesItsInstrumentStaleAlone) {
  say({bid(100'000, 300), bid(iex::Price{1} << 33, 1, 1, "BRK.A"), bid(100'100, 1)});
  EXPECT_EQ(feed.unusable_prices(), 1u);
  EXPECT_EQ(last().feed_state(), FeedState::kGood);
  say({bid(100, 1, 1, "BRK.A")});
  EXPECT_EQ(last().feed_state(), FeedState::kStale);
}

TEST_F(DeepFeed, ATradeThatNoPriceCanSayIsNoTradeForNothing) {
  const auto trade = [](iex::Price price) {
    return deep(iex::TradeReport{.symbol = "BRK.A", .size = 3, .price = price});
  };
  say({trade(4'000'000'000), trade(iex::Price{1} << 33)});
  EXPECT_EQ(last().kind, UpdateKind::kInformation);
  EXPECT_EQ(feed.unusable_prices(), 1u);
  EXPECT_EQ(image().last_trade_price, 4'000'000'000u);
}

TEST_F(DeepFeed, TellsTradesHaltsAndTimeOfDay) {
  constexpr iex::Timestamp kDay = 20'000ll * 86'400 * 1'000'000'000;
  say({deep(
      iex::TradeReport{.timestamp = kDay + 77, .symbol = "ZIEXT", .size = 40, .price = 100'050})});
  EXPECT_EQ(last().kind, UpdateKind::kTrade);
  EXPECT_EQ(last().price, 100'050u);
  EXPECT_EQ(last().shares, 40u);
  EXPECT_EQ(last().exchange_time_ns, 77u);
  const auto status = [](char code) {
    return deep(iex::TradingStatus{.status = code, .timestamp = kDay, .symbol = "ZIEXT"});
  };
  for (const auto& [code, state] :
       {std::pair{'H', wire::TradingState::kHalted}, std::pair{'P', wire::TradingState::kPaused},
        std::pair{'O', wire::TradingState::kQuotationOnly},
        std::pair{'T', wire::TradingState::kTrading}}) {
    say({status(code)});
    EXPECT_EQ(last().trading_state(), state) << code;
  }
  say({deep(iex::OperationalHaltStatus{.status = 'O', .timestamp = kDay, .symbol = "ZIEXT"})});
  EXPECT_EQ(last().trading_state(), wire::TradingState::kHalted);
}

// docs/MARKET_DATA.md, "What counts as a trade".
TEST_F(DeepFeed, TradesOfExtendedHoursAndOddLotsCountAndABrokenOneStaysAsItWasTold) {
  constexpr std::uint8_t kExtendedHours = 0x40, kOddLot = 0x20;
  const iex::TradeReport trade{.sale_condition_flags = kExtendedHours | kOddLot,
                               .symbol = "ZIEXT",
                               .size = 7,
                               .price = 100'050,
                               .trade_id = 9};
  say({deep(trade)});
  EXPECT_EQ(last().kind, UpdateKind::kTrade);
  EXPECT_EQ(last().shares, 7u);
  say({deep(iex::TradeBreak{.symbol = "ZIEXT", .size = 7, .price = 100'050, .trade_id = 9})});
  EXPECT_EQ(last().kind, UpdateKind::kInformation);
}

TEST_F(DeepFeed, DropsWhatIsNoSegmentOfDeep) {
  say({bid(100'000, 300)});
  deliver(segment(2, {bid(1, 1)}, 7, iex::kTops16));
  Bytes damaged = segment(2, {bid(1, 1)});
  damaged.pop_back();
  deliver(damaged);
  deliver(packet("S", 2, {add(1, "AAPL", 1, 'B', 100, 1)}));
  EXPECT_EQ(feed.counters().malformed_packets.get(), 3u);
  EXPECT_EQ(feed.counters().messages.get(), 1u);
  say({Bytes{std::byte{'z'}, std::byte{1}}});  // a type that the venue may add
  EXPECT_EQ(feed.counters().malformed_messages.get(), 0u);
  say({Bytes{std::byte{'8'}, std::byte{1}}});
  EXPECT_EQ(feed.counters().malformed_messages.get(), 1u);
  EXPECT_EQ(feed.state(), FeedState::kGood);
}

// Both sessions have the same sequence numbers, and line B is behind.
TEST_F(DeepFeed, AnotherSessionOfTheDateIsNoRepetitionAndNoGap) {
  Arbiter arbiter({.restarts = true}, feed, nullptr, nullptr, log);
  const auto hear = [&](Line line, const Bytes& packet) {
    const Arrival now{0, tsc_now()};
    arbiter.collect(line, packet, now);
    arbiter.process(now.tsc);
  };
  const auto event = [](char code) {
    return deep(iex::SystemEvent{.event = code, .timestamp = 5});
  };
  const Bytes last_of_first = segment(3, {event('C')}, 7);
  const Bytes second = segment(1, {event('O'), bid(99'000, 10)}, 8);
  for (const Line line : {Line::kA, Line::kB})
    hear(line, segment(1, {event('O'), bid(100'000, 300)}, 7));
  hear(Line::kA, last_of_first);
  hear(Line::kA, second);
  hear(Line::kB, last_of_first);
  hear(Line::kB, second);
  EXPECT_EQ(feed.state(), FeedState::kGood);
  EXPECT_EQ(image().bids[0].price, 99'000u);
  EXPECT_EQ(image().bids[1].price, 0u);
  EXPECT_EQ(feed.counters().sessions.get(), 2u);
  EXPECT_EQ(feed.counters().messages.get(), 5u);
  EXPECT_EQ(feed.counters().gaps.get(), 0u);
  EXPECT_EQ(feed.counters().conflicting_messages.get(), 0u);
  EXPECT_EQ(arbiter.counters().old_session.get(), 1u);
  EXPECT_EQ(arbiter.counters().restarts.get(), 0u);
}

// Two lines that both lose a third of the segments, never the same one.
TEST_F(DeepFeed, TwoLinesMakeOneWholeFeed) {
  DeepMarket market(4, 9);
  for (int i = 0; i < 3'000; ++i) market.event();
  Arbiter arbiter({}, feed, nullptr, nullptr, log);
  std::vector<Bytes> packets;
  for (std::size_t at = 0; at < market.messages.size(); at += 5)
    packets.push_back(segment(at + 1, part(market.messages, at, 5)));
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const Arrival now{0, tsc_now()};
    if (i % 3 != 0) arbiter.collect(Line::kA, packets[i], now);
    if (i % 3 != 1) arbiter.collect(Line::kB, packets[i], now);
    arbiter.process(now.tsc);
  }
  EXPECT_EQ(feed.counters().missed_messages.get(), 0u);
  EXPECT_EQ(feed.state(), FeedState::kGood);
  EXPECT_EQ(good_quotes(), market.quotes);
  EXPECT_GT(arbiter.counters().lines[0].missing.get(), 0u);
  EXPECT_GT(arbiter.counters().lines[1].missing.get(), 0u);
}

}  // namespace
}  // namespace tickpath::mdh::test
