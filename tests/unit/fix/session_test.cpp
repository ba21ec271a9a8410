// Our session against itself (both roles over a socketpair), with QuickFIX behind each end, and
// against a peer that writes what it likes.

#include <algorithm>
#include <iterator>
#include <string>

#include <sys/socket.h>

#include "common/fix/codec.hpp"
#include "tests/unit/fix/raw_peer.hpp"

namespace tickpath::fix {
namespace {

using namespace std::chrono_literals;

using test::plain_order;
using test::plain_report;

class SessionTest : public ::testing::Test {
 protected:
  void open_initiator(std::uint32_t heartbeat_s = 30) {
    SessionOptions options{.sender = "OEG",
                           .target = "SIM",
                           .store_path = folder_ / "initiator.store",
                           .heartbeat_s = heartbeat_s,
                           .logout_timeout_s = 1,
                           .store_messages = 64};
    initiator_ = std::make_unique<Session>(options);
  }
  void open_acceptor(std::uint32_t logon_timeout_s = 10) {
    SessionOptions options{.role = SessionRole::kAcceptor,
                           .sender = "SIM",
                           .target = "OEG",
                           .store_path = folder_ / "acceptor.store",
                           .logon_timeout_s = logon_timeout_s,
                           .store_messages = 64,
                           .allow_reset = true};
    acceptor_ = std::make_unique<Session>(options);
  }
  void connect() {
    const auto [ours, theirs] = test_support::socket_pair();
    ASSERT_TRUE(acceptor_->attach(theirs));
    ASSERT_TRUE(initiator_->attach(ours));
  }
  void poll() {
    if (initiator_) initiator_->poll(at_initiator_);
    if (acceptor_) acceptor_->poll(at_acceptor_);
  }
  void until(const std::function<bool()>& done, const char* what) {
    ASSERT_TRUE(test_support::turn_until(done, [&] { poll(); })) << what << "\n" << events();
  }
  void until_logged_on() {
    until([&] { return initiator_->logged_on() && acceptor_->logged_on(); }, "logon");
  }
  void log_on() {
    open_initiator();
    open_acceptor();
    connect();
    until_logged_on();
  }
  // Until the acceptor has had so many.
  void send_order(std::uint64_t id, std::size_t count) {
    SCOPED_TRACE("order " + std::to_string(id));
    ASSERT_EQ(initiator_->send(plain_order(id)), SendStatus::kSent);
    until([&] { return at_acceptor_.orders.size() == count; }, "order");
  }
  void poll_for(std::chrono::milliseconds time) {
    (void)test_support::turn_until([] { return false; },
                                   [&] {
                                     poll();
                                     std::this_thread::sleep_for(1ms);
                                   },
                                   time);
  }
  std::string events() {
    std::string all;
    std::string line;
    while (initiator_ && initiator_->pop_event(line)) all += "initiator: " + line + "\n";
    while (acceptor_ && acceptor_->pop_event(line)) all += "acceptor: " + line + "\n";
    return all;
  }

