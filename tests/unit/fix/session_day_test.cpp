// Session times: when a session is open, what ends with its day and what goes over into the next.
#include <string>

#include "common/clock/virtual_time.hpp"
#include "tests/unit/fix/raw_peer.hpp"

namespace tickpath::fix {
namespace {

using test::plain_order;
using test::plain_report;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kDaySeconds = 86'400;
// 2026-11-23, a Monday, 00:00:00 UTC.
constexpr std::int64_t kMonday = 1'795'392'000;

std::int64_t at(int day, int hour, int minute = 0, int second = 0) {
  return (kMonday + day * kDaySeconds + hour * 3600 + minute * 60 + second) * kSecondNs;
}

TEST(SessionTimes, WithoutAnyASessionNeverEnds) {
  const SessionTimes times("", "");
  EXPECT_FALSE(times.limited());
  EXPECT_TRUE(times.is_open(at(0, 3)));
  EXPECT_TRUE(times.same_session(at(0, 3), at(400, 3)));
}

TEST(SessionTimes, ADaysSessionIsOpenFromItsStartToTheSecondOfItsEnd) {
  const SessionTimes times("08:00", "17:00:00");
  EXPECT_FALSE(times.is_open(at(0, 7, 59, 59)));
  EXPECT_TRUE(times.is_open(at(0, 8)));
  EXPECT_TRUE(times.is_open(at(0, 17)));
  EXPECT_FALSE(times.is_open(at(0, 17, 0, 1)));
  EXPECT_TRUE(times.same_session(at(0, 8), at(0, 17)));
  EXPECT_FALSE(times.same_session(at(0, 9), at(1, 9)));
  EXPECT_FALSE(times.same_session(at(0, 9), at(0, 18))) << "closed";
}

TEST(SessionTimes, ANightsSessionGoesOverMidnight) {
  const SessionTimes times("22:00:00", "21:00:00");
  EXPECT_TRUE(times.is_open(at(0, 23)));
  EXPECT_TRUE(times.is_open(at(1, 3)));
  EXPECT_FALSE(times.is_open(at(1, 21, 30)));
  EXPECT_TRUE(times.same_session(at(0, 23), at(1, 20)));
  EXPECT_FALSE(times.same_session(at(0, 20), at(0, 23))) << "the break lies between";
}

TEST(SessionTimes, EqualTimesAreASessionOfAWholeDay) {
  const SessionTimes times("17:00:00", "17:00:00");
  EXPECT_TRUE(times.is_open(at(0, 3)));
  EXPECT_TRUE(times.same_session(at(0, 18), at(1, 3)));
  EXPECT_FALSE(times.same_session(at(0, 16), at(0, 18)));
}

TEST(SessionTimes, AWeeksSessionGoesFromDayToDay) {
  const SessionTimes times("22:00:00", "21:00:00", "sun", "friday");
  EXPECT_FALSE(times.is_open(at(-1, 21)));
  EXPECT_TRUE(times.is_open(at(-1, 23)));
  EXPECT_TRUE(times.is_open(at(2, 12)));
  EXPECT_FALSE(times.is_open(at(4, 22)));
  EXPECT_TRUE(times.same_session(at(-1, 23), at(4, 20)));
  EXPECT_FALSE(times.same_session(at(2, 12), at(9, 12)));
  const SessionTimes over_weekend("22:00:00", "21:00:00", "fri", "mon");
  EXPECT_TRUE(over_weekend.same_session(at(4, 23), at(7, 20)));
  EXPECT_FALSE(over_weekend.is_open(at(8, 3)));
}

TEST(SessionTimes, WhatIsNoTimeOrDayIsRefused) {
  EXPECT_THROW(SessionTimes("08:00", ""), Error);
  EXPECT_THROW(SessionTimes("8:00", "17:00"), Error);
  EXPECT_THROW(SessionTimes("24:00:00", "17:00:00"), Error);
  EXPECT_THROW(SessionTimes("08:60:00", "17:00:00"), Error);
  EXPECT_THROW(SessionTimes("08:00:0x", "17:00:00"), Error);
  EXPECT_THROW(SessionTimes("08:00", "17:00", "mon", ""), Error);
  EXPECT_THROW(SessionTimes("08:00", "17:00", "mon", "noday"), Error);
  EXPECT_THROW(SessionTimes("", "", "mon", "fri"), Error);
}

struct Log : test::Recorder {
  std::vector<std::string> events;
  Session* says_at_day_end = nullptr;

