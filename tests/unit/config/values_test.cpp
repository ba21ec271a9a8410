#include "common/config/values.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace tickpath::config {
namespace {

TEST(Duration, ReadsEveryUnit) {
  EXPECT_EQ(parse_duration_ns("7ns"), 7);
  EXPECT_EQ(parse_duration_ns("50us"), 50'000);
  EXPECT_EQ(parse_duration_ns("1.5ms"), 1'500'000);
  EXPECT_EQ(parse_duration_ns("2 s"), 2'000'000'000);
  EXPECT_EQ(parse_duration_ns("1min"), 60'000'000'000);
  EXPECT_EQ(parse_duration_ns("0"), 0);
  EXPECT_EQ(parse_duration_ns("-1ms"), -1'000'000);
}

TEST(Duration, RefusesWhatHasNoUnitOrDoesNotFit) {
  for (const char* text : {"", "5", "ms", "5 fortnights", "1e30s", "9223372036854775807s", "nans",
                           "infs", "1ms extra", "0x10ms"})
    EXPECT_THROW(parse_duration_ns(text), Error) << text;
}

TEST(Size, ReadsBytesAndBinaryUnits) {
  EXPECT_EQ(parse_size_bytes("64"), 64u);
  EXPECT_EQ(parse_size_bytes("64B"), 64u);
  EXPECT_EQ(parse_size_bytes("8MiB"), 8u << 20);
  EXPECT_EQ(parse_size_bytes("0.5GiB"), 512u << 20);
}

TEST(Size, RefusesNegativeDecimalAndOverflowingOnes) {
  for (const char* text : {"-1", "8MB", "", "9000000000000GiB"})
    EXPECT_THROW(parse_size_bytes(text), Error) << text;
}

TEST(Address, SplitsAtTheLastColonAndChecksThePort) {
  EXPECT_EQ(parse_address("127.0.0.1:80"), (Address{"127.0.0.1", 80}));
  EXPECT_EQ(parse_address("host:0"), (Address{"host", 0}));
  for (const char* text : {"", ":1", "host", "host:", "host:65536", "host:1x", "a b:1", "h:1:2"})
    EXPECT_THROW(parse_address(text), Error) << text;
}

TEST(Format, IsTheShortestTextThatReadsBack) {
  EXPECT_EQ(format_duration(1'000'000), "1ms");
  EXPECT_EQ(format_duration(1'500'000), "1500us");
  EXPECT_EQ(format_duration(120'000'000'000), "2min");
  EXPECT_EQ(format_size(8u << 20), "8MiB");
  EXPECT_EQ(format_size(5000), "5000");
  for (const std::int64_t ns : {std::int64_t{1}, std::int64_t{-999}, std::int64_t{60'000'000'001},
                                std::numeric_limits<std::int64_t>::max()})
    EXPECT_EQ(parse_duration_ns(format_duration(ns)), ns);
}

}  // namespace
}  // namespace tickpath::config
