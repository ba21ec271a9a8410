#include "common/wire/shard.hpp"

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tickpath::wire {
namespace {

// Programs of other builds and recorded positions rely on these: they never change.
TEST(Shard, OfASymbolIsTheSameForEver) {
  const std::map<std::string, std::array<int, 4>> known{
      {"A", {2, 3, 4, 15}},    {"AAPL", {1, 2, 2, 8}},     {"MSFT", {1, 1, 1, 3}},
      {"SPY", {2, 3, 4, 16}},  {"BRK.A", {2, 3, 4, 13}},   {"ZAAC", {1, 1, 1, 4}},
      {"ZAAD", {2, 2, 3, 10}}, {"ABCDEFGH", {2, 2, 3, 9}}, {"NVDA", {1, 2, 2, 8}},
  };
  constexpr std::array<std::uint8_t, 4> kCounts{2, 3, 4, 16};
  for (const auto& [symbol, numbers] : known)
    for (std::size_t i = 0; i < kCounts.size(); ++i)
      EXPECT_EQ(Shard::of(symbol, kCounts[i]).number, numbers[i]) << symbol << " of " << i;
}

TEST(Shard, HasItsSymbolsAndNoOthersPaddedOrNot) {
  for (std::uint8_t count = 1; count <= kShardsMax; ++count)
    for (const std::string symbol : {"A", "AAPL", "BRK.A", "ABCDEFGH"}) {
      std::string padded = symbol;
      padded.resize(kPaddedSymbolBytes, ' ');
      int having = 0;
      for (std::uint8_t number = 1; number <= count; ++number) {
        const Shard shard{number, count};
        EXPECT_EQ(shard.has(symbol), shard.has_padded(padded.data())) << symbol;
        having += shard.has(symbol) ? 1 : 0;
      }
      EXPECT_EQ(having, 1) << symbol << " of " << int{count};
    }
}

TEST(Shard, OfAllIsTheWhole) {
  EXPECT_TRUE(Shard{}.whole());
  EXPECT_TRUE(Shard{}.has("AAPL"));
  EXPECT_EQ(Shard::of("AAPL", 1), Shard{});
}

TEST(Shard, IsReadAsWritten) {
  EXPECT_EQ(Shard::parse("2/4"), (Shard{2, 4}));
  EXPECT_EQ(Shard::parse("16/16"), (Shard{16, 16}));
  EXPECT_EQ(Shard::parse(""), Shard{});
  EXPECT_EQ((Shard{2, 4}).text(), "2/4");
  for (const char* wrong : {"0/2", "3/2", "1/17", "1", "1/", "/2", "a/b", "1/2 ", " 1/2", "-1/2",
                            "1/2/3", "1//2", "4294967297/2"})
    EXPECT_EQ(Shard::parse(wrong), std::nullopt) << wrong;
}

TEST(Shard, TravelsAsAWord) {
  for (std::uint8_t count = 1; count <= kShardsMax; ++count)
    for (std::uint8_t number = 1; number <= count; ++number)
      EXPECT_EQ(shard_of_word((Shard{number, count}).word()), (Shard{number, count}));
  for (const std::uint64_t wrong : {0ull, 2ull, 0x302ull, 0x111ull, ~0ull})
    EXPECT_EQ(shard_of_word(wrong), std::nullopt) << wrong;
}

constexpr char letter(std::size_t i) { return static_cast<char>('A' + i % 26); }

// As exchanges name what they list.
std::map<std::string, std::vector<std::string>> lists() {
  std::map<std::string, std::vector<std::string>> all;
  for (std::size_t i = 0; i < 26; ++i) {
    all["up to two letters"].push_back({letter(i)});
    for (std::size_t j = 0; j < 26; ++j) {
      all["up to two letters"].push_back({letter(i), letter(j)});
      all["generated, ZAAA and on"].push_back({'Z', 'A', letter(i), letter(j)});
      for (std::size_t k = 0; k < 26; ++k)
        all["three letters"].push_back({letter(i), letter(j), letter(k)});
    }
  }
  for (std::size_t i = 0; i < 6'000; ++i) {
    const std::string four{letter(i), letter(i / 26), letter(i / 676), letter(7 * i)};
    all["four letters"].push_back(four);
    const std::array<const char*, 6> kSuffixes{"W", "R", "U", ".A", ".B", "-"};
    if (i < 1'000)
      for (const char* const suffix : kSuffixes)
        all["units, rights, warrants, classes"].push_back(four + suffix);
    all["numbered"].push_back("SYM" + std::to_string(i));
  }
  return all;
}

// As even as if each symbol's shard were drawn by lot: within 4.5 standard deviations.
TEST(Shard, ListsOfSymbolsAreSpreadEvenly) {
  for (const auto& [what, symbols] : lists())
    for (std::uint8_t count = 2; count <= kShardsMax; ++count) {
      std::vector<double> sizes(count);
      for (const std::string& symbol : symbols) ++sizes[Shard::of(symbol, count).number - 1u];
      const double mean = static_cast<double>(symbols.size()) / count;
      const double deviation = std::sqrt(mean * (1 - 1.0 / count));
      for (std::size_t shard = 0; shard < count; ++shard)
        EXPECT_LT(std::abs(sizes[shard] - mean), 4.5 * deviation)
            << what << ": " << sizes[shard] << " of " << symbols.size() << " in shard " << shard + 1
            << "/" << int{count};
    }
}

}  // namespace
}  // namespace tickpath::wire
