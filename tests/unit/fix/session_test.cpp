// Our session against itself (both roles over a socketpair), with QuickFIX behind each end, and
// against a peer that writes what it likes.
#include "common/fix/session.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fix/codec.hpp"
#include "tests/support/patience.hpp"
#include "tests/unit/fix/raw_peer.hpp"

namespace tickpath::fix {
namespace {

using namespace std::chrono_literals;

struct Recorder final : Handler {
  std::vector<NewOrderSingle> orders;
  std::vector<ExecutionReport> reports;
  std::vector<std::uint32_t> seqs;
  std::vector<MessageReject> rejects;
  std::vector<bool> dups;
  int logons = 0;
  int logouts = 0;

  void on_new_order(const NewOrderSingle& order, const MessageInfo& info) noexcept override {
    orders.push_back(order);
    seqs.push_back(info.seq_num);
    dups.push_back(info.poss_dup);
  }
  void on_execution_report(const ExecutionReport& report,
                           const MessageInfo& info) noexcept override {
    reports.push_back(report);
    seqs.push_back(info.seq_num);
    dups.push_back(info.poss_dup);
  }
  void on_message_reject(const MessageReject& reject, const MessageInfo&) noexcept override {
    rejects.push_back(reject);
    rejects.back().text = {};
  }
  bool may_resend(const Resend& resend) noexcept override {
    resends.push_back(resend);
    return resend.cl_ord_id != withheld;
  }
  std::vector<Resend> resends;
  std::uint64_t withheld = 0;
  void on_logon() noexcept override { ++logons; }
  void on_logout() noexcept override { ++logouts; }
};

NewOrderSingle order(std::uint64_t id) {
  NewOrderSingle result;
  result.cl_ord_id = id;
  result.price = {1'000'000};
  result.order_qty = 100;
  result.symbol = Symbol::from("AAPL");
  return result;
}

ExecutionReport report(std::uint64_t id) {
  ExecutionReport result;
  result.order_id = result.exec_id = result.cl_ord_id = id;
  result.order_qty = result.leaves_qty = 100;
  result.symbol = Symbol::from("AAPL");
  return result;
}

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    char name[] = "/tmp/tickpath_fix_XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~SessionTest() override {
    initiator_.reset();
    acceptor_.reset();
    std::filesystem::remove_all(directory_);
  }

  void open_initiator(std::uint32_t heartbeat_s = 30) {
    SessionOptions options;
    options.sender = "OEG";
    options.target = "SIM";
    options.store_path = directory_ + "/initiator.store";
    options.store_messages = 64;
    options.heartbeat_s = heartbeat_s;
    options.logout_timeout_s = 1;
    initiator_ = std::make_unique<Session>(options);
  }
  void open_acceptor(std::uint32_t logon_timeout_s = 10) {
    SessionOptions options;
    options.logon_timeout_s = logon_timeout_s;
    options.role = SessionRole::kAcceptor;
    options.sender = "SIM";
    options.target = "OEG";
    options.store_path = directory_ + "/acceptor.store";
    options.store_messages = 64;
    options.allow_reset = true;
    acceptor_ = std::make_unique<Session>(options);
  }
  void connect() {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ASSERT_TRUE(acceptor_->attach(pair[1]));
    ASSERT_TRUE(initiator_->attach(pair[0]));
  }
  // Polls both until `done`; fails the test after ten seconds.
  void until(const std::function<bool()>& done, const char* what) {
    const auto end = std::chrono::steady_clock::now() + test_support::kPatience;
    while (!done()) {
      if (initiator_) initiator_->poll(at_initiator_);
      if (acceptor_) acceptor_->poll(at_acceptor_);
      ASSERT_LT(std::chrono::steady_clock::now(), end) << what << "\n" << events();
    }
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
  void poll_for(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      if (initiator_) initiator_->poll(at_initiator_);
      if (acceptor_) acceptor_->poll(at_acceptor_);
      std::this_thread::sleep_for(1ms);
    }
  }
  std::string events() {
    std::string all;
    std::string line;
    while (initiator_ && initiator_->pop_event(line)) all += "initiator: " + line + "\n";
    while (acceptor_ && acceptor_->pop_event(line)) all += "acceptor: " + line + "\n";
    return all;
  }

