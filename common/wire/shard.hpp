// Which part of a venue's symbols a program is of: "2/4" is the second of four shards. The same in
// every program, at any time and on any host: who reads the feed, who trades, and who looks for a
// symbol's book agree without asking one another.
//
// A symbol's shard follows from its eight characters as feeds pad them, with spaces on the right,
// taken as one little-endian word:
//
//   mixed = word * kShardFactorA;  mixed = (mixed ^ mixed >> 32) * kShardFactorB
//   shard = 1 + (upper 32 bits of mixed) * count / 2^32
//
// Symbols differ in few bits of few characters, the first above all, and end in equal padding. A
// product carries these bits upwards only: the first one's upper half has them all, the fold brings
// them down, and the second one spreads them once more, so that the upper bits, which decide,
// depend on every character. Two products and a shift are less than a cache miss: DEEP has no
// locate, and its every message is decided by this. FNV-1a, in use elsewhere here, would be eight
// dependent products. What is even is the number of symbols, not their load: a shard that has the
// busiest one has more to do (mdh/DESIGN.md).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace tickpath::wire {

inline constexpr unsigned kShardsMax = 16;

// Odd, their bits in no pattern: 2^64 divided by the golden ratio, and the fraction of pi. Of a few
// such constants the second is the one under which the load of today's busiest symbols comes
// closest to even. Never to be changed: each shard's symbols would be others.
inline constexpr std::uint64_t kShardFactorA = 0x9e37'79b9'7f4a'7c15;
inline constexpr std::uint64_t kShardFactorB = 0x243f'6a88'85a3'08d3;

inline constexpr std::size_t kPaddedSymbolBytes = 8;

struct Shard {
  std::uint8_t number = 1;  // 1 to count
  std::uint8_t count = 1;   // 1: all symbols

  friend constexpr bool operator==(const Shard&, const Shard&) = default;
  constexpr bool whole() const noexcept { return count == 1; }

  // Whether it has this symbol: eight characters padded with spaces. Any thread.
  bool has_padded(const void* symbol) const noexcept { return number_of(symbol, count) == number; }
  // The same for a symbol without padding; what is beyond eight characters does not count.
  bool has(std::string_view symbol) const noexcept { return of(symbol, count) == *this; }

  static Shard of(std::string_view symbol, std::uint8_t count) noexcept {
    char padded[kPaddedSymbolBytes];
    std::memset(padded, ' ', sizeof(padded));
    std::memcpy(padded, symbol.data(), symbol.size() < sizeof(padded) ? symbol.size() : 8);
    return {number_of(padded, count), count};
  }

  // As it travels in a hello (wire::Hello): never 0, which is a peer that does not say.
  constexpr std::uint64_t word() const noexcept {
    return std::uint64_t{number} << 8 | std::uint64_t{count};
  }
  // As configurations have it: "2/4".
  std::string text() const { return std::to_string(number) + "/" + std::to_string(count); }
  // "k/n" with 1 <= k <= n <= kShardsMax; empty text: the whole. nullopt: it is none of these.
  static std::optional<Shard> parse(std::string_view text) noexcept;

 private:
  static std::uint8_t number_of(const void* symbol, std::uint8_t count) noexcept {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t word = 0;
    std::memcpy(&word, symbol, sizeof(word));
    std::uint64_t mixed = word * kShardFactorA;
    mixed = (mixed ^ mixed >> 32) * kShardFactorB;
    return static_cast<std::uint8_t>(1 + ((mixed >> 32) * count >> 32));
  }
};
static_assert(sizeof(Shard) == 2);

// What a hello says of it; nullopt: nothing (any will do), or what no shard can be.
constexpr std::optional<Shard> shard_of_word(std::uint64_t word) noexcept {
  const std::uint64_t number = word >> 8;
  const std::uint64_t count = word & 0xff;
  if (number == 0 || number > count || count > kShardsMax) return std::nullopt;
  return Shard{static_cast<std::uint8_t>(number), static_cast<std::uint8_t>(count)};
}

}  // namespace tickpath::wire
