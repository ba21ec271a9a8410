// NextExpectedMsgSeqNum (789): what is missing comes at the Logon, and nobody asks for it. And how
// often a refused Logon is answered.

#include "tests/unit/fix/raw_peer.hpp"

namespace tickpath::fix {
namespace {

// A 4.4 session of ours, and the bytes at the other end.
class NextExpectedTest : public test::RawPeer {
 protected:
  NextExpectedTest() {
    options_.version = Version::k44;
    options_.next_expected = true;
  }
  // Until a test request is answered: everything before it was said.
  void settle(std::uint32_t number) {
    say("1", number, "112=settled|");
    ASSERT_TRUE(hear("|112=settled|"));
  }
};

TEST_F(NextExpectedTest, AnAcceptorSaysItAndSendsWhatThePeerLacks) {
  open();
  connect();
  say("A", 1, "98=0|108=30|789=1|");
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
  ASSERT_TRUE(hear("|789=2|"));
  hang_up();
  ASSERT_EQ(session_->send(test::plain_report(1)), SendStatus::kStored);
  ASSERT_EQ(session_->send(test::plain_report(2)), SendStatus::kStored);
  connect();
  say("A", 2, "98=0|108=30|789=2|");
  ASSERT_TRUE(hear("|11=2|"));
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
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
  settle(2);
  EXPECT_EQ(times("|43=Y|"), 0u) << heard_;
  connect();
  say("A", 3, "98=0|108=30|789=3|");
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
  settle(4);
  EXPECT_EQ(times("|43=Y|"), 0u) << heard_;
  EXPECT_EQ(session_->counters().resent.get(), 0u);
}

TEST_F(NextExpectedTest, WhatWeLackIsNotAskedFor) {
  open();
  connect();
  say("A", 5, "98=0|108=30|789=1|");
  ASSERT_TRUE(hear("|35=A|"));
  EXPECT_TRUE(heard("|789=1|")) << heard_;
  ASSERT_TRUE(until([&] { return session_->behind_gap(); }));
  // 789 means nothing in it.
  say("4", 1, "43=Y|122=20261121-10:11:12.345|123=Y|36=6|789=99|");
  ASSERT_TRUE(until([&] { return !session_->behind_gap(); }));
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
  ASSERT_TRUE(hear("|35=2|"));
  EXPECT_TRUE(heard("|7=1|"));
}

TEST_F(NextExpectedTest, ANumberThatWasNeverSentIsRefused) {
  open();
  for (const char* const number : {"99", "0", "-1", "x"}) {
    connect();
    say("A", 1, std::string("98=0|108=30|789=") + number + "|");
    ASSERT_TRUE(until([&] { return closed_; }));
    EXPECT_TRUE(heard("|35=5|")) << number << " " << heard_;
    EXPECT_FALSE(session_->logged_on());
  }
}

TEST_F(NextExpectedTest, AnInitiatorSaysItAndSendsWhatTheVenueLacks) {
  options_.role = SessionRole::kInitiator;
  open();
  connect();
  ASSERT_TRUE(hear("|35=A|"));
  EXPECT_TRUE(heard("|789=1|")) << heard_;
  say("A", 1, "98=0|108=30|789=2|");
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
  ASSERT_TRUE(accepted(session_->send(
      OrderCancelRequest{.cl_ord_id = 7, .orig_cl_ord_id = 6, .symbol = Symbol::from("AAPL")})));
  ASSERT_TRUE(hear("|11=7|"));
  connect();
  ASSERT_TRUE(hear("|35=A|"));
  EXPECT_TRUE(heard("|789=2|")) << heard_;
  say("A", 2, "98=0|108=30|789=2|");
  ASSERT_TRUE(until([&] { return heard("|43=Y|") && heard("|11=7|"); }));
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
  ASSERT_EQ(session_->send(test::plain_report(1)), SendStatus::kStored);
  for (int i = 0; i < 100; ++i) {
    connect();
    say("A", 1, "98=0|108=30|");
    ASSERT_TRUE(until([&] { return closed_; }));
    EXPECT_EQ(heard("|35=5|"), i < 16) << i;
  }
  EXPECT_EQ(session_->counters().bad_logons.get(), 100u);
  EXPECT_EQ(session_->next_sender_seq(), 18u);
  connect();
  say("A", 1, "98=0|108=30|553=desk|554=a secret|");
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
  say("2", 2, "7=1|16=0|");
  ASSERT_TRUE(hear("|11=1|"));
  EXPECT_EQ(session_->counters().forgotten.get(), 0u) << "what the peer has not got is still there";
  connect();
  say("A", 3, "98=0|108=30|");
  ASSERT_TRUE(until([&] { return closed_; }));
  EXPECT_TRUE(heard("|35=5|")) << "after one that was taken again";
}

}  // namespace
}  // namespace tickpath::fix
