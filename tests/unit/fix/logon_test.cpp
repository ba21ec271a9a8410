// Who may log on, and how: a session of either role, and a peer that writes what it likes.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fix/codec.hpp"
#include "common/fix/session.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/process.hpp"

namespace tickpath::fix {
namespace {

std::string with_separators(std::string text) {
  for (char& c : text)
    if (c == '|') c = kSoh;
  return text;
}

class LogonTest : public ::testing::Test {
 protected:
  LogonTest() {
    options_.role = SessionRole::kAcceptor;
    options_.sender = "US";
    options_.target = "PEER";
    options_.store_path = folder_ / "store";
    options_.store_messages = 64;
  }
  ~LogonTest() override {
    if (socket_ >= 0) ::close(socket_);
  }

  void open() {
    session_.reset();
    session_ = std::make_unique<Session>(options_);
  }
  // In place of the last connection, if there is one.
  void connect() {
    if (socket_ >= 0) ::close(socket_);
    ASSERT_TRUE(until([&] { return !session_->connected(); }));
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ASSERT_TRUE(session_->attach(pair[0]));
    socket_ = pair[1];
    heard_.clear();
    closed_ = false;
  }
  // `type` is "35=A|".
  void say(const std::string& type, int number, const std::string& body) {
    const std::string text = with_separators(type + "49=PEER|56=US|34=" + std::to_string(number) +
                                             "|52=20261121-10:11:12.345|" + body);
    std::string message = "8=" + std::string(begin_string(options_.version)) + kSoh +
                          "9=" + std::to_string(text.size()) + kSoh + text;
    char trailer[16];
    std::snprintf(trailer, sizeof trailer, "10=%03u\x01", checksum(message));
    message += trailer;
    ASSERT_EQ(::send(socket_, message.data(), message.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(message.size()));
  }
  bool until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + test_support::kPatience;
    while (!done()) {
      session_->poll(handler_);
      char buffer[4096];
      const ssize_t got = socket_ < 0 ? -1 : ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got > 0) heard_.append(buffer, static_cast<std::size_t>(got));
      closed_ |= got == 0;
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }
  bool heard(const std::string& text) const {
    return heard_.find(with_separators(text)) != std::string::npos;
  }
  // The connection ends by a Logout with this text.
  void expect_refused(const std::string& text) {
    EXPECT_TRUE(until([&] { return closed_; })) << text;
    EXPECT_TRUE(heard("|35=5|")) << heard_;
    EXPECT_TRUE(heard("|58=" + text)) << heard_;
    EXPECT_FALSE(session_->logged_on());
  }

