#include "tests/support/alloc_guard/alloc_guard.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "common/base/datapath_guard.hpp"

namespace tickpath::test_support {
namespace {

// The compiler may not know that the pointer goes nowhere: it would remove the pair.
void* volatile sink;

void allocate_and_free() {
  sink = std::malloc(64);
  std::free(sink);
}

TEST(AllocGuard, AbortsWithABacktraceAtAnAllocationOnAPollingThread) {
  EXPECT_DEATH(
      {
        const DatapathScope scope;
        sink = std::malloc(64);
      },
      "malloc\\(64\\) on a polling datapath thread");
  EXPECT_DEATH(
      {
        sink = std::malloc(64);
        const DatapathScope scope;
        std::free(sink);
      },
      "free\\(0\\) on a polling datapath thread");
  EXPECT_DEATH(
      {
        const DatapathScope scope;
        sink = new int;
      },
      "malloc\\(4\\)");
}

TEST(AllocGuard, LeavesOtherThreadsAloneAndCountsThem) {
  const AllocationCounts before = allocation_counts();
  allocate_and_free();
  const AllocationCounts after = allocation_counts();
  EXPECT_GE(after.all, before.all + 2);
  EXPECT_EQ(after.violations, before.violations);
}

TEST(AllocGuard, CountsWhatHappensInsideASessionScope) {
  const AllocationCounts before = allocation_counts();
  {
    const DatapathScope scope;
    const SessionScope session;
    allocate_and_free();
  }
  EXPECT_EQ(allocation_counts().session, before.session + 2);
}

TEST(AllocGuard, InReportModeCountsAndGoesOn) {
  alloc_guard_report_only(true);
  const AllocationCounts before = allocation_counts();
  {
    const DatapathScope scope;
    allocate_and_free();
  }
  EXPECT_EQ(allocation_counts().violations, before.violations + 2);
  alloc_guard_report_only(false);
}

}  // namespace
}  // namespace tickpath::test_support
