// Each row once, whatever the loads before have left in the store.
#include "tools/history/table_load.hpp"

#include <cstring>
#include <map>
#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickpath::history {
namespace {

using ::testing::HasSubstr;

struct Killed {};

// Answers the four questions that a load asks. Rows are 8 bytes, their number. A row that is there
// twice counts once, as with FINAL; `copies` has what is on the disk.
class FakeStore final : public Store {
 public:
  std::map<std::uint64_t, int> copies;
  int inserts_left = -1;  // the one after these is cut: a part of its rows is stored
  std::size_t part = 0;   // of a cut insert: rows that are stored

  void enter(bool, const std::string&) override {}
  const std::string& place() const noexcept override { return place_; }
  void insert(const std::string&, std::string_view rows) override {
    std::size_t left = inserts_left-- == 0 ? part : rows.size();
    const bool cut = left != rows.size();
    for (; rows.size() >= 8 && left > 0; rows.remove_prefix(8), --left) {
      std::uint64_t number = 0;
      std::memcpy(&number, rows.data(), 8);
      ++copies[number];
    }
    if (cut) throw Killed{};
  }
  void query(const std::string& sql, const std::string&, const Sink& sink) override {
    std::ostringstream answer;
    const std::uint64_t from = bound(sql, "row >= ", 0);
    const std::uint64_t to = bound(sql, "row <= ", ~std::uint64_t{0});
    if (sql.find("GROUP BY block") != sql.npos) {
      std::map<std::uint64_t, std::uint64_t> blocks;
      for (const auto& [number, times] : copies) ++blocks[number / bound(sql, "intDiv(row, ", 1)];
      for (const auto& [block, rows] : blocks) answer << block << '\t' << rows << '\n';
    } else {
      const bool counts = sql.find("count()") != sql.npos;
      std::uint64_t count = 0;
      for (const auto& [number, times] : copies) {
        if (number < from || number > to) continue;
        ++count;
        if (!counts) answer << number << '\n';
      }
      if (counts) answer << count << '\n';
    }
    sink(answer.str());
  }

 private:
  static std::uint64_t bound(const std::string& sql, const std::string& before,
                             std::uint64_t otherwise) {
    const std::size_t at = sql.find(before);
    return at == sql.npos ? otherwise : std::stoull(sql.substr(at + before.size()));
  }
  std::string place_ = "memory";
};

constexpr std::uint64_t kBlockRows = 10;

std::uint64_t load(FakeStore& store, std::uint64_t from, std::uint64_t to, std::uint64_t step = 1,
                   bool ended = true) {
  TableLoad rows(store, {"stamps", "row", "run = 'r'", "stamps", kBlockRows, {}});
  for (std::uint64_t number = from; number < to; number += step) {
    char row[8];
    std::memcpy(row, &number, 8);
    rows.add(number, {row, 8});
  }
  rows.finish(ended);
  return rows.inserted();
}

TEST(TableLoad, InsertsNothingASecondTime) {
  FakeStore store;
  EXPECT_EQ(load(store, 1, 96), 95u);
  EXPECT_EQ(load(store, 1, 96), 0u);
  EXPECT_EQ(store.copies.size(), 95u);
}

TEST(TableLoad, GoesOnWhereARunHasGoneOnWithinABlock) {
  FakeStore store;
  EXPECT_EQ(load(store, 0, 25, 1, false), 25u);
  EXPECT_EQ(load(store, 0, 38), 13u);
  for (const auto& [number, times] : store.copies) EXPECT_EQ(times, 1) << number;
}

// Killed at any insert, with any part of its rows stored, again and again: as a shard that took its
// part of a block and another that did not, or a process that ended between two blocks.
TEST(TableLoad, EndsWithEachRowOnceAfterAnyNumberOfKills) {
  const std::uint32_t seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    FakeStore store;
    const std::uint64_t rows = random() % 200 + 1;
    const std::uint64_t step = random() % 3 + 1;
    for (int kill = 0; kill < 3; ++kill) {
      store.inserts_left = static_cast<int>(random() % 8);
      store.part = random() % kBlockRows;
      try {
        load(store, 5, 5 + rows, step);
      } catch (const Killed&) {
      }
    }
    store.inserts_left = -1;
    load(store, 5, 5 + rows, step);
    ASSERT_EQ(store.copies.size(), (rows + step - 1) / step) << "seed " << seed;
    for (const auto& [number, times] : store.copies)
      ASSERT_EQ(times, 1) << number << ", seed " << seed;
  }
}

TEST(TableLoad, KeepsWhatItsSourceHasDroppedMeanwhile) {
  FakeStore store;
  load(store, 0, 45, 1, false);
  EXPECT_EQ(load(store, 33, 60), 15u) << "of a file that begins with 33 by now";
  EXPECT_EQ(store.copies.size(), 60u);
}

// A trace file came around while it was read: the rows in the gap are those of a former load.
TEST(TableLoad, CountsBehindWhatItsSourceLostWhileItWasRead) {
  FakeStore store;
  EXPECT_EQ(load(store, 0, 50), 50u);
  TableLoad rows(store, {"stamps", "row", "run = 'r'", "stamps", kBlockRows, {}});
  for (std::uint64_t number = 0; number < 80; ++number) {
    if (number == 20) rows.skip();
    if (number >= 20 && number < 30) continue;
    char row[8];
    std::memcpy(row, &number, 8);
    rows.add(number, {row, 8});
  }
  EXPECT_NO_THROW(rows.finish(true));
  EXPECT_EQ(store.copies.size(), 80u);
}

TEST(TableLoad, SaysWhenTheStoreHasRowsThatTheSourceHasNot) {
  FakeStore store;
  load(store, 0, 60);
  try {
    load(store, 0, 40);
    FAIL() << "20 rows are of another file";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the store has 60 rows of this run, its files have 40"));
    EXPECT_THAT(error.what(), HasSubstr("--run"));
  }
  EXPECT_NO_THROW(load(store, 0, 40, 1, false)) << "another load of a run that goes on is ahead";
}

}  // namespace
}  // namespace tickpath::history