  std::string directory_;
  std::unique_ptr<Session> initiator_;
  std::unique_ptr<Session> acceptor_;
  Recorder at_initiator_;
  Recorder at_acceptor_;
};

TEST_F(SessionTest, LogsOnAndCarriesOrdersAndReportsWithoutQuickFix) {
  log_on();
  EXPECT_EQ(at_initiator_.logons, 1);
  EXPECT_EQ(at_acceptor_.logons, 1);
  for (std::uint64_t id = 1; id <= 20; ++id)
    EXPECT_EQ(initiator_->send(order(id)), SendStatus::kSent);
  until([&] { return at_acceptor_.orders.size() == 20; }, "orders");
  for (std::uint64_t id = 1; id <= 20; ++id)
    EXPECT_EQ(acceptor_->send(report(id)), SendStatus::kSent);
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
  EXPECT_EQ(initiator_->send(order(1)), SendStatus::kDown);
  EXPECT_EQ(initiator_->next_sender_seq(), 1u);
  EXPECT_EQ(acceptor_->send(report(1)), SendStatus::kStored);
  connect();
  until([&] { return at_initiator_.reports.size() == 1; }, "the stored report");
  EXPECT_EQ(at_initiator_.reports[0].cl_ord_id, 1u);
  EXPECT_TRUE(at_initiator_.dups[0]);
  until_logged_on();
  EXPECT_EQ(initiator_->send(order(2)), SendStatus::kSent);
  until([&] { return at_acceptor_.orders.size() == 1; }, "the order after the resend");
}

TEST_F(SessionTest, LogsOutAndComesBackWithTheNextNumbers) {
  log_on();
  ASSERT_EQ(initiator_->send(order(1)), SendStatus::kSent);
  until([&] { return at_acceptor_.orders.size() == 1; }, "order");
  initiator_->logout("end of test");
  EXPECT_EQ(initiator_->send(order(2)), SendStatus::kDown);
  until([&] { return !initiator_->connected() && !acceptor_->connected(); }, "logout");
  EXPECT_EQ(at_initiator_.logouts, 1);
  EXPECT_EQ(at_acceptor_.logouts, 1);
  connect();
  until_logged_on();
  ASSERT_EQ(initiator_->send(order(3)), SendStatus::kSent);
  until([&] { return at_acceptor_.orders.size() == 2; }, "order after the second logon");
  EXPECT_EQ(at_acceptor_.seqs[1], 5u);  // logon, order, logout, logon, order
}

TEST_F(SessionTest, RecoversReportsThatItsProcessMissedAcrossARestart) {
  log_on();
  ASSERT_EQ(initiator_->send(order(1)), SendStatus::kSent);
  until([&] { return at_acceptor_.orders.size() == 1; }, "order");
  initiator_.reset();  // dies without a logout
  until([&] { return !acceptor_->connected(); }, "the acceptor to notice");
  for (std::uint64_t id = 1; id <= 30; ++id)
    ASSERT_EQ(acceptor_->send(report(id)), SendStatus::kStored);
  open_initiator();
  connect();
  until([&] { return at_initiator_.reports.size() == 30; }, "reports by resend");
  for (std::uint64_t id = 1; id <= 30; ++id) EXPECT_EQ(at_initiator_.reports[id - 1].cl_ord_id, id);
  // From here on in place again.
  ASSERT_EQ(acceptor_->send(report(31)), SendStatus::kSent);
  until([&] { return at_initiator_.reports.size() == 31; }, "a live report");
  EXPECT_FALSE(at_initiator_.dups.back());
}

TEST_F(SessionTest, ResendsOrdersThatTheRestartedAcceptorNeverSaw) {
  log_on();
  ASSERT_EQ(initiator_->send(order(1)), SendStatus::kSent);
  until([&] { return at_acceptor_.orders.size() == 1; }, "order");
  // Written to a socket whose reader dies before it reads.
  ASSERT_EQ(initiator_->send(order(2)), SendStatus::kSent);
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
  for (std::uint64_t id = 1; id <= 3; ++id) initiator_->send(order(id));
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
  initiator_->send(order(4));
  until([&] { return at_acceptor_.orders.size() == 3; }, "the next order");
}

