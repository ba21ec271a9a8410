// IEX-TP senders that were started again within their session, and those who only look like one.
#include <deque>
#include <optional>

#include "common/feeds/iex/codec.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "mdh/arbiter.hpp"
#include "tests/unit/mdh/feed_fixture.hpp"

namespace tickpath::mdh::test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// A clock of the test's own; senders stamp with it.
class RestartTest : public FeedTest {
 protected:
  RestartTest() : FeedTest(deep_options()) { prepare(true); }
  void prepare(bool restarts, std::size_t held_packets = 64) {
    arbiter.emplace(ArbiterOptions{.held_packets = held_packets, .restarts = restarts}, feed,
                    nullptr, nullptr, log);
  }
  // Message `number`: a level of its own, at a price in cents that tells who sent it.
  static Bytes segment(std::uint64_t number, std::uint32_t price, std::uint64_t sent_ns) {
    Bytes message(iex::kMaxMessageBytes);
    message.resize(
        iex::encode(iex::BuyLevelUpdate{.flags = 1,
                                        .timestamp = 5,
                                        .symbol = "ZIEXT",
                                        .size = 100,
                                        .price = static_cast<iex::Price>(price + number) * 100},
                    message.data()));
    return made(number, {message}, sent_ns);
  }
  static Bytes beat(std::uint64_t next, std::uint64_t sent_ns) { return made(next, {}, sent_ns); }
  static Bytes made(std::uint64_t number, const std::vector<Bytes>& messages,
                    std::uint64_t sent_ns) {
    Bytes buffer(1'024);
    iex::SegmentBuilder builder(buffer, {.protocol = iex::kDeep10, .channel = 1, .session = 7});
    builder.begin(number);
    for (const Bytes& message : messages) EXPECT_TRUE(builder.append(message));
    const auto segment = builder.finish(sent_ns);
    return {segment.begin(), segment.end()};
  }
  void give(const Bytes& bytes, Line line = Line::kA) {
    given.push_back(bytes);
    arbiter->collect(line, given.back(), {0, converter.from_ns(now_ns)});
    turn();
    given.clear();
  }
  void turn() {
    feed.set_contested(arbiter->contested(converter.from_ns(now_ns)));
    arbiter->process(converter.from_ns(now_ns));
  }
  void send(std::uint64_t number, std::uint32_t price = kTrue) {
    give(segment(number, price, now_ns));
  }
  void wait(std::uint64_t ms) {
    now_ns += ms * kMs;
    turn();
  }
  std::uint64_t restarts() const { return arbiter->counters().restarts.get(); }
  // Resting levels, and the best of them.
  std::size_t levels() const { return feed.books().orders_resting(); }
  std::uint32_t best() const { return last().best_bid; }

  static constexpr std::uint32_t kTrue = 1'000, kOther = 3'000;
  clock::TickConverter converter;
  std::uint64_t now_ns = 1'000'000 * kMs;
  std::deque<Bytes> given;
  std::optional<Arbiter> arbiter;
};

TEST_F(RestartTest, ASenderThatIsStartedAgainAfterASilenceIsReadOnAtOnce) {
  for (std::uint64_t n = 1; n <= 10; ++n) send(n);
  wait(3'000);
  for (std::uint64_t n = 1; n <= 4; ++n) {
    send(n, kOther);
    EXPECT_EQ(feed.state(), wire::FeedState::kGood);
    EXPECT_EQ(levels(), n) << "of the new numbering alone";
    EXPECT_EQ(best(), (kOther + n) * 100);
    wait(1);
  }
  EXPECT_EQ(restarts(), 1u);
  EXPECT_EQ(feed.counters().conflicting_messages.get(), 0u);
  EXPECT_EQ(feed.counters().gaps.get(), 0u);
}

TEST_F(RestartTest, AQuickRestartIsStaleUntilTheFormerNumberingIsSilentAndLosesNothing) {
  for (std::uint64_t n = 1; n <= 10; ++n) send(n);
  std::uint64_t n = 1;
  for (; n <= 5; ++n) {
    wait(500);
    give(segment(n, kOther, now_ns), Line::kA);
    give(segment(n, kOther, now_ns), Line::kB);
    EXPECT_EQ(feed.state(), wire::FeedState::kStale) << n;
    EXPECT_EQ(restarts(), 0u);
    EXPECT_EQ(levels(), 10u) << "as the former sender left them";
  }
  wait(500);
  give(beat(n, now_ns));
  EXPECT_EQ(restarts(), 1u);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_EQ(levels(), 5u);
  EXPECT_EQ(feed.counters().gaps.get(), 0u);
  for (; n <= 20; ++n) send(n, kOther);
  EXPECT_EQ(levels(), 20u);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
}

TEST_F(RestartTest, AForgerBesideTheSenderBeginsNothingHoweverLong) {
  for (std::uint64_t n = 1; n <= 10; ++n) send(n);
  for (std::uint64_t n = 1; n <= 60; ++n) {
    wait(400);
    give(segment(n % 10 + 1, kOther, now_ns + 5));
    wait(400);
    give(n % 2 == 0 ? segment(10 + n / 2, kTrue, now_ns) : beat(10 + n / 2 + 1, now_ns));
    EXPECT_EQ(feed.state(), wire::FeedState::kStale) << "two different messages of one number";
  }
  EXPECT_EQ(restarts(), 0u);
  EXPECT_EQ(feed.counters().sessions.get(), 1u);
  EXPECT_EQ(feed.counters().conflicting_messages.get(), 60u);
  EXPECT_EQ(levels(), 40u) << "all of the true sender";
  EXPECT_EQ(best(), (kTrue + 40) * 100);
}

TEST_F(RestartTest, WhatWasSentBeforeIsNoRestartHoweverLateItComes) {
  for (std::uint64_t n = 1; n <= 10; ++n) send(n);
  const std::uint64_t sent_ns = now_ns;
  wait(3'000);
  for (std::uint64_t n = 1; n <= 10; ++n) give(segment(n, kOther, sent_ns - 1), Line::kB);
  EXPECT_EQ(restarts(), 0u) << "no later send time";
  EXPECT_EQ(levels(), 10u);
}

TEST_F(RestartTest, TheSameMessagesWithALaterStampAreARepetition) {
  for (std::uint64_t n = 1; n <= 10; ++n) send(n);
  wait(3'000);
  for (std::uint64_t n = 1; n <= 10; ++n) give(segment(n, kTrue, now_ns + n), Line::kB);
  EXPECT_EQ(restarts(), 0u);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_EQ(levels(), 10u);
}

TEST_F(RestartTest, WhatTheSlowerLineHasOfTheFormerNumberingIsDropped) {
  for (std::uint64_t n = 1; n <= 10; ++n) send(n);
  const std::uint64_t sent_ns = now_ns;
  wait(3'000);
  send(1, kOther);
  ASSERT_EQ(restarts(), 1u);
  give(segment(11, kTrue, sent_ns), Line::kB);
  give(segment(2, kTrue, sent_ns), Line::kB);
  wait(100);
  EXPECT_FALSE(arbiter->waiting());
  EXPECT_EQ(levels(), 1u);
  EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  EXPECT_EQ(arbiter->counters().old_session.get(), 2u);
  send(2, kOther);
  EXPECT_EQ(levels(), 2u);
}

// Whoever comes back after the silence is a second sender: no books are good while both are heard.
TEST_F(RestartTest, TwoThatGoOnAfterARestartAreNeverGoodTogether) {
  for (std::uint64_t n = 1; n <= 10; ++n) send(n);
  wait(3'000);
  send(1, kOther);
  ASSERT_EQ(restarts(), 1u);
  for (std::uint64_t n = 2; n <= 20; ++n) {
    send(9 + n);  // the former
    wait(300);
    send(n, kOther);
    wait(300);
    EXPECT_EQ(feed.state(), wire::FeedState::kStale) << n;
  }
}

TEST_F(RestartTest, WhatIsLostOfTheBeginningIsAGap) {
  for (std::uint64_t n = 1; n <= 10; ++n) send(n);
  wait(3'000);
  send(3, kOther);
  wait(10);
  EXPECT_EQ(restarts(), 1u);
  EXPECT_EQ(feed.counters().missed_messages.get(), 2u);
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
}

TEST_F(RestartTest, WithoutAConfiguredSenderItIsAnAlarmAndNoRestart) {
  prepare(false);
  for (std::uint64_t n = 1; n <= 10; ++n) send(n);
  wait(3'000);
  send(1, kOther);
  EXPECT_EQ(restarts(), 0u);
  EXPECT_EQ(feed.counters().conflicting_messages.get(), 1u);
  EXPECT_EQ(feed.state(), wire::FeedState::kStale);
  EXPECT_EQ(levels(), 10u);
}

}  // namespace
}  // namespace tickpath::mdh::test
