// IEX-TP segments: whole, and damaged in every way.
#include "common/feeds/iex/iex_tp.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickpath::iex {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Bytes = std::vector<std::byte>;

// The payload as texts, one a message.
Bytes segment(const std::vector<std::string>& messages, SegmentHeader header = {}) {
  Bytes bytes(kSegmentHeaderBytes);
  for (const std::string& message : messages) {
    bytes.push_back(static_cast<std::byte>(message.size() & 0xff));
    bytes.push_back(static_cast<std::byte>(message.size() >> 8));
    for (const char each : message) bytes.push_back(static_cast<std::byte>(each));
  }
  header.payload_bytes = static_cast<std::uint16_t>(bytes.size() - kSegmentHeaderBytes);
  header.message_count = static_cast<std::uint16_t>(messages.size());
  store_header(header, bytes.data());
  return bytes;
}

std::vector<std::string> messages_of(SegmentCursor& cursor) {
  std::vector<std::string> texts;
  for (std::span<const std::byte> message; cursor.next(message);)
    texts.emplace_back(reinterpret_cast<const char*>(message.data()), message.size());
  return texts;
}

TEST(IexTp, WalksTheMessagesInOrder) {
  const Bytes bytes = segment({"one", "", "three"}, {.protocol = kDeep10,
                                                     .channel = 1,
                                                     .session = 0x53a40000,
                                                     .stream_offset = 1 << 20,
                                                     .first_sequence_number = 77,
                                                     .send_time_ns = 1'784'000'000'000'000'000});
  SegmentCursor cursor(bytes);
  EXPECT_THAT(messages_of(cursor), ElementsAre("one", "", "three"));
  EXPECT_EQ(cursor.status(), SegmentStatus::kOk);
  const SegmentHeader& header = cursor.header();
  EXPECT_EQ(header.protocol, kDeep10);
  EXPECT_EQ(header.channel, 1u);
  EXPECT_EQ(header.session, 0x53a40000u);
  EXPECT_EQ(header.payload_bytes, 14u);
  EXPECT_EQ(header.message_count, 3u);
  EXPECT_EQ(header.stream_offset, 1u << 20);
  EXPECT_EQ(header.first_sequence_number, 77u);
  EXPECT_EQ(header.send_time_ns, 1'784'000'000'000'000'000u);
  EXPECT_FALSE(header.is_heartbeat());
}

