// The latency measurement: what it refuses, and that a small one has every figure it promises.
#include <gtest/gtest.h>

#include "common/base/cpu.hpp"
#include "tests/support/thrown.hpp"
#include "tools/perf/perf.hpp"

namespace tickpath::rdma::perf {
namespace {

PerfOptions floor_options() {
  PerfOptions options;
  options.tool = PerfTool::kBesideFloor;
  options.pace = -1;
  return options;
}

std::string refusal(std::vector<std::uint32_t> sizes, int client_cpu = -1, int server_cpu = -1) {
  PerfOptions options = floor_options();
  options.sizes = std::move(sizes);
  options.client_cpu = client_cpu;
  options.server_cpu = server_cpu;
  return test_support::error_of<Error>([&] { run_perf(options); });
}

TEST(Lat, RefusesSizesThatHoldNoWholeWords) {
  EXPECT_NE(refusal({12}).find("12"), std::string::npos);
  EXPECT_NE(refusal({0}).find("8"), std::string::npos);
  EXPECT_NE(refusal({kFloorBytesMax + 8}).find("65536"), std::string::npos);
  EXPECT_NE(refusal({}), "no error");
}

TEST(Lat, RefusesTwoSidesOnOneCpu) {
  EXPECT_NE(refusal({64}, 0, 0).find("different CPUs"), std::string::npos);
}

TEST(Lat, NamesTheChoicesWhenAnOperationOrPaceIsUnknown) {
  EXPECT_EQ(parse_perf_operation(PerfTool::kBesideFloor, "fetch_add"), PerfOperation::kFetchAdd);
  EXPECT_THROW(parse_perf_operation(PerfTool::kBesideFloor, "teleport"), Error);
  EXPECT_STREQ(kLatPaces[parse_pace("2 pauses")].name, "2 pauses");
  try {
    parse_pace("slow");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("3 fences"), std::string::npos);
  }
}

// A report with this floor, whose operations are at `ratio` times it.
std::vector<PerfRow> rows_at(double floor_ns, double ratio) {
  std::vector<PerfRow> rows(7);
  rows[0].what = {PerfOperation::kFloor, 8};
  rows[0].latency.typical = floor_ns / 1e3;
  const PerfOperation operations[] = {PerfOperation::kWrite, PerfOperation::kSend,
                                      PerfOperation::kRead, PerfOperation::kFetchAdd,
                                      PerfOperation::kCompareSwap};
  for (std::size_t i = 0; i < std::size(operations); ++i) {
    rows[i + 1].what = {operations[i], is_atomic(operations[i]) ? 8u : 64u};
    rows[i + 1].beside_floor.ratio = ratio;
  }
  rows[6] = rows[1];
  rows[6].what.size_bytes = 256;
  return rows;
}

TEST(Lat, JudgesEachOperationAgainstItsBarOnSeparateCores) {
  std::vector<PerfRow> rows = rows_at(150, 1.4);
  EXPECT_FALSE(judge(rows));
  EXPECT_EQ(rows[0].beside_floor.verdict, LatVerdict::kNotJudged);
  EXPECT_EQ(rows[1].beside_floor.verdict, LatVerdict::kMissed);  // WRITE, 1.25
  EXPECT_EQ(rows[2].beside_floor.verdict, LatVerdict::kMet);     // SEND, 1.6
  EXPECT_EQ(rows[3].beside_floor.verdict, LatVerdict::kMissed);  // READ
  EXPECT_EQ(rows[4].beside_floor.verdict, LatVerdict::kMissed);  // FETCH_ADD
  EXPECT_EQ(rows[5].beside_floor.verdict, LatVerdict::kNotJudged) << "COMPARE_SWAP has no bar";
  EXPECT_EQ(rows[6].beside_floor.verdict, LatVerdict::kNotJudged) << "the bars are for 64 bytes";
  rows = rows_at(150, 1.25);
  EXPECT_FALSE(judge(rows));
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(rows[i].beside_floor.verdict, LatVerdict::kMet) << i;
}

TEST(Lat, JudgesNothingAndSaysSoWhereTheCpusShareACore) {
  PerfReport report;
  report.options = floor_options();
  report.rows = rows_at(30, 1.1);
  report.shared_core = judge(report.rows);
  EXPECT_TRUE(report.shared_core);
  for (const PerfRow& row : report.rows)
    EXPECT_EQ(row.beside_floor.verdict, LatVerdict::kNotJudged);
  EXPECT_DOUBLE_EQ(report.rows[1].beside_floor.bar, 1.25) << "the bar is shown all the same";
  EXPECT_NE(to_text(report).find("share a core"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"cpus_share_a_core\": true"), std::string::npos);
}

// More rounds and tries than there are receives: a leak of one receive a round would hang it.
TEST(Lat, MeasuresEveryOperationBesideTheFloor) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "two CPUs are needed";
  PerfOptions options = floor_options();
  options.iterations = 600;
  options.rounds = 6;
  options.warmup = 10;
  options.sizes = {64, 256};
  const PerfReport report = run_perf(options);
  EXPECT_EQ(report.options.provider, "shm");
  // Two floors; WRITE, SEND and READ at two sizes; two atomics of eight bytes.
  ASSERT_EQ(report.rows.size(), 10u);
  EXPECT_EQ(report.rows[0].what.operation, PerfOperation::kFloor);
  EXPECT_DOUBLE_EQ(report.rows[0].beside_floor.ratio, 1.0);
  for (const PerfRow& row : report.rows) {
    EXPECT_EQ(row.latency.iterations, 600u);
    EXPECT_GT(row.latency.typical, 0);
    EXPECT_LE(row.latency.typical, row.latency.p99);
    EXPECT_GT(row.beside_floor.ratio, 0);
    EXPECT_FALSE(row.beside_floor.pace.empty());
    EXPECT_NE(to_text(report).find(lower_case(row.what.operation)), std::string::npos);
    EXPECT_NE(to_json(report).find(lower_case(row.what.operation)), std::string::npos);
  }
}

}  // namespace
}  // namespace tickpath::rdma::perf
