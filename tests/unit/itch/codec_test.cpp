
#include <set>

#include <gtest/gtest.h>

#include "tests/unit/itch/golden_messages.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch {
namespace {

using test::Bytes;
using test::from_hex;
using test::to_hex;

static_assert(std::tuple_size_v<decltype(test::kGolden)> == kMessageTypes);

template <class Visit>
void for_each_golden(Visit visit) {
  std::apply([&visit](const auto&... golden) { (visit(golden), ...); }, test::kGolden);
}

TEST(ItchCodec, EncodesEveryMessageToItsGoldenBytes) {
  for_each_golden([]<class Message>(const test::Golden<Message>& golden) {
    EXPECT_EQ(to_hex(test::encoded(golden.message)), golden.hex) << name_of(Message::kType);
  });
}

TEST(ItchCodec, DecodesEveryFieldOfTheGoldenBytes) {
  for_each_golden([]<class Message>(const test::Golden<Message>& golden) {
    bool called = false;
    const DecodeStatus status = decode(from_hex(golden.hex), [&](const auto& decoded) {
      called = true;
      if constexpr (std::is_same_v<std::decay_t<decltype(decoded)>, Message>) {
        EXPECT_TRUE(decoded == golden.message) << name_of(Message::kType);
      } else {
        ADD_FAILURE() << "another type's handler for " << Message::kType;
      }
    });
    EXPECT_EQ(status, DecodeStatus::kOk);
    EXPECT_TRUE(called);
  });
}

TEST(ItchCodec, RefusesEveryOtherLengthAndReadsNothingBehindTheEnd) {
  for_each_golden([]<class Message>(const test::Golden<Message>& golden) {
    Bytes padded = from_hex(golden.hex);
    padded.resize(kMaxMessageBytes + 2);
    for (std::size_t length = 0; length <= padded.size(); ++length) {
      const test::GuardedCopy copy{std::span<const std::byte>(padded).first(length)};
      DecodeStatus status;
      const Bytes again = test::decoded_and_encoded(copy.bytes(), status);
      const DecodeStatus expected = length == 0                  ? DecodeStatus::kEmpty
                                    : length == Message::kLength ? DecodeStatus::kOk
                                                                 : DecodeStatus::kWrongLength;
      EXPECT_EQ(status, expected) << Message::kType << " with " << length << " bytes";
      EXPECT_EQ(to_hex(again), expected == DecodeStatus::kOk ? golden.hex : "");
    }
  });
}

TEST(ItchCodec, RefusesEveryOtherType) {
  std::set<char> known;
  for_each_golden([&known]<class Message>(const test::Golden<Message>&) {
    known.insert(Message::kType);
    EXPECT_EQ(length_of(Message::kType), Message::kLength);
    EXPECT_NE(name_of(Message::kType), "unknown") << Message::kType;
  });
  ASSERT_EQ(known.size(), kMessageTypes);
  for (int value = 0; value < 256; ++value) {
    const char type = static_cast<char>(value);
    if (known.contains(type)) continue;
    Bytes message(36);
    message[0] = static_cast<std::byte>(value);
    DecodeStatus status;
    EXPECT_TRUE(test::decoded_and_encoded(message, status).empty());
    EXPECT_EQ(status, DecodeStatus::kUnknownType) << value;
    EXPECT_EQ(length_of(type), 0U);
    EXPECT_EQ(name_of(type), "unknown");
  }
}

TEST(ItchCodec, ReadsHeaderFieldsInPlace) {
  const Bytes message = from_hex(std::get<0>(test::kGolden).hex);
  EXPECT_EQ(message_type(message.data()), 'S');
  EXPECT_EQ(stock_locate(message.data()), 0x1234);
  EXPECT_EQ(timestamp_ns(message.data()), 0x1f1ade2cb3a1U);
}

TEST(ItchCodec, KeepsTheLargestTimestampAndCutsWhatDoesNotFit) {
  OrderDelete message{
      .header = {.stock_locate = 0xffff, .tracking_number = 0xffff, .timestamp = 0xffff'ffff'ffff}};
  EXPECT_EQ(decode_as<OrderDelete>(test::encoded(message).data()), message);
  message.header.timestamp = 0x1'0000'0000'0001;
  const OrderDelete cut = decode_as<OrderDelete>(test::encoded(message).data());
  EXPECT_EQ(cut.header.timestamp, 1U);
  EXPECT_EQ(cut.header.tracking_number, 0xffff);
}

struct CountingHandler {
  int adds = 0;
  int others = 0;
  void operator()(const AddOrder&) noexcept { ++adds; }
  void operator()(const auto&) noexcept { ++others; }
};

TEST(ItchCodec, DeliversToTheHandlerOfTheTypeAndToNoOther) {
  CountingHandler handler;
  EXPECT_EQ(decode(test::encoded(AddOrder{}), handler), DecodeStatus::kOk);
  EXPECT_EQ(decode(test::encoded(AddOrderMpid{}), handler), DecodeStatus::kOk);
  EXPECT_EQ(decode(Bytes{}, handler), DecodeStatus::kEmpty);
  EXPECT_EQ(handler.adds, 1);
  EXPECT_EQ(handler.others, 1);
}

TEST(ItchCodec, NamesEveryStatus) {
  EXPECT_EQ(name(DecodeStatus::kOk), "ok");
  EXPECT_EQ(name(DecodeStatus::kEmpty), "empty");
  EXPECT_EQ(name(DecodeStatus::kUnknownType), "unknown type");
  EXPECT_EQ(name(DecodeStatus::kWrongLength), "wrong length");
}

TEST(ItchAlpha, PadsWithSpacesAndCutsWhatIsTooLong) {
  EXPECT_EQ(Stock("AAPL").view(), "AAPL");
  EXPECT_EQ(std::string(Stock("AAPL").characters.data(), 8), "AAPL    ");
  EXPECT_EQ(Mpid("TOOLONG").view(), "TOOL");
  EXPECT_EQ(Stock().view(), "");
  EXPECT_EQ(Stock("A B").view(), "A B");
}

TEST(ItchHeader, KnowsTheSideOfAnIndicator) {
  EXPECT_EQ(side_of('B'), Side::kBuy);
  EXPECT_EQ(side_of('S'), Side::kSell);
  EXPECT_EQ(indicator_of(Side::kBuy), 'B');
  EXPECT_EQ(indicator_of(Side::kSell), 'S');
}

}  // namespace
}  // namespace tickpath::itch
