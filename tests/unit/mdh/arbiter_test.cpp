// Two lines, reordering, loss, retransmission: what reaches the feed.

#include <optional>

#include "tests/support/sanitized.hpp"
#include "tests/unit/mdh/random_network.hpp"

namespace tickpath::mdh::test {
namespace {

// A clock of the test's own.
class ArbiterTest : public FeedTest {
 protected:
  ArbiterTest() { prepare(); }
  void prepare(RetransmitPort* asked = nullptr, ArbiterOptions options = {}) {
    options.gap_wait_ns = 100 * kUs;
    options.request_timeout_ns = 1'000 * kUs;
    options.requests_max = 3;
    arbiter.emplace(options, feed, asked, nullptr, log);
  }
  TscTicks now() const { return converter.from_ns(now_ns); }
  // Bytes stay where they are until they are processed, as in a socket's buffers.
  void give(Line line, const Bytes& bytes, bool process = true) {
    given.push_back(bytes);
    arbiter->collect(line, given.back(), {0, now()});
    if (!process) return;
    feed.set_contested(arbiter->contested(now()));  // as each turn does
    arbiter->process(now());
    given.clear();
  }
  void give(Line line, std::initializer_list<std::uint64_t> numbers,
            const std::string& session = "S") {
    for (const std::uint64_t n : numbers) give(line, one(n, session));
  }
  void wait(std::uint64_t ns) {
    now_ns += ns;
    feed.set_contested(arbiter->contested(now()));
    arbiter->process(now());
  }
  // Message n of session "S": an order of its own.
  static Bytes one(std::uint64_t n, const std::string& session = "S") {
    return packet(session, n, {add(1, "AAPL", n, 'B', 100, 1'000)});
  }
  // The sequence numbers that the feed was given, in its order.
  std::vector<std::uint64_t> taken() const {
    std::vector<std::uint64_t> numbers;
    for (const wire::BookUpdate& update : sink.updates)
      if (update.kind == wire::UpdateKind::kAdd) numbers.push_back(update.trace_id);
    return numbers;
  }
  const ArbiterCounters& counters() const { return arbiter->counters(); }
  const LineCounters& line(Line which) const {
    return counters().lines[static_cast<std::size_t>(which)];
  }
  using Numbers = std::vector<std::uint64_t>;

  clock::TickConverter converter;
  std::uint64_t now_ns = 1'000'000'000;
  std::deque<Bytes> given;
  FakePort port;
  std::optional<Arbiter> arbiter;
};

TEST_F(ArbiterTest, EachMessageIsTakenOnceFromWhicheverLineHasItFirst) {
  give(Line::kA, one(1));
  give(Line::kB, {1, 2});
  give(Line::kA, one(2));
  give(Line::kA, packet("S", 2, {add(1, "AAPL", 2, 'B', 1, 1), add(1, "AAPL", 3, 'B', 1, 3)}));
  EXPECT_EQ(taken(), (Numbers{1, 2, 3}));
  EXPECT_EQ(line(Line::kA).first.get(), 2u);
  EXPECT_EQ(line(Line::kA).repeated.get(), 1u);
  EXPECT_EQ(line(Line::kB).first.get(), 1u);
  EXPECT_EQ(line(Line::kB).repeated.get(), 1u);
  EXPECT_EQ(counters().held.get(), 0u);
}

TEST_F(ArbiterTest, WhatOneLineLostIsWaitedForFromTheOther) {
  give(Line::kA, one(1));
  give(Line::kA, one(3));  // 2 was lost on A
  give(Line::kA, one(4));
  EXPECT_EQ(taken(), (Numbers{1}));
  wait(50 * kUs);
  EXPECT_EQ(taken(), (Numbers{1}));
  EXPECT_TRUE(arbiter->waiting());
  give(Line::kB, {1, 2});
  EXPECT_EQ(taken(), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_EQ(feed.counters().gaps.get(), 0u);
  EXPECT_EQ(counters().filled.get(), 1u);
  EXPECT_EQ(line(Line::kA).missing.get(), 1u);
  EXPECT_EQ(line(Line::kB).missing.get(), 0u);
  EXPECT_FALSE(arbiter->waiting());
}

TEST_F(ArbiterTest, WithNobodyToAskAGapIsOneWhenTheWaitIsOver) {
  give(Line::kA, {1, 3});
  wait(99 * kUs);
  EXPECT_EQ(feed.counters().gaps.get(), 0u);
  wait(2 * kUs);
  EXPECT_EQ(taken(), (Numbers{1, 3}));
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
  EXPECT_EQ(feed.counters().missed_messages.get(), 1u);
  EXPECT_EQ(counters().given_up.get(), 1u);
  give(Line::kB, one(2));  // too late
  EXPECT_EQ(taken(), (Numbers{1, 3}));
}

TEST_F(ArbiterTest, APacketThatOvertookAnotherWaitsForIt) {
  for (const std::uint64_t n : {1, 4, 3, 2, 5}) give(Line::kA, one(n));
  EXPECT_EQ(taken(), (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(line(Line::kA).out_of_order.get(), 2u);
  EXPECT_EQ(line(Line::kA).missing.get(), 0u) << "they came after all";
}

TEST_F(ArbiterTest, HeartbeatsTellOfALossBeforeTheNextMessageDoes) {
  give(Line::kA, one(1));
  give(Line::kA, packet("S", 3, {}));
  EXPECT_TRUE(arbiter->waiting());
  give(Line::kB, one(2));
  EXPECT_EQ(taken(), (Numbers{1, 2}));
  EXPECT_FALSE(arbiter->waiting());
}

TEST_F(ArbiterTest, TheEndOfASessionTellsOfALossAtItsTailAndThenNothingIsWaitedFor) {
  prepare(&port);
  give(Line::kA, one(1));
  give(Line::kA, end_of_session("S", 4));  // 2 and 3 were lost
  EXPECT_TRUE(arbiter->waiting());
  wait(101 * kUs);
  ASSERT_EQ(port.asked.size(), 1u);
  EXPECT_EQ(port.asked[0].count, 2u);
  give(Line::kRetransmission, {2, 3});
  EXPECT_EQ(taken(), (Numbers{1, 2, 3}));
  EXPECT_EQ(feed.state(), wire::FeedState::kEnded);
  EXPECT_FALSE(arbiter->waiting());
  for (int i = 0; i < 5; ++i) {  // it is said again, for longer than the feed may be silent
    now_ns += 2'000'000'000;
    feed.on_time(now());
    give(Line::kB, end_of_session("S", 4));
  }
  EXPECT_EQ(feed.counters().ends_of_session.get(), 1u);
  EXPECT_EQ(feed.counters().silences.get(), 0u);
  EXPECT_EQ(port.asked.size(), 1u);
}

TEST_F(ArbiterTest, ANewSessionStartsFromOneWithoutTheBooksOfTheOld) {
  give(Line::kA, {1, 2});
  give(Line::kA, end_of_session("S", 3));
  EXPECT_EQ(feed.state(), wire::FeedState::kEnded);
  give(Line::kB, one(3, "T"));  // its first two are on the way
  EXPECT_EQ(feed.counters().sessions.get(), 2u);
  EXPECT_EQ(feed.books().orders_resting(), 0u);
  EXPECT_EQ(feed.counters().next_sequence.get(), 1u);
  EXPECT_EQ(last().kind, wire::UpdateKind::kFeedState);
  EXPECT_EQ(last().feed_state(), wire::FeedState::kUnknown) << "nothing of it is known yet";
  EXPECT_EQ(std::ranges::count(kinds(), wire::UpdateKind::kBookCleared), 1);
  give(Line::kA, {1, 2}, "T");
  EXPECT_EQ(taken(), (Numbers{1, 2, 1, 2, 3}));
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_EQ(feed.books().orders_resting(), 3u);
}

TEST_F(ArbiterTest, APacketThatNoSenderGivesBeginsNoSession) {
  give(Line::kA, one(1));
  give(Line::kA, packet("T", 0, {}));
  give(Line::kA, one(~std::uint64_t{0} - 5, "U"));
  EXPECT_EQ(feed.counters().sessions.get(), 1u);
  EXPECT_EQ(feed.books().orders_resting(), 1u);
  EXPECT_EQ(feed.counters().malformed_packets.get(), 2u);
  give(Line::kA, one(2));
  EXPECT_EQ(taken(), (Numbers{1, 2}));
}

TEST_F(ArbiterTest, WhatBothLinesLostIsAskedForAndBooksAreStaleMeanwhile) {
  prepare(&port);
  give(Line::kA, {1, 4});
  wait(101 * kUs);
  ASSERT_EQ(port.asked.size(), 1u);
  EXPECT_EQ(port.asked[0].from, 2u);
  EXPECT_EQ(port.asked[0].count, 2u);
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
  EXPECT_EQ(last().kind, wire::UpdateKind::kFeedState);
  give(Line::kRetransmission, one(2));
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
  EXPECT_EQ(port.asked.size(), 1u);
  give(Line::kRetransmission, one(3));
  EXPECT_EQ(taken(), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_EQ(counters().recovered.get(), 1u);
  EXPECT_EQ(feed.counters().gaps.get(), 0u);
  // Nothing of it was shown as good before it was whole.
  for (const wire::BookUpdate& update : sink.updates)
    if (update.kind == wire::UpdateKind::kAdd && update.trace_id > 1) {
      EXPECT_EQ(update.feed_state(), wire::FeedState::kStale) << update.trace_id;
    }
}

TEST_F(ArbiterTest, AnUnansweredRequestIsRepeatedAndThenGivenUp) {
  prepare(&port);
  give(Line::kA, {1, 5});
  wait(101 * kUs);
  wait(500 * kUs);
  EXPECT_EQ(port.asked.size(), 1u) << "its time is not over";
  wait(501 * kUs);
  EXPECT_EQ(port.asked.size(), 2u);
  give(Line::kRetransmission, one(2));  // part of an answer: patience begins anew
  wait(1'001 * kUs);
  ASSERT_EQ(port.asked.size(), 3u);
  EXPECT_EQ(port.asked[2].from, 3u);
  for (int i = 0; i < 3; ++i) wait(1'001 * kUs);
  EXPECT_EQ(port.asked.size(), 5u);
  EXPECT_EQ(taken(), (Numbers{1, 2, 5}));
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
  EXPECT_EQ(feed.counters().missed_messages.get(), 2u);
}

TEST_F(ArbiterTest, WhoJoinsLateAsksForWhatCameBefore) {
  prepare(&port);
  give(Line::kA, one(4'000));
  wait(101 * kUs);
  ASSERT_EQ(port.asked.size(), 1u);
  EXPECT_EQ(port.asked[0].from, 1u);
  std::uint64_t at = 1;
  while (at < 4'000) {
    const FakePort::Asked asked = port.asked.back();
    ASSERT_EQ(asked.from, at);
    for (; at < asked.from + asked.count; ++at) give(Line::kRetransmission, one(at), false);
    arbiter->process(now());
  }
  EXPECT_EQ(taken().size(), 4'000u);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
}

TEST_F(ArbiterTest, TheSlowerLineCannotBringAnOldSessionBack) {
  give(Line::kA, one(1));
  give(Line::kA, one(1, "T"));
  give(Line::kB, one(2));  // still in session S
  give(Line::kA, one(2, "T"));
  give(Line::kB, one(1, "T"));
  EXPECT_EQ(feed.counters().sessions.get(), 2u);
  EXPECT_EQ(counters().old_session.get(), 1u);
  EXPECT_EQ(taken(), (Numbers{1, 1, 2}));
}

constexpr std::uint64_t kSecond = 1'000'000 * kUs;

TEST_F(ArbiterTest, ASessionBesideALivingOneIsNotGoodBeforeThatOneIsSilent) {
  give(Line::kA, one(1));
  wait(kSecond);
  give(Line::kA, one(1, "T"));
  EXPECT_EQ(feed.counters().sessions.get(), 2u);
  EXPECT_EQ(feed.state(), wire::FeedState::kStale) << "S was heard a second ago";
  wait(kSecond);
  give(Line::kA, one(2, "T"));
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
  wait(kSecond);
  give(Line::kA, one(3, "T"));
  EXPECT_EQ(feed.state(), wire::FeedState::kGood) << "the exchange was started anew";
  EXPECT_EQ(taken(), (Numbers{1, 1, 2, 3}));
}

TEST_F(ArbiterTest, OneForgedPacketOfANewSessionDoesNotShutTheRealOneOut) {
  prepare(&port);
  give(Line::kA, {1, 2});
  give(Line::kA, one(1, "FORGED"));
  std::uint64_t number = 3;
  for (int i = 0; i < 30 && feed.state() != wire::FeedState::kGood; ++i) {
    wait(kSecond / 4);
    EXPECT_NE(feed.state(), wire::FeedState::kGood);
    give(Line::kA, one(number++));
    if (!port.asked.empty())
      for (std::uint64_t lost = 1; lost + 1 < number; ++lost)
        give(Line::kRetransmission, one(lost));
  }
  EXPECT_EQ(feed.state(), wire::FeedState::kGood) << "back in the real session";
  EXPECT_EQ(feed.books().orders_resting(), number - 1);
  EXPECT_GE(counters().old_session_alive.get(), 1u);
  give(Line::kA, one(2, "FORGED"));
  EXPECT_EQ(feed.books().orders_resting(), number - 1) << "it is the session before now";
}

TEST_F(ArbiterTest, TwoSessionsAtOnceStayStaleAndTheLaterOneStaysTheCurrent) {
  give(Line::kA, end_of_session("S", 1));
  give(Line::kA, one(1, "T"));
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  std::uint64_t number = 2;
  for (int i = 0; i < 20; ++i) {
    wait(kSecond / 2);
    give(Line::kB, one(1));  // of S, that had ended
    give(Line::kA, one(number++, "T"));
  }
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
  EXPECT_EQ(feed.counters().sessions.get(), 2u);
  EXPECT_EQ(counters().old_session.get(), 20u);
  EXPECT_GE(counters().old_session_alive.get(), 14u);
  for (int i = 0; i < 6; ++i) {
    wait(kSecond / 2);
    give(Line::kA, one(number++, "T"));
  }
  EXPECT_EQ(feed.state(), wire::FeedState::kGood) << "S is silent";
}

TEST_F(ArbiterTest, TwoDifferentMessagesOfOneNumberMakeBooksStale) {
  give(Line::kA, one(1));
  give(Line::kA, packet("S", 2, {add(1, "AAPL", 2, 'B', 900, 9'000)}));  // a forger was first
  EXPECT_EQ(feed.state(), wire::FeedState::kGood) << "nobody can tell yet";
  give(Line::kA, packet("S", 2, {add(1, "AAPL", 2, 'B', 100, 1'000)}));
  EXPECT_EQ(feed.counters().conflicting_messages.get(), 1u);
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
  give(Line::kA, one(3));
  EXPECT_EQ(feed.state(), wire::FeedState::kStale) << "until a snapshot, or the next session";
  give(Line::kA, end_of_session("S", 4));
  give(Line::kA, one(1, "T"));
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
}

TEST_F(ArbiterTest, EveryByteOfAMessageThatDiffersIsSeen) {
  const Bytes message = add(1, "AAPL", 7, 'B', 100, 1'000);
  give(Line::kA, packet("S", 1, {message}));
  give(Line::kB, packet("S", 1, {message}));
  EXPECT_EQ(feed.counters().conflicting_messages.get(), 0u);
  for (std::size_t i = 0; i < message.size(); ++i) {
    Bytes other = message;
    other[i] ^= std::byte{0x80};
    give(Line::kB, packet("S", 1, {other}));
    EXPECT_EQ(feed.counters().conflicting_messages.get(), i + 1) << "byte " << i;
  }
}

// Packets are kept behind their burst: one that is compared within it finds them all the same.
TEST_F(ArbiterTest, handle_burst_compares_a_repetition_with_a_packet_of_the_same_burst) {
  give(Line::kA, one(1), false);
  give(Line::kA, one(2), false);
  give(Line::kB, one(1), false);
  give(Line::kB, packet("S", 2, {add(1, "AAPL", 2, 'B', 900, 9'000)}), false);
  give(Line::kA, one(3));
  EXPECT_EQ(feed.counters().conflicting_messages.get(), 1u);
  EXPECT_EQ(feed.counters().duplicate_packets.get(), 2u);
  ASSERT_EQ(taken(), (Numbers{1, 2, 3}));
  std::vector<wire::FeedState> states;
  for (const wire::BookUpdate& update : sink.updates)
    if (update.kind == wire::UpdateKind::kAdd) states.push_back(update.feed_state());
  using enum wire::FeedState;
  EXPECT_EQ(states, (std::vector{kGood, kGood, kStale})) << "what is behind the alarm";
  give(Line::kB, one(3));
  EXPECT_EQ(feed.counters().conflicting_messages.get(), 1u);
}

TEST_F(ArbiterTest, hand_on_counts_what_was_sent_before_it_joined_as_missing) {
  give(Line::kA, one(1'000));
  wait(101 * kUs);
  EXPECT_EQ(feed.counters().gaps.get(), 1u);
  EXPECT_EQ(feed.counters().missed_messages.get(), 999u);
  give(Line::kA,
       packet("S", 998,
              {add(1, "AAPL", 998, 'B', 1, 1), add(1, "AAPL", 999, 'B', 1, 1),
               add(1, "AAPL", 1'000, 'B', 100, 1'000), add(1, "AAPL", 1'001, 'B', 1, 1)}));
  EXPECT_EQ(taken(), (Numbers{1'000, 1'001})) << "only the part that is new";
  EXPECT_EQ(feed.counters().duplicate_messages.get(), 3u);
  EXPECT_EQ(feed.counters().next_sequence.get(), 1'002u);
}

TEST_F(ArbiterTest, MorePacketsThanThereIsRoomForGiveTheGapUpEarly) {
  prepare(nullptr, ArbiterOptions{.held_packets = 8});
  give(Line::kA, one(1));
  for (std::uint64_t n = 3; n <= 12; ++n) give(Line::kA, one(n), false);
  arbiter->process(now());
  EXPECT_EQ(taken(), (Numbers{1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(counters().held_full.get(), 1u);
  EXPECT_EQ(feed.counters().missed_messages.get(), 1u);
}

// The window of what is held moves through its memory and starts over.
TEST_F(ArbiterTest, HoldsAndReleasesForEverInTheRoomThatItHas) {
  prepare(nullptr, ArbiterOptions{.held_packets = 4});
  give(Line::kA, one(1));
  Numbers all{1};
  for (std::uint64_t n = 2; n < 200; n += 4) {
    for (const std::uint64_t ahead : {n + 3, n + 1, n + 2}) give(Line::kA, one(ahead));
    give(Line::kB, one(n));
    for (std::uint64_t i = n; i < n + 4; ++i) all.push_back(i);
  }
  EXPECT_EQ(taken(), all);
  EXPECT_EQ(counters().held_full.get(), 0u);
}

TEST_F(ArbiterTest, DamageOnOneLineIsRepairedByTheOther) {
  give(Line::kA, one(1));
  Bytes cut = one(2);
  cut.resize(cut.size() - 3);
  give(Line::kA, cut);
  give(Line::kB, one(2));
  Bytes ahead = one(4);
  ahead.resize(ahead.size() - 3);
  give(Line::kA, ahead);  // ahead of 3, it would wait
  give(Line::kB, {3, 4});
  EXPECT_EQ(taken(), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(feed.counters().malformed_packets.get(), 2u);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
}

TEST_F(ArbiterTest, ADamagedPacketDoesNotKeepTheWholeOneOfTheOtherLineOutWhileSomethingIsMissing) {
  for (const bool damaged_first : {true, false}) {
    const std::string session = damaged_first ? "S" : "T";
    give(Line::kA, one(1, session));
    Bytes damaged = one(3, session);
    damaged[itch::mold::kHeaderBytes] = std::byte{1};  // the block's length
    if (damaged_first) give(Line::kA, damaged);
    give(Line::kB, {1, 3}, session);
    if (!damaged_first) give(Line::kA, damaged);
    give(Line::kB, one(2, session));
    EXPECT_EQ(feed.state(), wire::FeedState::kGood);
    give(Line::kA, end_of_session(session, 4));
  }
  EXPECT_EQ(taken(), (Numbers{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(feed.counters().malformed_packets.get(), 2u);
  EXPECT_EQ(feed.counters().gaps.get(), 0u);
  EXPECT_EQ(counters().given_up.get(), 0u);
}

// Two that wait are compared as two that are handed on.
TEST_F(ArbiterTest, OtherBytesUnderANumberThatWaitsMakeBooksStale) {
  give(Line::kA, {1, 3});
  give(Line::kB, packet("S", 3, {add(1, "AAPL", 3, 'B', 900, 9'000)}));
  give(Line::kB, one(2));
  EXPECT_EQ(taken(), (Numbers{1, 2, 3}));
  EXPECT_EQ(feed.counters().conflicting_messages.get(), 1u);
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
}

TEST_F(ArbiterTest, AnEndOfSessionIsHeardThoughAHeartbeatOfItsNumberWaits) {
  give(Line::kA, one(1));
  give(Line::kA, packet("S", 3, {}));
  give(Line::kA, end_of_session("S", 3));
  give(Line::kB, one(2));
  EXPECT_EQ(taken(), (Numbers{1, 2}));
  EXPECT_EQ(feed.state(), wire::FeedState::kEnded);
}

TEST_F(ArbiterTest, NumbersThatNoSenderGivesChangeNothing) {
  give(Line::kA, one(1));
  give(Line::kA, one(~std::uint64_t{0} - 5));
  give(Line::kA, packet("S", 0, {}));
  give(Line::kA, Bytes(3));
  EXPECT_FALSE(arbiter->waiting());
  give(Line::kA, one(2));
  EXPECT_EQ(taken(), (Numbers{1, 2}));
}

// ------------------------------------------------------------------------- random networks

class RandomNetworks : public ArbiterTest, public ::testing::WithParamInterface<Network> {};
INSTANTIATE_TEST_SUITE_P(
    Faults, RandomNetworks,
    ::testing::Values(Network{0.05, 0.05, 1, 0.1, 0.05, true},  // independent loss
                      Network{0.05, 0.05, 8, 0, 0.05, true},    // in bursts
                      Network{0.3, 0.3, 3, 0.3, 0.3, true},     // everything bad
                      Network{0.2, 0, 4, 0.2, 1, true},         // one line whole
                      Network{0.05, 0.05, 4, 0.1, 1, false}));  // nobody answers

TEST_P(RandomNetworks, EndWithTheBooksOfAWholeFeedOrSayThatTheyAreStale) {
  constexpr std::uint64_t kSeeds = test_support::seeds(20, 4);
  constexpr std::uint64_t kMessages = 3'000;
  std::uint64_t waits = 0, recovered = 0, stale_runs = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<Bytes> messages = generated(seed, kMessages);
    VectorSink whole_sink, lossy_sink;
    Feed whole(small_options(), whole_sink, trace, log);
    Feed lossy(small_options(), lossy_sink, trace, log);
    FakePort requests;
    ArbiterOptions options{
        .gap_wait_ns = 150 * kUs, .request_timeout_ns = 300 * kUs, .requests_max = 50};
    Arbiter both(options, lossy, &requests, nullptr, log);
    RandomNetwork network(GetParam(), seed);
    send_day(messages, whole, network);

    std::size_t answered = 0;
    std::uint64_t steps = 0;
    for (std::uint64_t at = kStartNs; !network.empty() || both.waiting(); at += 15 * kUs) {
      ASSERT_LT(++steps, 1'000'000u) << "it never ends";
      const auto arrived = network.arrived(at);
      for (const auto& each : arrived)
        both.collect(each.line, each.bytes, {0, converter.from_ns(at)});
      both.process(converter.from_ns(at));
      answer(network, messages, requests, answered, at);
    }
    waits += both.counters().held.get();
    recovered += both.counters().recovered.get();

    // Everything that was taken came in order, once; nothing behind a gap was shown as good.
    std::uint64_t before = 0;
    bool gap = false;
    for (const wire::BookUpdate& update : lossy_sink.updates) {
      if (update.kind == wire::UpdateKind::kFeedState) continue;  // of no message
      if (update.trace_id > before + 1) gap = true;
      ASSERT_GE(update.trace_id, before);
      before = update.trace_id;
      if (gap) {
        ASSERT_NE(update.feed_state(), wire::FeedState::kGood) << update.trace_id;
      }
    }
    EXPECT_EQ(lossy.counters().messages.get() + lossy.counters().missed_messages.get(),
              messages.size());
    EXPECT_EQ(lossy.state(), wire::FeedState::kEnded);
    if (GetParam().whole) {
      EXPECT_EQ(lossy.counters().missed_messages.get(), 0u);
    } else if (lossy.counters().missed_messages.get() != 0) {
      ++stale_runs;
      continue;
    }
    for (std::uint32_t id = 0; id < whole.instruments().size(); ++id) {
      const wire::BookImage left = image_of(whole, id), right = image_of(lossy, id);
      ASSERT_EQ(std::memcmp(&left, &right, sizeof(left)), 0) << "instrument " << id;
    }
  }
  EXPECT_GT(waits, 0u) << "nothing was ever out of order";
  if (GetParam().whole && GetParam().answer_loss < 1) {
    EXPECT_GT(recovered, 0u) << "nothing was ever lost on both lines";
  }
  if (!GetParam().whole) {
    EXPECT_GT(stale_runs, 0u);
  }
}

}  // namespace
}  // namespace tickpath::mdh::test
