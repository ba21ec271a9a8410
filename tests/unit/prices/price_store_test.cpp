// What the store keeps, and what a client READs of it, one after the other: no races here.
#include <algorithm>
#include <map>

#include "common/base/random.hpp"
#include "tests/unit/prices/store_fixture.hpp"

namespace tickpath::prices::test {
namespace {

using wire::HistoryKind;

TEST_F(PriceStores, GetBringsTheNewestTradeQuoteAndTheDay) {
  wire::LatestPrices latest;
  EXPECT_EQ(client.get("S1", latest), PriceStatus::kNothingYet);
  store.on_update(quote_of(1, 6, kOpen, 99'0000, 101'0000));
  store.on_update(trade_of(1, 7, kOpen + 1, 100'0000, 300));
  wire::BookUpdate last = trade_of(1, 9, kOpen + 5, 102'0000, 100);
  last.best_bid = 99'0000;
  last.best_bid_shares = 100;
  store.on_update(last);
  ASSERT_EQ(client.get("S1", latest), PriceStatus::kOk);
  EXPECT_EQ(wire::symbol_text(latest.symbol), "S1");
  EXPECT_EQ(latest.instrument_id, 1u);
  EXPECT_EQ(latest.trade.trace_id, 9u);
  EXPECT_EQ(latest.trade.price, 102'0000u);
  EXPECT_EQ(latest.quote.trace_id, 9u)
      << "a message that trades and changes the quote is one change";
  EXPECT_EQ(latest.quote.ask, 0u);
  EXPECT_EQ(latest.quote.feed_state(), wire::FeedState::kGood);
  EXPECT_EQ(latest.day_bar.volume, 400u);
  EXPECT_EQ(latest.day_bar.open, 100'0000u);
  EXPECT_EQ(latest.day_bar.high, 102'0000u);
  EXPECT_EQ(latest.day_bar.vwap(), 100'5000u);
  EXPECT_EQ(client.get("S2", latest), PriceStatus::kNothingYet);
  EXPECT_EQ(client.get("NOBODY", latest), PriceStatus::kUnknownSymbol);
  EXPECT_EQ(client.get("TOOLONGSYMBOL", latest), PriceStatus::kUnknownSymbol);
  EXPECT_EQ(client.get("", latest), PriceStatus::kUnknownSymbol);
}

TEST_F(PriceStores, ManyAreReadAtATimeEachWithAStatusOfItsOwn) {
  std::vector<std::uint64_t> symbols;
  for (std::uint32_t i = 0; i < 100; ++i) symbols.push_back(wire::symbol_word(symbol_name(i % 10)));
  for (std::uint32_t id = 0; id < 7; ++id)
    store.on_update(trade_of(id, id + 1, kOpen, 10'0000 + id, 100));
  std::vector<LatestAnswer> answers(100);
  for (int round = 0; round < 2; ++round) {  // the second knows all rows
    ASSERT_EQ(client.latest_many(symbols, answers, 10'000), PriceStatus::kOk);
    for (std::uint32_t i = 0; i < 100; ++i) {
      const std::uint32_t id = i % 10;
      const PriceStatus wanted = id < 7   ? PriceStatus::kOk
                                 : id < 8 ? PriceStatus::kNothingYet
                                          : PriceStatus::kUnknownSymbol;
      ASSERT_EQ(answers[i].status, wanted) << i;
      if (id < 7) {
        ASSERT_EQ(answers[i].prices.trade.price, 10'0000 + id);
      }
    }
  }
}

TEST_F(PriceStores, AQuoteIsKeptWhenItChangesAndOnlyThen) {
  store.on_update(quote_of(1, 1, kOpen, 99'0000, 101'0000));
  store.on_update(quote_of(1, 2, kOpen + 1, 99'0000, 101'0000));
  store.on_update(quote_of(1, 3, kOpen + 2, 99'0100, 101'0000));
  wire::BookUpdate stale = quote_of(1, 4, kOpen + 3, 99'0100, 101'0000);
  stale.set_states(wire::FeedState::kStale, wire::TradingState::kTrading);
  store.on_update(stale);
  std::vector<wire::HistoryLine> lines;
  const RangeAnswer answer = range(1, {.kind = HistoryKind::kQuotes}, lines);
  ASSERT_EQ(answer.status, PriceStatus::kOk);
  const auto quotes = entries_of<wire::PriceQuote>(lines);
  ASSERT_EQ(quotes.size(), 3u);
  EXPECT_EQ(quotes[1].trace_id, 3u);
  EXPECT_EQ(quotes[1].bid, 99'0100u);
  EXPECT_EQ(quotes[2].feed_state(), wire::FeedState::kStale);
}

TEST_F(PriceStores, ExecutionsThatAnotherMessageTellsAreNoTrades) {
  wire::BookUpdate execution = trade_of(1, 1, kOpen, 10'0000, 100);
  execution.kind = wire::UpdateKind::kExecute;
  store.on_update(execution);
  execution.marks = wire::BookUpdate::kUnprinted;
  store.on_update(execution);
  execution.marks = 0;
  execution.price = 0;  // one that no Price(4) holds
  store.on_update(execution);
  EXPECT_EQ(store.counters().trades.get(), 1u);
  EXPECT_EQ(store.counters().unpriced.get(), 1u);
}

// Random trades against the plain sums of them.
TEST_F(PriceStores, BarsAreTheSumsOfTheirTrades) {
  Random random(7);
  std::map<std::uint64_t, wire::PriceBar> expected[2];
  const HistoryKind kinds[2] = {HistoryKind::kBars1s, HistoryKind::kBars1m};
  std::uint64_t now = kOpen;
  for (std::uint64_t trace = 1; trace <= 3'000; ++trace) {
    now += random.below(random.chance(0.01) ? 100 * kSecond : kSecond / 3);
    const std::uint32_t price = 100'0000 + random.below(10'000);
    const std::uint32_t shares = 1 + random.below(1'000);
    store.on_update(trade_of(2, trace, now, price, shares));
    for (int k = 0; k < 2; ++k) {
      const std::uint64_t start = now - now % wire::length_ns(kinds[k]);
      auto [at, fresh] = expected[k].try_emplace(start);
      wire::PriceBar& bar = at->second;
      if (fresh) bar = {start, price, price, price, price, 0, 0, 0};
      bar.high = std::max(bar.high, price);
      bar.low = std::min(bar.low, price);
      bar.close = price;
      bar.volume += shares;
      bar.notional += std::uint64_t{price} * shares;
      ++bar.trades;
    }
  }
  for (int k = 0; k < 2; ++k) {
    std::vector<wire::HistoryLine> lines;
    const RangeAnswer answer = range(2, {.kind = kinds[k]}, lines);
    ASSERT_EQ(answer.status, PriceStatus::kOk);
    EXPECT_FALSE(answer.overwritten);
    std::vector<wire::PriceBar> bars = entries_of<wire::PriceBar>(lines);
    ASSERT_NE(answer.current.trades, 0u);
    EXPECT_FALSE(answer.current_final);
    bars.push_back(answer.current);
    ASSERT_EQ(bars.size(), expected[k].size());
    std::size_t i = 0;
    for (const auto& [start, bar] : expected[k]) ASSERT_EQ(bars[i++], bar) << start;
  }
}

TEST_F(PriceStores, TheNewestBarIsFinalOnceTheClockHasPassedIt) {
  store.on_update(trade_of(1, 1, kOpen, 10'0000, 100));
  store.show_clock();
  std::vector<wire::HistoryLine> lines;
  const RangeRequest bars{.kind = HistoryKind::kBars1s};
  EXPECT_FALSE(range(1, bars, lines).current_final);
  store.on_update(quote_of(2, 2, kOpen + kSecond - 1, 1, 2));
  store.show_clock();
  EXPECT_FALSE(range(1, bars, lines).current_final);
  store.on_update(quote_of(2, 3, kOpen + kSecond, 1, 3));
  store.show_clock();
  const RangeAnswer answer = range(1, bars, lines);
  EXPECT_TRUE(answer.current_final);
  EXPECT_EQ(answer.current.trades, 1u);
  EXPECT_EQ(answer.clock_ns, kOpen + kSecond);
  EXPECT_TRUE(lines.empty());
}

TEST(PriceBar, VwapIsRoundedHalfUp) {
  wire::PriceBar bar{};
  EXPECT_EQ(bar.vwap(), 0u);
  bar.volume = 2;
  bar.notional = 5;
  EXPECT_EQ(bar.vwap(), 3u);
  bar.volume = 3;
  bar.notional = 4;
  EXPECT_EQ(bar.vwap(), 1u);
  bar.notional = 5;
  EXPECT_EQ(bar.vwap(), 2u);
}

// Every range that is asked for is compared with the whole list.
TEST_F(PriceStores, RangesAreFoundByTime) {
  Random random(11);
  std::vector<wire::PriceTrade> all;
  std::uint64_t now = kOpen;
  for (std::uint64_t trace = 1; trace <= 6'000; ++trace) {
    now += random.below(4);  // several of a time
    store.on_update(trade_of(3, trace, now, 10'0000, 100));
    all.push_back({});
    all.back().time_ns = now;
    all.back().trace_id = trace;
  }
  EXPECT_GT(store.counters().moves.get(), 5u);
  for (int round = 0; round < 300; ++round) {
    RangeRequest request;
    request.from_ns = kOpen + random.below(now - kOpen + 10);
    request.to_ns = request.from_ns + random.below(2'000);
    std::vector<wire::HistoryLine> lines;
    const RangeAnswer answer = range(3, request, lines);
    ASSERT_EQ(answer.status, PriceStatus::kOk);
    EXPECT_FALSE(answer.overwritten);
    std::vector<std::uint64_t> wanted;
    for (const wire::PriceTrade& trade : all)
      if (trade.time_ns >= request.from_ns && trade.time_ns < request.to_ns)
        wanted.push_back(trade.trace_id);
    ASSERT_EQ(lines.size(), wanted.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
      ASSERT_EQ(entry_of<wire::PriceTrade>(lines[i]).trace_id, wanted[i]);
    if (!wanted.empty()) {
      EXPECT_EQ(answer.first, wanted.front() - 1);
    }
  }
}

TEST_F(PriceStores, TheNewestAreHadByCountAndByTheClock) {
  for (std::uint64_t trace = 1; trace <= 100; ++trace)
    store.on_update(trade_of(3, trace, kOpen + trace * kSecond, 10'0000, 100));
  store.show_clock();
  std::vector<wire::HistoryLine> lines;
  EXPECT_FALSE(range(3, {.newest = 10}, lines).overwritten);
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines.front().number, 91u);
  (void)range(3, {.last_ns = 5 * kSecond}, lines);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines.front().number, 95u);
  (void)range(3, {.last_ns = 5 * kSecond, .newest = 2}, lines);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines.front().number, 99u);
}

TEST_F(PriceStores, TheNewestOfARangeAreThoseBeforeItsEnd) {
  for (std::uint64_t trace = 1; trace <= 1'000; ++trace)
    store.on_update(trade_of(3, trace, kOpen + trace * kSecond, 10'0000, 100));
  std::vector<wire::HistoryLine> lines;
  for (const std::uint64_t to : {3u, 200u, 700u, 1'000u, 2'000u})
    for (const std::uint64_t from : {1u, 100u, 690u})
      for (const std::uint64_t newest : {1u, 50u, 150u, 5'000u}) {
        const RangeAnswer answer = range(
            3, {.from_ns = kOpen + from * kSecond, .to_ns = kOpen + to * kSecond, .newest = newest},
            lines);
        const std::uint64_t end = std::min<std::uint64_t>(to, 1'001);  // not included
        const std::uint64_t count = from >= end ? 0 : std::min(newest, end - from);
        ASSERT_EQ(lines.size(), count) << from << " to " << to << ", " << newest;
        EXPECT_FALSE(answer.overwritten);
        if (count == 0) continue;
        EXPECT_EQ(lines.front().number, end - count);
        EXPECT_EQ(lines.back().number, end - 1);
      }
}

class FullPriceStores : public PriceStores {
 protected:
  FullPriceStores() : PriceStores(tight()) {}
  static StoreOptions tight() {
    StoreOptions options = small_store();
    options.instruments = 8;
    options.trades = 128;  // homes of 32, and 768 lines that go to who needs them first
    return options;
  }
};

TEST_F(FullPriceStores, WhatIsOverwrittenIsToldAndTheRestIsThere) {
  for (std::uint64_t trace = 1; trace <= 5'000; ++trace)
    store.on_update(trade_of(1, trace, kOpen + trace, 10'0000, 100));
  EXPECT_GT(store.counters().overwritten.get(), 4'000u);
  std::vector<wire::HistoryLine> lines;
  RangeAnswer answer = range(1, {}, lines);
  ASSERT_EQ(answer.status, PriceStatus::kOk);
  EXPECT_TRUE(answer.overwritten);
  EXPECT_EQ(answer.first, 5'000 - lines.size());
  EXPECT_EQ(lines.size(), 255u) << "64, 128 and 256 fit into the pool of 768, 512 no more";
  EXPECT_EQ(lines.back().number, 5'000u);
  answer = range(1, {.from_ns = kOpen + 4'990}, lines);
  EXPECT_FALSE(answer.overwritten) << "nothing of this range was";
  EXPECT_EQ(lines.size(), 11u);
  // The others have their homes whatever the first one takes.
  for (std::uint64_t trace = 1; trace <= 30; ++trace)
    store.on_update(trade_of(2, trace, kOpen + trace, 10'0000, 100));
  answer = range(2, {}, lines);
  EXPECT_FALSE(answer.overwritten);
  EXPECT_EQ(lines.size(), 30u);
}

TEST_F(PriceStores, ARingGrowsNoFurtherThanItIsToReachBack) {
  StoreOptions options = small_store();
  options.keep_ns = 10 * kSecond;
  PriceStore other(*fabric().device, options, 64, "brief");
  other.list(wire::symbol_word("A"), 1);
  for (std::uint64_t trace = 1; trace <= 20'000; ++trace)  // ten a second: a hundred to keep
    other.on_update(trade_of(1, trace, kOpen + trace * kSecond / 10, 10'0000, 100));
  EXPECT_LE(other.counters().moves.get(), 2u);
  EXPECT_EQ(other.counters().overwritten.get(), 0u);
}

// Also while a ring moves, and however suddenly the rate rises: readers look into the old one.
TEST_F(PriceStores, WhatIsYoungerThanWhatIsKeptIsThereAtEveryMomentWhateverTheRate) {
  StoreOptions options = small_store();
  options.keep_ns = 10 * kSecond;
  PriceStore other(*fabric().device, options, 64, "wavers");
  other.list(wire::symbol_word("A"), 1);
  const Reading its(other.grant());
  PriceClient reader(*fabric().device, "reader");
  reader.attach(*its.there, its.there->extras()[0]);
  Random random(5);
  std::vector<std::uint64_t> times;
  std::vector<wire::HistoryLine> lines;
  std::uint64_t now = kOpen;
  std::uint64_t gap = kSecond / 10;
  for (std::uint64_t trace = 1; trace <= 12'000; ++trace) {
    if (random.below(400) == 0) gap = kSecond / (1 + random.below(150));
    now += gap;
    times.push_back(now);
    other.on_update(trade_of(1, trace, now, 10'0000, 100));
    if (trace % 7 != 0) continue;
    const std::uint64_t from = now - options.keep_ns + 1;
    const RangeAnswer answer = reader.range("A", {.from_ns = from}, lines);
    ASSERT_EQ(answer.status, PriceStatus::kOk);
    const auto wanted = times.end() - std::lower_bound(times.begin(), times.end(), from);
    ASSERT_EQ(lines.size(), static_cast<std::size_t>(wanted)) << "at entry " << trace;
    ASSERT_FALSE(answer.overwritten) << "at entry " << trace;
  }
  reader.detach();
  EXPECT_GT(other.counters().moves.get(), 3u);
  EXPECT_EQ(other.counters().overwritten.get(), 0u);
}

TEST_F(PriceStores, ANewDayShowsNothingOfTheOneBefore) {
  store.on_update(quote_of(1, 1, kOpen, 1, 2));
  for (std::uint64_t trace = 1; trace <= 100; ++trace)
    store.on_update(trade_of(1, trace, kOpen + trace, 10'0000, 100));
  store.begin_day();
  wire::LatestPrices latest;
  EXPECT_EQ(client.get("S1", latest), PriceStatus::kNothingYet);
  store.on_update(trade_of(1, 200, kOpen - 5, 11'0000, 50));
  ASSERT_EQ(client.get("S1", latest), PriceStatus::kOk);
  EXPECT_EQ(latest.day, 2u);
  EXPECT_EQ(latest.day_bar.volume, 50u);
  std::vector<wire::HistoryLine> lines;
  const RangeAnswer answer = range(1, {}, lines);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_FALSE(answer.overwritten) << "nothing of this day was";
  EXPECT_EQ(answer.day, 2u);
  EXPECT_EQ(answer.first, 100u);
}

TEST_F(PriceStores, ASessionThatGoesOnKeepsTheDayAndOneOfEarlierTimesBeginsAnother) {
  store.on_update(trade_of(1, 1, kOpen, 10'0000, 100));
  store.begin_session();
  wire::BookUpdate cleared = quote_of(1, 0, kOpen - 1, 0, 0);
  cleared.kind = wire::UpdateKind::kBookCleared;
  store.on_update(cleared);  // of the old one
  store.on_update(trade_of(1, 1, kOpen + 1, 10'0000, 100));
  EXPECT_EQ(store.counters().days.get(), 0u);
  store.begin_session();
  store.on_update(trade_of(1, 1, kOpen, 10'0000, 100));
  EXPECT_EQ(store.counters().days.get(), 1u);
}

TEST_F(PriceStores, InstrumentsWithoutRoomAreCounted) {
  for (std::uint32_t id = 0; id < 20; ++id) store.list(wire::symbol_word(symbol_name(id)), id);
  EXPECT_EQ(store.counters().instruments.get(), 16u);
  EXPECT_EQ(store.counters().unlisted.get(), 4u);
  store.on_update(trade_of(19, 1, kOpen, 10'0000, 100));
  store.on_update(trade_of(63, 1, kOpen, 10'0000, 100));
  store.on_update(trade_of(wire::kNoInstrument, 1, kOpen, 10'0000, 100));
  EXPECT_EQ(store.counters().trades.get(), 0u);
  wire::LatestPrices latest;
  EXPECT_EQ(client.get("S19", latest), PriceStatus::kUnknownSymbol);
}

TEST(PriceStoreIndex, EverySymbolIsFoundInAFullStore) {
  StoreOptions options = small_store();
  options.instruments = 1'000;
  options.trades = options.quotes = options.bars_1s = options.bars_1m = 16;
  PriceStore store(*fabric().device, options, 1'000, "full");
  for (std::uint32_t id = 0; id < 1'000; ++id) {
    store.list(wire::symbol_word(symbol_name(id)), id);
    store.on_update(trade_of(id, 1, kOpen, 10'0000 + id, 100));
  }
  Reading reading(store.grant());
  PriceClient client(*fabric().device, "client", {.reads_in_flight = 4, .symbols_max = 10});
  client.attach(*reading.there, reading.there->extras()[0]);
  for (std::uint32_t id = 0; id < 1'000; ++id) {
    wire::LatestPrices latest;
    ASSERT_EQ(client.get(symbol_name(id), latest), PriceStatus::kOk) << id;
    ASSERT_EQ(latest.trade.price, 10'0000 + id);
  }
  client.detach();
}

TEST(PriceClients, WhatIsNoStoreIsRefusedAndALostPeerToldOf) {
  const auto other =
      fabric().device->allocate(4'096, rdma::kLocalWrite | rdma::kRemoteRead, "no store");
  Reading reading({other.get(), rdma::kRemoteRead});
  PriceClient client(*fabric().device, "client");
  wire::LatestPrices latest;
  EXPECT_EQ(client.get("S1", latest), PriceStatus::kFailed) << "not attached";
  client.attach(*reading.there, reading.there->extras()[0]);
  EXPECT_EQ(client.get("S1", latest), PriceStatus::kNoStore);
  // One that says it has more than was granted.
  auto& info = *reinterpret_cast<wire::StoreInfo*>(other->data());
  info.magic = wire::StoreInfo::kMagic;
  info.index_slots = 1'024;
  info.index_offset = 192;
  info.instruments = 8;
  EXPECT_EQ(client.get("S1", latest), PriceStatus::kNoStore);
  reading.here->queue_pair().disconnect();
  EXPECT_TRUE(link::test::eventually(
      [&] { return client.get("S1", latest, 5'000) == PriceStatus::kFailed; }));
  client.detach();
}

TEST(LinePool, BlocksNeverOverlapAndComeBack) {
  std::vector<wire::HistoryLine> lines(1'024);
  LinePool pool(lines.data(), 24, 1'024);
  Random random(3);
  std::map<std::uint64_t, std::uint64_t> taken;
  std::vector<std::pair<std::uint64_t, unsigned>> blocks;
  for (int round = 0; round < 10'000; ++round) {
    if (random.chance(0.5) && !blocks.empty()) {
      const std::size_t which = random.below(blocks.size());
      pool.give(blocks[which].first, blocks[which].second);
      taken.erase(blocks[which].first);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(which));
      continue;
    }
    const unsigned size = 1 + random.below(7);
    const std::uint64_t line = pool.take(size);
    if (line == LinePool::kNone) continue;
    const std::uint64_t end = line + (std::uint64_t{1} << size);
    ASSERT_GE(line, 24u);
    ASSERT_LE(end, 1'024u);
    const auto above = taken.lower_bound(line);
    ASSERT_TRUE(above == taken.end() || above->first >= end);
    ASSERT_TRUE(above == taken.begin() || std::prev(above)->second <= line);
    taken[line] = end;
    blocks.emplace_back(line, size);
  }
}

}  // namespace
}  // namespace tickpath::prices::test
