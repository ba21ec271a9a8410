// When a message of a recording is due.
#include "sim/replay/pace.hpp"

#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "recorded.hpp"

namespace tickpath::sim {
namespace {

constexpr std::uint64_t kMillisecondNs = 1'000'000;

TEST(TimeOfDay, ReadsHoursMinutesSecondsAndFractions) {
  EXPECT_EQ(parse_time_of_day("09:30"), kOpenNs);
  EXPECT_EQ(parse_time_of_day("09:30:01.25"), kOpenNs + 1'250'000'000);
  EXPECT_EQ(parse_time_of_day("00:00:00.000000001"), 1u);
  EXPECT_EQ(parse_time_of_day("105:30"), kOpenNs + 4 * 86'400'000 * kMillisecondNs)
      << "of the fifth day";
  EXPECT_EQ(format_time_of_day(kOpenNs + 1'250'000'000), "09:30:01.250");
}

TEST(TimeOfDay, IsOfTheDayAtHandUnlessItCountsFromTheFirst) {
  constexpr std::uint64_t kDay = 86'400'000 * kMillisecondNs;
  EXPECT_EQ(on_day_of(0, kOpenNs), kOpenNs);
  EXPECT_EQ(on_day_of(kOpenNs - 1, kOpenNs), kOpenNs);
  EXPECT_EQ(on_day_of(4 * kDay + 1, kOpenNs), 4 * kDay + kOpenNs);
  EXPECT_EQ(on_day_of(4 * kDay + 1, 5 * kDay + kOpenNs), 5 * kDay + kOpenNs);
}

TEST(TimeOfDay, RefusesEverythingElse) {
  for (const char* text :
       {"", "9:30", "09:60", "1234567:00", "09-30", "09:30:", "09:30:61", "09:30:00.",
        "09:30:00.1234567890", "09:30:00,5", "09:30:00.x", "ab:cd", "09:30x"})
    EXPECT_THROW(parse_time_of_day(text), Error) << text;
}

TEST(Pace, KeepsTheRecordedTimesAtSpeedOne) {
  Pace pace({});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 5 * kMillisecondNs), 5 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + 5 * kMillisecondNs), 5 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + 3'600'000 * kMillisecondNs), 3'600'000 * kMillisecondNs);
}

TEST(Pace, DividesTheRecordedTimesByTheSpeed) {
  Pace pace({.speed = 10.0});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_NEAR(static_cast<double>(pace.due(kOpenNs + 100 * kMillisecondNs)), 10.0 * kMillisecondNs,
              2);
}

TEST(Pace, CutsSilencesAndIgnoresTimesThatRunBackwards) {
  Pace pace({.max_idle_ns = 10 * kMillisecondNs});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 3'600'000 * kMillisecondNs), 10 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs), 10 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + 3'600'004 * kMillisecondNs), 14 * kMillisecondNs);
}

TEST(Pace, GoesOnWithADayThatBeginsWhereTheLastOneEnded) {
  Pace pace({});
  EXPECT_EQ(pace.due(kOpenNs, true), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 5 * kMillisecondNs), 5 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs, true), 5 * kMillisecondNs) << "no night";
  EXPECT_EQ(pace.due(kOpenNs + 3 * kMillisecondNs), 8 * kMillisecondNs);
}

TEST(Pace, FromSomeTimeOnTheFirstDayPlaysAllOfTheOthers) {
  constexpr std::uint64_t kDay = 86'400'000 * kMillisecondNs;
  Pace pace({.rate = 1'000, .from_ns = kOpenNs + 4'000 * kMillisecondNs});
  EXPECT_EQ(pace.due(kOpenNs, true), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 4'000 * kMillisecondNs), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 7'000 * kMillisecondNs), 3'000 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + kDay, true), 3'000 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + kDay + 4'000 * kMillisecondNs), 7'000 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + 3'999 * kMillisecondNs), 7'000 * kMillisecondNs)
      << "a clock that runs back";
}

TEST(Pace, BeginsWithTheFirstMessageThatHasATime) {
  Pace pace({});
  EXPECT_EQ(pace.due(0), 0u);
  EXPECT_EQ(pace.due(kOpenNs), 0u) << "not half a day later";
  EXPECT_EQ(pace.due(kOpenNs + 5 * kMillisecondNs), 5 * kMillisecondNs);
}

TEST(Pace, SeeksIntoAnotherDay) {
  constexpr std::uint64_t kDay = 86'400'000 * kMillisecondNs;
  Pace pace({.rate = 1'000'000, .burst = 1});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  pace.seek(kOpenNs + kDay + 2 * kMillisecondNs, 5 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + 8 * kMillisecondNs), 5 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + kDay, true), 5 * kMillisecondNs + 1'000);
  EXPECT_EQ(pace.due(kOpenNs + kDay + 3 * kMillisecondNs), 5 * kMillisecondNs + 1'000);
  EXPECT_EQ(pace.due(kOpenNs + kDay + 7 * kMillisecondNs), 9 * kMillisecondNs + 1'000);
}

TEST(Pace, MaxSendsBurstsAtTheRate) {
  Pace pace({.mode = PaceMode::kMax, .rate = 1'000, .burst = 2});
  EXPECT_EQ(pace.due(0), 0u);
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_EQ(pace.due(0), 2 * kMillisecondNs);
  EXPECT_EQ(pace.due(0), 2 * kMillisecondNs);
  EXPECT_EQ(pace.due(0), 4 * kMillisecondNs);
  Pace unlimited({.mode = PaceMode::kMax});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(unlimited.due(kOpenNs), 0u);
}

TEST(Pace, SendsWhatIsBeforeFromAtTheRateAndEndsAfterTo) {
  Pace pace({.rate = 1'000, .from_ns = kOpenNs, .to_ns = kOpenNs + 10 * kMillisecondNs});
  EXPECT_EQ(pace.due(1), 0u);
  EXPECT_EQ(pace.due(2), 1 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + 5 * kMillisecondNs), 1 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + 7 * kMillisecondNs), 3 * kMillisecondNs);
  EXPECT_FALSE(pace.past_end(kOpenNs + 10 * kMillisecondNs));
  EXPECT_TRUE(pace.past_end(kOpenNs + 10 * kMillisecondNs + 1));
}

TEST(Pace, SeeksAtTheRateAndGoesOnAtTheRecordedPace) {
  Pace pace({.rate = 1'000'000, .burst = 1});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_EQ(pace.due(kOpenNs + kMillisecondNs), kMillisecondNs);
  pace.seek(kOpenNs + 60 * kMillisecondNs, 5 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + 20 * kMillisecondNs), 5 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + 40 * kMillisecondNs), 5 * kMillisecondNs + 1'000);
  EXPECT_EQ(pace.due(kOpenNs + 60 * kMillisecondNs), 5 * kMillisecondNs + 1'000);
  EXPECT_EQ(pace.due(kOpenNs + 63 * kMillisecondNs), 8 * kMillisecondNs + 1'000);
}

TEST(Pace, ASeekForgetsHowFarAwayTheNextMessageWas) {
  Pace pace({.rate = 1'000'000, .burst = 1});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 900 * kMillisecondNs), 900 * kMillisecondNs);  // not sent yet
  pace.seek(kOpenNs + 2'000 * kMillisecondNs, 5 * kMillisecondNs);
  EXPECT_EQ(pace.due(kOpenNs + 900 * kMillisecondNs), 5 * kMillisecondNs);
}

}  // namespace
}  // namespace tickpath::sim
