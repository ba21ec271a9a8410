// Gaps in the numbers of a session, theirs and ours, seen by a peer that writes what it likes.
#include <chrono>
#include <cstdio>
#include <string>

#include <malloc.h>

#include "tests/unit/fix/raw_peer.hpp"

namespace tickpath::fix {
namespace {

using namespace std::chrono_literals;

class SessionGapsTest : public test::RawPeer {
 protected:
  SessionGapsTest() { options_.logout_timeout_s = 1; }

  void say_order(std::uint64_t id, const std::string& header = {}) {
    say("D", header + "11=" + std::to_string(id) + kOrder);
  }
  void fill(std::uint32_t begin, std::uint32_t next) {
    write(message("4", begin, "43=Y|122=20261121-10:11:12|123=Y|36=" + std::to_string(next) + "|"));
  }
  static std::size_t allocated() {
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  }

  static constexpr const char* kOrder =
      "|21=1|55=AAPL|54=1|60=20261121-10:11:12|38=100|40=2|44=1.5|";
};

// ---------------------------------------------------------------------------------- their gaps

TEST_F(SessionGapsTest, TakesWhatCameBehindAGapWhenThatIsFilled) {
  log_on();
  ++next_seq_;  // 2 is missing
  for (std::uint64_t id = 3; id <= 6; ++id) say_order(id);
  ASSERT_TRUE(hear("|35=2|"));
  EXPECT_TRUE(session_->behind_gap());
  EXPECT_TRUE(seen_.orders.empty());
  fill(2, 3);
  say_order(7);
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 5; }));
  EXPECT_EQ(seen_.order_ids(), (std::vector<std::uint64_t>{3, 4, 5, 6, 7}));
  EXPECT_FALSE(session_->behind_gap());
  EXPECT_EQ(session_->counters().gaps.get(), 1u);
}

TEST_F(SessionGapsTest, KeepsABoundedPartOfWhatComesBehindAGapAndAsksForTheRest) {
  log_on();
  const std::uint32_t missing = next_seq_++;
  constexpr std::uint64_t kOrders = 20'000;
  seen_.orders.reserve(kOrders);
  std::string bytes;
  for (std::uint64_t id = 1; id <= kOrders; ++id)
    bytes += message("D", next_seq_++, "11=" + std::to_string(id) + kOrder);
  const std::size_t before = allocated();
  write(bytes);
  EXPECT_LT(allocated(), before + (1u << 20));
  EXPECT_GT(session_->counters().gap_overflows.get(), 0u);
  EXPECT_TRUE(seen_.orders.empty());
  // Each time it asks it is given the next thousand.
  for (std::uint32_t begin = missing; seen_.orders.size() < kOrders;) {
    fill(begin, begin == missing ? begin + 1 : begin);
    ASSERT_TRUE(until([&] { return session_->next_target_seq() > begin; }));
    const std::uint32_t next = session_->next_target_seq();
    for (std::uint32_t seq = next; seq < std::min(next + 1000, next_seq_); ++seq)
      write(message("D", seq,
                    "43=Y|122=20261121-10:11:12|11=" + std::to_string(seq - missing) + kOrder));
    begin = next;
  }
  ASSERT_EQ(seen_.orders.size(), kOrders);
  for (std::uint64_t id = 1; id <= kOrders; ++id) ASSERT_EQ(seen_.orders[id - 1].cl_ord_id, id);
  say_order(kOrders + 1);
  EXPECT_TRUE(until([&] { return seen_.orders.size() == kOrders + 1; }));
}

TEST_F(SessionGapsTest, AsksAgainForWhatFoundNoRoomBehindAGap) {
  options_.gap_buffer_bytes = 512;
  log_on();
  ++next_seq_;
  for (std::uint64_t id = 3; id <= 12; ++id) say_order(id);  // three of them find room
  ASSERT_TRUE(hear("|7=2|16=0|"));
  fill(2, 3);
  ASSERT_TRUE(until([&] { return !seen_.orders.empty(); }));
  const std::uint32_t lost = session_->next_target_seq();
  EXPECT_LT(lost, 12u);
  say_order(13);
  ASSERT_TRUE(hear("|7=" + std::to_string(lost) + "|16=0|"));
}

