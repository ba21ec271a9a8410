// The schema in the words of each kind of store, values in queries, and rows as bytes.
#include "tools/history/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/history/row_writer.hpp"
#include "tools/history/store.hpp"

namespace tickpath::history {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kSchema = R"(-- A table; it has 'quotes' and ends; here too.
-- sharded by: cityHash64(symbol, day)
CREATE TABLE IF NOT EXISTS ticks
(
    run LowCardinality(String),  -- of whom; 'x'
    time DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD)
)
ENGINE = ReplacingMergeTree
ORDER BY run;

-- sharded by: cityHash64(run)
CREATE TABLE IF NOT EXISTS runs
(
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY version;

CREATE OR REPLACE VIEW seen AS
SELECT 1;
)";

TEST(HistorySchema, IsSplitIntoStatementsWithoutItsComments) {
  const auto statements = statements_of(kSchema, {});
  ASSERT_EQ(statements.size(), 3u);
  EXPECT_EQ(statements[0],
            "CREATE TABLE IF NOT EXISTS ticks\n(\n    run LowCardinality(String),\n"
            "    time DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD)\n)\n"
            "ENGINE = ReplacingMergeTree\nORDER BY run\n");
  EXPECT_EQ(statements[2], "CREATE OR REPLACE VIEW seen AS\nSELECT 1\n");
}

TEST(HistorySchema, OfAnOldServerHasPlainTypesOfTheSameBytesAndNoViews) {
  const auto statements = statements_of(kSchema, {.current = false});
  ASSERT_EQ(statements.size(), 2u);
  EXPECT_THAT(statements[0], HasSubstr("    run String,\n    time Int64\n)"));
}

TEST(HistorySchema, OfAClusterHasReplicatedTablesAndOneOverThemForEach) {
  const auto statements = statements_of(kSchema, {.cluster = "prod"});
  ASSERT_EQ(statements.size(), 5u);
  EXPECT_THAT(statements[0],
              HasSubstr("CREATE TABLE IF NOT EXISTS ticks_local ON CLUSTER 'prod'\n"));
  EXPECT_THAT(statements[0],
              HasSubstr("ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/"
                        "tickpath/ticks_local', '{replica}')\n"));
  EXPECT_EQ(statements[1],
            "CREATE TABLE IF NOT EXISTS ticks ON CLUSTER 'prod' AS tickpath.ticks_local\n"
            "ENGINE = Distributed('prod', tickpath, ticks_local, cityHash64(symbol, day))\n");
  EXPECT_THAT(statements[2], HasSubstr("runs_local', '{replica}', version)\n"));
  EXPECT_EQ(statements[4], "CREATE OR REPLACE VIEW seen ON CLUSTER 'prod' AS\nSELECT 1\n");
}

TEST(HistorySchema, WithoutReplicasIsMadeOnEachHostByHand) {
  const auto statements = statements_of(kSchema, {.cluster = "two", .replicated = false});
  ASSERT_EQ(statements.size(), 5u);
  EXPECT_THAT(statements, Each(Not(HasSubstr("ON CLUSTER"))));
  EXPECT_THAT(statements[0], HasSubstr("ticks_local\n"));
  EXPECT_THAT(statements[0], HasSubstr("ENGINE = ReplacingMergeTree\n"));
}

TEST(HistorySchema, RefusesANameOfAClusterThatIsSql) {
  EXPECT_THROW((void)statements_of(kSchema, {.cluster = "a' SETTINGS"}), Error);
}

TEST(HistorySchema, OfTheProgramHasAShardingKeyForEachTable) {
  for (const std::string& statement : schema_statements({.cluster = "c"})) {
    if (statement.find("Distributed(") == statement.npos) continue;
    EXPECT_THAT(statement, HasSubstr("cityHash64("));
  }
  EXPECT_EQ(schema_statements({.current = false}).size(), 9u) << "tables";
}

TEST(ReadyQueries, SayWhatTheyAnswerAndNameOnlyValuesThatTheyGet) {
  ASSERT_GE(ready_queries().size(), 6u);
  for (const ReadyQuery& query : ready_queries()) {
    EXPECT_FALSE(query.purpose().empty());
    EXPECT_NO_THROW((void)filled_in(query.sql, {{"run", "r"}, {"symbol", "s"}, {"seconds", "1"}}))
        << query.name;
  }
}

TEST(ReadyQueries, TakeValuesAsTextWhateverTheyHold) {
  EXPECT_EQ(filled_in("SELECT {run}, {run}", {{"run", R"(a' OR 1 = '\)"}}),
            R"(SELECT 'a\' OR 1 = \'\\', 'a\' OR 1 = \'\\')");
  EXPECT_THROW((void)filled_in("SELECT {other}", {{"run", "a"}}), Error);
}

TEST(ReadyQueries, AreListedForANameThatNoneHas) {
  try {
    (void)ready_query("slipage");
    FAIL() << "there is no such query";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("slippage: Executed prices"));
  }
}

// Bytes as ClickHouse's documentation of RowBinary has them.
TEST(RowWriter, WritesNumbersLittleEndianAndTextsBehindTheirLength) {
  RowWriter row;
  row.number(std::uint16_t{0x1234}).text("ab").number(std::int64_t{-2}).text("");
  EXPECT_EQ(row.bytes(), std::string("\x34\x12\x02"
                                     "ab\xfe\xff\xff\xff\xff\xff\xff\xff\x00",
                                     14));
  row.clear();
  row.text(std::string(300, 'x'));
  EXPECT_EQ(row.bytes().substr(0, 3), "\xac\x02x") << "300 in LEB128";
  EXPECT_EQ(row.bytes().size(), 302u);
}

TEST(RowWriter, CountsDaysFromTheEpoch) {
  EXPECT_EQ(day_of(0), 0);
  EXPECT_EQ(day_of(86'399'999'999'999), 0);
  EXPECT_EQ(day_of(86'400'000'000'000), 1);
  EXPECT_EQ(day_of(-1), 0);
}

}  // namespace
}  // namespace tickpath::history
