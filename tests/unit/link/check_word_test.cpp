#include "common/link/check_word.hpp"

#include <set>
#include <utility>

#include <gtest/gtest.h>

namespace tickpath::link {
namespace {

template <std::size_t N>
struct Block {
  std::uint64_t words[N];
};

// Part of the format of what is READ: one program writes it, another of the same day reads it.
TEST(CheckWord, IsTheSameInEveryProgram) {
  // Computed by hand from the definition: keys of splitmix64 from 0, products folded.
  const auto fold = [](std::uint64_t a, std::uint64_t b) {
    __extension__ using UInt128 = unsigned __int128;
    const UInt128 product = UInt128{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  // The first outputs of splitmix64 with seed 0, as its authors' reference gives them.
  constexpr std::uint64_t kFirst = 0xe220'a839'7b1d'cdafu;
  constexpr std::uint64_t kSecond = 0x6e78'9e6a'a1b9'65f4u;
  constexpr std::uint64_t kThird = 0x06c4'5d18'8009'454fu;
  constexpr std::uint64_t kFourth = 0xf88b'b8a8'724c'81ecu;
  EXPECT_EQ(check_word(Block<2>{{0, 0}}), fold(kFirst, kSecond));
  EXPECT_EQ(check_word(Block<3>{{1, 2, 3}}),
            fold(1 ^ kFirst, 2 ^ kSecond) + fold(3 ^ kThird, kFourth));
}

TEST(CheckWord, IsNeverZero) {
  // A word that makes the only product 0.
  EXPECT_EQ(check_word(Block<1>{{0xe220'a839'7b1d'cdafu}}), 1u);
}

TEST(CheckWord, EveryBitOfEveryWordCounts) {
  const Block<29> zeros{};
  std::set<std::uint64_t> seen{check_word(zeros)};
  for (std::size_t word = 0; word < 29; ++word)
    for (int bit = 0; bit < 64; ++bit) {
      Block<29> changed = zeros;
      changed.words[word] ^= std::uint64_t{1} << bit;
      EXPECT_TRUE(seen.insert(check_word(changed)).second) << "word " << word << ", bit " << bit;
    }
}

// What a READ finds while a writer is at work: any subset of the words of either version, and
// either check word. Differences as prices have them, where simpler sums are equal by chance.
void expect_no_mixture_passes(const Block<12>& before, const Block<12>& after) {
  const std::uint64_t checks[] = {check_word(before), check_word(after)};
  ASSERT_NE(checks[0], checks[1]);
  for (std::uint32_t subset = 1; subset < (1u << 12) - 1; ++subset) {
    Block<12> mixture;
    for (std::size_t i = 0; i < 12; ++i)
      mixture.words[i] = (subset >> i & 1) != 0 ? after.words[i] : before.words[i];
    const std::uint64_t check = check_word(mixture);
    EXPECT_NE(check, checks[0]) << "subset " << subset;
    EXPECT_NE(check, checks[1]) << "subset " << subset;
  }
}

TEST(CheckWord, NoMixtureOfTwoVersionsPasses) {
  Block<12> before;
  for (std::size_t i = 0; i < 12; ++i) before.words[i] = 1'000'000 + i;
  for (const int shift : {0, 1, 31, 32, 33, 56, 63}) {
    Block<12> same = before;
    Block<12> opposite = before;
    for (std::size_t i = 0; i < 12; ++i) {
      same.words[i] ^= std::uint64_t{1} << shift;
      opposite.words[i] += i % 2 == 0 ? std::uint64_t{1} << shift : -(std::uint64_t{1} << shift);
    }
    expect_no_mixture_passes(before, same);
    expect_no_mixture_passes(before, opposite);
  }
}

TEST(CheckWord, ExchangedWordsAreSeen) {
  Block<12> value;
  for (std::size_t i = 0; i < 12; ++i) value.words[i] = i * i;
  std::set<std::uint64_t> seen{check_word(value)};
  for (std::size_t i = 0; i < 12; ++i)
    for (std::size_t j = i + 1; j < 12; ++j) {
      Block<12> other = value;
      std::swap(other.words[i], other.words[j]);
      EXPECT_TRUE(seen.insert(check_word(other)).second) << i << " and " << j;
    }
}

}  // namespace
}  // namespace tickpath::link