TEST_F(SessionGapsTest, EndsASessionOfWhichAGapIsNotFilled) {
  options_.gap_timeout_s = 1;
  log_on();
  next_seq_ += 2;
  say_order(1);
  ASSERT_TRUE(hear("|58=MsgSeqNum 2 to 3 not received for 1 s (gap_timeout)|"));
  EXPECT_EQ(times("|35=5|"), 1u);
  ASSERT_TRUE(until([&] { return !session_->connected(); }));
  EXPECT_TRUE(seen_.orders.empty());
  EXPECT_EQ(session_->counters().gap_timeouts.get(), 1u);
  // Nothing of it stays: the next logon asks from the same number on.
  connect();
  say("A", "98=0|108=30|");
  ASSERT_TRUE(hear("|7=2|16=0|"));
  fill(2, next_seq_);
  say_order(2);
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 1; }));
}

TEST_F(SessionGapsTest, WaitsForAGapThatShrinks) {
  options_.gap_timeout_s = 1;
  log_on();
  next_seq_ += 4;
  say_order(1);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t seq = 2; seq <= 5; ++seq) {
    const auto due = begin + (seq - 1) * 500ms;
    ASSERT_TRUE(until([&] { return std::chrono::steady_clock::now() > due; }));
    fill(seq, seq + 1);
  }
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 1; }));
  EXPECT_EQ(times("|35=5|"), 0u);
}

// QuickFIX's script RejectResentMessage.
TEST_F(SessionGapsTest, AnswersATestRequestBehindAGapInItsTurn) {
  log_on();
  const std::uint32_t missing = next_seq_++;
  say("1", "112=first|");
  ASSERT_TRUE(hear("|7=2|16=0|"));
  write(
      message("D", missing, "43=Y|122=20261121-10:11:12|11=1|126=20040415" + std::string(kOrder)));
  say("1", "112=second|");
  ASSERT_TRUE(hear("|112=second|"));
  EXPECT_LT(heard_.find("|35=3|"), heard_.find("|112=first|"));
  EXPECT_LT(heard_.find("|112=first|"), heard_.find("|112=second|"));
  EXPECT_EQ(times("|112=first|"), 1u);
}

TEST_F(SessionGapsTest, AnswersAResendRequestBehindAGapAtOnceAndThenAsksItself) {
  log_on();
  ++next_seq_;
  say("2", "7=1|16=0|");
  ASSERT_TRUE(hear("|7=2|16=0|"));
  EXPECT_LT(heard_.find("|35=4|"), heard_.find("|35=2|"));
  EXPECT_TRUE(session_->behind_gap());
  say("2", "7=1|16=0|");  // asked for already
  ASSERT_TRUE(until([&] { return times("|123=Y|36=") == 2; }));
  fill(2, 3);
  say_order(1);
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 1; }));
  EXPECT_EQ(times("|35=2|"), 1u);
}

// In Reset mode its own number is ignored (FIX 4.4, vol. 2, Sequence Reset).
TEST_F(SessionGapsTest, TakesASequenceResetAtOnceWhateverItsNumberIs) {
  log_on();
  write(message("4", 500, "36=1000|"));
  next_seq_ = 1000;
  say_order(1);
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 1; }));
  EXPECT_EQ(times("|35=2|"), 0u);
}

// The number behind it would not fit into QuickFIX's: -2147483648.
TEST_F(SessionGapsTest, EndsTheConnectionAtASequenceResetBeyondAllNumbers) {
  log_on();
  write(message("4", next_seq_, "36=2147483647|"));
  ASSERT_TRUE(until([&] { return !session_->connected(); }));
  EXPECT_EQ(session_->next_target_seq(), 2u);
}

TEST_F(SessionGapsTest, TakesNumbersUpToTheLastThatFits) {
  log_on();
  write(message("4", next_seq_, "36=2147483646|"));
  next_seq_ = 2147483646;
  say_order(1);
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 1; }));
  say_order(2);
  ASSERT_TRUE(until([&] { return !session_->connected(); }));
  EXPECT_EQ(seen_.orders.size(), 1u);
  EXPECT_EQ(session_->next_target_seq(), 2147483647u);
}

// QuickFIX's own text of a message has its fields sorted: those of a group lie in heaps.
TEST_F(SessionGapsTest, AcceptsRepeatingGroupsBehindAGapAndInResends) {
  options_.version = Version::k44;
  log_on();
  const std::string parties = "453=2|448=A|447=D|452=1|448=B|447=D|452=3|";
  const std::string body =
      "11=1|" + parties + "55=AAPL|54=1|60=20261121-10:11:12|38=100|40=2|44=1|";
  const std::uint32_t missing = next_seq_++;
  say("D", body);
  ASSERT_TRUE(hear("|35=2|"));
  write(message("D", missing, "43=Y|122=20261121-10:11:12|" + body));
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 2; }));
  EXPECT_EQ(session_->counters().rejected.get(), 0u);
  EXPECT_EQ(times("|35=3|"), 0u);
}

