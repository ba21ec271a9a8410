// NextExpectedMsgSeqNum (789): what is missing comes at the Logon, and nobody asks for it. And how
// often a refused Logon is answered.
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fix/codec.hpp"
#include "common/fix/session.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/process.hpp"

namespace tickpath::fix {
namespace {

ExecutionReport missed_report(std::uint64_t id) {
  ExecutionReport result;
  result.order_id = result.exec_id = result.cl_ord_id = id;
  result.order_qty = result.leaves_qty = 100;
  result.symbol = Symbol::from("AAPL");
  return result;
}

// A 4.4 session of ours, and the bytes at the other end.
class NextExpectedTest : public ::testing::Test {
 protected:
  NextExpectedTest() {
    options_.role = SessionRole::kAcceptor;
    options_.version = Version::k44;
    options_.sender = "US";
    options_.target = "PEER";
    options_.store_path = folder_ / "store";
    options_.store_messages = 64;
    options_.next_expected = true;
  }
  ~NextExpectedTest() override {
    if (socket_ >= 0) ::close(socket_);
  }
  void open() { session_ = std::make_unique<Session>(options_); }
  void connect() {
    if (socket_ >= 0) ::close(socket_);
    until([&] { return !session_->connected(); });
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ASSERT_TRUE(session_->attach(pair[0]));
    socket_ = pair[1];
    heard_.clear();
    closed_ = false;
  }
  void say(const std::string& type, int number, const std::string& body) {
    std::string text = "35=" + type + "|49=PEER|56=US|34=" + std::to_string(number) +
                       "|52=20261121-10:11:12.345|" + body;
    for (char& c : text)
      if (c == '|') c = kSoh;
    std::string message =
        "8=FIX.4.4\x01"
        "9=" +
        std::to_string(text.size()) + kSoh + text;
    const std::string sum = std::to_string(1000 + checksum(message));
    message += "10=" + sum.substr(1) + kSoh;
    ASSERT_EQ(::send(socket_, message.data(), message.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(message.size()));
  }
  void until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + test_support::kPatience;
    while (!done()) {
      session_->poll(handler_);
      char buffer[4096];
      const ssize_t got = socket_ < 0 ? -1 : ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
      for (ssize_t i = 0; i < got; ++i) heard_ += buffer[i] == kSoh ? '|' : buffer[i];
      closed_ |= got == 0;
      ASSERT_LT(std::chrono::steady_clock::now(), end) << heard_;
    }
  }
  // Until a test request is answered: everything before it was said.
  void settle(int number) {
    say("1", number, "112=settled|");
    until([&] { return heard("|112=settled|"); });
  }
  bool heard(const std::string& text) const { return heard_.find(text) != std::string::npos; }
  std::size_t times(const std::string& text) const {
    std::size_t count = 0;
    for (std::size_t at = heard_.find(text); at != std::string::npos;
         at = heard_.find(text, at + 1))
      ++count;
    return count;
  }

