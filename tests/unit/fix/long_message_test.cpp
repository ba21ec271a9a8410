// Messages of the peer that are longer than a session reads (32,768 bytes).
#include <string>

#include "tests/unit/fix/raw_peer.hpp"

namespace tickpath::fix {
namespace {

class LongMessageTest : public test::RawPeer {
 protected:
  std::string long_order(std::uint32_t number, const std::string& header = {}) const {
    return message("D", number, header + "11=77" + kOrder + "58=" + std::string(40'000, 'x') + "|");
  }
  void say_order(std::uint64_t id) { say("D", "11=" + std::to_string(id) + kOrder); }
  void fill(std::uint32_t begin, std::uint32_t next) {
    write(message("4", begin, "43=Y|122=20261121-10:11:12|123=Y|36=" + std::to_string(next) + "|"));
  }

  static constexpr const char* kOrder =
      "|21=1|55=AAPL|54=1|60=20261121-10:11:12|38=100|40=2|44=1.5|";
  static constexpr const char* kText = "|372=D|58=longer than 32768 bytes: not read|";
};

TEST_F(LongMessageTest, IsRefusedByARejectAndTheSessionGoesOn) {
  log_on();
  write(long_order(next_seq_++));
  ASSERT_TRUE(hear("|35=3|"));
  EXPECT_TRUE(heard("|45=2|371=9|"));
  EXPECT_TRUE(heard(kText));
  say_order(5);
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 1; }));
  EXPECT_EQ(times("|35=2|"), 0u);
  EXPECT_EQ(session_->counters().too_long.get(), 1u);
  EXPECT_EQ(session_->counters().garbled.get(), 0u);
  EXPECT_EQ(seen_.refused, std::vector<std::uint64_t>{77});
  EXPECT_EQ(session_->next_target_seq(), next_seq_);
}

TEST_F(LongMessageTest, IsReadPastHoweverItsBytesArrive) {
  log_on();
  for (const std::size_t last : {1u, 6u, 7u, 8u, 9u, 5'000u}) {
    const std::string bytes = long_order(next_seq_++);
    write(bytes.substr(0, 100));
    turn();
    write(bytes.substr(100, bytes.size() - 100 - last));
    turn();
    write(bytes.substr(bytes.size() - last));
    say_order(last);
    ASSERT_TRUE(
        until([&] { return !seen_.orders.empty() && seen_.orders.back().cl_ord_id == last; }));
  }
  EXPECT_EQ(session_->counters().too_long.get(), 6u);
  EXPECT_TRUE(until([&] { return times(kText) == 6; }));
}

TEST_F(LongMessageTest, BehindAGapIsAskedForAndRefusedOnceInItsTurn) {
  log_on();
  const std::uint32_t missing = next_seq_++;
  const std::uint32_t number = next_seq_++;
  write(long_order(number));
  ASSERT_TRUE(hear("|35=2|"));
  EXPECT_EQ(times(kText), 0u);
  EXPECT_TRUE(session_->behind_gap());
  say_order(5);
  fill(missing, missing + 1);
  write(long_order(number, "43=Y|122=20261121-10:11:12|"));
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 1 && heard(kText); }));
  EXPECT_EQ(seen_.refused.size(), 1u);
  write(long_order(number, "43=Y|122=20261121-10:11:12|"));  // known: nothing to say
  say_order(6);
  say("1", "112=done|");
  ASSERT_TRUE(hear("|112=done|"));
  EXPECT_EQ(seen_.orders.size(), 2u);
  EXPECT_EQ(times(kText), 1u);
}

// Its number is not counted: what was garbled on its way is to come again (FIX 4.2, vol. 2).
TEST_F(LongMessageTest, WithAWrongChecksumIsGarbledAndAskedForAgain) {
  log_on();
  std::string bytes = long_order(next_seq_++);
  bytes[bytes.size() / 2] = 'y';
  write(bytes);
  say_order(5);
  ASSERT_TRUE(hear("|35=2|"));
  EXPECT_EQ(session_->counters().garbled.get(), 1u);
  EXPECT_EQ(session_->counters().too_long.get(), 0u);
  EXPECT_TRUE(heard("|7=2|16=0|"));
}

// Two sides that refuse each other's Rejects would go on for ever.
TEST_F(LongMessageTest, ThatIsARejectIsCountedWithoutAnAnswer) {
  log_on();
  write(message("3", next_seq_++, "45=1|58=" + std::string(40'000, 'x') + "|"));
  say_order(5);
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 1; }));
  EXPECT_EQ(times("|35=3|"), 0u);
  EXPECT_EQ(session_->counters().too_long.get(), 1u);
}

TEST_F(LongMessageTest, ThatIsALogoutEndsTheSession) {
  log_on();
  write(message("5", next_seq_++, "58=" + std::string(40'000, 'x') + "|"));
  ASSERT_TRUE(hear("|35=5|"));
  ASSERT_TRUE(until([&] { return !session_->connected(); }));
}

TEST_F(LongMessageTest, BeforeTheLogonEndsTheConnection) {
  open();
  connect();
  write(test::framed(options_.version, "35=A|49=PEER|56=US|34=1|").substr(0, 10) + "9=100000\001");
  ASSERT_TRUE(until([&] { return !session_->connected(); }));
  EXPECT_EQ(seen_.logons, 0);
}

}  // namespace
}  // namespace tickpath::fix
