// One feed, shared by several mdh's: each keeps the books of its own symbols, and all of them
// together keep what one alone would.
#include <array>
#include <memory>
#include <random>

#include <gmock/gmock.h>

#include "common/feeds/iex/codec.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "mdh/config.hpp"
#include "tests/unit/mdh/feed_fixture.hpp"
#include "tests/unit/mdh/venue_snapshot.hpp"

namespace tickpath::mdh::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using wire::FeedState;
using wire::UpdateKind;

// With two shards AAPL, MSFT and QQQ are in the first, SPY, A and TSLA in the second.
constexpr const char* kOwn = "AAPL";
constexpr const char* kOther = "SPY";

FeedOptions options_of(wire::Shard shard, FeedProtocol protocol = FeedProtocol::kItch50) {
  FeedOptions options = small_options();
  options.shard = shard;
  options.protocol = protocol;
  return options;
}

Bytes event(char code) {
  return encoded(itch::SystemEvent{.header = header(0), .event_code = code});
}

class ShardOfTwo : public FeedTest {
 protected:
  ShardOfTwo() : FeedTest(options_of({1, 2})) {}
  std::uint64_t others() const { return feed.counters().other_shards.get(); }
  std::vector<std::uint32_t> ids() const {
    std::vector<std::uint32_t> all;
    for (const wire::BookUpdate& update : sink.updates) all.push_back(update.instrument_id);
    return all;
  }
};

TEST_F(ShardOfTwo, KeepsAndPublishesItsOwnSymbolsAlone) {
  send({event('O'), directory(7, kOwn), directory(8, kOther), trading(8, kOther, 'T')});
  send({add(7, kOwn, 1, 'B', 300, 99'0000), add(8, kOther, 2, 'B', 300, 99'0000),
        execute(8, 2, 100), execute(7, 1, 100), remove(8, 2)});
  EXPECT_EQ(kinds(), (std::vector{UpdateKind::kFeedState, UpdateKind::kInformation,
                                  UpdateKind::kDirectory, UpdateKind::kAdd, UpdateKind::kExecute}));
  EXPECT_EQ(ids(), (std::vector<std::uint32_t>{wire::kNoInstrument, wire::kNoInstrument, 0, 0, 0}));
  EXPECT_EQ(last().trace_id, 8u) << "numbers are those of the whole feed";
  EXPECT_EQ(others(), 5u);
  EXPECT_EQ(feed.counters().messages.get(), 9u);
  EXPECT_EQ(feed.counters().missed_messages.get(), 0u);
  EXPECT_EQ(feed.instruments().size(), 1u);
  EXPECT_EQ(feed.books().orders_resting(), 1u);
  EXPECT_EQ(image().bids[0].shares, 200u);
}

