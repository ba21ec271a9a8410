#include "mdh/instruments.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mdh/symbol_file.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::mdh {
namespace {

TEST(Instruments, GiveDenseIdsInOrderOfFirstAppearance) {
  Instruments instruments(8);
  EXPECT_EQ(instruments.list(500, "AAPL"), 0u);
  EXPECT_EQ(instruments.list(7, "MSFT"), 1u);
  EXPECT_EQ(instruments.list(500, "AAPL"), 0u);
  EXPECT_EQ(instruments.id_of(7), 1u);
  EXPECT_EQ(instruments.id_of(8), wire::kNoInstrument);
  EXPECT_EQ(instruments.entry(1).name(), "MSFT");
  EXPECT_EQ(instruments.entry(1).feed_locate, 7u);
}

TEST(Instruments, KeepTheIdOfASymbolOverSessions) {
  Instruments instruments(8);
  (void)instruments.list(1, "AAPL");
  (void)instruments.list(2, "MSFT");
  instruments[0].trading = wire::TradingState::kTrading;
  instruments.end_session();
  EXPECT_EQ(instruments.id_of(1), wire::kNoInstrument);
  EXPECT_EQ(instruments[0].trading_state(), wire::TradingState::kUnknown);
  EXPECT_EQ(instruments.list(1, "MSFT"), 1u) << "the locate is another symbol's today";
  EXPECT_EQ(instruments.list(9, "AAPL"), 0u);
}

TEST(Instruments, RefuseWhatHasNoRoom) {
  Instruments instruments(2);
  (void)instruments.list(1, "A");
  (void)instruments.list(2, "B");
  EXPECT_EQ(instruments.list(3, "C"), wire::kNoInstrument);
  EXPECT_EQ(instruments.id_of(3), wire::kNoInstrument);
  EXPECT_EQ(instruments.list(2, "B"), 1u);
}

TEST(Instruments, HoldAsManySymbolsAsAFeedHasLocates) {
  Instruments instruments(book::kLocatesMax);
  for (std::uint32_t i = 0; i < book::kLocatesMax; ++i)
    ASSERT_EQ(instruments.list(static_cast<book::Locate>(i), itch::Stock("S" + std::to_string(i))),
              i);
  for (std::uint32_t i = 0; i < book::kLocatesMax; i += 97) {
    ASSERT_EQ(instruments.id_of(static_cast<book::Locate>(i)), i);
    ASSERT_EQ(instruments.entry(i).name(), "S" + std::to_string(i));
  }
}

TEST(Instruments, GiveARememberedSymbolTheIdThatItHad) {
  Instruments instruments(3);
  EXPECT_TRUE(instruments.remember("AAPL", true));
  EXPECT_TRUE(instruments.remember("MSFT", true));
  EXPECT_FALSE(instruments.remember("AAPL", true));
  EXPECT_EQ(instruments.entry(1).name(), "MSFT");
  EXPECT_FALSE(instruments[1].listed) << "not today";
  EXPECT_EQ(instruments.list(1, "IBM"), 2u);
  EXPECT_EQ(instruments.list(2, "MSFT"), 1u);
  EXPECT_EQ(instruments.list(3, "AAPL"), 0u);
  EXPECT_FALSE(instruments.remember("INTC", true)) << "no room";
}

TEST(Instruments, GiveAnIdThatIsKeptForALostSymbolOnlyWhenThereIsNoOther) {
  Instruments instruments(4);
  EXPECT_TRUE(instruments.remember("LOST", false));
  EXPECT_TRUE(instruments.remember("BACK", false));
  EXPECT_TRUE(instruments.remember("MSFT", true));
  EXPECT_EQ(instruments.rows(), 1u);
  EXPECT_EQ(instruments.row_of(0), Instruments::kNoRow);
  EXPECT_EQ(instruments.list(1, "NEW1"), 3u) << "it was nobody's";
  EXPECT_EQ(instruments.list(2, "BACK"), 1u) << "its own";
  EXPECT_EQ(instruments.list(3, "NEW2"), 0u);
  EXPECT_EQ(instruments.entry(0).name(), "NEW2");
  EXPECT_EQ(instruments.row_of(0), 3u);
  EXPECT_EQ(instruments.list(4, "LOST"), wire::kNoInstrument);
  EXPECT_EQ(instruments.list(5, "NEW3"), wire::kNoInstrument);
  EXPECT_EQ(instruments.list(6, "MSFT"), 2u);
}

// Every second id changes hands, in a table of symbols that collide; all others are still found.
TEST(Instruments, FindEverySymbolAfterIdsWereGivenToOthers) {
  constexpr std::uint32_t kCount = 4'096;
  const auto symbol = [](char head, std::uint32_t i) {
    return itch::Stock(head + std::to_string(i));
  };
  Instruments instruments(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i)
    ASSERT_TRUE(instruments.remember(symbol('F', i), i % 2 != 0));
  for (std::uint32_t i = 0; i < kCount / 2; ++i)
    ASSERT_EQ(instruments.list(static_cast<book::Locate>(i), symbol('N', i)), 2 * i);
  EXPECT_EQ(instruments.list(9'999, "MORE"), wire::kNoInstrument);
  for (std::uint32_t i = 0; i < kCount; ++i)
    ASSERT_EQ(instruments.list(9'999, symbol('F', i)), i % 2 != 0 ? i : wire::kNoInstrument) << i;
  for (std::uint32_t i = 0; i < kCount / 2; ++i)
    ASSERT_EQ(instruments.list(9'999, symbol('N', i)), 2 * i);
}

class SymbolFileTest : public ::testing::Test {
 protected:
  static constexpr std::chrono::sys_days kToday{std::chrono::days(20'780)};  // 2026-11-23
  std::vector<KnownSymbol> read(std::uint32_t most = 100) {
    return SymbolFile(path_).read(most, kToday);
  }
  std::string error_of(const std::string& text, std::uint32_t most = 100) {
    std::ofstream(path_) << text;
    return test_support::error_of<Error>([&] { (void)read(most); });
  }
  test_support::Folder folder_;
  std::string path_ = folder_ / "mdh.instruments";
};

TEST_F(SymbolFileTest, GivesBackWhatWasWrittenInItsOrder) {
  EXPECT_TRUE(read().empty()) << "no file: the first run";
  // A feed may name anything: what is no text comes back as it was, padding aside.
  std::vector<KnownSymbol> symbols{{"ZVZZT", kToday},
                                   {"BRK.A", kToday - std::chrono::days(400)},
                                   {std::string("A\n\0%", 4), kToday},
                                   {" ", kToday}};
  SymbolFile(path_).write(symbols);
  EXPECT_EQ(read(), symbols);
  symbols[0].last_seen = kToday - std::chrono::days(1);
  symbols.push_back({"\xff+", kToday});
  SymbolFile(path_).write(symbols);
  EXPECT_EQ(read(), symbols);
}

TEST_F(SymbolFileTest, CountsASymbolWithoutADayAsSeenToday) {
  std::ofstream(path_) << "AAPL\nMSFT 2026-10-01\n";
  const auto october = std::chrono::sys_days(std::chrono::year(2026) / 10 / 1);
  EXPECT_EQ(read(), (std::vector<KnownSymbol>{{"AAPL", kToday}, {"MSFT", october}}));
}

TEST_F(SymbolFileTest, RefusesAFileThatSaysNothingCertain) {
  using ::testing::HasSubstr;
  EXPECT_THAT(error_of("AAPL\n\nMSFT\n"), HasSubstr("line 2: a symbol of 1 to 8"));
  EXPECT_THAT(error_of("AAPL\nMSFT\nAAPL\n"), HasSubstr("line 3: the symbol is there twice"));
  EXPECT_THAT(error_of("TOOLONGNAME\n"), HasSubstr("line 1"));
  for (const char* const day : {"B", "", "2026-13-01", "2026-02-30", "2026-1-001", "20261123",
                                "2026-11-23 ", "2026-11- 3", "x026-11-23", "+026-11-23"})
    EXPECT_THAT(error_of(std::string("A ") + day + "\n"), HasSubstr("line 1: behind the symbol"))
        << day;
  EXPECT_THAT(error_of("A\tB\n"), HasSubstr("no symbol has"));
  EXPECT_THAT(error_of("A%4\n"), HasSubstr("hexadecimal"));
  EXPECT_THAT(error_of("A\nB\nC\n", 2), HasSubstr("instruments_max"));
}

}  // namespace
}  // namespace tickpath::mdh
