// The file that says what symbols stand for.
#include "common/control/long_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/folder.hpp"

namespace tickpath::control {
namespace {

TEST(LongNames, AreReadAsTheyWereWritten) {
  const test_support::Folder scratch;
  EXPECT_EQ(LongNames::read(scratch.path()).size(), 0u) << "there is no file";
  LongNames::write(scratch.path(), {{"#C", "UD:1V: VT 2309001"}, {"#D", "ESM4-ESU4"}});
  const LongNames names = LongNames::read(scratch.path());
  EXPECT_EQ(names.name_of("#C"), "UD:1V: VT 2309001");
  EXPECT_EQ(names.symbol_of("ESM4-ESU4"), "#D");
  EXPECT_EQ(names.name_of("AAPL"), "AAPL");
  EXPECT_EQ(names.symbol_of("AAPL"), "AAPL");
}

// Whoever asks for the name must not get the other instrument some other time.
TEST(LongNames, BelongToTheFirstThatHasThem) {
  const LongNames names({{"#1", "TWICE HERE"}, {"#2", "TWICE HERE"}});
  EXPECT_EQ(names.symbol_of("TWICE HERE"), "#1");
  EXPECT_EQ(names.name_of("#2"), "#2");
}

TEST(LongNames, ALineThatIsNoneIsNamed) {
  const test_support::Folder scratch;
  std::ofstream(LongNames::path(scratch.path())) << "#1\tNAME ONE\nnothing\n";
  EXPECT_THAT(
      [&] { (void)LongNames::read(scratch.path()); },
      ::testing::ThrowsMessage<Error>(::testing::HasSubstr("names.tsv:2: a symbol, a tab")));
}

}  // namespace
}  // namespace tickpath::control