  void on_day_end() noexcept override {
    events.push_back("day_end");
    if (says_at_day_end == nullptr) return;
    EXPECT_TRUE(accepted(says_at_day_end->send(plain_report(99))));
  }
  void on_numbers_reset(bool new_day) noexcept override {
    events.push_back(new_day ? "new_day" : "reset");
  }
};

class SessionDayTest : public ::testing::Test {
 protected:
  SessionDayTest() { open(); }

  void open() {
    venue_.reset();
    client_.reset();
    venue_ = std::make_unique<Session>(options(SessionRole::kAcceptor, venue_times_));
    client_ = std::make_unique<Session>(options(SessionRole::kInitiator, times_));
    turn();
  }
  SessionOptions options(SessionRole role, const SessionTimes& times) const {
    const bool acceptor = role == SessionRole::kAcceptor;
    SessionOptions result{
        .role = role, .sender = acceptor ? "SIM" : "OEG", .target = acceptor ? "OEG" : "SIM"};
    result.store_path = folder_ / result.sender;
    result.store_messages = 64;
    result.heartbeat_s = 3600;
    result.times = times;
    return result;
  }
  // Virtual time starts on 2000-01-01 at 00:00.
  void set_time(int day, int hour, int second = 0) {
    now_ns_ = clock::VirtualTime::kStartNs +
              static_cast<std::uint64_t>((day * kDaySeconds + hour * 3600 + second) * kSecondNs);
    time_.advance_to(now_ns_);
    turn();
  }
  void turn(int turns = 20) {
    for (int i = 0; i < turns; ++i) {
      now_ns_ += 10'000'000;
      time_.advance_to(now_ns_);
      venue_->poll(at_venue_);
      client_->poll(at_client_);
    }
  }
  bool connect() {
    const auto [at_venue, at_client] = test_support::socket_pair();
    EXPECT_TRUE(venue_->attach(at_venue));
    if (!client_->attach(at_client)) {
      venue_->disconnect();
      return false;
    }
    turn();
    return client_->logged_on() && venue_->logged_on();
  }
  void expect_numbers(std::uint32_t both) {
    for (const auto& session : {venue_.get(), client_.get()}) {
      EXPECT_EQ(session->next_sender_seq(), both);
      EXPECT_EQ(session->next_target_seq(), both);
    }
  }
  std::string venue_said() {
    std::string all;
    for (std::string line; venue_->pop_event(line);) all += line + "\n";
    return all;
  }