  test_support::Folder folder_;
  SessionOptions options_;
  std::unique_ptr<Session> session_;
  Handler handler_;
  int socket_ = -1;
  bool closed_ = false;
  std::string heard_;
};

TEST_F(NextExpectedTest, AnAcceptorSaysItAndSendsWhatThePeerLacks) {
  open();
  connect();
  say("A", 1, "98=0|108=30|789=1|");
  until([&] { return session_->logged_on(); });
  until([&] { return heard("|789=2|"); });
  ::close(socket_);
  socket_ = -1;
  until([&] { return !session_->connected(); });
  ASSERT_EQ(session_->send(missed_report(1)), SendStatus::kStored);
  ASSERT_EQ(session_->send(missed_report(2)), SendStatus::kStored);
  connect();
  say("A", 2, "98=0|108=30|789=2|");
  until([&] { return heard("|11=2|"); });
  settle(3);
  EXPECT_TRUE(heard("|789=3|"));
  EXPECT_EQ(times("|35=8|"), 2u);
  EXPECT_EQ(times("|43=Y|"), 3u) << "both, and the end of the gap: our Logon";
  EXPECT_EQ(times("|35=2|"), 0u);
  EXPECT_EQ(session_->counters().resent.get(), 2u);
}

TEST_F(NextExpectedTest, APeerThatLacksNothingIsSentNothingAgain) {
  open();
  connect();
  say("A", 1, "98=0|108=30|789=1|");
  until([&] { return session_->logged_on(); });
  settle(2);
  EXPECT_EQ(times("|43=Y|"), 0u) << heard_;
  connect();
  say("A", 3, "98=0|108=30|789=3|");
  until([&] { return session_->logged_on(); });
  settle(4);
  EXPECT_EQ(times("|43=Y|"), 0u) << heard_;
  EXPECT_EQ(session_->counters().resent.get(), 0u);
}

TEST_F(NextExpectedTest, WhatWeLackIsNotAskedFor) {
  open();
  connect();
  say("A", 5, "98=0|108=30|789=1|");
  until([&] { return heard("|35=A|"); });
  EXPECT_TRUE(heard("|789=1|")) << heard_;
  until([&] { return session_->behind_gap(); });
  // 789 means nothing in it.
  say("4", 1, "43=Y|122=20261121-10:11:12.345|123=Y|36=6|789=99|");
  until([&] { return !session_->behind_gap(); });
  settle(6);
  EXPECT_EQ(times("|35=2|"), 0u) << heard_;
  EXPECT_EQ(session_->next_target_seq(), 7u);
  // Logon and Heartbeat: no number was used for a request that nobody got.
  EXPECT_EQ(session_->next_sender_seq(), 3u);
}

TEST_F(NextExpectedTest, OfAPeerThatDoesNotSayItWeAskAsEver) {
  open();
  connect();
  say("A", 5, "98=0|108=30|");
  until([&] { return heard("|35=2|"); });
  EXPECT_TRUE(heard("|7=1|"));
}

TEST_F(NextExpectedTest, ANumberThatWasNeverSentIsRefused) {
  open();
  for (const char* const number : {"99", "0", "-1", "x"}) {
    connect();
    say("A", 1, std::string("98=0|108=30|789=") + number + "|");
    until([&] { return closed_; });
    EXPECT_TRUE(heard("|35=5|")) << number << " " << heard_;
    EXPECT_FALSE(session_->logged_on());
  }
}

TEST_F(NextExpectedTest, AnInitiatorSaysItAndSendsWhatTheVenueLacks) {
  options_.role = SessionRole::kInitiator;
  open();
  connect();
  until([&] { return heard("|35=A|"); });
  EXPECT_TRUE(heard("|789=1|")) << heard_;
  say("A", 1, "98=0|108=30|789=2|");
  until([&] { return session_->logged_on(); });
  OrderCancelRequest cancel;
  cancel.cl_ord_id = 7;
  cancel.orig_cl_ord_id = 6;
  cancel.symbol = Symbol::from("AAPL");
  ASSERT_TRUE(accepted(session_->send(cancel)));
  until([&] { return heard("|11=7|"); });
  connect();
  until([&] { return heard("|35=A|"); });
  EXPECT_TRUE(heard("|789=2|")) << heard_;
  say("A", 2, "98=0|108=30|789=2|");
  until([&] { return heard("|43=Y|") && heard("|11=7|"); });
  EXPECT_EQ(times("|35=2|"), 0u);
}

TEST_F(NextExpectedTest, ItIsOfFix44Alone) {
  options_.version = Version::k42;
  EXPECT_THROW(open(), Error);
}

TEST_F(NextExpectedTest, OfManyRefusedLogonsInARowOnlySomeAreAnswered) {
  options_.next_expected = false;
  options_.username = "desk";
  options_.password = "a secret";
  open();
  ASSERT_EQ(session_->send(missed_report(1)), SendStatus::kStored);
  for (int i = 0; i < 100; ++i) {
    connect();
    say("A", 1, "98=0|108=30|");
    until([&] { return closed_; });
    EXPECT_EQ(heard("|35=5|"), i < 16) << i;
  }
  EXPECT_EQ(session_->counters().bad_logons.get(), 100u);
  EXPECT_EQ(session_->next_sender_seq(), 18u);
  connect();
  say("A", 1, "98=0|108=30|553=desk|554=a secret|");
  until([&] { return session_->logged_on(); });
  say("2", 2, "7=1|16=0|");
  until([&] { return heard("|11=1|"); });
  EXPECT_EQ(session_->counters().forgotten.get(), 0u) << "what the peer has not got is still there";
  connect();
  say("A", 3, "98=0|108=30|");
  until([&] { return closed_; });
  EXPECT_TRUE(heard("|35=5|")) << "after one that was taken again";
}

}  // namespace
}  // namespace tickpath::fix
