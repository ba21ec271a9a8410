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

Exception exception_of(ExceptionKind kind, const std::string& message) {
  Exception exception;
  exception.id = 7;
  exception.kind = kind;
  exception.strategy = 3;
  exception.symbol = "AAPL";
  exception.message = message;
  return exception;
}

TEST(ManualTrade, IsTheFillOfAnExceptionAsItsMessageHasIt) {
  const ManualTrade trade =
      trade_of(exception_of(ExceptionKind::kUnknownOrder,
                            "8=FIX.4.2|35=8|17=901|150=1|55=MSFT|54=2|32=40|31=99.000005|10=1|"));
  EXPECT_EQ(trade.exec_id, 901u);
  EXPECT_EQ(trade.shares, 40u);
  EXPECT_EQ(trade.price, 990'000u);
  EXPECT_EQ(trade.price_hundredths, 5);
  EXPECT_EQ(trade.side, Side::kSell);
  EXPECT_EQ(trade.strategy, 3);
  EXPECT_EQ(trade.symbol.view(), "MSFT");
}

TEST(ManualTrade, IsReadFromTheJournalsFiguresToo) {
  JournalRecord record{.sequence = 12, .execution_id = 900};
  record.exception = static_cast<std::uint8_t>(ExceptionKind::kShares);
  record.event.side = Side::kBuy;
  record.event.shares = 40;
  record.event.price = 990'000;
  record.event.price_hundredths = 5;
  const ExceptionNote note = note_of(record);
  const ManualTrade trade =
      trade_of(exception_of(ExceptionKind::kShares, std::string(note.text, note.length)));
  EXPECT_EQ(trade.exec_id, 900u);
  EXPECT_EQ(trade.shares, 40u);
  EXPECT_EQ(trade.price, 990'000u);
  EXPECT_EQ(trade.symbol.view(), "AAPL") << "the exception's";
}

TEST(ManualTrade, IsNoneWhereNothingCanBeBookedAsReported) {
  const std::string fill = "17=9|54=1|32=40|31=99|";
  for (const auto& [kind, message] :
       {std::pair{ExceptionKind::kQuantities, fill}, std::pair{ExceptionKind::kUnanswered, fill},
        std::pair{ExceptionKind::kUnknownExecution, fill},
        std::pair{ExceptionKind::kShares, std::string("17=9|54=1")},
        std::pair{ExceptionKind::kShares, std::string("54=1|32=0|31=1")},
        std::pair{ExceptionKind::kShares, std::string("54=7|32=4|31=1")}})
    EXPECT_THROW((void)trade_of(exception_of(kind, message)), Error) << name(kind) << message;
}

TEST(ExceptionList, KeepsForAuditorsWhatAPersonHasBooked) {
  const test_support::Folder folder;
  const std::string path = folder / "oeg.exceptions";
  {
    ExceptionList list(path);
    list.add({.kind = ExceptionKind::kShares, .symbol = fix::Symbol::from("AAPL")});
    list.record(
        {.shares = 40, .price = 990'000, .strategy = 3, .symbol = fix::Symbol::from("AAPL")}, 1,
        "alice");
  }
  const ExceptionList list(path);
  EXPECT_EQ(list.open().size(), 1u) << "it is cleared by itself";
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, ::testing::HasSubstr(R"("booked":1,"by":"alice","price":"99.000000")"));
}

}  // namespace
}  // namespace tickpath::oeg
