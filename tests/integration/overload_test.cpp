// More orders asked for than anything takes: who asks is slowed down, and nothing else happens.
#include "tests/support/overload.hpp"

#include <gtest/gtest.h>

namespace tickpath::test_support {
namespace {

TEST(Overload, SlowsAStrategyDownAndLosesNoReport) {
  const PipelineFolder folder;
  const OverloadResult result = run_overload(folder, 200'000, 3);
  EXPECT_EQ(result.up.exit_code, 0) << result.up.output;
  EXPECT_GT(result.sent, 0u);
  EXPECT_EQ(result.answered, result.sent);
  EXPECT_EQ(result.refused, 0u) << result.reasons << result.up.output;
  EXPECT_EQ(result.reports_dropped, 0u);
  EXPECT_EQ(result.cut_off, 0u);
}

}  // namespace
}  // namespace tickpath::test_support
