// The latency measurement: what it refuses, and that a small one has every figure it promises.
#include "tools/perf/lat.hpp"

#include <gtest/gtest.h>

#include "common/base/cpu.hpp"

namespace tickpath::rdma::perf {
namespace {

std::string refusal(std::vector<std::uint32_t> sizes, int client_cpu = -1, int server_cpu = -1) {
  LatOptions options;
  options.sizes = std::move(sizes);
  options.client_cpu = client_cpu;
  options.server_cpu = server_cpu;
  try {
    measure_latency(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Lat, RefusesSizesThatHoldNoWholeWords) {
  EXPECT_NE(refusal({12}).find("12"), std::string::npos);
  EXPECT_NE(refusal({0}).find("8"), std::string::npos);
  EXPECT_NE(refusal({kLatBytesMax + 8}).find("65536"), std::string::npos);
  EXPECT_NE(refusal({}), "");
}

TEST(Lat, RefusesTwoSidesOnOneCpu) {
  EXPECT_NE(refusal({64}, 0, 0).find("different CPUs"), std::string::npos);
}

TEST(Lat, NamesTheChoicesWhenAnOperationOrPaceIsUnknown) {
  EXPECT_EQ(parse_operation("fetch_add"), LatOperation::kFetchAdd);
  EXPECT_THROW(parse_operation("teleport"), Error);
  EXPECT_STREQ(kLatPaces[parse_pace("2 pauses")].name, "2 pauses");
  try {
    parse_pace("slow");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("3 fences"), std::string::npos);
  }
}

// A report with this floor, whose operations are at `ratio` times it.
std::vector<LatRow> rows_at(double floor_ns, double ratio) {
  std::vector<LatRow> rows(7);
  rows[0].operation = LatOperation::kFloor;
  rows[0].statistics.p50_ns = floor_ns;
  const LatOperation operations[] = {LatOperation::kWrite, LatOperation::kSend, LatOperation::kRead,
                                     LatOperation::kFetchAdd, LatOperation::kCompareSwap};
  for (std::size_t i = 0; i < std::size(operations); ++i) {
    rows[i + 1].operation = operations[i];
    rows[i + 1].size_bytes = operations[i] < LatOperation::kFetchAdd ? 64 : 8;
    rows[i + 1].ratio = ratio;
  }
  rows[6] = rows[1];
  rows[6].size_bytes = 256;
  return rows;
}

TEST(Lat, JudgesEachOperationAgainstItsBarOnSeparateCores) {
  std::vector<LatRow> rows = rows_at(150, 1.4);
  EXPECT_FALSE(judge(rows));
  EXPECT_EQ(rows[0].verdict, LatVerdict::kNotJudged);
  EXPECT_EQ(rows[1].verdict, LatVerdict::kMissed);  // WRITE, 1.25
  EXPECT_EQ(rows[2].verdict, LatVerdict::kMet);     // SEND, 1.6
  EXPECT_EQ(rows[3].verdict, LatVerdict::kMissed);  // READ
  EXPECT_EQ(rows[4].verdict, LatVerdict::kMissed);  // FETCH_ADD
  EXPECT_EQ(rows[5].verdict, LatVerdict::kNotJudged) << "COMPARE_SWAP has no bar";
  EXPECT_EQ(rows[6].verdict, LatVerdict::kNotJudged) << "the bars are for 64 bytes";
  rows = rows_at(150, 1.25);
  EXPECT_FALSE(judge(rows));
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(rows[i].verdict, LatVerdict::kMet) << i;
}

TEST(Lat, JudgesNothingAndSaysSoWhereTheCpusShareACore) {
  LatReport report;
  report.rows = rows_at(30, 1.1);
  report.shared_core = judge(report.rows);
  EXPECT_TRUE(report.shared_core);
  for (const LatRow& row : report.rows) EXPECT_EQ(row.verdict, LatVerdict::kNotJudged);
  EXPECT_DOUBLE_EQ(report.rows[1].bar, 1.25) << "the bar is shown all the same";
  EXPECT_NE(to_text(report).find("share a core"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"cpus_share_a_core\": true"), std::string::npos);
}

// More rounds and tries than there are receives: a leak of one receive a round would hang it.
TEST(Lat, MeasuresEveryOperationBesideTheFloor) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "two CPUs are needed";
  LatOptions options;
  options.iterations = 600;
  options.rounds = 6;
  options.warmup = 10;
  options.sizes = {64, 256};
  const LatReport report = measure_latency(options);
  EXPECT_EQ(report.provider, "shm");
  // Two floors; WRITE, SEND and READ at two sizes; two atomics of eight bytes.
  ASSERT_EQ(report.rows.size(), 10u);
  EXPECT_EQ(report.rows[0].operation, LatOperation::kFloor);
  EXPECT_DOUBLE_EQ(report.rows[0].ratio, 1.0);
  for (const LatRow& row : report.rows) {
    EXPECT_EQ(row.statistics.count, 600u);
    EXPECT_GT(row.statistics.p50_ns, 0);
    EXPECT_LE(row.statistics.p50_ns, row.statistics.p99_ns);
    EXPECT_GT(row.ratio, 0);
    EXPECT_FALSE(row.pace.empty());
    EXPECT_NE(to_text(report).find(to_string(row.operation)), std::string::npos);
    EXPECT_NE(to_json(report).find(to_string(row.operation)), std::string::npos);
  }
}

}  // namespace
}  // namespace tickpath::rdma::perf
