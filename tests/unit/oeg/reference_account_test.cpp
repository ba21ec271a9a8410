// Reports that venues of other authors send, as scripts. An account beside the gateway adds up the
// venue's own executions, also those whose report was lost. After each script the gateway has the
// same position, cash and fees as the account, or an exception says why not.
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "common/wire/control_block.hpp"
#include "tests/support/fix_bytes.hpp"
#include "tests/unit/oeg/fakes.hpp"

namespace tickpath::oeg {
namespace {

enum class Books { kAgree, kDiffer };

// Each script begins with order 1, which buys 100 at 100.00 and rests. The lines of a script:
//   > D|F|G fields   our request; 11 and 41 are 1, 2, ... for ids of the strategy
//   < fields         an Execution Report in the words of FIX 4.2; `own` is the id of oeg's newest
//                    cancel; < 9 fields: a cancel reject; < dup fields: PossDupFlag (43) is set
//   ! fields         a report that is lost on its way
//   = D|F|G fields   the newest of our messages of that type has these
//   kill, turn
struct Script {
  const char* name;
  Books books;
  const char* exceptions;  // in order
  const char* lines;
};

constexpr Script kScripts[] = {
    // ---- what CumQty alone shows
    {"CancelationAfterALostFill", Books::kDiffer, "quantities", R"(
! 150=1|11=1|17=1|32=60|31=99.5
> F 11=2|41=1
< 150=4|39=4|11=2|41=1|151=0|14=60)"},
    {"CancelationOfWhatIsLeft", Books::kAgree, "", R"(
< 150=1|39=1|11=1|17=1|32=60|31=99.5|151=40|14=60
> F 11=2|41=1
< 150=4|39=4|11=2|41=1|151=0|14=60)"},
    {"ExpiryAfterALostFill", Books::kDiffer, "quantities", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40
! 150=2|11=1|17=2|32=60|31=99
< 150=C|39=C|11=1|151=0|14=100)"},
    {"ReplacementAfterALostFill", Books::kDiffer, "quantities quantities", R"(
! 150=1|11=1|17=1|32=60|31=100
> G 11=2|41=1|38=100|44=100
< 150=5|11=2|41=1|151=40|14=60
< 150=2|39=2|11=2|17=2|32=40|31=100|151=0|14=100)"},
    {"ReplacementThatLeavesMoreThanWasAskedFor", Books::kAgree, "quantities quantities", R"(
> G 11=2|41=1|38=120|44=100
< 150=5|11=2|41=1|151=500|14=0
< 150=1|39=1|11=2|17=1|32=120|31=100|151=380|14=120)"},
    // ---- a replacement that nobody asked for
    {"ReplacedInAnswerToACancelAndAnyFillBehindIt", Books::kDiffer, "replacement shares", R"(
< 150=1|39=1|11=1|17=1|32=10|31=100|151=90|14=10
> F 11=2|41=1
< 150=5|11=2|41=1|151=5000|14=10
< 150=1|39=1|11=1|17=2|32=5000|31=100|151=0|14=5010)"},
    // ---- prices outside the limit
    {"BuyAboveItsLimit", Books::kAgree, "outside_limit", R"(
< 150=1|39=1|11=1|17=1|32=40|31=150|151=60|14=40)"},
    {"SellBelowItsLimit", Books::kAgree, "outside_limit", R"(
> D 11=2|54=2|38=100|44=100
< 150=0|11=2|54=2|151=100|14=0
< 150=1|39=1|11=2|54=2|17=1|32=40|31=99.99|151=60|14=40)"},
    {"BetterThanTheLimit", Books::kAgree, "", R"(
> D 11=2|54=2|38=100|44=100
< 150=0|11=2|54=2|151=100|14=0
< 150=2|39=2|11=2|54=2|17=1|32=100|31=100.123456|151=0|14=100
< 150=2|39=2|11=1|17=2|32=100|31=99.0001|151=0|14=100)"},
    // ---- a venue that forgets what a replacement does not repeat
    {"ReplacementsOfAPostOnlyIceberg", Books::kAgree, "", R"(
> D 11=2|38=500|44=99|18=6|111=100
= D 18=6|111=100
< 150=0|11=2|151=500|14=0
> G 11=3|41=2|38=400|44=98
= G 18=6|111=100|41=2
< 150=5|11=3|41=2|151=400|14=0
< 150=1|39=1|11=3|17=1|32=100|31=98|151=300|14=100
> G 11=4|41=3|38=300|44=97
= G 18=6|111=100|41=3
< 150=5|11=4|41=3|151=200|14=100
< 150=2|39=2|11=4|17=2|32=200|31=97|151=0|14=300)"},
    // ---- requests without an answer
    {"ReplacementWithoutAnAnswerAndAKill", Books::kAgree, "", R"(
> G 11=2|41=1|38=150|44=100
kill
turn
= F 41=1
< 150=1|39=1|11=1|17=1|32=30|31=100|151=70|14=30
< 150=4|39=4|11=own|41=1|151=0|14=30)"},
    {"LateReplacementAfterAKill", Books::kAgree, "", R"(
> G 11=2|41=1|38=150|44=100
kill
turn
< 150=5|11=2|41=1|151=150|14=0
< 9 11=own|41=1|39=8|102=1
< 150=1|39=1|11=2|17=1|32=20|31=100|151=130|14=20)"},
    {"NothingIsAnsweredAndAFillIsLost", Books::kDiffer, "unanswered", R"(
> F 11=2|41=1
! 150=2|11=1|17=1|32=100|31=100
kill
turn
turn
turn)"},
    {"StatusThatShowsALostFill", Books::kDiffer, "quantities", R"(
> F 11=2|41=1
! 150=2|11=1|17=1|32=100|31=100
kill
turn
turn
< 20=3|150=2|39=2|11=1|17=0|151=0|14=100)"},
    // ---- executions that are corrected or taken back
    {"CorrectedPrice", Books::kAgree, "", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40
< 20=2|150=1|39=1|11=1|17=2|19=1|32=40|31=98.5|151=60|14=40
< 150=2|39=2|11=1|17=3|32=60|31=99|151=0|14=100)"},
    {"CorrectedSize", Books::kAgree, "", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40
< 20=2|150=1|39=1|11=1|17=2|19=1|32=30|31=99|151=70|14=30
< 150=2|39=2|11=1|17=3|32=70|31=99|151=0|14=100)"},
    {"CorrectionOfACorrectionThatIsTakenBack", Books::kAgree, "", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40
< 20=2|150=1|39=1|11=1|17=2|19=1|32=30|31=99|151=70|14=30
< 20=2|150=1|39=1|11=1|17=3|19=2|32=35|31=98|151=65|14=35
< 20=1|150=1|39=0|11=1|17=4|19=3|151=100|14=0)"},
    {"CorrectionOutsideTheLimit", Books::kAgree, "outside_limit", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40
< 20=2|150=1|39=1|11=1|17=2|19=1|32=40|31=120|151=60|14=40)"},
    {"CorrectionOfALostFill", Books::kDiffer, "unknown_execution", R"(
! 150=1|11=1|17=1|32=40|31=99
< 20=2|150=1|39=1|11=1|17=2|19=1|32=30|31=99|151=70|14=30)"},
    {"BustOfAnOpenOrder", Books::kAgree, "", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40
< 20=1|150=1|39=0|11=1|17=2|19=1|151=100|14=0)"},
    {"BustUnderTheIdThatAReplacementGave", Books::kAgree, "", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40
> G 11=2|41=1|38=90|44=100
< 150=5|39=1|11=2|41=1|151=50|14=40
< 20=1|150=1|39=0|11=2|17=2|19=1|151=90|14=0)"},
    {"BustOfAnOrderThatIsDone", Books::kAgree, "", R"(
< 150=2|39=2|11=1|17=1|32=100|31=99|151=0|14=100
< 20=1|150=2|39=4|11=1|17=2|19=1|151=0|14=0)"},
    {"BustThatReopensItsOrder", Books::kAgree, "reopened", R"(
< 150=2|39=2|11=1|17=1|32=100|31=99|151=0|14=100
< 20=1|150=2|39=0|11=1|17=2|19=1|151=100|14=0)"},
    {"BustOfALostFill", Books::kAgree, "unknown_execution", R"(
! 150=1|11=1|17=1|32=40|31=99
< 20=1|150=1|39=0|11=1|17=2|19=1|151=100|14=0)"},
    {"BustThatIsRepeated", Books::kAgree, "duplicate_execution", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40
< 20=1|150=1|39=0|11=1|17=2|19=1|151=100|14=0
< dup 20=1|150=1|39=0|11=1|17=2|19=1|151=100|14=0
< 20=1|150=1|39=0|11=1|17=2|19=1|151=100|14=0)"},
    {"FillThatIsRepeated", Books::kAgree, "", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40
< dup 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40)"},
    // ---- fees
    {"FeesRebatesAndFeesByTheShare", Books::kAgree, "", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40|12=0.3|13=3
< 150=1|39=1|11=1|17=2|32=20|31=99|151=40|14=60|12=-0.1234|13=3
< 150=2|39=2|11=1|17=3|32=40|31=99|151=0|14=100|12=0.003|13=1)"},
    {"FeeInPerCent", Books::kDiffer, "commission", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40|12=3|13=2)"},
    {"BustOfAFillThatHadAFee", Books::kDiffer, "commission", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40|12=0.3|13=3
< 20=1|150=1|39=0|11=1|17=2|19=1|151=100|14=0)"},
    {"CorrectionThatBringsAFee", Books::kDiffer, "commission", R"(
< 150=1|39=1|11=1|17=1|32=40|31=99|151=60|14=40
< 20=2|150=1|39=1|11=1|17=2|19=1|32=30|31=99|151=70|14=30|12=0.3|13=3)"},
};

using Tags = std::map<int, std::string>;

Tags tags_of(const std::string& fields) {
  Tags tags;
  std::istringstream in(fields);
  for (std::string field; std::getline(in, field, '|');)
    tags[std::atoi(field.c_str())] = field.substr(field.find('=') + 1);
  return tags;
}

std::int64_t scaled(const std::string& number, double scale) {
  return std::llround(std::atof(number.c_str()) * scale);
}

// The venue's side: what traded, by the id of the execution.
class Account {
 public:
  struct Totals {
    std::int64_t shares = 0, cash = 0, fees = 0;
    bool operator==(const Totals&) const = default;
  };

