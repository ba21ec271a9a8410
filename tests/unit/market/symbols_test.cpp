#include "common/market/symbols.hpp"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

namespace tickpath::market {
namespace {

wire::DirectoryEntry entry(std::uint32_t id, const std::string& symbol) {
  wire::DirectoryEntry made{};
  std::memset(made.symbol, ' ', sizeof(made.symbol));
  std::memcpy(made.symbol, symbol.data(), symbol.size());
  made.instrument_id = id;
  return made;
}

TEST(Symbols, FindsEachOfAFullDirectoryAndNothingElse) {
  Symbols symbols(500);
  for (std::uint32_t i = 0; i < 500; ++i)
    EXPECT_TRUE(symbols.add(entry(i, "S" + std::to_string(i))));
  for (std::uint32_t i = 0; i < 500; ++i) {
    EXPECT_EQ(symbols.find("S" + std::to_string(i)), i);
    EXPECT_EQ(symbols.name(i), "S" + std::to_string(i));
  }
  EXPECT_EQ(symbols.find("S500"), wire::kNoInstrument);
  EXPECT_EQ(symbols.find("SEVENTEENLETTERSX"), wire::kNoInstrument);
  EXPECT_EQ(symbols.find(""), wire::kNoInstrument);
}

TEST(Symbols, KeepsTheFirstNameOfAnId) {
  Symbols symbols(4);
  EXPECT_TRUE(symbols.add(entry(1, "AAPL")));
  EXPECT_TRUE(symbols.add(entry(1, "AAPL")));
  EXPECT_FALSE(symbols.add(entry(1, "MSFT")));
  EXPECT_FALSE(symbols.add(entry(4, "GOOG")));
  EXPECT_EQ(symbols.name(1), "AAPL");
}

}  // namespace
}  // namespace tickpath::market