  test_support::Folder folder_;
  SessionOptions options_;
  std::unique_ptr<Session> session_;
  Handler handler_;
  int socket_ = -1;
  bool closed_ = false;
  std::string heard_;
};

constexpr Version kBothVersionsOfFix[] = {Version::k42, Version::k44};

ExecutionReport waiting_report(std::uint64_t id) {
  ExecutionReport result;
  result.order_id = result.exec_id = result.cl_ord_id = id;
  result.order_qty = result.leaves_qty = 100;
  result.symbol = Symbol::from("AAPL");
  return result;
}

// Also where QuickFIX would read one that our own parsing does not.
TEST_F(LogonTest, AResetOfTheNumbersIsRefusedAndTheSessionStaysItsOwners) {
  open();
  connect();
  say("35=A|", 1, "98=0|108=30|");
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
  ::close(std::exchange(socket_, -1));
  ASSERT_TRUE(until([&] { return !session_->connected(); }));
  ASSERT_EQ(session_->send(waiting_report(1)), SendStatus::kStored);
  const std::string not_allowed = "ResetSeqNumFlag (141) other than N is not allowed";
  for (const char* const body : {"141=Y|", "141=N|141=Y|", "141=|", "141=y|", "35=0|141=Y|"}) {
    connect();
    say("35=A|", 1, std::string("98=0|108=30|") + body);
    expect_refused(not_allowed);
  }
  connect();
  say("35=A|", 1, "98=0|108=30|0141=Y|");
  expect_refused("a field of the Logon cannot be read");
  connect();
  say("35=0|", 1, "35=A|98=0|108=30|141=Y|");
  expect_refused(not_allowed);
  EXPECT_EQ(session_->counters().bad_logons.get(), 7u);
  EXPECT_EQ(session_->counters().logons.get(), 1u);
  EXPECT_EQ(session_->next_target_seq(), 2u);

  connect();
  say("35=A|", 2, "98=0|108=30|141=N|");
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
  say("35=2|", 3, "7=2|16=0|");
  ASSERT_TRUE(until([&] { return heard("|43=Y|") && heard("|11=1|") && heard("|36="); })) << heard_;
  EXPECT_EQ(session_->counters().forgotten.get(), 0u);
}

TEST_F(LogonTest, AResetWhileLoggedOnIsRefusedToo) {
  open();
  connect();
  say("35=A|", 1, "98=0|108=30|");
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
  say("35=A|", 1, "98=0|108=30|141=Y|");
  expect_refused("ResetSeqNumFlag (141) other than N is not allowed");
  EXPECT_EQ(session_->next_target_seq(), 2u);
}

TEST_F(LogonTest, AResetIsTakenWhereItIsAllowed) {
  options_.allow_reset = true;
  open();
  for (int i = 0; i < 2; ++i) {
    connect();
    say("35=A|", 1, "98=0|108=30|141=Y|");
    ASSERT_TRUE(until([&] { return session_->logged_on() && heard("|141=Y|"); }));
    EXPECT_EQ(session_->next_sender_seq(), 2u);
  }
}

TEST_F(LogonTest, AVenueThatStartsTheNumbersAnewUnaskedIsRefused) {
  options_.role = SessionRole::kInitiator;
  open();
  connect();
  say("35=A|", 1, "98=0|108=30|141=Y|");
  expect_refused("ResetSeqNumFlag (141) other than N is not allowed");
  EXPECT_EQ(session_->next_target_seq(), 1u);
  connect();
  say("35=A|", 1, "98=0|108=30|");
  EXPECT_TRUE(until([&] { return session_->logged_on(); }));
  EXPECT_EQ(session_->next_sender_seq(), 4u) << "Logon, Logout, Logon";
}

TEST_F(LogonTest, AVenueMayAnswerOurOwnResetByOne) {
  options_.role = SessionRole::kInitiator;
  options_.reset_on_logon = true;
  open();
  connect();
  say("35=A|", 1, "98=0|108=30|141=Y|");
  EXPECT_TRUE(until([&] { return session_->logged_on(); }));
}

constexpr char kWrong[] = "the credentials of this session are others, or missing";

TEST_F(LogonTest, WithoutTheCredentialsOfTheSessionNobodyLogsOn) {
  options_.version = Version::k44;
  options_.username = "desk";
  options_.password = "a secret";
  open();
  for (const char* const body :
       {"", "553=desk|", "554=a secret|", "553=desk|554=a secreT|", "553=desk|554=a secret2|",
        "553=desk|554=a secre|", "553=desk|554=|", "553=Desk|554=a secret|",
        "553=desk|554=x|554=a secret|", "553=desk|96=a secret|"}) {
    connect();
    say("35=A|", 1, std::string("98=0|108=30|") + body);
    expect_refused(kWrong);
  }
  connect();
  say("35=A|", 1, "98=0|108=30|553=desk|554=a secret|");
  EXPECT_TRUE(until([&] { return session_->logged_on(); })) << heard_;
  EXPECT_EQ(heard_.find("secret"), std::string::npos);
  for (std::string line; session_->pop_event(line);)
    EXPECT_EQ(line.find("secre"), std::string::npos) << line;
}

TEST_F(LogonTest, InFix42ThePasswordIsRawData) {
  options_.password = "a secret";
  open();
  for (const char* const body : {"", "95=7|96=another|", "554=a secret|"}) {
    connect();
    say("35=A|", 1, std::string("98=0|108=30|") + body);
    expect_refused(kWrong);
  }
  connect();
  say("35=A|", 1, "98=0|108=30|95=8|96=a secret|");
  EXPECT_TRUE(until([&] { return session_->logged_on(); })) << heard_;
}

TEST_F(LogonTest, AnInitiatorGivesItsCredentialsAndKeepsThemInNoFile) {
  options_.role = SessionRole::kInitiator;
  options_.password = "a secret";
  for (const Version version : kBothVersionsOfFix) {
    options_.version = version;
    options_.username = version == Version::k44 ? "desk" : "";
    options_.store_path = folder_ / std::string(begin_string(version));
    open();
    connect();
    const std::string given =
        version == Version::k44 ? "|553=desk|554=a secret|" : "|95=8|96=a secret|";
    EXPECT_TRUE(until([&] { return heard(given); })) << heard_;
    say("35=A|", 1, "98=0|108=30|");
    EXPECT_TRUE(until([&] { return session_->logged_on(); }));
    say("35=2|", 2, "7=1|16=0|");
    EXPECT_TRUE(until([&] { return heard("|36=2|"); })) << heard_;
    std::ifstream file(options_.store_path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    EXPECT_GT(bytes.size(), 1000u);
    EXPECT_EQ(bytes.find("secret"), std::string::npos);
  }
}

TEST_F(LogonTest, CredentialsThatCannotBeSaidAreRefusedAtTheStart) {
  options_.username = "desk";
  options_.password = "secret";
  EXPECT_THROW(open(), Error) << "no Username in FIX 4.2";
  options_.version = Version::k44;
  options_.password = "";
  EXPECT_THROW(open(), Error) << "a name alone proves nothing";
  options_.password = "two\nlines";
  EXPECT_THROW(open(), Error);
}

}  // namespace
}  // namespace tickpath::fix