  void take(Tags report) {
    const std::string& transaction = report[20];
    if (transaction == "3") return;
    if (transaction == "1" || transaction == "2") executions_.erase(report[19]);
    const bool trades = report[150] == "1" || report[150] == "2";
    if (trades && transaction != "1") executions_[report[17]] = execution_of(report);
  }
  Totals totals() const {
    Totals sum;
    for (const auto& [id, each] : executions_)
      sum = {sum.shares + each.shares, sum.cash + each.cash, sum.fees + each.fees};
    return sum;
  }

 private:
  static Totals execution_of(Tags& report) {
    const std::int64_t shares = std::atoll(report[32].c_str());
    const std::int64_t sign = report[54] == "2" ? -1 : 1;
    // Rounded once, half away from zero.
    const std::int64_t value =
        std::llround(static_cast<double>(scaled(report[31], 1e6) * shares) / 100);
    const std::int64_t fee = scaled(report[12], 1e6);
    return {sign * shares, -sign * value, report[13] == "1" ? fee * shares : fee};
  }
  std::map<std::string, Totals> executions_;
};

class ReferenceAccount : public ::testing::TestWithParam<std::tuple<Script, fix::Version>>,
                         protected GatewayFixture {
 protected:
  ReferenceAccount() {
    options.answer_max_ns = 0;  // whatever has no answer is overdue
    options.executions_max = 64;
    start();
    run("> D 11=1|38=100|44=100");
    run("< 150=0|11=1|151=100|14=0");
  }
  static fix::Version version() { return std::get<1>(GetParam()); }

  void run(const std::string& line) {
    SCOPED_TRACE(line);
    if (line == "kill") return kill();
    if (line == "turn") return static_cast<void>(gateway->turn());
    const std::string rest = line.substr(2);
    if (line[0] == '>') return ask(rest[0], tags_of(rest.substr(2)));
    if (line[0] == '=') return expect_sent(rest[0], tags_of(rest.substr(2)));
    if (rest.starts_with("9 ")) return refuse_cancel(tags_of(rest.substr(2)));
    const bool repeated = rest.starts_with("dup ");
    const Tags report = tags_of(repeated ? rest.substr(4) : rest);
    account_.take(report);
    if (line[0] == '<') take(report, repeated);
  }

  void kill() {
    wire::ControlBlock block{};
    block.set_kill(wire::kKillAll, true, true);
    gateway->set_control_block(block);
  }
  void ask(char type, Tags tags) {
    const auto counter = static_cast<std::uint32_t>(std::atoi(tags[11].c_str()));
    if (type == 'F') {
      ASSERT_EQ(request(cancel(counter, number_of(tags[41]))), trading::RejectReason::kNone);
      return;
    }
    wire::OrderRequest order =
        limit_order(counter, static_cast<std::uint32_t>(scaled(tags[44], 1e4)),
                    static_cast<std::uint32_t>(std::atoi(tags[38].c_str())),
                    tags[54] == "2" ? Side::kSell : Side::kBuy);
    if (type == 'G') {
      order.kind = wire::RequestKind::kReplace;
      order.target_order_id = number_of(tags[41]);
    }
    order.instructions = tags[18] == "6" ? wire::kPostOnly : std::uint8_t{0};
    order.display_shares = static_cast<std::uint32_t>(std::atoi(tags[111].c_str()));
    ASSERT_EQ(request(order), trading::RejectReason::kNone);
  }
  std::uint64_t number_of(const std::string& name) const {
    if (name == "own") return venue.cancels.back().cl_ord_id;
    return id(static_cast<std::uint32_t>(std::atoi(name.c_str())));
  }

  // FIX 4.4 has no ExecTransType (20), and one ExecType for both kinds of fill.
  void translate(Tags& tags) const {
    for (const int tag : {11, 41})
      if (tags.contains(tag)) tags[tag] = std::to_string(number_of(tags[tag]));
    if (version() == fix::Version::k42 || !tags.contains(150)) return;
    const std::string transaction = std::exchange(tags[20], "");
    tags.erase(20);
    if (transaction == "1") tags[150] = "H";
    if (transaction == "2") tags[150] = "G";
    if (transaction == "3") tags[150] = "I";
    if (tags[150] == "1" || tags[150] == "2") tags[150] = "F";
  }
  template <class Message>
  fix::MessageInfo decoded(const char* type, const Tags& tags, Message& message) {
    std::string body =
        std::string("35=") + type + "|49=VENUE|56=TICKPATH|34=1|52=20261122-10:11:12|";
    for (const auto& [tag, value] : tags) body += std::to_string(tag) + "=" + value + "|";
    text_ = test_support::fix_message(fix::begin_string(version()), body);
    fix::Fields fields;
    EXPECT_TRUE(fields.scan(text_) && fix::decode(fields, message)) << body;
    return {++report_seq, false, {}, false, text_};
  }
  void take(Tags tags, bool repeated) {
    tags.insert({{6, "0"}, {17, std::to_string(1000 + report_seq)}, {20, "0"}, {37, "7"}});
    tags.insert({{39, "0"}, {54, "1"}, {55, "AAPL"}});
    translate(tags);
    fix::ExecutionReport report;
    fix::MessageInfo info = decoded("8", tags, report);
    info.poss_dup = repeated;
    gateway->reports().on_execution_report(report, info);
  }
  void refuse_cancel(Tags tags) {
    tags.insert({{37, "7"}, {434, "1"}});
    translate(tags);
    fix::OrderCancelReject reject;
    const fix::MessageInfo info = decoded("9", tags, reject);
    gateway->reports().on_cancel_reject(reject, info);
  }

  template <class Message>
  std::string sent(const std::vector<Message>& messages) const {
    if (messages.empty()) return "nothing";
    char buffer[fix::kMessageBytesMax];
    const fix::Encoder encoder("TICKPATH", "VENUE", version());
    return test_support::with_bars(
        {buffer, encoder.encode(buffer, messages.back(), 1, "20261122-10:11:12.345")});
  }
  void expect_sent(char type, Tags tags) {
    const std::string message = type == 'D'   ? sent(venue.orders)
                                : type == 'G' ? sent(venue.replaces)
                                              : sent(venue.cancels);
    if (tags.contains(41)) tags[41] = std::to_string(number_of(tags[41]));
    for (const auto& [tag, value] : tags)
      EXPECT_NE(message.find("|" + std::to_string(tag) + "=" + value + "|"), std::string::npos)
          << tag << " in " << message;
  }

  std::string exceptions() const {
    std::string names;
    for (const ExceptionNote& note : events.exceptions)
      names += (names.empty() ? "" : " ") + std::string(name(note.kind));
    return names;
  }
  Account::Totals booked() {
    return {position().position_shares, position().cash, position().fees};
  }

  Account account_;
  std::string text_;
};

TEST_P(ReferenceAccount, IsWhatTheGatewayBookedOrAnExceptionSaysWhyNot) {
  const Script& script = std::get<0>(GetParam());
  std::istringstream lines(script.lines + 1);
  for (std::string line; std::getline(lines, line);) run(line);
  EXPECT_EQ(exceptions(), script.exceptions);
  const Account::Totals at_venue = account_.totals();
  const bool agree = booked() == at_venue;
  EXPECT_EQ(agree, script.books == Books::kAgree)
      << "booked " << booked().shares << ", " << booked().cash << ", " << booked().fees
      << "; at the venue " << at_venue.shares << ", " << at_venue.cash << ", " << at_venue.fees;
  EXPECT_TRUE(agree || !events.exceptions.empty()) << "no word of it";
}

INSTANTIATE_TEST_SUITE_P(Scripts, ReferenceAccount,
                         ::testing::Combine(::testing::ValuesIn(kScripts),
                                            ::testing::Values(fix::Version::k42,
                                                              fix::Version::k44)),
                         [](const auto& each) {
                           const bool v42 = std::get<1>(each.param) == fix::Version::k42;
                           return std::get<0>(each.param).name +
                                  std::string(v42 ? "Fix42" : "Fix44");
                         });

}  // namespace
}  // namespace tickpath::oeg
