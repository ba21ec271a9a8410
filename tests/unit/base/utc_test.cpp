#include "common/base/utc.hpp"

#include <gtest/gtest.h>

namespace tickpath {
namespace {

TEST(Utc, TextsAreIso8601) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1'709'251'199), "2024-02-29T23:59:59Z");
  EXPECT_EQ(utc_day_text(1'709'251'199), "2024-02-29");
}

TEST(Utc, ADayIsReadAsItIsWritten) {
  EXPECT_EQ(parse_utc_day("1970-01-01"), 0);
  EXPECT_EQ(parse_utc_day("2024-02-29"), 1'709'164'800);
  for (const char* no_day : {"", "2023-02-29", "2024-13-01", "2024-2-29", "2024-02-29 ", "2024",
                             "1969-12-31", "day-after"})
    EXPECT_EQ(parse_utc_day(no_day), std::nullopt) << no_day;
}

TEST(Utc, DigitsOfTheSecondThatAreNotWantedAreCut) {
  EXPECT_EQ(utc_text_ns(1'709'251'199'012'999'999, 3), "2024-02-29T23:59:59.012Z");
  EXPECT_EQ(utc_text_ns(1'709'251'199'000'000'001, 9), "2024-02-29T23:59:59.000000001Z");
}

}  // namespace
}  // namespace tickpath