// A feed without a directory names a symbol with its first order; what follows has the locate
// alone.
TEST_F(ShardOfTwo, LearnsFromAnOrderWhoseTheLocateIs) {
  send({add(8, kOther, 2, 'B', 300, 99'0000), execute(8, 2, 100), remove(8, 2),
        add(7, kOwn, 1, 'B', 300, 99'0000)});
  EXPECT_EQ(others(), 3u);
  EXPECT_EQ(feed.books().count(book::Status::kUnknownReference), 0u);
  EXPECT_EQ(feed.books().orders_resting(), 1u);
  EXPECT_EQ(feed.instruments().size(), 1u);
}

TEST_F(ShardOfTwo, LocatesAreVoidWithTheDayAndTheSession) {
  send({event('O'), directory(7, kOwn), directory(8, kOther), event('E'), event('C')});
  send({event('O'), directory(8, kOwn), directory(7, kOther), add(8, kOwn, 1, 'B', 1, 100),
        add(7, kOther, 2, 'B', 1, 100)});
  EXPECT_EQ(feed.counters().further_days.get(), 1u);
  EXPECT_EQ(image().bids[0].shares, 1u);
  EXPECT_EQ(others(), 3u);
  deliver(packet("T", 1, {directory(7, kOwn), add(7, kOwn, 1, 'B', 5, 100)}));
  EXPECT_EQ(image().bids[0].shares, 5u);
  EXPECT_EQ(feed.instruments().size(), 1u) << "an id is a symbol's";
}

TEST_F(ShardOfTwo, ASnapshotOfAnotherDayVoidsTheLocatesOfOthers) {
  send({event('O'), directory(7, kOwn), directory(8, kOther)});
  sim::GlimpseBook venue(kRoom);
  for (const Bytes& message :
       {event('O'), directory(8, kOwn), directory(7, kOther), add(8, kOwn, 1, 'B', 5, 100)})
    venue.apply(message);
  Snapshot snapshot;
  fill(snapshot, venue, itch::mold::Session("S"));
  feed.restore(snapshot, tsc_now());
  EXPECT_EQ(feed.counters().further_days.get(), 1u);
  EXPECT_EQ(image().bids[0].shares, 5u);
}

TEST_F(ShardOfTwo, SystemEventsAreOfAllShards) {
  // Some recordings give every message the locate of none.
  send({directory(0, kOther), event('C')});
  EXPECT_EQ(last().kind, UpdateKind::kInformation);
  EXPECT_EQ(last().trace_id, 2u);
  EXPECT_EQ(feed.instruments().size(), 0u);
}

TEST_F(ShardOfTwo, SymbolsOfOthersThatItOnceHadGetNoRow) {
  const std::chrono::sys_days today{std::chrono::year(2026) / 3 / 31};
  feed.remember(std::vector<KnownSymbol>{{kOther, today}, {kOwn, today}}, today);
  ASSERT_EQ(sink.rows.size(), 1u);
  EXPECT_EQ(sink.rows[0].name(), kOwn);
  EXPECT_EQ(sink.rows[0].instrument_id, 1u) << "ids stay what they were";
}

// ------------------------------------------------------------------------------------ recovery

class ShardRecovery : public ShardOfTwo {
 protected:
  // Message n of the venue's session: orders of our symbol and of another's, in turn.
  static Bytes message(std::uint64_t n) {
    return n % 2 == 1 ? add(1, kOwn, n, 'B', 100, static_cast<std::uint32_t>(1'000 + n))
                      : add(2, kOther, n, 'S', 100, static_cast<std::uint32_t>(9'000 - n));
  }
  static Bytes one(std::uint64_t n) { return packet("S", n, {message(n)}); }
  Snapshot snapshot_before(std::uint64_t end) const {
    sim::GlimpseBook venue(kRoom);
    for (std::uint64_t n = 1; n < end; ++n) venue.apply(message(n));
    Snapshot made;
    fill(made, venue, itch::mold::Session("S"));
    return made;
  }
};

TEST_F(ShardRecovery, ASnapshotRestoresItsOwnBooksAlone) {
  for (std::uint64_t n = 1; n <= 4; ++n) deliver(one(n));
  feed.set_recovering(true);
  const Snapshot snapshot = snapshot_before(11);
  feed.restore(snapshot, tsc_now());
  EXPECT_EQ(feed.instruments().size(), 1u);
  EXPECT_EQ(feed.books().orders_resting(), 5u) << "1, 3, 5, 7, 9";
  EXPECT_EQ(feed.counters().snapshot_orders.get(), 5u);
  EXPECT_EQ(feed.counters().bridged_messages.get(), 6u) << "of the whole feed: all counted";
  EXPECT_EQ(image().bids[0].price, 1'009u);
  EXPECT_EQ(image().asks[0].price, 0u);
}

// The first thing that it ever hears is a snapshot: whose the locates are is in there.
TEST_F(ShardRecovery, ASnapshotTellsWhoseLocatesAre) {
  deliver(packet("S", 11, {event('Q')}));
  feed.restore(snapshot_before(21), tsc_now());
  EXPECT_EQ(feed.books().orders_resting(), 10u);
  const std::uint64_t before = others();
  deliver(one(21));
  deliver(one(22));
  deliver(packet("S", 23, {remove(2, 22)}));
  EXPECT_EQ(others(), before + 2);
  EXPECT_EQ(feed.books().orders_resting(), 11u);
  EXPECT_EQ(feed.books().count(book::Status::kUnknownReference), 0u);
}

TEST_F(ShardRecovery, WhatWaitsForOthersKeepsNoneOfItsOwnStale) {
  for (std::uint64_t n = 1; n <= 2; ++n) deliver(one(n));
  feed.set_recovering(true);
  feed.restore(snapshot_before(5), tsc_now());
  feed.expect(message(6));  // another shard's alone
  feed.expect(message(8));
  feed.begin_catch_up();
  EXPECT_EQ(last().kind, UpdateKind::kFeedState);
  EXPECT_EQ(last().instrument_id, 0u);
  EXPECT_EQ(last().feed_state(), FeedState::kGood);
}

// The numbering is of the whole feed: another shard's message that is lost is a gap as any other,
// for nobody knows whose it was.
TEST_F(ShardRecovery, ALostMessageOfAnotherShardIsAGap) {
  deliver(one(1));
  deliver(one(3));
  EXPECT_EQ(feed.counters().missed_messages.get(), 1u);
  EXPECT_EQ(feed.state(), FeedState::kStale);
}

// ------------------------------------------------------------------------- shards and the whole

struct Kept {
  explicit Kept(wire::Shard shard) : feed(options_of(shard), sink, trace, log), line(feed, log) {}
  VectorSink sink;
  trace::TraceWriter trace{{}};
  log::HotLog log;
  Feed feed;
  OneLine line;

  // By symbol, whatever its id: quote and number after each message.
  std::map<std::string, std::vector<std::array<std::uint64_t, 4>>> quotes() const {
    std::map<std::string, std::vector<std::array<std::uint64_t, 4>>> all;
    for (const wire::BookUpdate& update : sink.updates)
      if (update.instrument_id != wire::kNoInstrument)
        all[std::string(sink.rows.at(update.instrument_id).name())].push_back(
            {update.trace_id, update.best_bid, update.best_ask,
             static_cast<std::uint64_t>(update.kind)});
    return all;
  }
};

TEST(Shards, TogetherPublishWhatOneAlonePublishes) {
  constexpr std::array<const char*, 9> kSymbols{"AAPL", "MSFT", "SPY",   "A",  "QQQ",
                                                "TSLA", "ZAAA", "BRK.A", "IBM"};
  Kept whole({1, 1});
  std::vector<std::unique_ptr<Kept>> shards;
  for (std::uint8_t number = 1; number <= 3; ++number)
    shards.push_back(std::make_unique<Kept>(wire::Shard{number, 3}));
  std::mt19937 random(7);
  std::vector<std::pair<std::uint16_t, std::uint64_t>> resting;
  std::uint64_t sequence = 1;
  for (std::uint64_t burst = 0; burst < 300; ++burst) {
    std::vector<Bytes> messages;
    for (int i = 0; i < 10; ++i) {
      if (resting.size() > 20 && random() % 2 == 0) {
        std::swap(resting[random() % resting.size()], resting.back());
        messages.push_back(remove(resting.back().first, resting.back().second));
        resting.pop_back();
        continue;
      }
      const auto locate = static_cast<std::uint16_t>(1 + random() % kSymbols.size());
      const std::uint64_t reference = sequence * 10 + static_cast<std::uint64_t>(i);
      const bool buys = random() % 2 == 0;
      messages.push_back(add(locate, kSymbols[locate - 1u], reference, buys ? 'B' : 'S',
                             static_cast<std::uint32_t>(100 + random() % 900),
                             static_cast<std::uint32_t>((buys ? 1'000 : 2'000) + random() % 500)));
      resting.emplace_back(locate, reference);
    }
    const Bytes bytes = packet("S", sequence, messages);
    sequence += messages.size();
    whole.line.hear(bytes);
    for (const auto& shard : shards) shard->line.hear(bytes);
  }
  std::map<std::string, std::vector<std::array<std::uint64_t, 4>>> together;
  std::uint64_t left_out = 0;
  for (const auto& shard : shards) {
    for (auto& [symbol, quotes] : shard->quotes())
      EXPECT_TRUE(together.emplace(symbol, quotes).second) << symbol << " is in two shards";
    left_out += shard->feed.counters().other_shards.get();
    EXPECT_EQ(shard->feed.counters().messages.get(), sequence - 1);
    EXPECT_GT(shard->feed.instruments().size(), 0u);
  }
  EXPECT_EQ(together.size(), kSymbols.size());
  EXPECT_EQ(together, whole.quotes());
  EXPECT_EQ(left_out, 2 * (sequence - 1)) << "each message was two shards' to leave out";
}

// ---------------------------------------------------------------------------------- IEX DEEP

class DeepShard : public FeedTest {
 protected:
  DeepShard() : FeedTest(options_of({1, 2}, FeedProtocol::kIexDeep10)) {}
  template <class Message>
  static Bytes deep(const Message& message) {
    Bytes bytes(iex::kMaxMessageBytes);
    bytes.resize(iex::encode(message, bytes.data()));
    return bytes;
  }
  static Bytes bid(const char* symbol, iex::Price price) {
    return deep(iex::BuyLevelUpdate{
        .flags = 1, .timestamp = 5, .symbol = symbol, .size = 100, .price = price});
  }
  void say(const std::vector<Bytes>& messages) {
    Bytes buffer(65'507);
    iex::SegmentBuilder builder(buffer, {.protocol = iex::kDeep10, .channel = 1, .session = 7});
    builder.begin(next);
    for (const Bytes& message : messages) EXPECT_TRUE(builder.append(message));
    const auto made = builder.finish(1);
    next += messages.size();
    deliver({made.begin(), made.end()});
  }
};

TEST_F(DeepShard, IsDecidedByTheSymbolInEachMessage) {
  say({deep(iex::SecurityDirectory{.symbol = kOther}), bid(kOther, 99'0000), bid(kOwn, 98'0000),
       deep(iex::TradingStatus{.status = 'T', .symbol = kOther}), bid(kOther, 0)});
  EXPECT_EQ(feed.counters().other_shards.get(), 4u);
  EXPECT_EQ(feed.counters().messages.get(), 5u);
  EXPECT_EQ(feed.instruments().size(), 1u);
  EXPECT_EQ(image().bids[0].price, 98'0000u);
  say({deep(iex::SystemEvent{.event = iex::SystemEvent::kEndOfMessages})});
  EXPECT_TRUE(feed.ended()) << "of all shards";
}

// ------------------------------------------------------------------------------------- config

TEST(ShardConfig, SaysWhatIsNoShard) {
  const auto load = [](const std::string& shard) {
    return config::load_text(mdh_schema(), "feed.shard = '" + shard + "'\n", "m.toml");
  };
  EXPECT_EQ(load("2/4").shard, "2/4");
  EXPECT_EQ(load("").shard, "");
  for (const char* wrong : {"5/4", "0/4", "1/17", "two", "1/2/3"})
    EXPECT_THAT([&] { load(wrong); },
                ThrowsMessage<config::ConfigError>(HasSubstr("is no shard: write \"k/n\"")))
        << wrong;
}

}  // namespace
}  // namespace tickpath::mdh::test
