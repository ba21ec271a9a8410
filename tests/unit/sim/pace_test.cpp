// When a replay sends what: times of day, and the pace.
#include "sim/replay/pace.hpp"

#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "recorded.hpp"
#include "sim/replay/time_of_day.hpp"

namespace tickpath::sim::paces {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(TimeOfDay, ReadsHoursMinutesSecondsAndFractions) {
  EXPECT_EQ(parse_time_of_day("09:30"), kOpenNs);
  EXPECT_EQ(parse_time_of_day("09:30:01.25"), kOpenNs + 1'250'000'000);
  EXPECT_EQ(parse_time_of_day("00:00:00.000000001"), 1u);
  EXPECT_EQ(parse_time_of_day("105:30"), kOpenNs + 4 * 86'400'000 * kMs) << "of the fifth day";
  EXPECT_EQ(format_time_of_day(kOpenNs + 1'250'000'000), "09:30:01.250");
}

TEST(TimeOfDay, IsOfTheDayAtHandUnlessItCountsFromTheFirst) {
  constexpr std::uint64_t kDay = 86'400'000 * kMs;
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
  EXPECT_EQ(pace.due(kOpenNs + 5 * kMs), 5 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + 5 * kMs), 5 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + 3'600'000 * kMs), 3'600'000 * kMs);
}

TEST(Pace, DividesTheRecordedTimesByTheSpeed) {
  Pace pace({.speed = 10.0});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_NEAR(static_cast<double>(pace.due(kOpenNs + 100 * kMs)), 10.0 * kMs, 2);
}

TEST(Pace, CutsSilencesAndIgnoresTimesThatRunBackwards) {
  Pace pace({.max_idle_ns = 10 * kMs});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 3'600'000 * kMs), 10 * kMs);
  EXPECT_EQ(pace.due(kOpenNs), 10 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + 3'600'004 * kMs), 14 * kMs);
}

TEST(Pace, GoesOnWithADayThatBeginsWhereTheLastOneEnded) {
  Pace pace({});
  EXPECT_EQ(pace.due(kOpenNs, true), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 5 * kMs), 5 * kMs);
  EXPECT_EQ(pace.due(kOpenNs, true), 5 * kMs) << "no night";
  EXPECT_EQ(pace.due(kOpenNs + 3 * kMs), 8 * kMs);
}

TEST(Pace, FromSomeTimeOnTheFirstDayPlaysAllOfTheOthers) {
  constexpr std::uint64_t kDay = 86'400'000 * kMs;
  Pace pace({.rate = 1'000, .from_ns = kOpenNs + 4'000 * kMs});
  EXPECT_EQ(pace.due(kOpenNs, true), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 4'000 * kMs), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 7'000 * kMs), 3'000 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + kDay, true), 3'000 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + kDay + 4'000 * kMs), 7'000 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + 3'999 * kMs), 7'000 * kMs) << "a clock that runs back";
}

TEST(Pace, BeginsWithTheFirstMessageThatHasATime) {
  Pace pace({});
  EXPECT_EQ(pace.due(0), 0u);
  EXPECT_EQ(pace.due(kOpenNs), 0u) << "not half a day later";
  EXPECT_EQ(pace.due(kOpenNs + 5 * kMs), 5 * kMs);
}

TEST(Pace, SeeksIntoAnotherDay) {
  constexpr std::uint64_t kDay = 86'400'000 * kMs;
  Pace pace({.rate = 1'000'000, .burst = 1});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  pace.seek(kOpenNs + kDay + 2 * kMs, 5 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + 8 * kMs), 5 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + kDay, true), 5 * kMs + 1'000);
  EXPECT_EQ(pace.due(kOpenNs + kDay + 3 * kMs), 5 * kMs + 1'000);
  EXPECT_EQ(pace.due(kOpenNs + kDay + 7 * kMs), 9 * kMs + 1'000);
}

TEST(Pace, MaxSendsBurstsAtTheRate) {
  Pace pace({.mode = PaceMode::kMax, .rate = 1'000, .burst = 2});
  EXPECT_EQ(pace.due(0), 0u);
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_EQ(pace.due(0), 2 * kMs);
  EXPECT_EQ(pace.due(0), 2 * kMs);
  EXPECT_EQ(pace.due(0), 4 * kMs);
  Pace unlimited({.mode = PaceMode::kMax});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(unlimited.due(kOpenNs), 0u);
}

TEST(Pace, SendsWhatIsBeforeFromAtTheRateAndEndsAfterTo) {
  Pace pace({.rate = 1'000, .from_ns = kOpenNs, .to_ns = kOpenNs + 10 * kMs});
  EXPECT_EQ(pace.due(1), 0u);
  EXPECT_EQ(pace.due(2), 1 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + 5 * kMs), 1 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + 7 * kMs), 3 * kMs);
  EXPECT_FALSE(pace.past_end(kOpenNs + 10 * kMs));
  EXPECT_TRUE(pace.past_end(kOpenNs + 10 * kMs + 1));
}

TEST(Pace, SeeksAtTheRateAndGoesOnAtTheRecordedPace) {
  Pace pace({.rate = 1'000'000, .burst = 1});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_EQ(pace.due(kOpenNs + kMs), kMs);
  pace.seek(kOpenNs + 60 * kMs, 5 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + 20 * kMs), 5 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + 40 * kMs), 5 * kMs + 1'000);
  EXPECT_EQ(pace.due(kOpenNs + 60 * kMs), 5 * kMs + 1'000);
  EXPECT_EQ(pace.due(kOpenNs + 63 * kMs), 8 * kMs + 1'000);
}

TEST(Pace, ASeekForgetsHowFarAwayTheNextMessageWas) {
  Pace pace({.rate = 1'000'000, .burst = 1});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 900 * kMs), 900 * kMs);  // not sent yet
  pace.seek(kOpenNs + 2'000 * kMs, 5 * kMs);
  EXPECT_EQ(pace.due(kOpenNs + 900 * kMs), 5 * kMs);
}

TEST(Pace, ChangesItsSpeedWhereItIs) {
  Pace pace({});
  EXPECT_EQ(pace.due(kOpenNs), 0u);
  EXPECT_EQ(pace.due(kOpenNs + 20 * kMs), 20 * kMs);
  EXPECT_EQ(pace.set_speed(10, 10 * kMs), 11 * kMs) << "what is left of the wait is a tenth";
  EXPECT_EQ(pace.due(kOpenNs + 120 * kMs), 21 * kMs);
  EXPECT_EQ(pace.set_speed(0.5, 25 * kMs), 21 * kMs) << "it is due already";
  EXPECT_EQ(pace.due(kOpenNs + 121 * kMs), 23 * kMs);
  // Before it has begun, by the rate: from then on.
  Pace later({.rate = 1'000'000, .burst = 1, .from_ns = kOpenNs});
  EXPECT_EQ(later.due(kOpenNs - 1), 0u);
  EXPECT_EQ(later.set_speed(2, 0), 0u);
  EXPECT_EQ(later.due(kOpenNs), 0u);
  EXPECT_EQ(later.due(kOpenNs + 10 * kMs), 5 * kMs);
}

}  // namespace
}  // namespace tickpath::sim::paces