TEST_F(SessionGapsTest, InitiatorHandsOverTheReasonsOfRefusalsAndEndsAndNoOtherText) {
  struct Sink final : TextSink {
    void on_text(std::uint64_t id, std::string_view text) noexcept override {
      said += std::to_string(id) + " " + std::string(text) + "|";
    }
    std::string said;
  } sink;
  options_.role = SessionRole::kInitiator;
  open();
  session_->set_text_sink(&sink);
  connect();
  say("A", "98=0|108=30|");
  const auto report = [this](const std::string& id, const std::string& what) {
    say("8", "37=1|17=" + id + "|20=0|11=" + id + "|55=AAPL|54=1|151=0|14=0|6=0|" + what);
  };
  report("1", "150=8|39=8|58=off the tick|");
  report("2", "150=0|39=0|58=welcome|");
  report("3", "150=4|39=4|58=self match|");
  report("4", "150=C|39=C|58=closed|");
  say("9", "37=1|11=5|41=4|39=4|434=1|58=too late|");
  say("3", "45=1|58=cannot read it|");
  report("6", "150=8|39=8|");
  say("1", "112=done|");
  ASSERT_TRUE(hear("|112=done|"));
  EXPECT_EQ(sink.said, "1 off the tick|3 self match|4 closed|5 too late|0 cannot read it|");
}

TEST_F(SessionGapsTest, InitiatorTakesRepeatingGroupsBehindAGapAndInResends) {
  options_.role = SessionRole::kInitiator;
  open();
  connect();
  say("A", "98=0|108=30|");
  const auto fill_of = [](const std::string& id) {
    return "37=1|17=" + id +
           "|20=0|150=1|39=1|11=1|382=2|375=AAA|337=X|437=1|375=BBB|337=Y|437=2|"
           "55=AAPL|54=1|38=2|32=1|31=1.5|151=1|14=1|6=1.5|";
  };
  const std::uint32_t missing = next_seq_++;
  say("8", fill_of("2"));
  ASSERT_TRUE(hear("|35=2|"));
  write(message("8", missing, "43=Y|122=20261121-10:11:12|" + fill_of("1")));
  ASSERT_TRUE(until([&] { return seen_.reports.size() == 2; }));
  EXPECT_EQ(seen_.reports[0].exec_id, 1u);
  EXPECT_EQ(seen_.reports[1].exec_id, 2u);
  EXPECT_EQ(session_->counters().nonconforming.get(), 0u);
  EXPECT_EQ(times("|35=3|"), 0u);
}

// ------------------------------------------------------------------------------------ our resends

TEST_F(SessionGapsTest, ResendsALittleEachTurnAndLetsNothingOvertake) {
  log_on();
  for (std::uint64_t id = 1; id <= 45; ++id)
    ASSERT_EQ(session_->send(test::plain_report(id)), SendStatus::kSent);
  ASSERT_TRUE(hear("|34=000000046|"));
  heard_.clear();
  const std::string request = message("2", next_seq_++, "7=2|16=0|");
  ASSERT_EQ(::send(socket_, request.data(), request.size(), 0), ssize_t(request.size()));
  turn();
  EXPECT_GT(times("|43=Y|"), 0u);
  EXPECT_LT(times("|43=Y|"), 45u);
  EXPECT_EQ(session_->send(test::plain_report(46)), SendStatus::kQueued);
  ASSERT_TRUE(hear("|34=000000047|"));
  EXPECT_EQ(times("|43=Y|"), 45u);
  EXPECT_EQ(times("|122="), 45u);
  std::size_t at = 0;
  for (int seq = 2; seq <= 47; ++seq) {
    char text[32];
    std::snprintf(text, sizeof(text), "|34=%09d|", seq);
    at = heard_.find(text, at);
    ASSERT_NE(at, std::string::npos) << seq;
  }
  EXPECT_EQ(heard_.find("|43=Y", at), std::string::npos);
  EXPECT_EQ(session_->send(test::plain_report(47)), SendStatus::kSent);
}