TEST_F(SessionTest, GapFillsWhatTheStoreHasForgotten) {
  log_on();
  initiator_.reset();
  until([&] { return !acceptor_->connected(); }, "the acceptor to notice");
  for (std::uint64_t id = 1; id <= 200; ++id) acceptor_->send(report(id));  // 64 are kept
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
  ASSERT_EQ(acceptor_->send(report(201)), SendStatus::kSent);
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
  const auto end = std::chrono::steady_clock::now() + test_support::kPatience;
  while (initiator_->connected() && std::chrono::steady_clock::now() < end) {
    initiator_->poll(at_initiator_);  // the acceptor is not polled: it hangs
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(initiator_->connected());
  EXPECT_EQ(at_initiator_.logouts, 1);
  EXPECT_NE(events().find("test request"), std::string::npos);
}

TEST_F(SessionTest, RefusesToSendWhenThePeerDoesNotReadAndLosesNothingAccepted) {
  log_on();
  std::uint64_t accepted_orders = 0;
  for (;;) {
    const SendStatus status = initiator_->send(order(accepted_orders + 1));
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
  NewOrderSingle bad = order(77);
  bad.symbol = {};  // "55=" without a value
  ASSERT_EQ(initiator_->send(bad), SendStatus::kSent);
  until([&] { return at_initiator_.rejects.size() == 1; }, "reject");
  EXPECT_EQ(at_initiator_.rejects[0].ref_cl_ord_id, 77u);
  EXPECT_EQ(at_initiator_.rejects[0].ref_msg_type, 'D');
  EXPECT_TRUE(at_acceptor_.orders.empty());
  ASSERT_EQ(initiator_->send(order(78)), SendStatus::kSent);
  until([&] { return at_acceptor_.orders.size() == 1; }, "the next order");
}

TEST_F(SessionTest, AcceptorEndsAConnectionThatDoesNotLogOn) {
  open_acceptor(1);
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  ASSERT_TRUE(acceptor_->attach(pair[1]));
  until([&] { return !acceptor_->connected(); }, "the end of a silent connection");
  EXPECT_EQ(at_acceptor_.logouts, 0);
  ::close(pair[0]);
}

// A peer that writes what it likes to our acceptor, and keeps what it hears.
class RawPeerTest : public SessionTest {
 protected:
  RawPeerTest() {
    open_acceptor();
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    EXPECT_TRUE(acceptor_->attach(pair[1]));
    socket_ = pair[0];
  }
  ~RawPeerTest() override { ::close(socket_); }

  // `body` follows the CompIDs, with | for the separator; the next sequence number is used.
  void say(const std::string& type, const std::string& body) {
    std::string text = "35=" + type + "|49=OEG|56=SIM|34=" + std::to_string(next_seq_++) +
                       "|52=20261121-10:11:12.345|" + body;
    write_raw(framed(text));
  }
  static std::string framed(const std::string& text) { return test::framed(Version::k42, text); }
  void write_raw(const std::string& bytes) {
    ASSERT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void hear() {
    acceptor_->poll(at_acceptor_);
    char buffer[65536];
    const ssize_t got = ::recv(socket_, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got > 0) heard_.append(buffer, static_cast<std::size_t>(got));
    closed_ = got == 0;
  }
  void until_heard(const std::string& what) {
    std::string text = what;
    for (char& c : text)
      if (c == '|') c = kSoh;
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (heard_.find(text) == std::string::npos) {
      hear();
      ASSERT_LT(std::chrono::steady_clock::now(), end) << what << "\n"
                                                       << heard_ << "\n"
                                                       << events();
    }
    heard_.clear();
  }
  void until_closed() {
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (!closed_) {
      hear();
      ASSERT_LT(std::chrono::steady_clock::now(), end) << heard_ << events();
    }
  }
  void log_on_raw() {
    say("A", "98=0|108=30|");
    until_heard("|35=A|");
  }
  void expect_order_taken(std::uint64_t id) {
    const std::size_t before = at_acceptor_.orders.size();
    say("D",
        "11=" + std::to_string(id) + "|21=1|55=AAPL|54=1|60=20261121-10:11:12|38=100|40=2|44=1.5|");
    until([&] { return at_acceptor_.orders.size() == before + 1; }, "order");
    EXPECT_EQ(at_acceptor_.orders.back().cl_ord_id, id);
  }

  int socket_ = -1;
  int next_seq_ = 1;
  bool closed_ = false;
  std::string heard_;
};

TEST_F(RawPeerTest, AnswersEachKindOfMalformedMessageAndGoesOn) {
  log_on_raw();
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
  EXPECT_EQ(acceptor_->counters().rejected.get(), 7u);
  expect_order_taken(7);
  EXPECT_TRUE(acceptor_->logged_on());
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
    ::close(socket_);
    until([&] { return !acceptor_->connected(); }, "the end of the last connection");
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ASSERT_TRUE(acceptor_->attach(pair[1]));
    socket_ = pair[0];
    next_seq_ = 1;
    if (sample.type[0] != 'A') say("A", "98=0|108=30|141=Y|");
    say(sample.type, body);
    for (int turn = 0; turn < 4; ++turn) hear();
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
  until([&] { return acceptor_->logged_on(); }, "logon");
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
  log_on_raw();
  write_raw("this is not FIX\x01");
  std::string bad = framed("35=D|49=OEG|56=SIM|34=2|52=x|11=1|");
  bad[bad.size() - 2] = static_cast<char>(bad[bad.size() - 2] == '5' ? '6' : '5');
  write_raw(bad);
  ++next_seq_;
  say("D", "11=2|21=1|55=AAPL|54=1|60=20261121-10:11:12|38=100|40=2|44=1.5|");
  until_heard("|35=2|");  // resend request, from 2
  EXPECT_GE(acceptor_->counters().garbled.get(), 2u);
  EXPECT_TRUE(at_acceptor_.orders.empty());
  write_raw(
      framed("35=4|49=OEG|56=SIM|34=2|43=Y|52=20261121-10:11:12.345|"
             "122=20261121-10:11:12.345|123=Y|36=3|"));
  until([&] { return at_acceptor_.orders.size() == 1; }, "the order behind the gap");
  EXPECT_EQ(at_acceptor_.orders[0].cl_ord_id, 2u);
  expect_order_taken(3);
}

TEST_F(RawPeerTest, AnswersATestRequestInPlace) {
  log_on_raw();
  const auto before = acceptor_->counters().received_in_place.get();
  say("1", "112=are you there|");
  until_heard("|112=are you there|");
  EXPECT_EQ(acceptor_->counters().received_in_place.get(), before + 1);
}

TEST_F(RawPeerTest, IgnoresAnOrderThatItHasProcessedBefore) {
  log_on_raw();
  expect_order_taken(1);
  write_raw(framed(
      "35=D|49=OEG|56=SIM|34=2|43=Y|52=20261121-10:11:12.345|"
      "122=20261121-10:11:12.345|11=1|21=1|55=AAPL|54=1|60=20261121-10:11:12|38=100|40=2|44=1.5|"));
  expect_order_taken(2);
  EXPECT_EQ(at_acceptor_.orders.size(), 2u);
}

TEST_F(RawPeerTest, EndsTheConnectionOfAWrongPeerAndOfOneWithOldNumbers) {
  write_raw(framed("35=A|49=WRONG|56=SIM|34=1|52=20261121-10:11:12.345|98=0|108=30|"));
  until_closed();
  EXPECT_EQ(at_acceptor_.logons, 0);
  EXPECT_FALSE(acceptor_->connected());
}

TEST_F(RawPeerTest, EndsTheConnectionWhenASequenceNumberComesBackWithoutReason) {
  log_on_raw();
  expect_order_taken(1);
  write_raw(
      framed("35=D|49=OEG|56=SIM|34=2|52=20261121-10:11:12.345|11=9|21=1|55=AAPL|54=1|60=20261121-"
             "10:11:12|"
             "38=100|40=2|44=1.5|"));
  until_closed();
  EXPECT_EQ(at_acceptor_.orders.size(), 1u);
  EXPECT_EQ(at_acceptor_.logouts, 1);
}

TEST_F(RawPeerTest, TakesMessagesCutAtEveryByte) {
  log_on_raw();
  const std::string message = framed(
      "35=D|49=OEG|56=SIM|34=2|52=20261121-10:11:12.345|11=9|21=1|55=AAPL|54=1|60=20261121-10:11:"
      "12|"
      "38=100|40=2|44=1.5|");
  for (char c : message) {
    ASSERT_TRUE(at_acceptor_.orders.empty());
    write_raw(std::string(1, c));
    acceptor_->poll(at_acceptor_);
  }
  EXPECT_EQ(at_acceptor_.orders.size(), 1u);
}

}  // namespace
}  // namespace tickpath::fix
