// The dictionary against what our encoder writes, against broken messages, and against QuickFIX,
// which reads the same table as XML and validates with code of its own.
#include "common/fix/dictionary.hpp"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/fix_bytes.hpp"
#include "tests/unit/fix/quickfix_dictionary.hpp"
#include "tests/unit/fix/quickfix_xml.hpp"

namespace tickpath::fix {
namespace {

using R = SessionRejectReason;

constexpr char kSentAt[] = "20261121-10:11:12.345";

class DictionaryTest : public ::testing::TestWithParam<Version> {
 protected:
  template <class Message>
  void add(const Message& message) {
    char buffer[kMessageBytesMax];
    messages_.emplace_back(buffer, encoder_.encode(buffer, message, 7, kSentAt));
  }
  std::string message(const std::string& type, const std::string& body) const {
    return test_support::fix_message(begin_string(GetParam()),
                                     "35=" + type + "|49=A|56=B|34=7|52=20261121-10:11:12|" + body);
  }

  const Encoder encoder_{"A", "B", GetParam()};
  std::vector<std::string> messages_;
};

template <class Message>
Message with_ids() {
  Message made;
  made.cl_ord_id = 12;
  made.symbol = Symbol::from("AAPL");
  return made;
}

ExecutionReport execution(ExecType type, OrdStatus status) {
  auto report = with_ids<ExecutionReport>();
  report.order_id = report.exec_id = 5;
  report.orig_cl_ord_id = 11;
  report.price = report.last_price = report.average_price = {12'300};
  report.order_qty = report.last_shares = report.leaves_qty = report.cum_qty = 100;
  report.exec_type = type;
  report.ord_status = status;
  report.text = "why";
  return report;
}

TEST_P(DictionaryTest, TakesWhatOurEncoderWritesAndQuickFixDoesSoToo) {
  auto order = with_ids<NewOrderSingle>();
  order.type = OrderType::kStopLimit;
  order.price = order.stop_price = {12'300};
  order.order_qty = order.min_qty = order.max_floor = 100;
  order.post_only = true;
  add(order);
  order.type = OrderType::kPegged;
  add(order);
  add(with_ids<OrderCancelRequest>());
  add(with_ids<OrderCancelReplaceRequest>());
  auto status = with_ids<OrderStatusRequest>();
  status.request_id = "STATUS-8";
  add(status);
  for (const auto& [type, state] : {std::pair{ExecType::kNew, OrdStatus::kNew},
                                    {ExecType::kPartialFill, OrdStatus::kPartiallyFilled},
                                    {ExecType::kFill, OrdStatus::kFilled},
                                    {ExecType::kRejected, OrdStatus::kRejected},
                                    {ExecType::kRestated, OrdStatus::kNew},
                                    {ExecType::kReplaced, OrdStatus::kNew},
                                    {ExecType::kExpired, OrdStatus::kExpired}})
    add(execution(type, state));
  ExecutionReport triggered = execution(ExecType::kTriggered, OrdStatus::kNew);
  triggered.order_type = OrderType::kMarket;
  add(triggered);
  ExecutionReport answer = execution(ExecType::kNew, OrdStatus::kNew);
  answer.status = true;
  answer.status_request_id = "STATUS-8";
  answer.cl_ord_id_text = answer.orig_cl_ord_id_text = "ORDER-1";
  answer.account = "ALPHA";
  add(answer);
  add(OrderCancelReject{.cl_ord_id = 3, .orig_cl_ord_id = 3});
  if (GetParam() == Version::k44) {
    auto mass = with_ids<OrderMassCancelRequest>();
    mass.type = '1';
    mass.side = '2';
    add(mass);
    auto report = with_ids<OrderMassCancelReport>();
    report.order_id = 9;
    add(report);
    report.reason = MassCancelRejectReason::kUnknownSecurity;
    add(report);
  }
  char buffer[kMessageBytesMax];
  messages_.emplace_back(buffer, encoder_.encode_heartbeat(buffer, "id", 7, kSentAt));
  for (const auto reason : {SessionRejectReason::kInvalidTag, SessionRejectReason::kTagTwice})
    messages_.emplace_back(buffer,
                           encoder_.encode_reject(buffer, {7, 44, "D", reason}, 7, kSentAt));

  messages_.emplace_back(
      buffer,
      encoder_.encode_business_reject(
          buffer, {7, "D", "ORDER-1", BusinessRejectReason::kOther, "too long", 11}, 7, kSentAt));
  messages_.emplace_back(
      buffer, encoder_.encode_business_reject(
                  buffer, {7, "B", {}, BusinessRejectReason::kUnsupportedType}, 7, kSentAt));

  const std::string xml = quickfix_xml(GetParam());
  for (const std::string& text : messages_) {
    Violation violation;
    EXPECT_TRUE(conforms(GetParam(), text, violation)) << text << " tag " << violation.tag;
    EXPECT_EQ(quickfix_verdict(xml, text), "") << text;
  }
}

struct Broken {
  const char* type;
  const char* body;
  SessionRejectReason reason;
  std::uint32_t tag;
};

TEST_P(DictionaryTest, FindsWhatIsWrongAndQuickFixRefusesItToo) {
  const Broken cases[] = {
      {"D", "21=1|55=A|54=1|60=20261121-10:11:12|40=1|", R::kRequiredTagMissing, 11},
      {"D", "11=1|21=1|55=A|54=1|60=20261121-10:11:12|40=1|150=0|", R::kTagNotOfMessage, 150},
      {"D", "11=1|21=1|55=A|54=Z|60=20261121-10:11:12|40=1|", R::kBadValue, 54},
      {"D", "11=1|21=1|55=A|54=1|60=20261121-10:11:12|40=1|38=ten|", R::kBadFormat, 38},
      {"D", "11=1|21=1|55=A|54=1|60=yesterday|40=1|", R::kBadFormat, 60},
      {"D", "11=|21=1|55=A|54=1|60=20261121-10:11:12|40=1|", R::kNoValue, 11},
      {"D", "11=1|21=1|55=A|54=1|54=1|60=20261121-10:11:12|40=1|", R::kTagTwice, 54},
      {"D", "11=1|43=N|21=1|55=A|54=1|60=20261121-10:11:12|40=1|", R::kTagOutOfOrder, 43},
      {"D", "11=1|4500=N|21=1|55=A|54=1|60=20261121-10:11:12|40=1|", R::kInvalidTag, 4500},
      {"D", "11=1|21=1|55=A|54=1|60=20261121-10:11:12|40=1|354=4|58=a|=b|", R::kTagOutOfOrder, 58},
      {"2", "7=1|", R::kRequiredTagMissing, 16},
      {"4", "36=x|", R::kBadFormat, 36},
      {"D", "11=1|21=1|55=A|167=BOO|54=1|60=20261121-10:11:12|40=1|", R::kBadValue, 167},
      {"zz", "1=1|", R::kMsgType, 35},
  };
  const std::string xml = quickfix_xml(GetParam());
  for (const Broken& broken : cases) {
    const std::string text = message(broken.type, broken.body);
    Violation violation;
    EXPECT_FALSE(conforms(GetParam(), text, violation)) << broken.body;
    EXPECT_EQ(violation.reason, broken.reason) << broken.body;
    EXPECT_EQ(violation.tag, broken.tag) << broken.body;
    EXPECT_NE(quickfix_verdict(xml, text), "") << broken.body;
  }
}

TEST_P(DictionaryTest, PassesUserDefinedFieldsDataFieldsAndMessagesOfTheStandardThatAreNotOurs) {
  Violation violation;
  EXPECT_TRUE(
      conforms(GetParam(),
               message("D",
                       "11=1|21=1|55=A|54=1|60=20261121-10:11:12|40=1|5001=x|354=4|355=a|=b|"
                       "9999=y|10001=z|"),
               violation))
      << violation.tag;
  for (const char* const type : {"CS", "FUT", "BA", "OPT"})
    EXPECT_TRUE(conforms(GetParam(),
                         message("D", "11=1|21=1|55=A|167=" + std::string(type) +
                                          "|54=1|60=20261121-10:11:12|40=1|"),
                         violation))
        << type;
  EXPECT_TRUE(conforms(GetParam(), message("B", "148=headline|"), violation));
  EXPECT_TRUE(conforms(GetParam(), message("U7", "1=1|"), violation));
}

TEST_P(DictionaryTest, EndsAtEveryCutOfAMessage) {
  const std::string whole = message("D", "11=1|21=1|55=A|54=1|60=20261121-10:11:12|40=1|");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    // An exact allocation: AddressSanitizer guards its end.
    const std::vector<char> bytes(whole.begin(),
                                  whole.begin() + static_cast<std::ptrdiff_t>(length));
    Violation violation;
    EXPECT_FALSE(conforms(GetParam(), {bytes.data(), bytes.size()}, violation)) << length;
  }
}

// Two contra brokers (382) in both versions; in 4.4 two legs (555) besides, the first with a party
// (539) that has two sub-ids (804).
TEST_P(DictionaryTest, FollowsRepeatingGroupsOneInAnother) {
  const std::string xml = quickfix_xml(GetParam());
  const bool v44 = GetParam() == Version::k44;
  const std::string head = std::string("37=1|382=2|375=AB|337=X|375=CD|437=50|17=1|") +
                           (v44 ? "150=F|" : "20=0|150=1|") + "39=1|55=A|54=1|151=1|14=1|6=1|";
  const std::string legs =
      "555=2|600=L1|539=1|524=P|804=2|545=S|805=1|545=T|687=5|600=L2|637=1.5|797=Y|";
  const auto verdict = [&](const std::string& body) {
    Violation violation;
    const bool conforming = conforms(GetParam(), message("8", body), violation);
    // QuickFIX does not count the entries of a group inside a group.
    if (violation.tag != 804) {
      EXPECT_EQ(conforming, quickfix_verdict(xml, message("8", body)).empty()) << body;
    }
    return conforming ? std::pair{R{}, 0u} : std::pair{violation.reason, violation.tag};
  };
  const auto fine = std::pair{R{}, 0u};
  EXPECT_EQ(verdict(head), fine);
  std::string wrong = head;
  wrong.replace(wrong.find("382=2"), 5, "382=3");
  EXPECT_EQ(verdict(wrong), (std::pair{R::kGroupCount, 382u}));
  wrong = head;
  wrong.replace(wrong.find("375=AB|337=X"), 12, "337=X|375=AB");
  EXPECT_EQ(verdict(wrong), (std::pair{R::kGroupOutOfOrder, 337u}));
  if (!v44) return;
  EXPECT_EQ(verdict(head + legs), fine);
  wrong = head + legs;
  wrong.replace(wrong.find("804=2"), 5, "804=1");
  EXPECT_EQ(verdict(wrong), (std::pair{R::kGroupCount, 804u}));
}

// What the standard gives to these messages and QuickFIX knows, field by field.
TEST_P(DictionaryTest, HasEveryFieldThatTheStandardGivesToItsMessages) {
  const bool v44 = GetParam() == Version::k44;
  const char* const folder = std::getenv("TICKPATH_DATA");
  const char* const source = std::getenv("TICKPATH_SOURCE");
  const std::filesystem::path data =
      folder != nullptr
          ? std::filesystem::path(folder)
          : std::filesystem::path(source == nullptr ? "." : source) / "../shared/data";
  const std::filesystem::path path = data / "fix" / (v44 ? "FIX44.xml" : "FIX42.xml");
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << path << " is not there: set TICKPATH_DATA to a folder that has QuickFIX's "
                 << "dictionaries in fix/";
  std::vector<std::string> types = {"0", "1", "2", "3", "4", "5", "A",
                                    "D", "F", "G", "H", "8", "9", "j"};
  if (v44) types.insert(types.end(), {"q", "r"});
  std::vector<std::string> differences =
      quickfix_differences(quickfix_xml(GetParam()), path.string(), types);
  // Symbol: in 4.4 an instrument may do without, but not here (dictionary_table.hpp).
  const auto symbol = [](const std::string& line) {
    return line.find(" 55: required, standard optional") != std::string::npos;
  };
  if (v44) std::erase_if(differences, symbol);
  EXPECT_EQ(differences, std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Versions, DictionaryTest, ::testing::Values(Version::k42, Version::k44),
                         [](const auto& version) {
                           return std::string(version.param == Version::k42 ? "Fix42" : "Fix44");
                         });

}  // namespace
}  // namespace tickpath::fix