TEST_F(SessionGapsTest, RefusesMessagesThatAResendStillNeedsThePlaceOf) {
  options_.store_messages = 64;
  log_on();
  for (std::uint64_t id = 1; id <= 200; ++id)
    ASSERT_TRUE(accepted(session_->send(test::plain_report(id))));
  ASSERT_TRUE(hear("|34=000000201|"));
  heard_.clear();
  const std::string request = message("2", next_seq_++, "7=1|16=0|");
  ASSERT_EQ(::send(socket_, request.data(), request.size(), 0), ssize_t(request.size()));
  turn();
  int refused = 0;
  for (std::uint64_t id = 201; id <= 300; ++id)
    while (!accepted(session_->send(test::plain_report(id)))) {
      ++refused;
      turn();
    }
  EXPECT_GT(refused, 0);
  ASSERT_TRUE(hear("|34=000000301|"));
  EXPECT_GE(session_->counters().resent.get(), 63u);
  EXPECT_LE(session_->counters().forgotten.get(), 138u);
  for (std::uint64_t id = 201; id <= 300; ++id)
    EXPECT_EQ(times("|17=" + std::to_string(id) + "|"), 1u) << id;
}

TEST_F(SessionGapsTest, AnswersManyUnreadResendRequestsByOneMoreResend) {
  options_.store_messages = 8192;
  log_on();
  for (std::uint64_t id = 1; id <= 8000; ++id) {
    ASSERT_TRUE(accepted(session_->send(test::plain_report(id))));
    if (id % 100 == 0) turn();
  }
  ASSERT_TRUE(hear("|34=000008001|"));
  heard_.clear();
  std::string requests;
  for (int i = 0; i < 400; ++i) requests += message("2", next_seq_++, "7=1|16=0|");
  const std::size_t before = allocated();
  write(requests);
  for (int i = 0; i < 1000; ++i) session_->poll(seen_);  // and the peer reads nothing
  EXPECT_LT(allocated(), before + (1u << 20));
  say("1", "112=still there|");
  ASSERT_TRUE(hear("|112=still there|"));
  ASSERT_TRUE(until([&] { return session_->counters().resent.get() == 16'000; }));
  ASSERT_TRUE(until([&] { return session_->send(test::plain_report(9000)) == SendStatus::kSent; }));
  ASSERT_TRUE(hear("|17=9000|"));
  EXPECT_EQ(session_->counters().resent.get(), 16'000u);
}

TEST_F(SessionGapsTest, ResendsTheRangeThatIsAskedForAndNoMore) {
  log_on();
  for (std::uint64_t id = 1; id <= 10; ++id)
    ASSERT_EQ(session_->send(test::plain_report(id)), SendStatus::kSent);
  ASSERT_TRUE(hear("|34=000000011|"));
  heard_.clear();
  say("2", "7=3|16=5|");
  say("1", "112=done|");
  ASSERT_TRUE(hear("|112=done|"));
  ASSERT_TRUE(until([&] { return times("|43=Y|") == 3; }));
  EXPECT_EQ(session_->counters().resent.get(), 3u);
  EXPECT_EQ(times("|34=000000003|"), 1u);
  EXPECT_EQ(times("|34=000000006|"), 0u);
}

TEST_F(SessionGapsTest, RejectsARequestForMessagesThatThereAreNot) {
  log_on();
  for (const char* const range : {"7=5|16=2|", "7=0|16=0|", "7=9|16=0|"}) {
    say("2", range);
    ASSERT_TRUE(hear("|371=7|372=2|373=5|")) << range;
    heard_.clear();
  }
  say_order(1);
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 1; }));
}

TEST_F(SessionGapsTest, EndsAPeerThatReadsNothingOfItsRejects) {
  options_.send_buffer_bytes = 65536;
  log_on();
  const std::size_t before = allocated();
  const std::string bad = "43=Y|122=20261121-10:11:12|11=x|";
  for (int i = 0; i < 20'000 && session_->connected(); ++i) {
    const std::string text = message("D", 1, "43=Y|11=x|");  // old, without OrigSendingTime
    if (::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
    session_->poll(seen_);
  }
  EXPECT_FALSE(session_->connected());
  EXPECT_LT(allocated(), before + (1u << 20));
}

// ------------------------------------------------------------------------------ unanswered logons

TEST_F(SessionGapsTest, ALogonThatNobodyAnswersKeepsItsNumberForAWhile) {
  options_.role = SessionRole::kInitiator;
  open();
  std::string numbers;
  for (int attempt = 0; attempt < 6; ++attempt) {
    connect();
    ASSERT_TRUE(hear("|35=A|"));
    numbers += heard_.substr(heard_.find("|34=") + 4, 1);
  }
  EXPECT_EQ(numbers, "111122");
  // Whoever answers, even that it is too low, has seen it.
  say("5", "58=MsgSeqNum too low, expecting 3 but received 2|");
  ASSERT_TRUE(until([&] { return !session_->connected(); }));
  connect();
  ASSERT_TRUE(hear("|34=4|"));  // 3 answered the Logout
}

}  // namespace
}  // namespace tickpath::fix
