#include "common/control/help_formatter.hpp"

#include <gtest/gtest.h>

namespace tickpath::control {
namespace {

TEST(HelpFormatter, BreaksLongLinesAtBlanksAndGoesOnBelowTheText) {
  EXPECT_EQ(wrapped("--json  one two three\n", 16, 8), "--json  one two\n        three\n");
  EXPECT_EQ(wrapped("short\nand two\n", 8, 4), "short\nand two\n");
  EXPECT_EQ(wrapped("", 8, 4), "");
}

TEST(HelpFormatter, LeavesALongWordWhole) {
  EXPECT_EQ(wrapped("        averylongword x y\n", 12, 8), "        averylongword\n        x y\n");
  EXPECT_EQ(wrapped("averyveryverylongword\n", 12, 8), "averyveryverylongword\n");
}

}  // namespace
}  // namespace tickpath::control
