// The list of what could not be booked: its file, and what is kept of it.
#include "oeg/exceptions.hpp"

#include <cstring>
#include <fstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::oeg {
namespace {

TEST(ExceptionList, SurvivesARestartAndClearingDoesToo) {
  const test_support::Folder folder;
  const std::string path = folder / "oeg.exceptions";
  ExceptionNote note{
      .kind = ExceptionKind::kShares, .strategy = 3, .symbol = fix::Symbol::from("AAPL")};
  std::memcpy(note.text, "8=F\x01\xff", 5);
  note.length = 5;
  {
    ExceptionList list(path);
    list.add(note);
    list.add(note);
    EXPECT_EQ(list.clear(1, "operator").kind, ExceptionKind::kShares);
    EXPECT_THROW(list.clear(1, "operator"), Error);
  }
  ExceptionList list(path);
  ASSERT_EQ(list.open().size(), 1u);
  EXPECT_EQ(list.open()[0].id, 2u);
  EXPECT_EQ(list.open()[0].symbol, "AAPL");
  EXPECT_EQ(list.open()[0].message, "8=F|?");
  EXPECT_EQ(list.add(note).id, 3u);
}

TEST(ExceptionList, KnowsWhatItHadOfTheJournalThoughItWasCleared) {
  const test_support::Folder folder;
  const std::string path = folder / "oeg.exceptions";
  ExceptionNote note{
      .kind = ExceptionKind::kShares, .journal_sequence = 12, .realtime_ns = 1774965731000000000};
  JournalRecord record{.sequence = 12, .realtime_ns = note.realtime_ns};
  {
    ExceptionList list(path);
    EXPECT_FALSE(list.knows(note));
    list.add(note);
    list.clear(1, "operator");
  }
  ExceptionList list(path);
  EXPECT_TRUE(list.open().empty());
  EXPECT_TRUE(list.knows(note_of(record)));
  EXPECT_TRUE(list.has_written(record));
  ++record.realtime_ns;  // of another journal, whose numbers began anew
  EXPECT_FALSE(list.has_written(record));
}

TEST(ExceptionList, KeepsTheOldestAndTheRestInTheFileAlone) {
  const test_support::Folder folder;
  const std::string path = folder / "oeg.exceptions";
  ExceptionNote note{.kind = ExceptionKind::kShares};
  const auto ids = [](const ExceptionList& list) {
    std::vector<std::uint64_t> result;
    for (const Exception& exception : list.open()) result.push_back(exception.id);
    return result;
  };
  using Ids = std::vector<std::uint64_t>;
  {
    ExceptionList list(path, 4);
    for (int i = 0; i < 10; ++i) list.add(note);
    EXPECT_EQ(ids(list), (Ids{1, 2, 3, 4}));
    EXPECT_EQ(list.beyond(), 6u);
    EXPECT_THROW(list.clear(5, "operator"), Error) << "nobody has seen it yet";
    list.clear(2, "operator");
    EXPECT_EQ(list.add(note).id, 11u);
    EXPECT_EQ(ids(list), (Ids{1, 3, 4})) << "those in the file come first";
    list.clear(3, "operator");
    EXPECT_EQ(ids(list), (Ids{1, 4, 5, 6}));
    list.clear(6, "operator");
    EXPECT_EQ(list.beyond(), 5u);
  }
  ExceptionList list(path, 4);
  EXPECT_EQ(ids(list), (Ids{1, 4, 5, 7}));
  EXPECT_EQ(list.beyond(), 4u);
  Ids beyond;
  list.for_each_beyond([&](const Exception& exception) { beyond.push_back(exception.id); });
  EXPECT_EQ(beyond, (Ids{8, 9, 10, 11})) << "their symbols are held, too";
  for (const std::uint64_t id : {1u, 4u, 5u, 7u, 8u, 9u, 10u, 11u}) list.clear(id, "operator");
  EXPECT_TRUE(list.open().empty());
  EXPECT_EQ(list.beyond(), 0u);
  EXPECT_EQ(list.add(note).id, 12u);
}

TEST(ExceptionList, SaysWhichLineOfADamagedFileIsWrong) {
  const test_support::Folder folder;
  const std::string path = folder / "oeg.exceptions";
  std::ofstream(path) << "{\"cleared\":1}\nnonsense\n";
  EXPECT_THAT(test_support::error_of<Error>([&] { ExceptionList list(path); }),
              ::testing::HasSubstr("line 2"));
}

}  // namespace
}  // namespace tickpath::oeg