  test_support::Folder folder_;
  std::unique_ptr<Session> initiator_;
  std::unique_ptr<Session> acceptor_;
  test::Recorder at_initiator_;
  test::Recorder at_acceptor_;
};

TEST_F(SessionTest, LogsOnAndCarriesOrdersAndReportsWithoutQuickFix) {
  log_on();
  EXPECT_EQ(at_initiator_.logons, 1);
  EXPECT_EQ(at_acceptor_.logons, 1);
  for (std::uint64_t id = 1; id <= 20; ++id)
    EXPECT_EQ(initiator_->send(plain_order(id)), SendStatus::kSent);
  until([&] { return at_acceptor_.orders.size() == 20; }, "orders");
  for (std::uint64_t id = 1; id <= 20; ++id)
    EXPECT_EQ(acceptor_->send(plain_report(id)), SendStatus::kSent);
  until([&] { return at_initiator_.reports.size() == 20; }, "reports");
  EXPECT_EQ(at_acceptor_.orders[4].cl_ord_id, 5u);
  EXPECT_EQ(at_initiator_.reports[7].cl_ord_id, 8u);
  EXPECT_EQ(acceptor_->counters().received_in_place.get(), 20u);
  EXPECT_EQ(initiator_->counters().received_in_place.get(), 20u);
  EXPECT_EQ(initiator_->next_sender_seq(), 22u);
  EXPECT_EQ(acceptor_->next_target_seq(), 22u);
}

TEST_F(SessionTest, RefusesOrdersAndKeepsReportsWhileDown) {
  open_initiator();
  open_acceptor();
  EXPECT_EQ(initiator_->send(plain_order(1)), SendStatus::kDown);
  EXPECT_EQ(initiator_->next_sender_seq(), 1u);
  EXPECT_EQ(acceptor_->send(plain_report(1)), SendStatus::kStored);
  connect();
  until([&] { return at_initiator_.reports.size() == 1; }, "the stored report");
  EXPECT_EQ(at_initiator_.reports[0].cl_ord_id, 1u);
  EXPECT_TRUE(at_initiator_.dups[0]);
  until_logged_on();
  EXPECT_EQ(initiator_->send(plain_order(2)), SendStatus::kSent);
  until([&] { return at_acceptor_.orders.size() == 1; }, "the order after the resend");
}

TEST_F(SessionTest, LogsOutAndComesBackWithTheNextNumbers) {
  log_on();
  send_order(1, 1);
  initiator_->logout("end of test");
  EXPECT_EQ(initiator_->send(plain_order(2)), SendStatus::kDown);
  until([&] { return !initiator_->connected() && !acceptor_->connected(); }, "logout");
  EXPECT_EQ(at_initiator_.logouts, 1);
  EXPECT_EQ(at_acceptor_.logouts, 1);
  connect();
  until_logged_on();
  send_order(3, 2);
  EXPECT_EQ(at_acceptor_.seqs[1], 5u);  // logon, order, logout, logon, order
}

TEST_F(SessionTest, RecoversReportsThatItsProcessMissedAcrossARestart) {
  log_on();
  send_order(1, 1);
  initiator_.reset();  // dies without a logout
  until([&] { return !acceptor_->connected(); }, "the acceptor to notice");
  for (std::uint64_t id = 1; id <= 30; ++id)
    ASSERT_EQ(acceptor_->send(plain_report(id)), SendStatus::kStored);
  open_initiator();
  connect();
  until([&] { return at_initiator_.reports.size() == 30; }, "reports by resend");
  for (std::uint64_t id = 1; id <= 30; ++id) EXPECT_EQ(at_initiator_.reports[id - 1].cl_ord_id, id);
  // From here on in place again.
  ASSERT_EQ(acceptor_->send(plain_report(31)), SendStatus::kSent);
  until([&] { return at_initiator_.reports.size() == 31; }, "a live report");
  EXPECT_FALSE(at_initiator_.dups.back());
}

TEST_F(SessionTest, ResendsOrdersThatTheRestartedAcceptorNeverSaw) {
  log_on();
  send_order(1, 1);
  // Written to a socket whose reader dies before it reads.
  ASSERT_EQ(initiator_->send(plain_order(2)), SendStatus::kSent);
  acceptor_.reset();
  until([&] { return !initiator_->connected(); }, "the initiator to notice");
  open_acceptor();
  connect();
  until([&] { return at_acceptor_.orders.size() == 2; }, "order by resend");
  EXPECT_EQ(at_acceptor_.orders[1].cl_ord_id, 2u);
  EXPECT_TRUE(at_acceptor_.dups[1]);
}

TEST_F(SessionTest, FillsTheGapOfAnOrderThatItsOwnerWithholdsFromAResend) {
  log_on();
  // Written to a socket whose reader dies before it reads.
  for (std::uint64_t id = 1; id <= 3; ++id) initiator_->send(plain_order(id));
  acceptor_.reset();
  until([&] { return !initiator_->connected(); }, "loss");
  at_initiator_.withheld = 2;
  open_acceptor();
  connect();
  until([&] { return at_acceptor_.orders.size() == 2; }, "resend");
  EXPECT_EQ(at_acceptor_.orders[0].cl_ord_id, 1u);
  EXPECT_EQ(at_acceptor_.orders[1].cl_ord_id, 3u);
  ASSERT_EQ(at_initiator_.resends.size(), 3u);
  for (const Resend& resend : at_initiator_.resends) {
    EXPECT_EQ(resend.msg_type, 'D');
    EXPECT_GE(resend.age_ns, 0);
    EXPECT_LT(resend.age_ns, 60'000'000'000);
  }
  initiator_->send(plain_order(4));
  until([&] { return at_acceptor_.orders.size() == 3; }, "the next order");
}

// SendingTime as a host writes it whose clock is a year ahead.
std::string a_year_ahead(std::string_view message) {
  std::string text(message);
  const std::size_t year = text.find("\00152=") + 4;
  return text.replace(year, 4, std::to_string(std::stoi(text.substr(year, 4)) + 1));
}

// Both hosts of a pair have a clock, and an order is not young because these differ.
TEST_F(SessionTest, AnOrderThatAnotherHostSentIsAsOldAsSinceItWasTakenFromThere) {
  log_on();
  initiator_->send(plain_order(1));  // to a socket whose reader dies before it reads
  acceptor_.reset();
  until([&] { return !initiator_->connected(); }, "loss");
  SessionOptions options{.sender = "OEG", .target = "SIM", .store_messages = 64};
  options.store_path = folder_ / "standby.store";
  auto standby = std::make_unique<Session>(options);
  for (std::uint32_t seq = 1; seq < initiator_->next_sender_seq(); ++seq)
    ASSERT_TRUE(standby->adopt_message(seq, a_year_ahead(initiator_->stored(seq)),
                                       {seq + 1, initiator_->next_target_seq(), 0}));
  initiator_ = std::move(standby);
  std::this_thread::sleep_for(20ms);
  open_acceptor();
  connect();
  until([&] { return !at_initiator_.resends.empty(); }, "the question for the order");
  EXPECT_GE(at_initiator_.resends[0].age_ns, 20'000'000);
  EXPECT_LT(at_initiator_.resends[0].age_ns, 60'000'000'000);
}

TEST_F(SessionTest, GapFillsWhatTheStoreHasForgotten) {
  log_on();
  initiator_.reset();
  until([&] { return !acceptor_->connected(); }, "the acceptor to notice");
  for (std::uint64_t id = 1; id <= 200; ++id) acceptor_->send(plain_report(id));  // 64 are kept
  open_initiator();
  connect();
  until(
      [&] {
        return !at_initiator_.reports.empty() && at_initiator_.reports.back().cl_ord_id == 200;
      },
      "the last report");
  EXPECT_GE(at_initiator_.reports.size(), 60u);
  EXPECT_LE(at_initiator_.reports.size(), 64u);
  EXPECT_GE(acceptor_->counters().forgotten.get(), 200u - at_initiator_.reports.size());
  ASSERT_EQ(acceptor_->send(plain_report(201)), SendStatus::kSent);
  until([&] { return at_initiator_.reports.back().cl_ord_id == 201; }, "a live report");
}

TEST_F(SessionTest, KeepsAnIdleSessionAliveByHeartbeats) {
  open_initiator(1);
  open_acceptor();
  connect();
  until_logged_on();
  const auto quickfix_received = [&] {
    return initiator_->counters().received.get() - initiator_->counters().received_in_place.get();
  };
  const auto before = quickfix_received();
  poll_for(3500ms);
  EXPECT_TRUE(initiator_->logged_on()) << events();
  EXPECT_TRUE(acceptor_->logged_on());
  EXPECT_GE(initiator_->counters().received_in_place.get(), 3u);
  EXPECT_EQ(quickfix_received(), before);
}

TEST_F(SessionTest, DisconnectsASilentPeerAfterATestRequest) {
  open_initiator(1);
  open_acceptor();
  connect();
  until_logged_on();
  // The acceptor is not polled: it hangs.
  EXPECT_TRUE(test_support::wait_until([&] {
    initiator_->poll(at_initiator_);
    return !initiator_->connected();
  }));
  EXPECT_EQ(at_initiator_.logouts, 1);
  EXPECT_NE(events().find("test request"), std::string::npos);
}

TEST_F(SessionTest, RefusesToSendWhenThePeerDoesNotReadAndLosesNothingAccepted) {
  log_on();
  std::uint64_t accepted_orders = 0;
  for (;;) {
    const SendStatus status = initiator_->send(plain_order(accepted_orders + 1));
    if (status == SendStatus::kFull) break;
    ASSERT_TRUE(accepted(status));
    ++accepted_orders;
  }
  EXPECT_TRUE(initiator_->wants_write());
  until([&] { return at_acceptor_.orders.size() == accepted_orders; }, "every accepted order");
  EXPECT_EQ(at_acceptor_.orders.back().cl_ord_id, accepted_orders);
}

TEST_F(SessionTest, TellsWhichOrderThePeerCouldNotAccept) {
  log_on();
  NewOrderSingle bad = plain_order(77);
  bad.symbol = {};  // "55=" without a value
  ASSERT_EQ(initiator_->send(bad), SendStatus::kSent);
  until([&] { return at_initiator_.rejects.size() == 1; }, "reject");
  EXPECT_EQ(at_initiator_.rejects[0].ref_cl_ord_id, 77u);
  EXPECT_EQ(at_initiator_.rejects[0].ref_msg_type, 'D');
  EXPECT_TRUE(at_acceptor_.orders.empty());
  send_order(78, 1);
}

TEST_F(SessionTest, AcceptorEndsAConnectionThatDoesNotLogOn) {
  open_acceptor(1);
  const auto [ours, theirs] = test_support::socket_pair();
  ASSERT_TRUE(acceptor_->attach(theirs));
  until([&] { return !acceptor_->connected(); }, "the end of a silent connection");
  EXPECT_EQ(at_acceptor_.logouts, 0);
  ::close(ours);
}

class RawPeerTest : public test::RawPeer {
 protected:
  void SetUp() override {
    options_.allow_reset = true;
    open();
    connect();
  }
  void until_heard(const std::string& text) {
    ASSERT_TRUE(hear(text)) << text << "\n" << heard_;
    heard_.clear();
  }
  static std::string order(const std::string& id) {
    return "11=" + id + "|21=1|55=AAPL|54=1|60=20261121-10:11:12|38=100|40=2|44=1.5|";
  }
  void expect_order_taken(std::uint64_t id) {
    const std::size_t before = seen_.orders.size();
    say("D", order(std::to_string(id)));
    ASSERT_TRUE(until([&] { return seen_.orders.size() == before + 1; }));
    EXPECT_EQ(seen_.orders.back().cl_ord_id, id);
  }
};

TEST_F(RawPeerTest, AnswersEachKindOfMalformedMessageAndGoesOn) {
  log_on();
  expect_order_taken(1);
  say("D", "11=2|21=1|55=AAPL|54=1|60=20261121-10:11:12|38=100|40=2|");  // limit without a price
  until_heard("|372=D|379=2|380=5|");
  say("D", "11=3|21=1|55=AAPL|54=Z|60=20261121-10:11:12|38=100|40=2|44=1|");  // side Z
  until_heard("|371=54|372=D|373=5|");
  say("D",
      "11=4|21=1|55=AAPL|54=1|60=20261121-10:11:12|38=1e9|40=2|44=1|");  // quantity is no number
  until_heard("|371=38|372=D|373=6|");
  say("D", "11=5|21=1|oops=1|55=AAPL|54=1|");  // a tag that is no number
  until_heard("|45=6|372=D|373=0|");
  say("ZZ", "11=6|");  // a type that nobody knows
  until_heard("|45=7|372=ZZ|373=11|");
  say("B", "148=news|");  // a type of FIX 4.2 that nobody here speaks
  until_heard("|372=B|380=3|");
  say("8", "37=1|17=1|20=0|150=0|39=0|55=AAPL|54=1|151=0|14=0|6=0|");  // a type that only the other
                                                                       // side sends
  until_heard("|372=8|379=1|380=3|");
  EXPECT_EQ(session_->counters().rejected.get(), 7u);
  expect_order_taken(7);
  EXPECT_TRUE(session_->logged_on());
}

// Each field of each session message, header included, with values of other types: whatever becomes
// of the session, the process lives and the next connection logs on.
TEST_F(RawPeerTest, NoFieldOfASessionMessageEndsTheProgram) {
  struct Sample {
    const char* type;
    const char* body;
  };
  const Sample samples[] = {{"A", "98=0|108=30|141=Y|95=1|96=x|383=100|"},
                            {"0", "112=x|"},
                            {"1", "112=x|"},
                            {"2", "7=1|16=0|"},
                            {"3", "45=2|371=1|372=D|373=1|58=x|"},
                            {"4", "123=Y|36=9|"},
                            {"4", "123=N|36=9|"},
                            {"5", "58=x|"}};
  const char* const headers[] = {"43=Y|", "97=N|", "122=20261121-10:11:12|", "369=1|",
                                 "90=1|91=x|"};
  const char* const values[] = {"abc", "-1", "1.5",        "+30",
                                "3e1", " ",  "2147483648", "99999999999999999999"};
  int connections = 0;
  const auto attempt = [&](const Sample& sample, const std::string& body) {
    connect();
    next_seq_ = 1;
    if (sample.type[0] != 'A') say("A", "98=0|108=30|141=Y|");
    say(sample.type, body);
    for (int i = 0; i < 4; ++i) turn();
    ++connections;
  };
  for (const Sample& sample : samples) {
    std::vector<std::string> fields = {""};
    for (const char c : std::string(sample.body)) {
      fields.back() += c;
      if (c == '|') fields.emplace_back();
    }
    fields.pop_back();
    for (const char* const header : headers) fields.insert(fields.begin(), header);
    for (const std::string& field : fields)
      for (const char* const value : values) {
        std::string body;
        for (const std::string& other : fields) {
          const bool is_header =
              std::find(std::begin(headers), std::end(headers), other) != std::end(headers);
          if (other == field)
            body += field.substr(0, field.find('=') + 1) + value + "|";
          else if (!is_header)
            body += other;
        }
        attempt(sample, body);
      }
  }
  EXPECT_GT(connections, 400);
  attempt({"A", ""}, "98=0|108=30|141=Y|");
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
}

TEST_F(RawPeerTest, ReadsTheTimesThatTheStandardAllows) {
  std::int64_t ns = -1;
  EXPECT_TRUE(parse_utc("19700101-00:00:01", ns));
  EXPECT_EQ(ns, 1'000'000'000);
  EXPECT_TRUE(parse_utc("20261122-10:11:12.345", ns));
  EXPECT_EQ(ns, 1'795'342'272'345'000'000);
  EXPECT_TRUE(parse_utc("20261122-10:11:12.345678901", ns));
  EXPECT_EQ(ns % 1'000'000'000, 345'678'901);
  for (const char* const wrong : {"", "20261122", "20261322-10:11:12", "20260230-10:11:12",
                                  "20261122-24:11:12", "20261122-10:11:12.", "2026x122-10:11:12"})
    EXPECT_FALSE(parse_utc(wrong, ns)) << wrong;
}

TEST_F(RawPeerTest, DisregardsGarbledBytesAndAsksForWhatTheyHid) {
  log_on();
  write("this is not FIX\x01");
  std::string bad = message("D", 2, "11=1|");
  bad[bad.size() - 2] = static_cast<char>(bad[bad.size() - 2] == '5' ? '6' : '5');
  write(bad);
  ++next_seq_;
  say("D", order("2"));
  until_heard("|35=2|");  // resend request, from 2
  EXPECT_GE(session_->counters().garbled.get(), 2u);
  EXPECT_TRUE(seen_.orders.empty());
  write(message("4", 2, "43=Y|122=20261121-10:11:12.345|123=Y|36=3|"));
  ASSERT_TRUE(until([&] { return seen_.orders.size() == 1; }));
  EXPECT_EQ(seen_.orders[0].cl_ord_id, 2u);
  expect_order_taken(3);
}

TEST_F(RawPeerTest, AnswersATestRequestInPlace) {
  log_on();
  const auto before = session_->counters().received_in_place.get();
  say("1", "112=are you there|");
  until_heard("|112=are you there|");
  EXPECT_EQ(session_->counters().received_in_place.get(), before + 1);
}

TEST_F(RawPeerTest, IgnoresAnOrderThatItHasProcessedBefore) {
  log_on();
  expect_order_taken(1);
  write(message("D", 2, "43=Y|122=20261121-10:11:12.345|" + order("1")));
  expect_order_taken(2);
  EXPECT_EQ(seen_.orders.size(), 2u);
}

TEST_F(RawPeerTest, EndsTheConnectionOfAWrongPeerAndOfOneWithOldNumbers) {
  write(
      test::framed(Version::k42, "35=A|49=WRONG|56=US|34=1|52=20261121-10:11:12.345|98=0|108=30|"));
  ASSERT_TRUE(until([&] { return closed_; }));
  EXPECT_EQ(seen_.logons, 0);
  EXPECT_FALSE(session_->connected());
}

TEST_F(RawPeerTest, EndsTheConnectionWhenASequenceNumberComesBackWithoutReason) {
  log_on();
  expect_order_taken(1);
  write(message("D", 2, order("9")));
  ASSERT_TRUE(until([&] { return closed_; }));
  EXPECT_EQ(seen_.orders.size(), 1u);
  EXPECT_EQ(seen_.logouts, 1);
}

TEST_F(RawPeerTest, TakesMessagesCutAtEveryByte) {
  log_on();
  const std::string whole = message("D", 2, order("9"));
  for (char c : whole) {
    ASSERT_TRUE(seen_.orders.empty());
    write(std::string(1, c));
  }
  EXPECT_EQ(seen_.orders.size(), 1u);
}

}  // namespace
}  // namespace tickpath::fix