// Bytes as the specification lays them out, by hand.
TEST(IexTp, ReadsTheFieldsAtTheirOffsets) {
  Bytes bytes(kSegmentHeaderBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  bytes[0] = std::byte{1};
  bytes[12] = bytes[13] = std::byte{0};
  const SegmentHeader header = SegmentCursor(bytes).header();
  EXPECT_EQ(header.protocol, 0x0302u);
  EXPECT_EQ(header.channel, 0x07060504u);
  EXPECT_EQ(header.session, 0x0b0a0908u);
  EXPECT_EQ(header.message_count, 0x0f0eu);
  EXPECT_EQ(header.stream_offset, 0x1716151413121110u);
  EXPECT_EQ(header.first_sequence_number, 0x1f1e1d1c1b1a1918u);
  EXPECT_EQ(header.send_time_ns, 0x2726252423222120u);
}

TEST(IexTp, TakesASegmentWithoutMessagesForAHeartbeat) {
  const Bytes bytes = segment({}, {.first_sequence_number = 5});
  SegmentCursor cursor(bytes);
  EXPECT_TRUE(cursor.header().is_heartbeat());
  EXPECT_EQ(cursor.header().first_sequence_number, 5u);
  EXPECT_THAT(messages_of(cursor), IsEmpty());
  EXPECT_EQ(cursor.status(), SegmentStatus::kOk);
}

TEST(IexTp, DeliversWholeMessagesBeforeADamageAndTellsOfIt) {
  const Bytes whole = segment({"one", "two"});
  const auto judge = [](Bytes bytes, std::vector<std::string> expected, SegmentStatus status) {
    SegmentCursor cursor(bytes);
    EXPECT_EQ(messages_of(cursor), expected);
    EXPECT_EQ(cursor.status(), status) << name(cursor.status());
  };
  judge(Bytes(whole.begin(), whole.begin() + 39), {}, SegmentStatus::kTruncatedHeader);
  judge({}, {}, SegmentStatus::kTruncatedHeader);
  Bytes damaged = whole;
  damaged[0] = std::byte{2};
  judge(damaged, {}, SegmentStatus::kUnknownVersion);
  damaged = whole;
  damaged.pop_back();  // the datagram is shorter than its header says
  judge(damaged, {"one"}, SegmentStatus::kWrongLength);
  damaged = whole;
  damaged.push_back(std::byte{0});
  judge(damaged, {"one", "two"}, SegmentStatus::kWrongLength);
  damaged = whole;
  damaged[kSegmentHeaderBytes + 5] = std::byte{200};  // the second block's length
  judge(damaged, {"one"}, SegmentStatus::kTruncatedMessage);
  damaged = whole;
  damaged[14] = std::byte{3};  // messages
  judge(damaged, {"one", "two"}, SegmentStatus::kTruncatedMessage);
  damaged[14] = std::byte{1};
  judge(damaged, {"one"}, SegmentStatus::kTrailingBytes);
  damaged[14] = std::byte{0};
  judge(damaged, {}, SegmentStatus::kTrailingBytes);
}

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(IexTpBuilder, BuildsWhatTheCursorReadsAndKeepsTheStreamOffset) {
  std::array<std::byte, 256> buffer;
  SegmentBuilder builder(buffer, {.protocol = kDeep10, .channel = 1, .session = 77});
  builder.begin(1);
  ASSERT_TRUE(builder.append(bytes_of("first")));
  ASSERT_TRUE(builder.append(bytes_of("")));
  for (int again = 0; again < 2; ++again) {  // a socket that was full: the same segment once more
    SegmentCursor segment(builder.finish(1'000));
    EXPECT_EQ(segment.header(), (SegmentHeader{.protocol = kDeep10,
                                               .channel = 1,
                                               .session = 77,
                                               .payload_bytes = 9,
                                               .message_count = 2,
                                               .stream_offset = 0,
                                               .first_sequence_number = 1,
                                               .send_time_ns = 1'000}));
    std::span<const std::byte> message;
    ASSERT_TRUE(segment.next(message));
    EXPECT_TRUE(std::ranges::equal(message, bytes_of("first")));
    ASSERT_TRUE(segment.next(message));
    EXPECT_TRUE(message.empty());
    EXPECT_FALSE(segment.next(message));
    EXPECT_EQ(segment.status(), SegmentStatus::kOk);
  }
  for (int beat = 0; beat < 2; ++beat) {
    builder.begin(3);
    const SegmentCursor heartbeat(builder.finish(2'000));
    EXPECT_TRUE(heartbeat.header().is_heartbeat());
    EXPECT_EQ(heartbeat.header().first_sequence_number, 3u);
    EXPECT_EQ(heartbeat.header().stream_offset, 9u);
    EXPECT_EQ(heartbeat.status(), SegmentStatus::kOk);
  }
  ASSERT_TRUE(builder.append(bytes_of("x")));
  EXPECT_EQ(SegmentCursor(builder.finish(3'000)).header().stream_offset, 9u);
}

TEST(IexTpBuilder, RefusesWhatDoesNotFitAndStaysAsItWas) {
  std::array<std::byte, kSegmentHeaderBytes + 10> buffer;
  SegmentBuilder builder(buffer, {.protocol = kDeep10});
  builder.begin(1);
  EXPECT_FALSE(builder.append(bytes_of("123456789")));
  EXPECT_EQ(builder.message_count(), 0u);
  EXPECT_TRUE(builder.append(bytes_of("12345678")));
  EXPECT_FALSE(builder.append({}));
  EXPECT_EQ(builder.message_count(), 1u);
  EXPECT_EQ(builder.finish(0).size(), buffer.size());
}

}  // namespace
}  // namespace tickpath::iex
