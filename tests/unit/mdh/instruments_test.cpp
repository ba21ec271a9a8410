#include "mdh/instruments.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "mdh/symbol_file.hpp"

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
  EXPECT_TRUE(instruments.remember("AAPL"));
  EXPECT_TRUE(instruments.remember("MSFT"));
  EXPECT_FALSE(instruments.remember("AAPL"));
  EXPECT_EQ(instruments.entry(1).name(), "MSFT");
  EXPECT_FALSE(instruments[1].listed) << "not today";
  EXPECT_EQ(instruments.list(1, "IBM"), 2u);
  EXPECT_EQ(instruments.list(2, "MSFT"), 1u);
  EXPECT_EQ(instruments.list(3, "AAPL"), 0u);
  EXPECT_FALSE(instruments.remember("INTC")) << "no room";
}

class SymbolFileTest : public ::testing::Test {
 protected:
  SymbolFileTest() {
    char name[] = "/tmp/tickpath_symbols_XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = directory_ + "/mdh.instruments";
  }
  ~SymbolFileTest() override { std::filesystem::remove_all(directory_); }
  std::vector<std::string> read(std::uint32_t most = 100) { return SymbolFile(path_).read(most); }
  std::string error_of(const std::string& text, std::uint32_t most = 100) {
    std::ofstream(path_) << text;
    try {
      (void)read(most);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::string directory_;
  std::string path_;
};

TEST_F(SymbolFileTest, GivesBackWhatWasAppendedInItsOrder) {
  EXPECT_TRUE(read().empty()) << "no file: the first run";
  // A feed may name anything: what is no text comes back as it was, padding aside.
  const std::vector<std::string> first{"ZVZZT", "BRK.A", std::string("A\n\0%", 4), " "};
  const std::vector<std::string> then{"AAPL", "\xff+"};
  SymbolFile file(path_);
  EXPECT_TRUE(file.read(100).empty());
  file.append(first);
  EXPECT_EQ(file.size(), 4u);
  EXPECT_EQ(read(), first);
  file.append(then);
  std::vector<std::string> all = first;
  all.insert(all.end(), then.begin(), then.end());
  EXPECT_EQ(read(), all);
  SymbolFile another(path_);
  (void)another.read(100);
  another.append({"MSFT"});
  all.push_back("MSFT");
  EXPECT_EQ(read(), all);
}

TEST_F(SymbolFileTest, RefusesAFileThatSaysNothingCertain) {
  using ::testing::HasSubstr;
  EXPECT_THAT(error_of("AAPL\n\nMSFT\n"), HasSubstr("line 2: a symbol of 1 to 8"));
  EXPECT_THAT(error_of("AAPL\nMSFT\nAAPL\n"), HasSubstr("line 3: the symbol is there twice"));
  EXPECT_THAT(error_of("TOOLONGNAME\n"), HasSubstr("line 1"));
  EXPECT_THAT(error_of("A B\n"), HasSubstr("no symbol has"));
  EXPECT_THAT(error_of("A%4\n"), HasSubstr("hexadecimal"));
  EXPECT_THAT(error_of("A\nB\nC\n", 2), HasSubstr("instruments_max"));
}

}  // namespace
}  // namespace tickpath::mdh
