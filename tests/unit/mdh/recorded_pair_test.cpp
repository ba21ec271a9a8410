// A real pair of redundant channels (CME MDP 3.0, 224.0.31.64 and 224.0.32.64): when each packet
// arrived on each, with messages of ours in the place of the venue's.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>

#include "common/files/byte_source.hpp"
#include "common/files/packet_capture.hpp"
#include "mdh/arbiter.hpp"
#include "tests/support/recordings.hpp"
#include "tests/unit/mdh/feed_fixture.hpp"

namespace tickpath::mdh::test {
namespace {

constexpr std::uint32_t kChannelA = 0xe000'1f40;  // 224.0.31.64
constexpr std::uint32_t kChannelB = 0xe000'2040;  // 224.0.32.64

struct Arrived {
  std::uint64_t time_ns;
  std::uint64_t number;  // from 1
  Line line;
};

// CME MDP 3.0, "Binary Packet Header": 0 sequence number (4, little-endian) | 4 sending time (8).
std::vector<Arrived> read_pair(const std::filesystem::path& path) {
  std::vector<Arrived> all;
  files::PacketCapture capture(files::open_file(path));
  files::Datagram datagram;
  while (capture.next(datagram) == files::CaptureStatus::kDatagram) {
    const bool a = datagram.destination_address == kChannelA;
    if (!a && datagram.destination_address != kChannelB) continue;
    std::uint32_t number = 0;
    std::memcpy(&number, datagram.payload.data(), sizeof number);
    all.push_back({datagram.time_ns, number, a ? Line::kA : Line::kB});
  }
  EXPECT_EQ(capture.damage(), "");
  std::ranges::stable_sort(all, {}, &Arrived::time_ns);
  const std::uint64_t first = std::ranges::min_element(all, {}, &Arrived::number)->number;
  for (Arrived& each : all) each.number -= first - 1;
  return all;
}

class RecordedPair : public FeedTest {
 protected:
  RecordedPair() : FeedTest(roomy_options()), arbiter({}, feed, nullptr, nullptr, log) {}
  void SetUp() override {
    const auto recorded = test_support::data_folder() / "cme/MDP3_AB_pair.pcap";
    TICKPATH_NEED_DATA(recorded);
    pair = read_pair(recorded);
    ASSERT_EQ(pair.size(), 10'000u);
  }
  // As on the network, at the recorded times; packets for which `lost` is true are not delivered.
  void replay(const std::function<bool(const Arrived&)>& lost) {
    const std::uint64_t start = pair.front().time_ns;
    for (const Arrived& each : pair) {
      if (lost(each)) continue;
      const TscTicks at = converter.from_ns(1'000'000'000 + each.time_ns - start);
      first_here.try_emplace(each.number, at, each.line);
      const auto price = static_cast<std::uint32_t>(1'000 + each.number % 1'000);
      const Bytes bytes = packet("S", each.number, {add(1, "ES", each.number, 'B', 1, price)});
      arbiter.collect(each.line, bytes, {0, at});
      arbiter.process(at);
    }
  }
  // Every message once, in order, and stamped with its earliest arrival.
  void expect_each_once_from_the_first() {
    std::uint64_t expected = 1;
    for (const wire::BookUpdate& update : sink.updates) {
      if (update.kind != wire::UpdateKind::kAdd) continue;
      ASSERT_EQ(update.trace_id, expected);
      ASSERT_EQ(update.received_tsc, first_here.at(expected).first.value) << expected;
      ++expected;
    }
    EXPECT_EQ(expected, 5'001u);
    EXPECT_EQ(feed.counters().gaps.get(), 0u);
    EXPECT_EQ(feed.state(), wire::FeedState::kGood);
  }
  std::uint64_t first_on(Line line) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        first_here, [&](const auto& each) { return each.second.second == line; }));
  }
  const LineCounters& counted(Line line) const {
    return arbiter.counters().lines[static_cast<std::size_t>(line)];
  }

  clock::TickConverter converter;
  Arbiter arbiter;
  std::vector<Arrived> pair;
  std::map<std::uint64_t, std::pair<TscTicks, Line>> first_here;
};

TEST_F(RecordedPair, EachMessageComesOnceInOrderFromWhicheverChannelHadItFirst) {
  replay([](const Arrived&) { return false; });
  expect_each_once_from_the_first();
  // By the capture's clock, counted apart from this code: A came first 193 times, and no two
  // arrivals are of one nanosecond.
  EXPECT_EQ(first_on(Line::kA), 193u);
  EXPECT_EQ(counted(Line::kA).first.get(), 193u);
  EXPECT_EQ(counted(Line::kB).first.get(), 4'807u);
  EXPECT_EQ(counted(Line::kA).repeated.get(), 4'807u);
  EXPECT_EQ(counted(Line::kB).repeated.get(), 193u);
  EXPECT_EQ(counted(Line::kA).missing.get() + counted(Line::kB).missing.get(), 0u);
}

TEST_F(RecordedPair, WhatOneChannelLosesComesFromTheOther) {
  // One in seven of A, one in five of B, never both.
  replay([](const Arrived& each) {
    return each.line == Line::kA ? each.number % 7 == 3
                                 : each.number % 5 == 1 && each.number % 7 != 3;
  });
  expect_each_once_from_the_first();
  EXPECT_EQ(first_on(Line::kA) + first_on(Line::kB), 5'000u);
  EXPECT_GT(first_on(Line::kA), 600u) << "what B lost";
}

}  // namespace
}  // namespace tickpath::mdh::test
