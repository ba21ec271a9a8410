// A venue that we did not write: it says what the standards allow, byte by byte, to a real FIX
// session with the gateway behind it. After each message position and cash equal an account kept by
// hand.
#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/fix/detail/dictionary_table.hpp"
#include "common/fix/session.hpp"
#include "tests/support/fix_bytes.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/sockets.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

constexpr std::uint32_t kOrdered = 100'000;

class ScriptedVenueTest : public ::testing::TestWithParam<fix::Version>, protected GatewayFixture {
 protected:
  void SetUp() override {
    fix::SessionOptions given{.version = GetParam(),
                              .sender = "TICKPATH",
                              .target = "VENUE",
                              .store_path = folder_ / "store",
                              .heartbeat_s = 30,
                              .store_messages = 64};
    session_ = std::make_unique<fix::Session>(given);
    const auto [ours, theirs] = test_support::socket_pair();
    ASSERT_TRUE(session_->attach(ours));
    socket_ = theirs;
    say("A", "98=0|108=30|");
    ASSERT_TRUE(poll_until([&] { return session_->logged_on(); }));
    request(limit_order(1, 1'000'000, kOrdered));
    accept(id(1), kOrdered);
    leaves_ = kOrdered;
  }
  void TearDown() override {
    session_.reset();
    if (socket_ >= 0) ::close(socket_);
  }

