
#include <vector>

#include <gtest/gtest.h>

#include "common/fix/dictionary.hpp"
#include "tests/support/fix_bytes.hpp"

namespace tickpath::fix {
namespace {

constexpr char kNow[] = "20261121-10:11:12.345";

std::string readable(std::string bytes) { return test_support::with_bars(std::move(bytes)); }

std::string framed(const std::string& text, std::string_view version = "FIX.4.2") {
  return test_support::fix_message(version, text);
}

template <class Message>
std::string encoded(const Message& message, std::uint32_t seq = 7) {
  char buffer[kMessageBytesMax];
  const Encoder encoder("OEG", "SIM");
  return {buffer, encoder.encode(buffer, message, seq, kNow)};
}

NewOrderSingle limit_order() {
  return {.cl_ord_id = 281479271677953,
          .price = {5853300},
          .order_qty = 100,
          .side = Side::kSell,
          .symbol = Symbol::from("AAPL")};
}

TEST(FixEncoder, WritesANewOrderByteForByte) {
  EXPECT_EQ(readable(encoded(limit_order())),
            "8=FIX.4.2|9=0148|35=D|49=OEG|56=SIM|34=000000007|52=20261121-10:11:12.345|"
            "11=281479271677953|21=1|55=AAPL|54=2|60=20261121-10:11:12.345|38=100|40=2|"
            "44=585.3300|59=0|10=159|");
}

TEST(FixEncoder, LeavesThePriceOfAMarketOrderOut) {
  NewOrderSingle order = limit_order();
  order.type = OrderType::kMarket;
  order.time_in_force = TimeInForce::kImmediateOrCancel;
  const std::string text = readable(encoded(order));
  EXPECT_EQ(text.find("|44="), std::string::npos);
  EXPECT_NE(text.find("|40=1|59=3|"), std::string::npos);
}

TEST(FixEncoder, FitsTheLargestMessageIntoItsBound) {
  const std::string id(kCompIdMax, 'X');
  const Encoder encoder(id, id);
  ExecutionReport report;
  report.order_id = report.exec_id = report.cl_ord_id = report.orig_cl_ord_id = std::uint64_t{1}
                                                                                << 63;
  report.order_qty = report.last_shares = report.leaves_qty = report.cum_qty = 0xffffffff;
  report.price = report.last_price = report.average_price = {0x7fffffffffffffff};
  const std::string symbol(40, 'S');
  report.symbol_text = symbol;
  report.exec_type = ExecType::kRejected;
  report.reject_reason = OrdRejReason::kDuplicateOrder;
  const std::string text(200, 't');
  report.text = text;
  const std::string longest(kClOrdIdMax, 'W');
  report.cl_ord_id_text = report.orig_cl_ord_id_text = report.account = longest;
  std::vector<char> buffer(2 * kMessageBytesMax, '#');
  const auto expect_fits = [&] {
    const std::size_t length = encoder.encode(buffer.data(), report, 999999999, kNow);
    EXPECT_LE(length, kMessageBytesMax);
    EXPECT_EQ(buffer[length], '#');
    EXPECT_EQ(frame({buffer.data(), length}, 1000).status, FrameStatus::kMessage);
    std::fill(buffer.begin(), buffer.end(), '#');
  };
  expect_fits();
  const std::string routed(kRoutedMax, 'R');
  const Route route{.from_comp = routed, .from_sub = routed, .to_comp = routed, .to_sub = routed};
  report.route = &route;
  expect_fits();
  const std::string sixth(kRouteBytesMax / 6 - std::string_view("115=|").size(), 'R');
  const Route whole{sixth, sixth, sixth, sixth, sixth, sixth};
  report.route = &whole;
  expect_fits();
}

TEST(FixEncoder, CountsTimeInUtcAcrossASecondADayAndALeapYear) {
  UtcText text;
  const auto at = [&](std::int64_t ns) { return std::string(text.at(ns), UtcText::kLength); };
  EXPECT_EQ(at(0), "19700101-00:00:00.000");
  EXPECT_EQ(at(999'999'999), "19700101-00:00:00.999");
  EXPECT_EQ(at(1'000'000'000), "19700101-00:00:01.000");
  EXPECT_EQ(at(951'782'400'000'000'000), "20000229-00:00:00.000");
  EXPECT_EQ(at(1'795'219'199'123'000'000), "20261120-23:59:59.123");
}

template <class Message>
Message round_trip(const Message& message) {
  const std::string text = encoded(message);
  Fields fields;
  EXPECT_TRUE(fields.scan(text));
  Message result;
  EXPECT_TRUE(decode(fields, result)) << readable(text);
  return result;
}

TEST(FixCodec, ReadsBackWhatAVenueTakesBesidesLimitAndMarketOrders) {
  NewOrderSingle order = limit_order();
  order.type = OrderType::kStopLimit;
  order.time_in_force = TimeInForce::kGoodTillCancel;
  order.stop_price = {5850000};
  order.max_floor = 40;
  const NewOrderSingle stop = round_trip(order);
  EXPECT_EQ(stop.type, OrderType::kStopLimit);
  EXPECT_EQ(stop.time_in_force, TimeInForce::kGoodTillCancel);
  EXPECT_EQ(stop.stop_price.value, 5850000);
  EXPECT_EQ(stop.price.value, 5853300);
  EXPECT_EQ(stop.max_floor, 40u);
  EXPECT_FALSE(stop.post_only);
  order = limit_order();
  order.type = OrderType::kPegged;
  order.price = {};
  order.post_only = true;
  const NewOrderSingle peg = round_trip(order);
  EXPECT_EQ(peg.type, OrderType::kPegged);
  EXPECT_EQ(peg.price.value, 0);
  EXPECT_TRUE(peg.post_only);
  order = limit_order();
  order.time_in_force = TimeInForce::kFillOrKill;
  order.min_qty = 30;
  const NewOrderSingle kill = round_trip(order);
  EXPECT_EQ(kill.time_in_force, TimeInForce::kFillOrKill);
  EXPECT_EQ(kill.min_qty, 30u);
  OrderCancelReplaceRequest replace{.cl_ord_id = 13,
                                    .orig_cl_ord_id = 11,
                                    .stop_price = {77},
                                    .order_qty = 10,
                                    .type = OrderType::kStop,
                                    .symbol = Symbol::from("MSFT")};
  EXPECT_EQ(round_trip(replace).stop_price.value, 77);
  EXPECT_FALSE(round_trip(replace).says_instructions);
  replace.type = OrderType::kLimit;
  replace.stop_price = {};
  replace.price = {100};
  replace.max_floor = 5;
  replace.min_qty = 3;
  replace.post_only = true;
  const OrderCancelReplaceRequest repeated = round_trip(replace);
  EXPECT_EQ(repeated.max_floor, 5u);
  EXPECT_EQ(repeated.min_qty, 3u);
  EXPECT_TRUE(repeated.says_instructions && repeated.post_only);
}

TEST(FixCodec, ReadsBackEveryRequest) {
  const NewOrderSingle order = round_trip(limit_order());
  EXPECT_EQ(order.cl_ord_id, 281479271677953u);
  EXPECT_EQ(order.price.value, 5853300);
  EXPECT_EQ(order.order_qty, 100u);
  EXPECT_EQ(order.side, Side::kSell);
  EXPECT_EQ(order.type, OrderType::kLimit);
  EXPECT_EQ(order.symbol.view(), "AAPL");

  const OrderCancelRequest cancel_back = round_trip(OrderCancelRequest{
      .cl_ord_id = 12, .orig_cl_ord_id = 11, .order_qty = 300, .symbol = Symbol::from("MSFT")});
  EXPECT_EQ(cancel_back.cl_ord_id, 12u);
  EXPECT_EQ(cancel_back.orig_cl_ord_id, 11u);
  EXPECT_EQ(cancel_back.order_qty, 300u);

  OrderCancelReplaceRequest replace{.cl_ord_id = 13,
                                    .orig_cl_ord_id = 11,
                                    .price = {1},
                                    .order_qty = 1,
                                    .symbol = Symbol::from("A")};
  const OrderCancelReplaceRequest replace_back = round_trip(replace);
  EXPECT_EQ(replace_back.price.value, 1);
  EXPECT_EQ(replace_back.orig_cl_ord_id, 11u);
}

TEST(FixCodec, ReadsBackEveryReport) {
  ExecutionReport fill{.order_id = 5,
                       .exec_id = 6,
                       .cl_ord_id = 7,
                       .price = {123400},
                       .last_price = {123300},
                       .average_price = {123350},
                       .order_qty = 10,
                       .last_shares = 4,
                       .leaves_qty = 6,
                       .cum_qty = 4,
                       .exec_type = ExecType::kPartialFill,
                       .ord_status = OrdStatus::kPartiallyFilled,
                       .symbol = Symbol::from("AAPL")};
  const ExecutionReport back = round_trip(fill);
  EXPECT_EQ(back.last_price.value, 123300);
  EXPECT_EQ(back.last_shares, 4u);
  EXPECT_EQ(back.leaves_qty, 6u);
  EXPECT_EQ(back.cum_qty, 4u);
  EXPECT_EQ(back.exec_type, ExecType::kPartialFill);
  EXPECT_EQ(back.ord_status, OrdStatus::kPartiallyFilled);
  EXPECT_EQ(back.orig_cl_ord_id, 0u);

  OrderCancelReject reject{.cl_ord_id = 9,
                           .orig_cl_ord_id = 8,
                           .ord_status = OrdStatus::kRejected,
                           .reason = CxlRejReason::kUnknownOrder,
                           .of_replace = true};
  const OrderCancelReject reject_back = round_trip(reject);
  EXPECT_EQ(reject_back.order_id, 0u);
  EXPECT_TRUE(reject_back.of_replace);
  EXPECT_EQ(reject_back.reason, CxlRejReason::kUnknownOrder);
}

template <class Message>
std::string with_own_ids(Message message) {
  message.cl_ord_id = 12;
  message.cl_ord_id_text = "0012 B";
  if constexpr (requires { message.orig_cl_ord_id; }) {
    message.orig_cl_ord_id = 11;
    message.orig_cl_ord_id_text = "0011 A";
  }
  return readable(encoded(message));
}

TEST(FixEncoder, WritesAnIdAsThePeerDoesWhereItHasOne) {
  for (const std::string& text :
       {with_own_ids(OrderCancelRequest{}), with_own_ids(OrderCancelReplaceRequest{}),
        with_own_ids(ExecutionReport{}), with_own_ids(OrderCancelReject{})}) {
    EXPECT_NE(text.find("|11=0012 B|"), std::string::npos) << text;
    EXPECT_NE(text.find("|41=0011 A|"), std::string::npos) << text;
  }
  for (const std::string& text :
       {with_own_ids(NewOrderSingle{}), with_own_ids(OrderStatusRequest{}),
        with_own_ids(OrderMassCancelRequest{}), with_own_ids(OrderMassCancelReport{})})
    EXPECT_NE(text.find("|11=0012 B|"), std::string::npos) << text;
}

std::string order_of(const std::string& fields) {
  return framed("35=D|49=A|56=B|34=1|52=20261121-10:11:12|" + fields +
                    "|55=A|54=1|60=20261121-10:11:12|38=1|40=1|",
                "FIX.4.4");
}

TEST(FixDecode, ReadsThePeersOwnIdsAccountsAndTheFirstOfTheParties) {
  Fields fields;
  NewOrderSingle order;
  const std::string message = order_of("11=0007|1=ALPHA|453=2|448=P1|447=D|448=P2|447=D");
  ASSERT_TRUE(fields.scan(message));
  ASSERT_TRUE(decode(fields, order));
  EXPECT_EQ(order.cl_ord_id_text, "0007");
  EXPECT_EQ(order.cl_ord_id, 7u);
  EXPECT_EQ(order.account, "ALPHA");
  EXPECT_EQ(order.party, "P1");
}

TEST(FixDecode, NamesAnIdOrAnAccountThatIsTooLong) {
  const std::string longest(kClOrdIdMax, 'X');
  Fields fields;
  NewOrderSingle order;
  const std::string fits = order_of("11=" + longest + "|1=" + longest);
  ASSERT_TRUE(fields.scan(fits));
  EXPECT_TRUE(decode(fields, order));
  for (const auto& [text, tag] :
       {std::pair{"11=" + longest + "X", 11u}, std::pair{"11=1|1=" + longest + "X", 1u},
        std::pair{"11=1|453=1|448=" + longest + "X", 448u}}) {
    const std::string message = order_of(text);
    ASSERT_TRUE(fields.scan(message));
    const DecodeResult result = decode(fields, order);
    EXPECT_EQ(result.status, DecodeStatus::kTooLong);
    EXPECT_EQ(result.tag, tag);
  }
}

TEST(FixEncoder, FitsTheLargestRejectsIntoTheBoundToo) {
  const std::string id(kCompIdMax, 'X');
  const std::string ref(kRefIdMax, 'R');
  const std::string text(200, 't');
  const Route route{id, id, id, id, id, id};
  const Encoder encoder(id, id, Version::k44);
  std::vector<char> buffer(2 * kMessageBytesMax, '#');
  std::size_t length = encoder.encode_business_reject(
      buffer.data(),
      {0xffff'ffff, "XX", ref, BusinessRejectReason::kOther, text, 0xffff'ffff, route}, 999999999,
      kNow);
  EXPECT_LE(length, kMessageBytesMax);
  EXPECT_EQ(frame({buffer.data(), length}, 1000).status, FrameStatus::kMessage);
  length = encoder.encode_reject(
      buffer.data(), {0xffff'ffff, 0xffff'ffff, "XX", SessionRejectReason::kGroupCount, route},
      999999999, kNow);
  EXPECT_LE(length, kMessageBytesMax);
}

// What is not told of is not there, to the byte.
TEST(FixEncoder, AFillHasItsCommissionOnlyWhereItIsTold) {
  ExecutionReport report{.order_id = 7,
                         .exec_id = 9,
                         .cl_ord_id = 11,
                         .last_price = {2'000'000},
                         .average_price = {2'000'000},
                         .order_qty = 100,
                         .last_shares = 100,
                         .cum_qty = 100,
                         .exec_type = ExecType::kFill,
                         .ord_status = OrdStatus::kFilled,
                         .symbol = Symbol::from("MSFT")};
  const auto body = [&report](Version version) {
    char buffer[kMessageBytesMax];
    const Encoder encoder("SIM", "OEG", version);
    const std::string text = readable({buffer, encoder.encode(buffer, report, 1, kNow)});
    const std::size_t from = text.find("|37=") + 1;
    return text.substr(from, text.find("|10=") - from);
  };
  const std::string head42 =
      "37=7|11=11|17=9|20=0|150=2|39=2|55=MSFT|54=1|38=100|32=100|31=200.0000|";
  const std::string head44 = "37=7|11=11|17=9|150=F|39=2|55=MSFT|54=1|38=100|32=100|31=200.0000|";
  const std::string tail = std::string("151=0|14=100|6=200.0000|60=") + kNow;
  EXPECT_EQ(body(Version::k42), head42 + tail);
  EXPECT_EQ(body(Version::k44), head44 + tail);
  report.has_commission = true;
  report.commission_millionths = -1'200'005;
  report.liquidity = 1;
  EXPECT_EQ(body(Version::k42), head42 + "12=-1.200005|13=3|" + tail);
  EXPECT_EQ(body(Version::k44), head44 + "12=-1.200005|13=3|851=1|" + tail);
  EXPECT_TRUE(round_trip(report).has_commission);
  EXPECT_TRUE(round_trip(report).commission_known);
  EXPECT_EQ(round_trip(report).commission_millionths, -1'200'005);
  report.has_commission = false;
  EXPECT_FALSE(round_trip(report).has_commission);
}

TEST(FixDecoder, ReadsTheCommissionOfAWholeFillWhereItsTypeSaysIt) {
  const auto commission_of = [](const std::string& tags) {
    const std::string text = framed(
        "35=8|49=A|56=B|34=1|52=20261121-10:11:12|37=7|11=11|17=9|20=0|150=2|39=2|55=MSFT|54=1|"
        "32=100|31=2|151=0|14=100|6=2|" +
        tags);
    Fields fields;
    ExecutionReport report;
    EXPECT_TRUE(fields.scan(text) && decode(fields, report) && report.has_commission) << tags;
    return report.commission_known ? std::to_string(report.commission_millionths) : "unknown";
  };
  EXPECT_EQ(commission_of("12=0.05|13=3|"), "50000");
  EXPECT_EQ(commission_of("12=-0.0012|13=1|"), "-120000") << "a share";
  for (const char* const unknown :
       {"12=3|13=2|", "12=3|", "12=0.0000001|13=3|", "12=abc|13=3|", "12=99999999999999999|13=3|"})
    EXPECT_EQ(commission_of(unknown), "unknown") << unknown;
}

TEST(FixEncoder, ReplacedIsAStatusOfFix42ThatATradeStandsAbove) {
  ExecutionReport report{.exec_type = ExecType::kReplaced};
  const auto status = [&report](Version version) {
    char buffer[kMessageBytesMax];
    const Encoder encoder("SIM", "OEG", version);
    const std::string text = readable({buffer, encoder.encode(buffer, report, 1, kNow)});
    return text.substr(text.find("|39=") + 1, 4);
  };
  EXPECT_EQ(status(Version::k42), "39=5");
  EXPECT_EQ(status(Version::k44), "39=0");
  report.ord_status = OrdStatus::kPartiallyFilled;
  EXPECT_EQ(status(Version::k42), "39=1");
}

TEST(FixFrame, WaitsForEveryByteAndReadsNoneBeyond) {
  const std::string message = encoded(limit_order());
  for (std::size_t length = 0; length < message.size(); ++length) {
    // An exact allocation: AddressSanitizer guards its end.
    const std::vector<char> bytes(message.begin(),
                                  message.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_EQ(frame({bytes.data(), bytes.size()}, 1000).status, FrameStatus::kIncomplete) << length;
  }
  const Frame whole = frame(message + "8", 1000);
  EXPECT_EQ(whole.status, FrameStatus::kMessage);
  EXPECT_EQ(whole.length, message.size());
}

TEST(FixFrame, SkipsGarbageUpToTheNextMessage) {
  const std::string message = encoded(limit_order());
  const Frame garbage = frame("garbage8=FI" + message, 1000);
  EXPECT_EQ(garbage.status, FrameStatus::kGarbled);
  EXPECT_EQ(garbage.length, 11u);
  // The start of a next message at the very end is kept.
  EXPECT_EQ(frame("xx8=F", 1000).length, 2u);
  EXPECT_EQ(frame("xxyy", 1000).length, 4u);
}

TEST(FixFrame, FindsAWrongChecksumALyingLengthAndAnEndlessMessage) {
  std::string message = encoded(limit_order());
  std::string wrong = message;
  wrong[wrong.size() - 2] = static_cast<char>(wrong[wrong.size() - 2] == '0' ? '1' : '0');
  EXPECT_EQ(frame(wrong, 1000).status, FrameStatus::kBadChecksum);
  EXPECT_EQ(frame(wrong, 1000).length, message.size());
  EXPECT_EQ(frame(test_support::with_separators("8=FIX.4.2|9=5|35=0|10=000|"), 1000).status,
            FrameStatus::kBadChecksum);
  EXPECT_EQ(frame(test_support::with_separators("8=FIX.4.2|9=4|35=0|10=000|"), 1000).status,
            FrameStatus::kGarbled);
  const Frame longer = frame(test_support::with_separators("8=FIX.4.2|9=99999|35=0|"), 1000);
  EXPECT_EQ(longer.status, FrameStatus::kTooLong);
  EXPECT_EQ(longer.length, std::string("8=FIX.4.2|9=99999|").size() + 99999 + kTrailerBytes);
  EXPECT_EQ(frame(test_support::with_separators("8=FIX.4.2|9=-5|35=0|"), 1000).status,
            FrameStatus::kGarbled);
  EXPECT_EQ(frame(test_support::with_separators("8=FIX.4.2|9=00000000000000000001|"), 1000).status,
            FrameStatus::kGarbled);
}

TEST(FixFields, RejectsWhatIsNotTagEqualsValueAllAlong) {
  Fields fields;
  for (const char* body : {"35=D|11=|", "35=D|=5|", "35=D|x=5|", "35=D|05=5|", "35=D|11=1|11=2|",
                           "11=1|35=D|", "35=D|1234567890=1|", "35=D||"}) {
    EXPECT_FALSE(fields.scan(framed(body))) << body;
  }
  const std::string good = framed("35=D|9999=x|11=1|");
  EXPECT_TRUE(fields.scan(good));
  EXPECT_EQ(fields.get(11), "1");
  EXPECT_FALSE(fields.has(9999));
}

TEST(FixFields, LetsADataFieldHoldTheSeparator) {
  Fields fields;
  const std::string data = framed("35=D|95=5|96=a|11=|11=42|");  // fields point into it
  ASSERT_TRUE(fields.scan(data));
  EXPECT_EQ(fields.get(11), "42");
  EXPECT_FALSE(fields.scan(framed("35=D|95=500|96=a|11=42|")));
  const std::string signature = framed("35=D|11=42|93=3|89=|=||");
  ASSERT_TRUE(fields.scan(signature));
  EXPECT_EQ(fields.get(11), "42");
}

// A ClOrdID with SOH in it would be sent back as two fields.
TEST(FixFields, LetsNoOtherFieldHoldTheSeparator) {
  Fields fields;
  for (const char* body : {"35=H|95=8|11=1|790=-1|", "35=H|95=4|58=a|=b|", "35=D|93=3|90=a|b|"}) {
    const std::string text = framed(body);
    EXPECT_FALSE(fields.scan(text)) << body;
    EXPECT_NE(fields.bad_tag(), 0u) << body;
    Violation violation;
    for (const Version version : {Version::k42, Version::k44})
      EXPECT_FALSE(conforms(version, text, violation)) << body;
  }
}

struct BadOrder {
  const char* name;
  const char* body;
  DecodeStatus status;
  std::uint32_t tag;
};

TEST(FixDecode, NamesTheFieldOfAMalformedOrder) {
  const BadOrder cases[] = {
      {"no ClOrdID", "21=1|55=A|54=1|60=x|38=1|40=2|44=1|", DecodeStatus::kMissingTag, 11},
      {"no price", "11=1|21=1|55=A|54=1|60=x|38=1|40=2|", DecodeStatus::kMissingTag, 44},
      {"quantity text", "11=1|21=1|55=A|54=1|60=x|38=ten|40=1|", DecodeStatus::kBadFormat, 38},
      {"no stop price", "11=1|21=1|55=A|54=1|60=x|38=1|40=3|", DecodeStatus::kMissingTag, 99},
      {"no price of a stop limit order", "11=1|21=1|55=A|54=1|60=x|38=1|40=4|99=1|",
       DecodeStatus::kMissingTag, 44},
      {"peg of no kind", "11=1|21=1|55=A|54=1|60=x|38=1|40=P|", DecodeStatus::kMissingTag, 18},
      {"price of letters", "11=1|21=1|55=A|54=1|60=x|38=1|40=2|44=1e3|", DecodeStatus::kBadFormat,
       44},
      {"side of no FIX", "11=1|21=1|55=A|54=Z|60=x|38=1|40=2|44=1|", DecodeStatus::kBadValue, 54},
      {"type of no FIX", "11=1|21=1|55=A|54=1|60=x|38=1|40=Z|44=1|", DecodeStatus::kBadValue, 40},
      {"long symbol", "11=1|21=1|55=ABCDEFGHIJKLMNOPABCDEFGHIJKLMNOPX|54=1|60=x|38=1|40=1|",
       DecodeStatus::kTooLong, 55},
  };
  for (const BadOrder& bad : cases) {
    const std::string message = framed(std::string("35=D|") + bad.body);  // fields point into it
    Fields fields;
    ASSERT_TRUE(fields.scan(message)) << bad.name;
    NewOrderSingle order;
    const DecodeResult result = decode(fields, order);
    EXPECT_EQ(result.status, bad.status) << bad.name;
    EXPECT_EQ(result.tag, bad.tag) << bad.name;
  }
}

// Valid FIX, and no mistake: the venue says that it does not have it.
TEST(FixDecode, SaysWhichTermOfAnOrderTheVenueDoesNotHave) {
  const std::pair<const char*, const char*> cases[] = {
      {"38=0.5|40=1", "38"},
      {"38=-5|40=1", "38"},
      {"38=5000000000.5|40=1", "38"},
      {"38=1|40=2|44=1.00001", "44"},
      {"38=1|40=2|44=-1", "44"},
      {"38=1|40=3|99=1.00001", "99"},
      {"38=1|40=2|44=1|99=2", "99"},
      {"38=1|40=1|18=1", "18"},
      {"38=1|40=1|18=G", "18"},
      {"38=1|40=2|44=1|18=6 M", "18"},
      {"38=1|40=P|18=R6", "18"},
      {"38=1|40=2|44=1|18=R", "18"},
      {"38=1|40=2|44=1|111=0", "111"},
      {"38=1|40=2|44=1|110=0.5", "110"},
      {"38=1|40=1|15=EUR", "15"},
      {"38=1|40=1|63=1", "63"},
      {"38=1|40=1|64=20261130", "64"},
      {"38=1|40=1|65=WI", "65"},
      {"38=1|40=1|100=N", "100"},
      {"38=1|40=1|120=EUR", "120"},
      {"38=1|40=1|126=20200101-00:00:00", "126"},
      {"152=1000|40=1", "152"},
      {"38=1|40=1|167=FUT", "167"},
      {"38=1|40=1|168=20300101-00:00:00", "168"},
      {"38=1|40=1|210=10", "210"},
      {"38=1|40=P|18=R|211=0.01", "211"},
      {"38=1|40=1|386=1|336=DAY", "336"},
      {"38=1|40=1|386=2|336=1|336=2", "336"},
      {"38=1|40=1|388=0", "388"},
      {"38=1|40=1|389=0.01", "389"},
      {"38=1|40=1|432=20301231", "432"},
      {"38=1|40=1|22=1|48=037833100", "48"},
      {"38=1|40=1|48=B", "48"},
  };
  for (const auto& [terms, tag] : cases) {
    const std::string message =
        framed(std::string("35=D|52=20261121-10:11:12|11=1|21=1|55=A|54=1|60=x|") + terms + "|");
    Fields fields;
    ASSERT_TRUE(fields.scan(message)) << terms;
    NewOrderSingle order;
    ASSERT_TRUE(decode(fields, order)) << terms;
    EXPECT_NE(order.unsupported.find("(" + std::string(tag) + ")"), std::string_view::npos)
        << terms << ": '" << order.unsupported << "'";
    EXPECT_LE(order.unsupported.size(), kTextMax);
  }
}

TEST(FixDecode, TakesTermsThatSayWhatHoldsAnyway) {
  const std::string message = framed(
      "35=D|52=20261121-10:11:12.5|11=1|21=1|55=A|54=1|60=x|38=1|40=P|18=R|15=USD|63=0|120=USD|"
      "167=CS|168=20261121-10:11:12|211=0.00|386=0|22=8|48=A|");
  Fields fields;
  ASSERT_TRUE(fields.scan(message));
  NewOrderSingle order;
  ASSERT_TRUE(decode(fields, order));
  EXPECT_EQ(order.unsupported, "");
}

TEST(FixDecode, TakesPricesAndQuantitiesInEveryFormTheStandardAllows) {
  Price price;
  for (const char* text : {"585.33", "585.3300", "00585.33", "585.330000"}) {
    ASSERT_TRUE(parse_price(text, price)) << text;
    EXPECT_EQ(price.value, 5853300) << text;
  }
  ASSERT_TRUE(parse_price("5.", price));
  EXPECT_EQ(price.value, 50000);
  ASSERT_TRUE(parse_price(".5", price));
  EXPECT_EQ(price.value, 5000);
  for (const char* text : {"", ".", "1.2.3", "1e3", "-1", "+1", " 1", "9999999999999"})
    EXPECT_FALSE(parse_price(text, price)) << text;
}

TEST(FixDecode, KeepsSixDecimalsOfAnExecutionAndSaysWhenThereAreMore) {
  Price price;
  std::uint8_t hundredths = 0;
  bool exact = false;
  const auto parse = [&](const char* text) {
    return parse_executed_price(text, price, hundredths, exact);
  };
  ASSERT_TRUE(parse("585.334567"));
  EXPECT_EQ(price.value, 5853345);
  EXPECT_EQ(hundredths, 67);
  EXPECT_TRUE(exact);
  ASSERT_TRUE(parse("585.33455000"));
  EXPECT_EQ(price.value, 5853345);
  EXPECT_EQ(hundredths, 50);
  EXPECT_TRUE(exact);
  ASSERT_TRUE(parse("585.33"));
  EXPECT_EQ(hundredths, 0);
  ASSERT_TRUE(parse(".00001"));
  EXPECT_EQ(price.value, 0);
  EXPECT_EQ(hundredths, 10);
  ASSERT_TRUE(parse("1.2345670001"));
  EXPECT_EQ(hundredths, 67);
  EXPECT_FALSE(exact);
  for (const char* text : {"", ".", "1.2345.", "1.23456x", "1.234567e3", "-1", "1.234567-"})
    EXPECT_FALSE(parse(text)) << text;
}

TEST(FixDecode, TellsVenueIdsWithLettersApart) {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  ASSERT_TRUE(parse_id("EX-1", a));
  ASSERT_TRUE(parse_id("EX-2", b));
  EXPECT_NE(a, b);
  EXPECT_NE(a >> 63, 0u);
  ASSERT_TRUE(parse_id("00042", a));
  EXPECT_EQ(a, 42u);
  EXPECT_FALSE(parse_id("", a));
}

TEST(FixChecksum, SumsEveryLengthLikeTheDefinition) {
  std::string bytes;
  unsigned sum = 0;
  for (unsigned i = 0; i < 300; ++i) {
    ASSERT_EQ(checksum(bytes), sum % 256) << i;
    bytes.push_back(static_cast<char>(i * 37 + 200));
    sum += static_cast<unsigned char>(bytes.back());
  }
}

}  // namespace
}  // namespace tickpath::fix
