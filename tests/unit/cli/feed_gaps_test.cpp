// What a recording of a feed lacks, by the feed's own numbers.
#include "tools/cli/feed_gaps.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "common/feeds/iex/iex_tp.hpp"
#include "common/feeds/itch/moldudp64.hpp"

namespace tickpath::cli {
namespace {

using Bytes = std::vector<std::byte>;

// A packet of messages without content; 0: a heartbeat.
Bytes packet(std::uint64_t first, std::uint16_t count, const char* session = "SESSION001") {
  Bytes bytes(itch::mold::kHeaderBytes + count * itch::mold::kBlockLengthBytes);
  itch::mold::store_header({itch::mold::Session(session), first, count}, bytes.data());
  return bytes;
}

Bytes segment(std::uint64_t first, std::uint32_t session) {
  Bytes bytes(iex::kSegmentHeaderBytes + 3);
  iex::SegmentBuilder builder(bytes, {.protocol = iex::kDeep10, .channel = 1, .session = session});
  builder.begin(first);
  EXPECT_TRUE(builder.append(std::array{std::byte{'H'}}));
  const auto built = builder.finish(1);
  return {built.begin(), built.end()};
}

TEST(FeedGaps, CountsWhatNeverCameAlsoWhereTheEndSaysSo) {
  FeedGaps gaps;
  gaps.take(packet(1, 2));
  EXPECT_EQ(gaps.missing(), 0u);
  gaps.take(packet(5, 1));
  EXPECT_EQ(gaps.missing(), 2u);
  gaps.take(packet(9, 0));
  EXPECT_EQ(gaps.missing(), 5u);
  EXPECT_EQ(gaps.before(), 0u);
}

TEST(FeedGaps, WhatTheOtherLineBringsIsNotMissing) {
  FeedGaps gaps;
  for (const std::uint64_t first : {1, 10, 4, 4, 5, 2}) gaps.take(packet(first, 1));
  EXPECT_EQ(gaps.missing(), 5u);  // 3, 6 to 9
  gaps.take(packet(2, 9));
  EXPECT_EQ(gaps.missing(), 0u);
}

TEST(FeedGaps, WhatWasSentBeforeTheFirstThatCameIsToldApart) {
  FeedGaps gaps;
  gaps.take(packet(11, 1));
  EXPECT_EQ(gaps.before(), 10u);
  EXPECT_EQ(gaps.missing(), 0u);
  gaps.take(packet(5, 2));  // a line that is late: 7 to 10 were lost, then
  EXPECT_EQ(gaps.before(), 4u);
  EXPECT_EQ(gaps.missing(), 4u);
  gaps.take(packet(1, 10));
  EXPECT_EQ(gaps.before() + gaps.missing(), 0u);
}

TEST(FeedGaps, ANewSessionBeginsAnew) {
  FeedGaps gaps;
  gaps.take(packet(1, 5));
  gaps.take(packet(1, 1, "SESSION002"));
  gaps.take(packet(6, 1));
  gaps.take(segment(1, 1));
  gaps.take(segment(2, 1));
  gaps.take(segment(1, 2));
  EXPECT_EQ(gaps.before() + gaps.missing() + gaps.damaged(), 0u);
  gaps.take(segment(4, 1));
  EXPECT_EQ(gaps.missing(), 1u);
}

TEST(FeedGaps, WhatIsOfNoFeedIsDamaged) {
  FeedGaps gaps;
  Bytes cut = packet(1, 2);
  cut.pop_back();
  gaps.take(cut);
  gaps.take({});
  EXPECT_EQ(gaps.damaged(), 2u);
  EXPECT_EQ(gaps.missing(), 0u);
}

}  // namespace
}  // namespace tickpath::cli
