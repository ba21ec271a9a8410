// Books built from DEEP messages.
#include "common/feeds/iex/deep_books.hpp"

#include <random>

#include <gtest/gtest.h>

#include "common/feeds/iex/codec.hpp"

namespace tickpath::iex {
namespace {

Symbol symbol(std::string_view text) { return Symbol(text); }

class DeepBook : public ::testing::Test {
 protected:
  template <class Update = BuyLevelUpdate>
  void say(std::string_view name, Price price, std::uint32_t size,
           std::uint8_t flags = BuyLevelUpdate::kEventComplete) {
    books(Update{.flags = flags, .symbol = symbol(name), .size = size, .price = price});
  }
  void bid(Price price, std::uint32_t size) { say("ZIEXT", price, size); }
  void ask(Price price, std::uint32_t size) { say<SellLevelUpdate>("ZIEXT", price, size); }
  book::Locate locate(std::string_view name) const { return books.symbols().find(symbol(name)); }
  book::Quote best(Side side) const { return set.best(locate("ZIEXT"), side); }

  book::LevelBookSet set{{.orders_max = 64, .levels_max = 64}};
  DeepBooks books{set};
};

TEST_F(DeepBook, HoldsTheSizeThatWasSaidLastOfEachPrice) {
  bid(100'000, 300);
  bid(100'100, 200);
  ask(100'300, 50);
  EXPECT_EQ(best(Side::kBuy), (book::Quote{100'100, 200}));
  EXPECT_EQ(best(Side::kSell), (book::Quote{100'300, 50}));
  bid(100'100, 500);
  EXPECT_EQ(best(Side::kBuy), (book::Quote{100'100, 500}));
  bid(100'100, 1);
  EXPECT_EQ(best(Side::kBuy), (book::Quote{100'100, 1}));
  bid(100'100, 1);
  EXPECT_EQ(best(Side::kBuy), (book::Quote{100'100, 1}));
  bid(100'100, 0);
  EXPECT_EQ(best(Side::kBuy), (book::Quote{100'000, 300}));
  EXPECT_EQ(set.depth(locate("ZIEXT"), Side::kBuy), 1u);
  EXPECT_EQ(set.orders_resting(), 2u);
  EXPECT_EQ(books.counters().level_updates.get(), 7u);
}

TEST_F(DeepBook, KeepsSymbolsAndSidesApart) {
  bid(100'000, 300);
  ask(100'000, 200);
  say("IBM", 100'000, 7);
  EXPECT_EQ(best(Side::kBuy), (book::Quote{100'000, 300}));
  EXPECT_EQ(best(Side::kSell), (book::Quote{100'000, 200}));
  EXPECT_EQ(set.best(locate("IBM"), Side::kBuy), (book::Quote{100'000, 7}));
  EXPECT_EQ(locate("MSFT"), SymbolTable::kNone);
  EXPECT_EQ(books.symbols().name(locate("IBM")), "IBM");
}

TEST_F(DeepBook, SaysThatABookIsInTransitionUntilItsEventIsComplete) {
  say("ZIEXT", 100'000, 300, 0);
  EXPECT_TRUE(books.in_transition(locate("ZIEXT")));
  say("IBM", 100'000, 300);
  EXPECT_TRUE(books.in_transition(locate("ZIEXT")));
  EXPECT_FALSE(books.in_transition(locate("IBM")));
  bid(100'000, 200);
  EXPECT_FALSE(books.in_transition(locate("ZIEXT")));
}

TEST_F(DeepBook, CountsWhatItCannotHold) {
  bid(100'000, 0);
  EXPECT_EQ(books.counters().unknown_levels.get(), 1u);
  bid(0, 100);
  bid(-100, 100);
  bid(Price{1} << 32, 100);
  EXPECT_EQ(books.counters().unusable_prices.get(), 3u);
  bid((Price{1} << 32) - 1, 100);
  EXPECT_EQ(best(Side::kBuy), (book::Quote{4'294'967'295, 100}));
  for (Price price = 1; price <= 64; ++price) bid(price, 1);
  EXPECT_EQ(books.counters().refused.get(), 1u);
  EXPECT_EQ(set.orders_resting(), 64u);
}

TEST(IexSymbols, AreFoundAgainHoweverMany) {
  SymbolTable table;
  std::mt19937 random(5);
  std::vector<Symbol> symbols;
  while (symbols.size() < SymbolTable::kSymbolsMax) {
    Symbol made = symbol("");
    for (std::size_t i = 0, value = symbols.size(); i < 5; ++i, value /= 26)
      made.characters[i] = static_cast<char>('A' + value % 26);
    symbols.push_back(made);
  }
  std::shuffle(symbols.begin(), symbols.end(), random);
  for (std::size_t i = 0; i < symbols.size(); ++i) ASSERT_EQ(table.locate(symbols[i]), i + 1);
  EXPECT_EQ(table.locate(symbol("ONE MORE")), SymbolTable::kNone);
  EXPECT_EQ(table.size(), SymbolTable::kSymbolsMax);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    ASSERT_EQ(table.find(symbols[i]), i + 1);
    ASSERT_EQ(table.locate(symbols[i]), i + 1);
    ASSERT_EQ(table.name(static_cast<book::Locate>(i + 1)), symbols[i].view());
  }
}

}  // namespace
}  // namespace tickpath::iex
