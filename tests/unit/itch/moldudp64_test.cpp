#include "common/feeds/itch/moldudp64.hpp"

#include <gtest/gtest.h>

#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch::mold {
namespace {

using test::Bytes;
using test::from_hex;
using test::to_bytes;
using test::to_hex;

// Session "SESSION001", sequence 0x0102030405060708, two messages: "abc" and "".
constexpr std::string_view kGoldenPacket =
    "53455353494f4e303031"
    "0102030405060708"
    "0002"
    "0003616263"
    "0000";

struct Walked {
  std::vector<std::string> messages;
  PacketHeader header;
  PacketStatus status;
};

Walked walk(std::span<const std::byte> packet) {
  PacketCursor cursor(packet);
  Walked result;
  for (std::span<const std::byte> m; cursor.next(m);) {
    result.messages.emplace_back(reinterpret_cast<const char*>(m.data()), m.size());
  }
  result.header = cursor.header();
  result.status = cursor.status();
  return result;
}

TEST(MoldUdp64, ReadsTheGoldenPacket) {
  const Walked walked = walk(from_hex(kGoldenPacket));
  EXPECT_EQ(walked.status, PacketStatus::kOk);
  EXPECT_EQ(walked.header.session.view(), "SESSION001");
  EXPECT_EQ(walked.header.sequence_number, 0x0102030405060708U);
  EXPECT_EQ(walked.header.message_count, 2);
  EXPECT_EQ(walked.messages, (std::vector<std::string>{"abc", ""}));
}

TEST(MoldUdp64, BuildsTheGoldenPacket) {
  std::array<std::byte, 64> buffer;
  PacketBuilder builder(buffer);
  builder.begin("SESSION001", 0x0102030405060708);
  ASSERT_TRUE(builder.append(to_bytes("abc")));
  ASSERT_TRUE(builder.append({}));
  EXPECT_EQ(builder.message_count(), 2);
  EXPECT_EQ(builder.size_bytes(), 27U);
  EXPECT_EQ(to_hex(builder.finish()), kGoldenPacket);
}

TEST(MoldUdp64, TellsOfEveryTruncationAndReadsNothingBehindTheEnd) {
  const Bytes whole = from_hex(kGoldenPacket);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const test::GuardedCopy copy{std::span<const std::byte>(whole).first(length)};
    const Walked walked = walk(copy.bytes());
    EXPECT_EQ(walked.status, length < kHeaderBytes ? PacketStatus::kTruncatedHeader
                                                   : PacketStatus::kTruncatedMessage)
        << length;
    EXPECT_EQ(walked.messages.size(), length >= 25 ? 1U : 0U) << length;
  }
}

TEST(MoldUdp64, TellsOfBytesBehindTheLastMessage) {
  Bytes packet = from_hex(kGoldenPacket);
  packet.push_back(std::byte{0});
  const Walked walked = walk(packet);
  EXPECT_EQ(walked.status, PacketStatus::kTrailingBytes);
  EXPECT_EQ(walked.messages.size(), 2U);
}

TEST(MoldUdp64, KnowsAHeartbeat) {
  std::array<std::byte, kHeaderBytes> buffer;
  PacketBuilder builder(buffer);
  builder.begin("S", 42);
  const Walked walked = walk(builder.finish());
  EXPECT_TRUE(walked.header.is_heartbeat());
  EXPECT_FALSE(walked.header.is_end_of_session());
  EXPECT_EQ(walked.header.sequence_number, 42U);
  EXPECT_EQ(walked.status, PacketStatus::kOk);
  EXPECT_TRUE(walked.messages.empty());
}

TEST(MoldUdp64, KnowsTheEndOfASession) {
  std::array<std::byte, 64> buffer;
  PacketBuilder builder(buffer);
  builder.begin("S", 43);
  ASSERT_TRUE(builder.append(to_bytes("dropped")));
  const std::span<const std::byte> packet = builder.finish_session();
  EXPECT_EQ(packet.size(), kHeaderBytes);
  const Walked walked = walk(packet);
  EXPECT_TRUE(walked.header.is_end_of_session());
  EXPECT_EQ(walked.header.message_count, 0xffff);
  EXPECT_EQ(walked.header.messages(), 0);
  EXPECT_EQ(walked.status, PacketStatus::kOk);
}

TEST(MoldUdp64, RefusesAMessageThatDoesNotFitAndStaysUsable) {
  std::array<std::byte, kHeaderBytes + 2 + 4> buffer;
  PacketBuilder builder(buffer);
  builder.begin("S", 1);
  EXPECT_FALSE(builder.append(to_bytes("12345")));
  EXPECT_TRUE(builder.append(to_bytes("1234")));
  EXPECT_FALSE(builder.append({}));
  EXPECT_EQ(walk(builder.finish()).messages, (std::vector<std::string>{"1234"}));
  builder.begin("S", 2);
  EXPECT_TRUE(builder.append(to_bytes("6789")));
  EXPECT_EQ(walk(builder.finish()).messages, (std::vector<std::string>{"6789"}));
}

TEST(MoldUdp64, NeverCountsUpToTheEndOfSession) {
  std::vector<std::byte> buffer(kHeaderBytes + 2 * 0x10000);
  PacketBuilder builder(buffer);
  builder.begin("S", 1);
  for (int i = 0; i < 0xfffe; ++i) ASSERT_TRUE(builder.append({}));
  EXPECT_FALSE(builder.append({}));
  EXPECT_FALSE(walk(builder.finish()).header.is_end_of_session());
}

TEST(MoldUdp64, ReadsARequest) {
  const Bytes packet = from_hex("53455353494f4e303031000000000000000a0005");
  PacketHeader request;
  ASSERT_EQ(parse_request(packet, request), PacketStatus::kOk);
  EXPECT_EQ(request, (PacketHeader{"SESSION001", 10, 5}));
  Bytes written(kHeaderBytes);
  store_header(request, written.data());
  EXPECT_EQ(written, packet);
}

TEST(MoldUdp64, RefusesARequestOfAnotherSize) {
  Bytes packet = from_hex("53455353494f4e303031000000000000000a0005");
  PacketHeader request;
  packet.push_back(std::byte{0});
  EXPECT_EQ(parse_request(packet, request), PacketStatus::kTrailingBytes);
  for (std::size_t length = 0; length < kHeaderBytes; ++length) {
    const test::GuardedCopy copy{std::span<const std::byte>(packet).first(length)};
    EXPECT_EQ(parse_request(copy.bytes(), request), PacketStatus::kTruncatedHeader);
  }
}

TEST(MoldUdp64, NamesEveryStatus) {
  EXPECT_EQ(name(PacketStatus::kOk), "ok");
  EXPECT_EQ(name(PacketStatus::kTruncatedHeader), "truncated header");
  EXPECT_EQ(name(PacketStatus::kTruncatedMessage), "truncated message");
  EXPECT_EQ(name(PacketStatus::kTrailingBytes), "trailing bytes");
}

}  // namespace
}  // namespace tickpath::itch::mold