  clock::VirtualTime time_;
  std::uint64_t now_ns_ = clock::VirtualTime::kStartNs;
  test_support::Folder folder_;
  SessionTimes times_{"08:00:00", "17:00:00"};
  SessionTimes venue_times_ = times_;
  Log at_venue_, at_client_;
  std::unique_ptr<Session> venue_, client_;
};

TEST_F(SessionDayTest, BeforeTheStartNobodyLogsOnAndAtTheStartEverybodyMay) {
  set_time(0, 7);
  EXPECT_FALSE(client_->in_session_time());
  EXPECT_FALSE(connect());
  set_time(0, 8);
  EXPECT_TRUE(client_->in_session_time());
  EXPECT_TRUE(connect());
  expect_numbers(2);
}

TEST_F(SessionDayTest, AnAcceptorAnswersALogonOutsideOfItsTimeByALogoutWithAText) {
  times_ = SessionTimes("07:00:00", "18:00:00");
  open();
  set_time(0, 7);
  EXPECT_FALSE(connect());
  EXPECT_NE(venue_said().find("outside of the session time"), std::string::npos);
  EXPECT_EQ(venue_->counters().bad_logons.get(), 1u);
  std::string told;
  for (std::string line; client_->pop_event(line);) told += line;
  EXPECT_NE(told.find("logout"), std::string::npos) << told;
  set_time(0, 8);
  EXPECT_TRUE(connect()) << "though each side has counted what was said before";
  turn();
  EXPECT_FALSE(client_->behind_gap());
  EXPECT_FALSE(venue_->behind_gap());
}

// A standby that takes over connects before its session is polled.
TEST_F(SessionDayTest, AStandbyIsInTheSessionTimeOfTheSessionThatItFollows) {
  set_time(0, 9);
  SessionOptions of_standby = options(SessionRole::kInitiator, times_);
  of_standby.store_path = folder_ / "standby";
  Session standby(of_standby);
  EXPECT_FALSE(standby.in_session_time());
  standby.adopt_numbers({4, 3, client_->began_ns()});
  EXPECT_TRUE(standby.in_session_time());
  set_time(0, 18);
  standby.adopt_numbers({5, 3, client_->began_ns()});
  EXPECT_FALSE(standby.in_session_time());
}

TEST_F(SessionDayTest, ASessionWhoseDayGoesOnIsInItBeforeItIsPolled) {
  set_time(0, 9);
  client_.reset();
  client_ = std::make_unique<Session>(options(SessionRole::kInitiator, times_));
  EXPECT_TRUE(client_->in_session_time());
}

TEST_F(SessionDayTest, AtTheEndTheLastReportsAreSentAndTheNextDayBeginsWithOne) {
  set_time(0, 9);
  ASSERT_TRUE(connect());
  ASSERT_TRUE(accepted(client_->send(plain_order(1))));
  turn();
  at_venue_.says_at_day_end = venue_.get();
  set_time(0, 17, 1);
  EXPECT_FALSE(client_->connected());
  EXPECT_FALSE(venue_->connected());
  EXPECT_EQ(at_client_.report_ids(), std::vector<std::uint64_t>{99});
  const std::vector<std::string> once = {"day_end", "new_day"};
  EXPECT_EQ(at_venue_.events, once);
  EXPECT_EQ(at_client_.events, (std::vector<std::string>{"new_day", "day_end"}))
      << "it was logged out before its own end";
  EXPECT_EQ(client_->send(plain_order(2)), SendStatus::kDown);
  EXPECT_FALSE(connect());
  set_time(1, 8);
  EXPECT_TRUE(connect());
  expect_numbers(2);
  ASSERT_TRUE(accepted(client_->send(plain_order(2))));
  turn();
  EXPECT_EQ(at_venue_.order_ids(), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(at_venue_.events, once) << "not twice";
}

TEST_F(SessionDayTest, WhatThePeerWasNotThereToGetItGetsOnTheNextDay) {
  set_time(0, 9);
  ASSERT_TRUE(connect());
  client_->disconnect();
  turn();
  ASSERT_EQ(venue_->send(plain_report(1)), SendStatus::kStored);
  ASSERT_EQ(venue_->send(plain_report(2)), SendStatus::kStored);
  at_venue_.says_at_day_end = venue_.get();
  set_time(0, 20);
  ASSERT_EQ(venue_->send(plain_report(3)), SendStatus::kStored);
  EXPECT_EQ(venue_->next_sender_seq(), 5u);
  EXPECT_TRUE(at_client_.reports.empty());
  set_time(1, 8);
  EXPECT_TRUE(connect());
  turn();
  EXPECT_EQ(at_client_.report_ids(), (std::vector<std::uint64_t>{1, 2, 99, 3}));
  EXPECT_FALSE(client_->behind_gap());
}

TEST_F(SessionDayTest, ADayThatEndsWhileAProgramIsDownHasEndedForItsStoreToo) {
  set_time(0, 9);
  ASSERT_TRUE(connect());
  open();  // both anew
  EXPECT_EQ(client_->next_sender_seq(), 2u) << "on the same day the numbers go on";
  ASSERT_TRUE(connect());
  expect_numbers(3);
  client_.reset();
  venue_.reset();
  time_.advance_to(now_ns_ += kDaySeconds * kSecondNs);
  at_client_.events.clear();
  open();
  EXPECT_EQ(at_client_.events, (std::vector<std::string>{"new_day", "day_end"}));
  ASSERT_TRUE(connect());
  expect_numbers(2);
}

TEST_F(SessionDayTest, APeerThatDoesNotAnswerTheLogoutIsCutOff) {
  set_time(0, 9);
  ASSERT_TRUE(connect());
  now_ns_ = clock::VirtualTime::kStartNs + std::uint64_t{17 * 3600 + 1} * kSecondNs;
  for (int i = 0; i < 100; ++i) {
    time_.advance_to(now_ns_ += 100'000'000);
    venue_->poll(at_venue_);
  }
  EXPECT_FALSE(venue_->connected());
  EXPECT_EQ(venue_->next_sender_seq(), 1u);
}

TEST_F(SessionDayTest, WithoutSessionTimesTheNumbersGoOnForEver) {
  times_ = venue_times_ = SessionTimes();
  open();
  set_time(0, 9);
  ASSERT_TRUE(connect());
  client_->disconnect();
  set_time(3, 9);
  ASSERT_TRUE(connect());
  expect_numbers(3);
}

}  // namespace
}  // namespace tickpath::fix
