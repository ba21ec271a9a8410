#include "common/net/setup_frame.hpp"

#include <random>

#include <gmock/gmock.h>

#include "common/wire/names.hpp"
#include "tests/unit/net_secure/fixture.hpp"

namespace tickpath::net {
namespace {

using Status = FrameDecoder::Status;

TEST(SetupFrame, HasItsLengthInFrontLittleEndian) {
  const std::vector<std::byte> frame = encode_frame(bytes_of("abc"));
  EXPECT_THAT(frame, ::testing::ElementsAre(std::byte{3}, std::byte{0}, std::byte{0}, std::byte{0},
                                            std::byte{'a'}, std::byte{'b'}, std::byte{'c'}));
}

TEST(SetupFrame, ComesOutWholeHoweverItWasCut) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> sent;
    std::vector<std::byte> wire;
    for (int i = 0; i < 5; ++i) {
      sent.push_back(std::string(1 + random() % 64, static_cast<char>('a' + i)));
      const std::vector<std::byte> frame = encode_frame(bytes_of(sent.back()));
      wire.insert(wire.end(), frame.begin(), frame.end());
    }
    FrameDecoder decoder(64);
    std::vector<std::string> got;
    for (std::size_t at = 0; at < wire.size();) {
      const std::size_t step = std::min<std::size_t>(1 + random() % 9, wire.size() - at);
      decoder.append(std::span(wire).subspan(at, step));
      at += step;
      for (; decoder.status() == Status::kFrame; decoder.pop())
        got.push_back(text_of(decoder.frame()));
      ASSERT_NE(decoder.status(), Status::kBad);
    }
    ASSERT_EQ(got, sent) << "round " << round;
    ASSERT_EQ(decoder.buffered_bytes(), 0u);
  }
}

TEST(SetupFrame, OfLengthZeroIsBad) {
  FrameDecoder decoder(64);
  decoder.append(std::vector<std::byte>(4));
  EXPECT_EQ(decoder.status(), Status::kBad);
}

TEST(SetupFrame, AboveTheLimitIsBadBeforeItsBytesCome) {
  FrameDecoder decoder(64);
  std::vector<std::byte> frame = encode_frame(bytes_of(std::string(65, 'x')));
  frame.resize(kFrameHeaderBytes);
  decoder.append(frame);
  EXPECT_EQ(decoder.status(), Status::kBad);
  EXPECT_TRUE(decoder.frame().empty());
}

TEST(SetupFrame, AtTheLimitIsTaken) {
  FrameDecoder decoder(64);
  decoder.append(encode_frame(bytes_of(std::string(64, 'x'))));
  EXPECT_EQ(decoder.status(), Status::kFrame);
}

TEST(SetupFrame, IsToldFromATlsRecord) {
  FrameDecoder hello(64);
  hello.append(bytes_of("\x16\x03\x01\x02"));
  EXPECT_TRUE(hello.looks_like_tls());
  FrameDecoder plain(64);
  plain.append(encode_frame(Greeting{}.encode()));
  EXPECT_FALSE(plain.looks_like_tls());
}

TEST(Greeting, ReadsBackWhatItWrote) {
  Greeting greeting{.kind = Greeting::Kind::kRefusal, .mode = 3, .role = "strategy", .text = "no"};
  std::string why;
  const auto parsed = parse_greeting(greeting.encode(), why);
  ASSERT_TRUE(parsed) << why;
  EXPECT_EQ(parsed->kind, Greeting::Kind::kRefusal);
  EXPECT_EQ(parsed->mode, 3);
  EXPECT_EQ(parsed->role, "strategy");
  EXPECT_EQ(parsed->text, "no");
}

TEST(Greeting, OfAnyShorterLengthIsRefused) {
  const std::vector<std::byte> whole = Greeting{}.encode();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::string why;
    EXPECT_FALSE(parse_greeting(std::span(whole).first(length), why)) << length;
    EXPECT_FALSE(why.empty());
  }
}

TEST(Greeting, OfAnotherVersionSaysWhich) {
  std::vector<std::byte> bytes = Greeting{}.encode();
  bytes[4] = std::byte{9};
  std::string why;
  EXPECT_FALSE(parse_greeting(bytes, why));
  EXPECT_THAT(why, ::testing::HasSubstr("version 9"));
}

TEST(Roles, AreTheWiresRolesByTheSameNames) {
  for (std::uint8_t value = 1; value <= kRoles.size(); ++value)
    EXPECT_TRUE(is_role(wire::name(static_cast<wire::Role>(value)))) << int{value};
  EXPECT_EQ(wire::name(static_cast<wire::Role>(kRoles.size() + 1)), "?");
  EXPECT_FALSE(is_role("root"));
  EXPECT_FALSE(is_role(""));
}

}  // namespace
}  // namespace tickpath::net
