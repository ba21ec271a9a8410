// DEEP and TOPS messages, byte for byte.
#include "common/feeds/iex/codec.hpp"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tickpath::iex {
namespace {

using Bytes = std::vector<std::byte>;

Bytes hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

template <class Message>
struct Keep {
  Message message{};
  int calls = 0;
  void operator()(const Message& m) noexcept {
    message = m;
    ++calls;
  }
  void operator()(const auto&) noexcept { calls += 1000; }
};

// Laid out by hand after the specification: type, flags, time, symbol, size, price.
TEST(IexMessages, ReadAPriceLevelUpdate) {
  const Bytes bytes =
      hex("3801"
          "aceb9b6d1d6ba414"
          "5a49455854202020"
          "e4250000"
          "241d0f0000000000");
  Keep<BuyLevelUpdate> keep;
  ASSERT_EQ(decode(bytes, keep), DecodeStatus::kOk);
  EXPECT_EQ(keep.calls, 1);
  EXPECT_EQ(keep.message.flags, BuyLevelUpdate::kEventComplete);
  EXPECT_EQ(keep.message.timestamp, 0x14a46b1d6d9bebac);
  EXPECT_EQ(keep.message.symbol.view(), "ZIEXT");
  EXPECT_EQ(keep.message.size, 9'700u);
  EXPECT_EQ(keep.message.price, 990'500);
  std::array<std::byte, kMaxMessageBytes> again;
  EXPECT_EQ(
      Bytes(again.begin(), again.begin() + static_cast<long>(encode(keep.message, again.data()))),
      bytes);
}

TEST(IexMessages, ReadAQuoteUpdate) {
  const Bytes bytes =
      hex("5100"
          "0100000000000000"
          "4942"
          "4d2020202020"
          "64000000"
          "10270000"
          "00000000"
          "744e000000000000"
          "c8000000");
  Keep<QuoteUpdate> keep;
  ASSERT_EQ(decode(bytes, keep), DecodeStatus::kOk);
  EXPECT_EQ(keep.message.symbol.view(), "IBM");
  EXPECT_EQ(keep.message.bid_size, 100u);
  EXPECT_EQ(keep.message.bid_price, 10'000);
  EXPECT_EQ(keep.message.ask_price, 20'084);
  EXPECT_EQ(keep.message.ask_size, 200u);
}

// Every type: fields of different bytes come back as they were, from their own length and from a
// longer message.
TEST(IexMessages, OfEveryTypeComeBackAsTheyWereWritten) {
  int types = 0;
  for (int type = 0; type < 256; ++type) {
    dispatch(static_cast<char>(type), [&]<class Message>() {
      ++types;
      Bytes bytes(Message::kLength + 3);
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
      bytes[0] = static_cast<std::byte>(type);
      Keep<Message> keep;
      ASSERT_EQ(decode(bytes, keep), DecodeStatus::kOk) << name_of(Message::kType);
      EXPECT_EQ(keep.calls, 1);
      std::array<std::byte, kMaxMessageBytes> again;
      ASSERT_EQ(encode(keep.message, again.data()), Message::kLength);
      bytes.resize(Message::kLength);
      EXPECT_EQ(Bytes(again.begin(), again.begin() + Message::kLength), bytes)
          << name_of(Message::kType);
      bytes.pop_back();
      EXPECT_EQ(decode(bytes, keep), DecodeStatus::kTooShort) << name_of(Message::kType);
      EXPECT_EQ(keep.calls, 1);
      EXPECT_NE(name_of(Message::kType), "unknown");
    });
  }
  EXPECT_EQ(types, 14);
}

TEST(IexMessages, OfUnknownTypesAreLeftToTheCaller) {
  Keep<QuoteUpdate> keep;
  EXPECT_EQ(decode(Bytes{}, keep), DecodeStatus::kEmpty);
  EXPECT_EQ(decode(hex("7a00000000000000000000"), keep), DecodeStatus::kUnknownType);
  EXPECT_EQ(keep.calls, 0);
  EXPECT_EQ(name_of('z'), "unknown");
}

}  // namespace
}  // namespace tickpath::iex
