// Histograms as HdrHistogram's tools read them. Expected bytes and tables are those that its Java
// library (2.1.11) writes for the same values.
#include "common/trace/hdr_histogram.hpp"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/format.hpp"
#include "common/trace/analysis.hpp"

namespace tickpath::trace {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += formatted("%02x", byte);
  return text;
}

HdrHistogram histogram_of(std::initializer_list<std::int64_t> values) {
  HdrHistogram histogram;
  for (const std::int64_t value : values) histogram.record(value);
  return histogram;
}

TEST(HdrHistogram, EncodesAsTheReferenceDoes) {
  EXPECT_EQ(hex(histogram_of({1, 2, 2, 3'000, 7'000'000}).encoded_bytes()),
            "1c8493130000000a000000000000000300000000000000010000034630b8a0003ff000000000000000020"
            "4b127029db30102");
}

TEST(HdrHistogram, PrintsPercentilesAsTheReferenceDoes) {
  EXPECT_EQ(histogram_of({1, 2, 2, 3'000, 7'000'000}).percentiles_text(),
            R"(       Value     Percentile TotalCount 1/(1-Percentile)

       1.000 0.000000000000          1           1.00
       1.000 0.100000000000          1           1.11
       1.000 0.200000000000          1           1.25
       2.000 0.300000000000          3           1.43
       2.000 0.400000000000          3           1.67
       2.000 0.500000000000          3           2.00
       2.000 0.550000000000          3           2.22
       2.000 0.600000000000          3           2.50
    3001.000 0.650000000000          4           2.86
    3001.000 0.700000000000          4           3.33
    3001.000 0.750000000000          4           4.00
    3001.000 0.775000000000          4           4.44
    3001.000 0.800000000000          4           5.00
 7000063.000 0.825000000000          5           5.71
 7000063.000 1.000000000000          5
#[Mean    =  1400204.400, StdDeviation   =  2798906.041]
#[Max     =  7000063.000, Total count    =            5]
#[Buckets =           32, SubBuckets     =         2048]
)");
}

// Three digits: a value is at most a thousandth above what was recorded, and never below.
TEST(HdrHistogram, KeepsEveryPercentileToThreeDigits) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> latencies(10, 3);
  HdrHistogram histogram;
  std::vector<std::int64_t> values;
  for (int i = 0; i < 5'000; ++i) {
    values.push_back(std::llround(std::min(latencies(random), 3.6e12)));
    histogram.record(values.back());
  }
  std::ranges::sort(values);
  for (const double percent : {0.0, 1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto exact = static_cast<double>(percentile(values, percent));
    const auto kept = static_cast<double>(histogram.value_at(percent));
    EXPECT_GE(kept, exact) << percent;
    EXPECT_LE(kept, exact * 1.001 + 1) << percent;
  }
  EXPECT_EQ(histogram.total(), 5'000u);
  EXPECT_EQ(histogram.max(), static_cast<std::uint64_t>(values.back()));
}

TEST(HdrHistogram, WhatIsOutOfItsRangeCountsAsItsEnds) {
  const HdrHistogram histogram = histogram_of({-5, std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(histogram.value_at(50), 0u);
  EXPECT_EQ(histogram.max(), HdrHistogram::kHighest);
  HdrHistogram cleared = histogram;
  cleared.clear();
  EXPECT_EQ(cleared.total(), 0u);
  EXPECT_EQ(cleared.value_at(50), 0u);
  EXPECT_EQ(cleared.encoded_bytes(), HdrHistogram().encoded_bytes());
}

// RFC 4648, section 10.
TEST(Base64, IsThatOfTheRfc) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_TRUE(histogram_of({5}).encoded().starts_with("HISTFAAA")) << "the cookie";
}

}  // namespace
}  // namespace tickpath::trace
