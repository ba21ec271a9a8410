// Which peers may log on, and how: a session of either role, and a peer that writes what it likes.
#include <fstream>
#include <iterator>

#include "tests/unit/fix/raw_peer.hpp"

namespace tickpath::fix {
namespace {

class LogonTest : public test::RawPeer {
 protected:
  // The connection ends by a Logout with this text.
  void expect_refused(const std::string& text) {
    EXPECT_TRUE(until([&] { return closed_; })) << text;
    EXPECT_TRUE(heard("|35=5|")) << heard_;
    EXPECT_TRUE(heard("|58=" + text)) << heard_;
    EXPECT_FALSE(session_->logged_on());
  }
};

constexpr Version kBothVersionsOfFix[] = {Version::k42, Version::k44};

// Also where QuickFIX would read one that our own parsing does not.
TEST_F(LogonTest, AResetOfTheNumbersIsRefusedAndTheSessionStaysItsOwners) {
  open();
  connect();
  say("A", 1, "98=0|108=30|");
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
  hang_up();
  ASSERT_EQ(session_->send(test::plain_report(1)), SendStatus::kStored);
  const std::string not_allowed = "ResetSeqNumFlag (141) other than N is not allowed";
  for (const char* const body : {"141=Y|", "141=N|141=Y|", "141=|", "141=y|", "35=0|141=Y|"}) {
    connect();
    say("A", 1, std::string("98=0|108=30|") + body);
    expect_refused(not_allowed);
  }
  connect();
  say("A", 1, "98=0|108=30|0141=Y|");
  expect_refused("a field of the Logon cannot be read");
  connect();
  say("0", 1, "35=A|98=0|108=30|141=Y|");
  expect_refused(not_allowed);
  EXPECT_EQ(session_->counters().bad_logons.get(), 7u);
  EXPECT_EQ(session_->counters().logons.get(), 1u);
  EXPECT_EQ(session_->next_target_seq(), 2u);

  connect();
  say("A", 2, "98=0|108=30|141=N|");
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
  say("2", 3, "7=2|16=0|");
  ASSERT_TRUE(until([&] { return heard("|43=Y|") && heard("|11=1|") && heard("|36="); })) << heard_;
  EXPECT_EQ(session_->counters().forgotten.get(), 0u);
}

// Required in a Logon, and nothing is encrypted here.
TEST_F(LogonTest, AnEncryptMethodThatIsMissingOrOtherThanNoneIsRefusedWithTheReason) {
  for (const Version version : kBothVersionsOfFix) {
    options_.version = version;
    options_.store_path = folder_ / std::string(begin_string(version));
    open();
    for (const char* const body : {"98=1|108=30|", "98=5|108=30|", "98=abc|108=30|", "98=|108=30|",
                                   "98=-1|108=30|", "98=0|98=1|108=30|"}) {
      connect();
      say("A", 1, body);
      expect_refused("EncryptMethod (98) must be 0");
    }
    connect();
    say("A", 1, "108=30|");
    expect_refused("EncryptMethod (98) is missing");
    EXPECT_EQ(session_->counters().bad_logons.get(), 7u);
    connect();
    say("A", 1, "98=0|108=30|");
    EXPECT_TRUE(until([&] { return session_->logged_on(); }));
  }
}

TEST_F(LogonTest, AnInitiatorRefusesALogonWhoseSendingTimeIsFarFromItsClock) {
  options_.role = SessionRole::kInitiator;
  options_.sending_time_max_s = 120;
  open();
  connect();
  say("A", 1, "98=0|108=30|");  // in its header a time that is long gone
  expect_refused("SendingTime (52) of the Logon is too far from our clock (sending_time_max)");
  options_.sending_time_max_s = 0;
  options_.store_path = folder_ / "any time";
  open();
  connect();
  say("A", 1, "98=0|108=30|");
  EXPECT_TRUE(until([&] { return session_->logged_on(); }));
}

TEST_F(LogonTest, AResetWhileLoggedOnIsRefusedToo) {
  open();
  connect();
  say("A", 1, "98=0|108=30|");
  ASSERT_TRUE(until([&] { return session_->logged_on(); }));
  say("A", 1, "98=0|108=30|141=Y|");
  expect_refused("ResetSeqNumFlag (141) other than N is not allowed");
  EXPECT_EQ(session_->next_target_seq(), 2u);
}

TEST_F(LogonTest, AResetIsTakenWhereItIsAllowed) {
  options_.allow_reset = true;
  open();
  for (int i = 0; i < 2; ++i) {
    connect();
    say("A", 1, "98=0|108=30|141=Y|");
    ASSERT_TRUE(until([&] { return session_->logged_on() && heard("|141=Y|"); }));
    EXPECT_EQ(session_->next_sender_seq(), 2u);
  }
}

// FIX 4.4, vol. 2, Logon. Those before it never were, and could not be sent again.
TEST_F(LogonTest, AResetWithAnotherNumberThanOneIsRefusedWithTheReason) {
  options_.allow_reset = true;
  open();
  for (const std::uint32_t number : {7u, 2u}) {
    connect();
    say("A", number, "98=0|108=30|141=Y|");
    expect_refused("MsgSeqNum (34) of a Logon with ResetSeqNumFlag (141=Y) must be 1");
  }
  connect();
  say("A", 1, "98=0|108=30|141=Y|");
  EXPECT_TRUE(until([&] { return session_->logged_on(); }));
}

TEST_F(LogonTest, AVenueThatStartsTheNumbersAnewUnaskedIsRefused) {
  options_.role = SessionRole::kInitiator;
  open();
  connect();
  say("A", 1, "98=0|108=30|141=Y|");
  expect_refused("ResetSeqNumFlag (141) other than N is not allowed");
  EXPECT_EQ(session_->next_target_seq(), 1u);
  connect();
  say("A", 1, "98=0|108=30|");
  EXPECT_TRUE(until([&] { return session_->logged_on(); }));
  EXPECT_EQ(session_->next_sender_seq(), 4u) << "Logon, Logout, Logon";
}

TEST_F(LogonTest, AVenueMayAnswerOurOwnResetByOne) {
  options_.role = SessionRole::kInitiator;
  options_.reset_on_logon = true;
  open();
  connect();
  say("A", 1, "98=0|108=30|141=Y|");
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
    say("A", 1, std::string("98=0|108=30|") + body);
    expect_refused(kWrong);
  }
  connect();
  say("A", 1, "98=0|108=30|553=desk|554=a secret|");
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
    say("A", 1, std::string("98=0|108=30|") + body);
    expect_refused(kWrong);
  }
  connect();
  say("A", 1, "98=0|108=30|95=8|96=a secret|");
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
    say("A", 1, "98=0|108=30|");
    EXPECT_TRUE(until([&] { return session_->logged_on(); }));
    say("2", 2, "7=1|16=0|");
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
