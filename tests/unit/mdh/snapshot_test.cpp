// Gaps that a snapshot bridges: what the arbiter asks for, what the feed shows meanwhile, and that
// the books are those of a whole feed. Snapshots are made by sim's code.

#include <optional>
#include <set>

#include "tests/unit/mdh/random_network.hpp"
#include "tests/unit/mdh/venue_snapshot.hpp"

namespace tickpath::mdh::test {
namespace {

// Answers when the test says so.
struct FakeSnapshots final : SnapshotPort {
  Status status = Status::kNone;
  Snapshot made;
  int requests = 0;
  void request() noexcept override {
    if (status != Status::kNone) return;
    ++requests;
    status = Status::kPending;
  }
  Status poll() noexcept override { return status; }
  const Snapshot& snapshot() const noexcept override { return made; }
  void release() noexcept override { status = Status::kNone; }
};

class SnapshotTest : public FeedTest {
 protected:
  SnapshotTest() { prepare(); }
  void prepare(RetransmitPort* asked = nullptr, ArbiterOptions options = {}) {
    options.gap_wait_ns = 100 * kUs;
    options.request_timeout_ns = 1'000 * kUs;
    options.requests_max = 3;
    options.snapshot_retry_ns = 5'000 * kUs;
    options.snapshot_attempts_max = 3;
    arbiter.emplace(options, feed, asked, &snapshots, log);
  }
  TscTicks now() const { return converter.from_ns(now_ns); }
  void give(const Bytes& bytes) {
    arbiter->collect(Line::kA, bytes, {0, now()});
    arbiter->process(now());
  }
  void wait(std::uint64_t ns) {
    now_ns += ns;
    feed.set_contested(arbiter->contested(now()));  // as each turn does
    arbiter->process(now());
  }
  // Message n of the venue's session: an order of its own, of stock 1 or 2.
  static Bytes message(std::uint64_t n) {
    return n % 2 == 1 ? add(1, "AAPL", n, 'B', 100, static_cast<std::uint32_t>(1'000 + n))
                      : add(2, "MSFT", n, 'S', 100, static_cast<std::uint32_t>(9'000 - n));
  }
  static Bytes one(std::uint64_t n, const std::string& session = "S") {
    return packet(session, n, {message(n)});
  }
  void give_each(const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t n : numbers) give(one(n));
  }
  // Until a gap counts as one, and a turn more.
  void wait_for_gap() {
    wait(101 * kUs);
    wait(1);
  }
  void snapshot_ready(std::uint64_t end, const std::string& session = "S") {
    sim::GlimpseBook venue(kRoom);
    for (std::uint64_t n = 1; n < end; ++n) venue.apply(message(n));
    fill(snapshots.made, venue, itch::mold::Session(session));
    snapshots.status = SnapshotPort::Status::kReady;
  }
  void take_snapshot(std::uint64_t end, const std::string& session = "S") {
    snapshot_ready(end, session);
    wait(1);
  }
  std::uint32_t id_of(std::uint16_t locate) const { return feed.instruments().id_of(locate); }

  clock::TickConverter converter;
  std::uint64_t now_ns = 1'000'000'000;
  FakeSnapshots snapshots;
  FakePort port;
  std::optional<Arbiter> arbiter;
};

TEST_F(SnapshotTest, WhatRetransmissionDoesNotBringIsBridged) {
  prepare(&port);
  give_each({1, 4});
  wait(101 * kUs);
  for (int i = 0; i < 3; ++i) wait(1'001 * kUs);
  EXPECT_EQ(port.asked.size(), 3u);
  EXPECT_EQ(feed.counters().gaps.get(), 0u) << "it is not given up";
  wait(1);
  EXPECT_EQ(snapshots.requests, 1);
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
  give(one(5));  // held meanwhile
  give(one(6));
  take_snapshot(5);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_FALSE(arbiter->waiting());
  EXPECT_EQ(feed.counters().next_sequence.get(), 7u);
  EXPECT_EQ(feed.counters().bridged_messages.get(), 3u);
  EXPECT_EQ(feed.counters().missed_messages.get(), 0u);
  EXPECT_EQ(feed.counters().gaps.get(), 0u);
  EXPECT_EQ(arbiter->counters().snapshots.get(), 1u);
  EXPECT_EQ(feed.books().orders_resting(), 6u);
  EXPECT_EQ(feed.books().best(1, Side::kBuy).price, 1'005u);
  EXPECT_EQ(feed.books().best(2, Side::kSell).price, 8'994u);
  feed.books().verify();
  give(one(7));
  EXPECT_EQ(feed.books().orders_resting(), 7u);
}

// The rest of a day and the start of the next are lost. Its locates are others.
class SnapshotOfAnotherDay : public SnapshotTest {
 protected:
  static Bytes event(char code) {
    return encoded(itch::SystemEvent{.header = header(0), .event_code = code});
  }
  // heard: the first of them. The last is heard, too, behind the gap.
  void bridge(const std::vector<Bytes>& messages, std::size_t heard) {
    sim::GlimpseBook venue(kRoom);
    for (const Bytes& each : messages) venue.apply(each);
    give(packet("S", 1, {messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(heard)}));
    sink.updates.clear();
    give(packet("S", messages.size(), {messages.back()}));
    wait_for_gap();
    ASSERT_EQ(snapshots.requests, 1);
    fill(snapshots.made, venue, itch::mold::Session("S"));
    snapshots.status = SnapshotPort::Status::kReady;
    wait(1);
    ASSERT_EQ(feed.state(), wire::FeedState::kGood);
  }
};

TEST_F(SnapshotOfAnotherDay, GivesEachSymbolItsOwnBook) {
  bridge({event('O'), directory(1, "AAPL"), add(1, "AAPL", 1, 'B', 100, 1'000), event('C'),
          event('O'), directory(1, "MSFT"), add(1, "MSFT", 2, 'B', 95, 5'000), directory(2, "SPY")},
         3);
  EXPECT_EQ(sink.updates.at(1).kind, wire::UpdateKind::kBookCleared);
  EXPECT_EQ(sink.updates.at(1).instrument_id, 0u);
  EXPECT_EQ(sink.updates.at(1).best_bid, 0u) << "who has AAPL's book is told that it is gone";
  EXPECT_EQ(image(0).bids[0].price, 0u);
  EXPECT_FALSE(feed.instruments()[0].listed) << "AAPL is not there today";
  EXPECT_EQ(image(1).bids[0].price, 5'000u);
  EXPECT_EQ(id_of(1), 1u);
  EXPECT_EQ(feed.counters().further_days.get(), 1u);
}

TEST_F(SnapshotOfAnotherDay, IsKnownByTheEndThatWasHeard) {
  bridge({event('O'), directory(1, "AAPL"), directory(2, "SPY"), add(2, "SPY", 1, 'B', 9, 9'000),
          event('E'), event('C'), event('O'), directory(1, "AAPL"), event('Q'),
          add(1, "AAPL", 2, 'B', 100, 1'000)},
         5);
  EXPECT_EQ(feed.counters().further_days.get(), 1u);
  EXPECT_EQ(image(0).bids[0].price, 1'000u);
  EXPECT_FALSE(feed.instruments()[1].listed);
}

TEST_F(SnapshotOfAnotherDay, KeepsTheLocatesOfADayThatGoesOn) {
  bridge({event('O'), add(1, "AAPL", 1, 'B', 100, 1'000), add(2, "MSFT", 2, 'S', 100, 9'000),
          remove(1, 1), add(3, "SPY", 3, 'B', 1, 10), add(3, "SPY", 4, 'B', 1, 10)},
         3);
  EXPECT_EQ(feed.counters().further_days.get(), 0u);
  EXPECT_EQ(id_of(1), 0u) << "the snapshot has nothing of AAPL, which is there all the same";
  EXPECT_EQ(image(1).asks[0].price, 9'000u);
}

TEST_F(SnapshotTest, ALongGapIsNotAskedForMessageByMessage) {
  prepare(&port, ArbiterOptions{.snapshot_gap_messages = 50});
  give(one(100));  // joined late
  wait_for_gap();
  EXPECT_TRUE(port.asked.empty());
  EXPECT_EQ(snapshots.requests, 1);
  take_snapshot(101);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_EQ(feed.books().orders_resting(), 100u);
  EXPECT_EQ(feed.counters().sessions.get(), 1u);
  EXPECT_EQ(sink.rows.size(), 2u);
}

TEST_F(SnapshotTest, EachInstrumentIsGoodAsSoonAsNothingHeldConcernsIt) {
  give(packet("S", 1, {message(1), message(2)}));
  give(one(5));
  wait_for_gap();
  ASSERT_EQ(snapshots.requests, 1);
  give(packet("S", 6, {message(7), message(9)}));  // of stock 1 alone, both
  snapshot_ready(5);  // holds 1 to 4; 5, 6 and 7 are held, all of stock 1
  const std::size_t before = sink.updates.size();
  wait(1);
  // Stock 2 first, then stock 1 with its last held message, then everything.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> good;
  for (std::size_t i = before; i < sink.updates.size(); ++i) {
    const wire::BookUpdate& update = sink.updates[i];
    if (update.kind == wire::UpdateKind::kFeedState &&
        update.feed_state() == wire::FeedState::kGood)
      good.emplace_back(update.instrument_id, update.trace_id);
    if (update.kind == wire::UpdateKind::kBookCleared) {
      EXPECT_EQ(update.feed_state(), wire::FeedState::kStale);
    }
    if (update.kind == wire::UpdateKind::kAdd && update.trace_id < 7) {
      EXPECT_EQ(update.feed_state(), wire::FeedState::kStale) << update.trace_id;
    }
  }
  using Good = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  ASSERT_EQ(good.size(), 3u);
  EXPECT_EQ(good.back().first, wire::kNoInstrument);
  good.pop_back();
  EXPECT_EQ(good, (Good{{id_of(2), 4}, {id_of(1), 7}}));
}

TEST_F(SnapshotTest, WithAHoleBehindTheSnapshotNothingIsGood) {
  give_each({1, 4});
  wait_for_gap();
  give(one(8));
  take_snapshot(4);
  for (const wire::BookUpdate& update : sink.updates)
    if (update.trace_id > 1) {
      EXPECT_NE(update.feed_state(), wire::FeedState::kGood);
    }
  EXPECT_TRUE(arbiter->waiting());
  wait_for_gap();
  EXPECT_EQ(snapshots.requests, 2);
  take_snapshot(9);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_EQ(feed.books().orders_resting(), 8u);
}

// mdh/DESIGN.md: nobody knows what has traded since.
TEST_F(SnapshotTest, TheLastTradeIsEmptyBehindASnapshot) {
  give(packet("S", 1, {add(1, "AAPL", 1, 'B', 100, 1'000)}));
  give(packet("S", 2, {execute(1, 1, 10)}));
  wire::BookImage image{};
  feed.fill_image(id_of(1), image);
  EXPECT_EQ(image.last_trade_price, 1'000u);
  give(one(9));
  wait_for_gap();
  take_snapshot(9);
  feed.fill_image(id_of(1), image);
  EXPECT_EQ(image.last_trade_price, 0u);
  EXPECT_EQ(image.last_trade_shares, 0u);
}

// Halts elsewhere, before and after its own, are none of this market's.
TEST_F(SnapshotTest, WhatIsHaltedAtThisMarketIsSoBehindASnapshot) {
  const auto halt = [](char market, char action) {
    return encoded(itch::OperationalHalt{.header = {1, 0, 5},
                                         .stock = "AAPL",
                                         .market_code = market,
                                         .operational_halt_action = action});
  };
  give_each({1});
  give(one(9));  // 2 to 8 are lost
  wait_for_gap();
  sim::GlimpseBook venue(kRoom);
  for (const Bytes& each : {message(1), message(2), halt('B', 'H'), halt('Q', 'H'), halt('X', 'T'),
                            halt('B', 'T'), message(3), message(4)})
    venue.apply(each);
  fill(snapshots.made, venue, itch::mold::Session("S"));
  snapshots.status = SnapshotPort::Status::kReady;
  wait(1);
  EXPECT_EQ(feed.instruments()[id_of(1)].trading_state(), wire::TradingState::kHalted);
}

TEST_F(SnapshotTest, AnAttemptThatFailsIsRepeatedAndThenGivenUp) {
  give_each({1, 3});
  wait(101 * kUs);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    wait(1);
    EXPECT_EQ(snapshots.requests, attempt);
    EXPECT_EQ(feed.counters().gaps.get(), 0u);
    snapshots.status = SnapshotPort::Status::kFailed;
    wait(1);
    wait(4'000 * kUs);
    EXPECT_EQ(snapshots.requests, attempt) << "too soon";
    wait(1'000 * kUs);
  }
  EXPECT_EQ(arbiter->counters().snapshots_failed.get(), 3u);
  EXPECT_EQ(feed.counters().gaps.get(), 1u);
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
  EXPECT_FALSE(arbiter->waiting());
  // The next gap brings another snapshot, and with it everything is good again.
  give(one(6));
  wait_for_gap();
  take_snapshot(6);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_EQ(feed.books().orders_resting(), 6u);
}

TEST_F(SnapshotTest, OneOfAnotherSessionOrTooOldIsOfNoUse) {
  give_each({1, 2, 5});
  wait_for_gap();
  take_snapshot(5, "T");
  EXPECT_EQ(arbiter->counters().snapshots_failed.get(), 1u);
  wait(5'001 * kUs);
  EXPECT_EQ(snapshots.requests, 2);
  take_snapshot(3);  // what is here already
  EXPECT_EQ(arbiter->counters().snapshots_failed.get(), 2u);
  EXPECT_EQ(arbiter->counters().snapshots.get(), 0u);
  EXPECT_EQ(feed.books().orders_resting(), 2u);
}

TEST_F(SnapshotTest, WhatFindsNoRoomToWaitIsLeftToTheSnapshot) {
  prepare(nullptr, ArbiterOptions{.held_packets = 4});
  give(one(1));
  for (std::uint64_t n = 3; n <= 30; ++n) give(one(n));
  EXPECT_EQ(arbiter->counters().held_full.get(), 1u);
  EXPECT_EQ(arbiter->counters().dropped.get(), 24u);
  EXPECT_EQ(feed.counters().gaps.get(), 0u);
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
  wait(101 * kUs);
  take_snapshot(29);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_EQ(feed.books().orders_resting(), 30u);
}

TEST_F(SnapshotTest, ANewSessionEndsTheWaitAndClearsTheBooksAtOnce) {
  give_each({1, 2, 5});
  wait_for_gap();
  give(packet("T", 3, {}));  // its first two messages were lost
  EXPECT_FALSE(arbiter->awaiting_snapshot());
  EXPECT_EQ(feed.counters().sessions.get(), 2u);
  EXPECT_EQ(feed.books().orders_resting(), 0u);
  EXPECT_NE(feed.state(), wire::FeedState::kGood);
  std::set<std::uint32_t> cleared;
  for (const wire::BookUpdate& update : sink.updates)
    if (update.kind == wire::UpdateKind::kBookCleared) cleared.insert(update.instrument_id);
  EXPECT_EQ(cleared.size(), 2u);
  // The snapshot that was asked for is of the session before; another is asked for.
  snapshot_ready(6, "S");
  wait_for_gap();
  EXPECT_EQ(feed.books().orders_resting(), 0u);
  wait(5'001 * kUs);
  take_snapshot(3, "T");
  EXPECT_EQ(feed.books().orders_resting(), 2u);
  EXPECT_EQ(feed.state(), wire::FeedState::kStale) << "S was heard a moment ago, and did not end";
  wait(2'500'000 * kUs);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
}

TEST_F(SnapshotTest, WhatTheLinesBringAfterAllEndsTheWait) {
  give_each({1, 3});
  wait_for_gap();
  EXPECT_TRUE(arbiter->awaiting_snapshot());
  give(one(2));
  EXPECT_FALSE(arbiter->awaiting_snapshot());
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_EQ(feed.counters().snapshots.get(), 0u);
}

TEST_F(SnapshotTest, WaitingForOneIsNoSilence) {
  give_each({1, 3});
  wait(101 * kUs);
  for (int i = 0; i < 40; ++i) {  // heartbeats, for longer than the feed may be silent
    now_ns += 50'000 * kUs;
    give(packet("S", 4, {}));
    feed.on_time(now());
  }
  EXPECT_EQ(feed.counters().silences.get(), 0u);
}

TEST_F(SnapshotTest, WhatARebuiltBookLacksIsStaleAlone) {
  FeedOptions small = small_options();
  small.book = {.orders_max = 4, .levels_max = 64};
  VectorSink out;
  Feed tight(small, out, trace, log);
  Arbiter both({}, tight, nullptr, &snapshots, log);
  const auto at = [&](std::uint64_t ns) { return converter.from_ns(now_ns + ns); };
  const Bytes late = packet("S", 7, {});
  both.collect(Line::kA, late, {0, at(0)});
  both.process(at(0));
  both.process(at(2'000'000));
  both.process(at(2'000'001));
  snapshot_ready(7);  // 3 orders each: of stock 1 all, of stock 2 one
  both.process(at(2'000'002));
  const auto state = [&](std::uint16_t locate) {
    return image_of(tight, tight.instruments().id_of(locate)).feed_state();
  };
  EXPECT_EQ(state(1), wire::FeedState::kGood);
  EXPECT_EQ(state(2), wire::FeedState::kStale);
}

}  // namespace
}  // namespace tickpath::mdh::test
