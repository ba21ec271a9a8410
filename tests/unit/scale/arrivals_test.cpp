#include "tools/scale/arrivals.hpp"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "common/feeds/generator/generator.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::scale {
namespace {

FeedModel bursty() {
  FeedModel feed;
  feed.rate = 8e6;
  feed.packet_messages = 8;
  feed.burst_factor = 10;
  feed.burst_share = 0.05;
  feed.burst_ns = 1'000'000;
  return feed;
}

// Packets of one second: a Poisson count of n has the standard deviation of its root.
TEST(BurstArrivals, HaveTheMeanRateAndThatOfBurstsInThem) {
  BurstArrivals arrivals(bursty(), 11);
  std::uint64_t all = 0;
  std::uint64_t in_bursts = 0;
  for (Picoseconds last = 0, at; (at = arrivals.next()) < picoseconds(1); last = at) {
    ASSERT_GE(at, last);
    ++all;
    if (at % picoseconds(20e-3) >= picoseconds(19e-3)) ++in_bursts;
  }
  EXPECT_NEAR(static_cast<double>(all), 1e6, 4e3);
  EXPECT_NEAR(static_cast<double>(in_bursts), 5e5, 3e3);
}

TEST(BurstArrivals, WithoutBurstsAreAPoissonProcess) {
  FeedModel feed;
  feed.rate = 1e6;
  feed.packet_messages = 1;
  BurstArrivals arrivals(feed, 5);
  constexpr int kCount = 200'000;
  double sum = 0;
  double squares = 0;
  Picoseconds last = 0;
  for (int i = 0; i < kCount; ++i) {
    const Picoseconds at = arrivals.next();
    const double gap = static_cast<double>(at - last) * 1e-6;  // of the mean
    sum += gap;
    squares += gap * gap;
    last = at;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 1, 0.01);
  EXPECT_NEAR(squares / kCount - mean * mean, 1, 0.03);  // as long as its mean
}

TEST(BurstArrivals, AllInBurstsIsNoDivisionByNothing) {
  FeedModel feed = bursty();
  feed.burst_factor = 1;
  feed.burst_share = 1;
  BurstArrivals whole(feed, 1);
  feed.burst_factor = 20;
  feed.burst_share = 0.05;  // nothing in between
  BurstArrivals bursts(feed, 1);
  for (int i = 0; i < 1'000; ++i) {
    (void)whole.next();
    EXPECT_GE(bursts.next() % picoseconds(20e-3), picoseconds(19e-3));
  }
  EXPECT_NEAR(static_cast<double>(whole.next()) * 1e-12, 1e-3, 0.2e-3);
}

TEST(RecordedArrivals, KeepTheGapsOfARecordingInTheScaleThatIsAskedFor) {
  FeedModel feed;
  feed.rate = 2e6;
  feed.packet_messages = 2;
  // Packets leave at 10, 20 and 40: gaps of one and two, three in two mean gaps of a microsecond.
  RecordedArrivals arrivals(feed, {0, 10, 15, 20, 30, 40, 50});
  const Picoseconds first = arrivals.next();
  EXPECT_EQ(first, 0u);
  EXPECT_NEAR(static_cast<double>(arrivals.next()), 2e6 / 3, 2);
  EXPECT_NEAR(static_cast<double>(arrivals.next()), 2e6, 2);
  EXPECT_NEAR(static_cast<double>(arrivals.next()), 3e6, 2);  // from its start again
}

TEST(RecordedArrivals, RefuseWhatHasNoGaps) {
  FeedModel feed;
  feed.packet_messages = 2;
  EXPECT_THAT(test_support::error_of<Error>([&] {
                RecordedArrivals(feed, {1, 2, 3});
              }),
              testing::HasSubstr("too few messages"));
  EXPECT_THAT(test_support::error_of<Error>([&] {
                RecordedArrivals(feed, {1, 5, 5, 5, 5});
              }),
              testing::HasSubstr("two packets of 2 messages at different times"));
}

TEST(RecordedArrivals, ReadTheTimesOfAnyRecording) {
  const test_support::Folder folder;
  itch::GeneratorOptions options;
  options.messages = 500;
  options.symbols = 3;
  {
    itch::Generator generator(options);
    itch::BinaryFileWriter file(folder / "day.itch50");
    itch::RecordedMessage message;
    while (generator.next(message) == itch::ReadStatus::kMessage) file.write(message.bytes);
    file.finish();
  }
  EXPECT_EQ(times_of_recording(folder / "day.itch50", 1'000).size(), 500u);
  const std::vector<std::uint64_t> times = times_of_recording(folder / "day.itch50", 300);
  EXPECT_EQ(times.size(), 300u);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  std::ofstream(folder / "not.itch50") << "no recording at all, whatever its name says";
  EXPECT_NE(test_support::error_of<Error>([&] {
              const auto none = times_of_recording(folder / "not.itch50", 10);
              RecordedArrivals({}, none);
            }),
            "no error");
}

}  // namespace
}  // namespace tickpath::scale