  bool v44() const { return GetParam() == fix::Version::k44; }
  // | stands for the separator; `header` goes behind the CompIDs.
  void say(const std::string& type, const std::string& body, const std::string& header = {}) {
    const std::string message = test_support::fix_message(
        fix::begin_string(GetParam()),
        "35=" + type + "|49=VENUE|56=TICKPATH|34=" + std::to_string(next_seq_++) +
            "|52=20261122-10:11:12.345|" + header + body);
    ASSERT_EQ(::send(socket_, message.data(), message.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(message.size()));
  }
  bool poll_until(const std::function<bool()>& done) {
    return test_support::turn_until(done, [&] { session_->poll(gateway->reports()); });
  }
  // Says it and waits until the session has taken it.
  void report(const std::string& body, const std::string& header = {}) {
    say("8", body, header);
    ASSERT_TRUE(poll_until([&] { return session_->next_target_seq() == next_seq_; })) << body;
  }
  std::string order_id() const { return std::to_string(id(1)); }
  // What makes an Execution Report of one share at 1.25 of order 1.
  std::string fill(const std::string& exec_id) {
    return std::string("37=V1|") + (v44() ? "" : "20=0|") + "17=" + exec_id +
           "|150=" + (v44() ? "F" : "1") + "|39=1|55=AAPL|54=1|151=" + std::to_string(leaves_ - 1) +
           "|14=" + std::to_string(kOrdered - leaves_ + 1) + "|6=1.25|11=" + order_id() +
           "|32=1|31=1.25|";
  }
  void book(std::int64_t shares, std::int64_t price) {
    leaves_ -= static_cast<std::uint32_t>(shares);
    account_.shares += shares;
    account_.cash -= shares * price;
  }
  void expect_account(const std::string& after) {
    EXPECT_EQ(position().position_shares, account_.shares) << after;
    EXPECT_EQ(position().cash, account_.cash) << after;
  }

  struct Account {
    std::int64_t shares = 0;
    std::int64_t cash = 0;
  } account_;
  std::uint32_t leaves_ = 0;
  test_support::Folder folder_;
  std::unique_ptr<fix::Session> session_;
  int socket_ = -1;
  std::uint32_t next_seq_ = 1;
};

// A value that the field's type allows, and what must follow it.
std::string value_of(const fix::detail::Field& field, bool v44) {
  using fix::detail::FieldType;
  const std::string_view values = v44 ? field.values44 : field.values42;
  switch (field.type) {
    case FieldType::kChar:
      return values.empty() ? "1" : std::string(1, values[0]);
    case FieldType::kCode:
      return std::string(values.substr(1, values.find(' ', 1) - 1));
    case FieldType::kBoolean:
      return "Y";
    case FieldType::kTime:
      return "20261122-10:11:12";
    case FieldType::kFloat:
      return "1.25";
    case FieldType::kString:
      return "X";
    default:
      return "1";
  }
}

const fix::detail::Field& field_of(std::uint16_t tag) {
  for (const fix::detail::Field& field : fix::detail::kFields)
    if (field.tag == tag) return field;
  throw std::logic_error("a tag of the table that is no field");
}

// A venue may say at any time how things stand: to a status request and, in FIX 4.4, to a mass
// status request, of which the last report may be of no order.
TEST_P(ScriptedVenueTest, BooksNothingOfAnAnswerToAStatusRequest) {
  report(fill("E1"));
  book(1, 12'500);
  const auto state = [this](const char* of_44, const char* of_42) {
    return "17=0|54=1|55=AAPL|6=1.25|" + std::string(v44() ? of_44 : of_42);
  };
  report("37=V1|11=" + order_id() + "|151=99999|14=1|32=1|31=1.25|39=1|" +
         state("150=I|584=M1|911=2|912=N|", "20=3|150=1|"));
  report("37=NONE|151=0|14=0|39=8|58=none|" +
         state("150=I|584=M1|911=0|912=Y|", "20=3|150=8|103=5|"));
  if (v44())
    report("37=NONE|17=0|150=I|39=8|55=[N/A]|54=7|151=0|14=0|6=0|584=M1|911=0|912=Y|58=none|");
  expect_account("status");
  EXPECT_TRUE(events.exceptions.empty());
  EXPECT_EQ(gateway->counters().reports.status.get(), v44() ? 3u : 2u);
  EXPECT_EQ(session_->counters().rejected.get(), 0u);
}

// Each field of the standard's Execution Report that the base does not have, one in each message.
TEST_P(ScriptedVenueTest, BooksAFillWhateverOtherFieldsOfTheStandardItHas) {
  const std::set<std::uint16_t> base = {37, 20, 17, 150, 39, 55, 54, 151, 14, 6, 11, 32, 31};
  for (const fix::detail::Message& message : fix::detail::kMessages) {
    if (message.type != "8") continue;
    std::uint16_t data_length = 0;
    int execution = 0;
    fix::detail::for_each_use(message, v44(), [&](const fix::detail::Use& use) {
      const fix::detail::Field& field = field_of(use.tag);
      const bool length = field.type == fix::detail::FieldType::kLength;
      const std::uint16_t before = std::exchange(data_length, length ? use.tag : 0);
      // Counts of groups come with the group's first field, data with its length.
      if (base.contains(use.tag) || length || (use.group != 0 && !use.first) ||
          field.type == fix::detail::FieldType::kGroup)
        return;
      std::string text;
      if (use.group != 0) text = std::to_string(use.group) + "=1|";
      if (before != 0 && field.type == fix::detail::FieldType::kData)
        text = std::to_string(before) + "=1|";
      text += std::to_string(use.tag) + "=" + value_of(field, v44()) + "|";
      report(fill("E" + std::to_string(++execution)) + text);
      book(1, 12'500);
      expect_account(text);
    });
    EXPECT_GT(execution, v44() ? 180 : 60);
  }
  EXPECT_EQ(session_->counters().rejected.get(), 0u);
  // Commission (12) without its type (13) says nothing.
  ASSERT_EQ(events.exceptions.size(), 1u);
  EXPECT_EQ(events.exceptions[0].kind, ExceptionKind::kCommission);
}

TEST_P(ScriptedVenueTest, BooksAFillWithFieldsThatTheVersionDoesNotHave) {
  int execution = 0;
  for (const char* const field :
       {"1057=Y|", "10000=x|", "20002=y|", "5001=z|", "447=D|", "2593=1|"}) {
    const std::string extra = field;
    report(fill("E" + std::to_string(++execution)) + extra);
    book(1, 12'500);
    expect_account(extra);
  }
  report(fill("H1"), "115=BROKER|116=DESK|50=A|57=B|128=C|129=D|142=E|143=F|144=G|145=H|");
  book(1, 12'500);
  expect_account("header");
  EXPECT_GT(session_->counters().nonconforming.get(), 0u);
  EXPECT_TRUE(events.exceptions.empty());
}

// Price(4) ends at four decimals, venues do not: cash is rounded once, half away from zero.
TEST_P(ScriptedVenueTest, BooksFiveAndSixDecimalsExactly) {
  int execution = 0;
  const auto at = [&](const std::string& price, std::uint32_t shares, std::int64_t cash) {
    std::string body = fill("E" + std::to_string(++execution));
    body.replace(body.find("|151="), body.find("|6=") - body.find("|151="),
                 "|151=" + std::to_string(leaves_ - shares) +
                     "|14=" + std::to_string(kOrdered - leaves_ + shares));
    body.replace(body.find("|32="), std::string::npos,
                 "|32=" + std::to_string(shares) + "|31=" + price + "|");
    report(body);
    leaves_ -= shares;
    account_.shares += shares;
    account_.cash -= cash;
    expect_account(price);
  };
  at("1.23455", 3, 37'037);           // 3.70365
  at("1.234567", 1'000, 12'345'670);  // 1234.567
  at("1.2345650000", 7, 86'420);      // 8.641955
  at("0.000004", 12, 0);              // 0.000048
  at("0.00005", 1, 1);
  at("99.999999", 700, 699'999'993);
  EXPECT_TRUE(events.exceptions.empty());
  const Account before = account_;
  report("37=V1|" + std::string(v44() ? "150=H|" : "20=1|150=1|") +
         "17=B1|19=E1|39=1|55=AAPL|54=1|151=" + std::to_string(leaves_ + 3) +
         "|14=" + std::to_string(kOrdered - leaves_ - 3) + "|6=0|11=" + order_id() + "|");
  account_ = {before.shares - 3, before.cash + 37'037};
  expect_account("taken back");
  // A seventh decimal cannot be kept: the session goes on, a person books it.
  leaves_ += 3;
  std::string fine = fill("E99");
  fine.replace(fine.find("|31="), std::string::npos, "|31=1.2345671|");
  report(fine);
  expect_account("seven decimals");
  ASSERT_EQ(events.exceptions.size(), 1u);
  EXPECT_EQ(events.exceptions[0].kind, ExceptionKind::kPriceDecimals);
  EXPECT_EQ(session_->counters().rejected.get(), 0u) << "it is a price by the standard";
}

TEST_P(ScriptedVenueTest, FollowsStatusRepetitionCancellationAndCorrection) {
  report(fill("E1"));
  book(1, 12'500);
  expect_account("fill");
  // The same execution: marked as a possible resend, and as an answer to a status request.
  std::string again =
      "37=V1|" + std::string(v44() ? "" : "20=0|") + "17=E1|150=" + (v44() ? "F" : "1") +
      "|39=1|55=AAPL|54=1|151=99999|14=1|6=1.25|11=" + order_id() + "|32=1|31=1.25|";
  report(again, "97=Y|");
  expect_account("possible resend");
  report("37=V1|" + std::string(v44() ? "150=I|17=0|" : "20=3|150=1|17=0|") +
         "39=1|55=AAPL|54=1|151=99999|14=1|6=1.25|32=1|31=1.25|11=" + order_id() + "|");
  expect_account("status");
  // Corrected to two shares at 1.2, then taken back.
  report("37=V1|" + std::string(v44() ? "150=G|" : "20=2|150=1|") +
         "17=E2|19=E1|39=1|55=AAPL|54=1|151=99998|14=2|6=1.2|32=2|31=1.2|11=" + order_id() + "|");
  account_ = {2, -2 * 12'000};
  expect_account("correction");
  report("37=V1|" + std::string(v44() ? "150=H|" : "20=1|150=1|") +
         "17=E3|19=E2|39=0|55=AAPL|54=1|151=100000|14=0|6=0|11=" + order_id() + "|");
  account_ = {};
  expect_account("cancellation");
  EXPECT_EQ(position().open_buy_shares, kOrdered);
  EXPECT_TRUE(events.exceptions.empty());
}

TEST_P(ScriptedVenueTest, ListsWhatItCannotBookAndGoesOn) {
  report(fill("E1"));
  book(1, 12'500);
  int execution = 1;
  const auto wrong = [&](const std::string& what, const std::string& with) {
    std::string body = fill("E" + std::to_string(++execution));
    body.replace(body.find("|" + what) + 1,
                 body.find('|', body.find("|" + what) + 1) - body.find("|" + what) - 1, with);
    const std::size_t before = events.exceptions.size();
    report(body);
    EXPECT_EQ(events.exceptions.size(), before + 1) << with;
    expect_account(with);
  };
  wrong("54=", "54=2");
  wrong("55=", "55=MSFT");
  wrong("31=", "31=0");
  wrong("31=", "31=-1");
  wrong("31=", "31=abc");
  wrong("31=", "31=1.123456789");
  wrong("32=", "32=1000000");
  wrong("32=", "32=0");
  wrong("11=", "11=SOMEONE-ELSES");
  wrong("17=", "17=E1");
  wrong("151=", "152=1");
  report(fill("LAST"));
  book(1, 12'500);
  expect_account("the next good one");
  EXPECT_TRUE(session_->logged_on());
}

INSTANTIATE_TEST_SUITE_P(Versions, ScriptedVenueTest,
                         ::testing::Values(fix::Version::k42, fix::Version::k44),
                         [](const auto& version) {
                           return std::string(version.param == fix::Version::k42 ? "Fix42"
                                                                                 : "Fix44");
                         });

}  // namespace
}  // namespace tickpath::oeg
