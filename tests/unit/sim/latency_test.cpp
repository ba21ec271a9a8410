// Latency models, rate limits, and the way between a session and its socket.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/clock/virtual_time.hpp"
#include "sim/latency/latency_model.hpp"
#include "sim/latency/rate_window.hpp"
#include "sim/latency/session_delay.hpp"
#include "tests/support/process.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::sim {
namespace {

constexpr int kDraws = 100'000;

std::vector<std::uint64_t> draws(const LatencyOptions& options, std::uint64_t seed,
                                 int count = kDraws) {
  LatencyModel model(options, seed);
  std::vector<std::uint64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(model.draw_ns());
  return values;
}

double quantile(std::vector<std::uint64_t> values, double q) {
  std::ranges::sort(values);
  return static_cast<double>(values[static_cast<std::size_t>(q * static_cast<double>(kDraws))]);
}

LatencyOptions model(LatencyKind kind, std::int64_t delay, std::int64_t spread = 0) {
  return {.kind = kind, .delay_ns = delay, .spread_ns = spread};
}

TEST(LatencyModel, FixedIsFixedAndNoneIsNothing) {
  EXPECT_EQ(draws(model(LatencyKind::kFixed, 7'000), 1, 3),
            (std::vector<std::uint64_t>{7'000, 7'000, 7'000}));
  EXPECT_EQ(draws({}, 1, 2), (std::vector<std::uint64_t>{0, 0}));
  EXPECT_FALSE(LatencyModel({}, 1).active());
}

// The seeds are fixed, so the bounds are of the sampling error: five standard errors of a quantile.
TEST(LatencyModel, NormalHasTheQuantilesOfTheNormalDistribution) {
  const auto values = draws(model(LatencyKind::kNormal, 100'000, 10'000), 42);
  EXPECT_NEAR(quantile(values, 0.5), 100'000, 200);
  EXPECT_NEAR(quantile(values, 0.8413), 110'000, 250);
  EXPECT_NEAR(quantile(values, 0.1587), 90'000, 250);
  EXPECT_NEAR(quantile(values, 0.99), 123'263, 600);
}

TEST(LatencyModel, LognormalHasItsMedianAndItsTail) {
  LatencyOptions options = model(LatencyKind::kLognormal, 50'000);
  options.sigma = 0.5;
  const auto values = draws(options, 43);
  EXPECT_NEAR(quantile(values, 0.5), 50'000, 500);
  EXPECT_NEAR(quantile(values, 0.8413), 50'000 * std::exp(0.5), 1'000);
  EXPECT_NEAR(quantile(values, 0.99), 50'000 * std::exp(0.5 * 2.3263), 4'000);
}

TEST(LatencyModel, UniformLiesBetweenItsEnds) {
  const auto values = draws(model(LatencyKind::kUniform, 10'000, 20'000), 44);
  EXPECT_GE(*std::ranges::min_element(values), 10'000u);
  EXPECT_LE(*std::ranges::max_element(values), 30'000u);
  EXPECT_NEAR(quantile(values, 0.25), 15'000, 150);
  EXPECT_NEAR(quantile(values, 0.75), 25'000, 150);
}

TEST(LatencyModel, NoDrawIsBelowZeroOrAboveTheLimit) {
  LatencyOptions options = model(LatencyKind::kNormal, 1'000, 100'000);
  options.limit_ns = 50'000;
  const auto values = draws(options, 45);
  EXPECT_EQ(*std::ranges::min_element(values), 0u);
  EXPECT_EQ(*std::ranges::max_element(values), 50'000u);
}

TEST(LatencyModel, ASeedGivesTheSameTimesAndAnotherGivesOthers) {
  const LatencyOptions options = model(LatencyKind::kNormal, 100'000, 10'000);
  EXPECT_EQ(draws(options, 7, 1'000), draws(options, 7, 1'000));
  EXPECT_NE(draws(options, 7, 1'000), draws(options, 8, 1'000));
}

class LatencyFile : public ::testing::Test {
 protected:
  LatencyOptions of(LatencyKind kind, const std::string& text) {
    LatencyOptions options{.kind = kind, .file = folder_ / "latencies.csv"};
    test_support::write_file(options.file, text);
    return options;
  }
  test_support::Folder folder_;
};

TEST_F(LatencyFile, ATraceIsReplayedInItsOrderAndBeginsAnew) {
  const auto options = of(LatencyKind::kTrace, "# ns\n100\n200,oeg.sent\r\n\n300");
  EXPECT_EQ(draws(options, 1, 7), (std::vector<std::uint64_t>{100, 200, 300, 100, 200, 300, 100}));
}

TEST_F(LatencyFile, AnEmpiricalModelDrawsFromTheFileByItsShares) {
  const auto values = draws(of(LatencyKind::kEmpirical, "10\n10\n10\n500\n"), 46);
  const auto rare = std::ranges::count(values, 500u);
  EXPECT_EQ(rare + std::ranges::count(values, 10u), kDraws);
  EXPECT_NEAR(static_cast<double>(rare), kDraws / 4.0, 5 * std::sqrt(kDraws * 0.25 * 0.75));
}

TEST_F(LatencyFile, WhatIsNoNumberIsToldWithItsLine) {
  const auto options = of(LatencyKind::kTrace, "100\nfast\n");
  EXPECT_THAT(test_support::error_of<Error>([&] { LatencyModel model(options, 1); }),
              ::testing::HasSubstr("latencies.csv:2: 'fast'"));
  EXPECT_THROW(LatencyModel(of(LatencyKind::kTrace, "# none\n"), 1), Error);
}

TEST(LatencyStage, NothingOvertakesWhatWentInBefore) {
  clock::VirtualTime time;
  LatencyStage stage(model(LatencyKind::kUniform, 0, 1'000'000), 3);
  TscTicks last{};
  for (std::uint64_t at = 1'000; at < 1'000'000; at += 100) {
    const TscTicks due = stage.due({at});
    EXPECT_GE(due, last);
    EXPECT_GE(due.value, at);
    last = due;
  }
  EXPECT_EQ(stage.counters().delayed.get(), 9'990u);
  EXPECT_GT(stage.counters().held_back.get(), 1'000u);
}

TEST(RateWindow, LetsNoMoreThanTheLimitThroughInAnyInterval) {
  clock::VirtualTime time;  // a tick is a nanosecond
  RateWindow window({3, 1'000'000, RateRule::kReject});
  EXPECT_TRUE(window.allow({10}));
  EXPECT_TRUE(window.allow({20}));
  EXPECT_TRUE(window.allow({30}));
  EXPECT_FALSE(window.allow({1'000'009}));
  EXPECT_TRUE(window.allow({1'000'010}));
  EXPECT_FALSE(window.allow({1'000'019}));
  EXPECT_TRUE(window.allow({1'000'020}));
}

TEST(RateWindow, DelaysToTheMomentAtWhichThereIsRoom) {
  clock::VirtualTime time;
  RateWindow window({2, 1'000'000, RateRule::kDelay});
  EXPECT_EQ(window.take({10}).value, 10u);
  EXPECT_EQ(window.take({10}).value, 10u);
  EXPECT_EQ(window.take({11}).value, 1'000'010u);
  EXPECT_EQ(window.take({12}).value, 1'000'010u);
  EXPECT_EQ(window.take({13}).value, 2'000'010u);
  EXPECT_EQ(window.take({9'000'000}).value, 9'000'000u);
}

TEST(RateWindow, WithoutALimitEverythingPasses) {
  clock::VirtualTime time;
  RateWindow window({});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(window.allow({5}));
  EXPECT_EQ(window.take({5}).value, 5u);
}

std::string order(char type, int number) {
  std::string body = std::string("35=") + type + "\00134=" + std::to_string(number) + "\001";
  std::string message = "8=FIX.4.2\0019=" + std::to_string(body.size()) + "\001" + body;
  unsigned sum = 0;
  for (const char c : message) sum += static_cast<unsigned char>(c);
  char trailer[16];
  std::snprintf(trailer, sizeof trailer, "10=%03u\001", sum % 256);
  return message + trailer;
}

class SessionDelayTest : public ::testing::Test {
 protected:
  void open(const SessionDelayOptions& options) {
    delay_ = std::make_unique<SessionDelay>(options);
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    outside_ = net::FileDescriptor(pair[0]);
    session_ = net::FileDescriptor(delay_->attach(pair[1]));
    ASSERT_GE(session_.get(), 0);
  }
  void turn_at(std::uint64_t ns) {
    time_.advance_to(clock::VirtualTime::kStartNs + ns);
    delay_->turn(tsc_now());
  }
  static void send(const net::FileDescriptor& from, const std::string& text) {
    ASSERT_EQ(::send(from.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  static std::string received(const net::FileDescriptor& at) {
    char text[4096];
    const ssize_t got = ::recv(at.get(), text, sizeof text, MSG_DONTWAIT);
    return got < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(got));
  }

  clock::VirtualTime time_;
  std::unique_ptr<SessionDelay> delay_;
  net::FileDescriptor outside_;
  net::FileDescriptor session_;
};

TEST_F(SessionDelayTest, HoldsEachDirectionByItsOwnLatency) {
  SessionDelayOptions options{.order_entry = model(LatencyKind::kFixed, 5'000),
                              .reports = model(LatencyKind::kFixed, 2'000)};
  open(options);
  send(outside_, order('D', 1));
  send(session_, order('8', 1));
  turn_at(0);
  EXPECT_EQ(received(session_), "nothing");
  EXPECT_EQ(delay_->next_due().value, clock::VirtualTime::kStartNs + 2'000);
  turn_at(2'000);
  EXPECT_EQ(received(outside_), order('8', 1));
  EXPECT_EQ(received(session_), "nothing");
  turn_at(4'999);
  EXPECT_EQ(received(session_), "nothing");
  turn_at(5'000);
  EXPECT_EQ(received(session_), order('D', 1));
}

TEST_F(SessionDelayTest, KeepsEveryByteInOrderThroughRandomLatencies) {
  open(SessionDelayOptions{.order_entry = model(LatencyKind::kUniform, 0, 1'000'000)});
  std::string sent;
  std::string got;
  std::uint64_t at = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string message = order('D', i);
    const std::size_t cut = static_cast<std::size_t>(i) % message.size();
    send(outside_, message.substr(0, cut));
    turn_at(at += 500);
    send(outside_, message.substr(cut));
    turn_at(at += 500);
    sent += message;
    if (const std::string text = received(session_); text != "nothing") got += text;
  }
  for (int i = 0; i < 20; ++i) {
    turn_at(at += 100'000);
    if (const std::string text = received(session_); text != "nothing") got += text;
  }
  EXPECT_EQ(got, sent);
  EXPECT_GT(delay_->orders().latency().held_back.get(), 0u);
  EXPECT_EQ(delay_->orders().latency().delayed.get(), 200u);
}

TEST_F(SessionDelayTest, ARateLimitHoldsOrdersAndNoHeartbeat) {
  open(SessionDelayOptions{.rate = {1, 1'000'000, RateRule::kDelay}});
  send(outside_, order('D', 1) + order('0', 2) + order('F', 3) + order('D', 4));
  turn_at(0);
  EXPECT_EQ(received(session_), order('D', 1) + order('0', 2));
  turn_at(999'999);
  EXPECT_EQ(received(session_), "nothing");
  turn_at(1'000'000);
  EXPECT_EQ(received(session_), order('F', 3));
  turn_at(2'000'000);
  EXPECT_EQ(received(session_), order('D', 4));
  EXPECT_EQ(delay_->orders().rate_delayed().get(), 2u);
}

// The session reads past it; what is handed on is what came, neither more nor less.
TEST_F(SessionDelayTest, HandsOnAMessageThatIsTooLongInPieces) {
  open(SessionDelayOptions{.rate = {1, 1'000'000, RateRule::kDelay}});
  const std::string head = "8=FIX.4.2\0019=40000\00135=D\00149=ME\00196=8=FIX.4.2\0019=50\001";
  send(outside_, head);
  turn_at(0);
  EXPECT_EQ(received(session_), head);
  // 40,000 bytes of body behind the second field, and the trailer.
  std::string rest(40'000 + std::strlen("8=FIX.4.2\0019=40000\00110=000\001") - head.size(), 'x');
  std::string got;
  for (std::size_t at = 0; at < rest.size(); at += 4'000) {
    send(outside_, rest.substr(at, 4'000));
    turn_at(1);
    got += received(session_);
  }
  EXPECT_EQ(got, rest);
  send(outside_, order('0', 2));
  turn_at(2);
  EXPECT_EQ(received(session_), order('0', 2));
  EXPECT_EQ(delay_->orders().rate_delayed().get(), 0u);
}

TEST_F(SessionDelayTest, TheEndComesAfterEverythingThatWasSaid) {
  open(SessionDelayOptions{.order_entry = model(LatencyKind::kFixed, 1'000)});
  send(outside_, order('D', 1));
  outside_ = net::FileDescriptor();
  turn_at(0);
  EXPECT_EQ(received(session_), "nothing");
  turn_at(1'000);
  EXPECT_EQ(received(session_), order('D', 1));
  EXPECT_EQ(received(session_), "");
  EXPECT_EQ(delay_->descriptor(), -1);
}

}  // namespace
}  // namespace tickpath::sim
