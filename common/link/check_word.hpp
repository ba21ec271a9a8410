// A word over a record's other words by which one READ of both tells whether it is whole.
//
// Within one READ aligned words of 8 bytes come whole and in any order (DESIGN.md): while a writer
// is at work the copy can be a mixture of versions. A record that carries a check word validates
// itself, with one READ in place of the three of a version, record, version frame (self-verifying
// objects: Mitchell, Geng, Li, "Using One-Sided RDMA Reads to Build a Fast, CPU-Efficient Key-Value
// Store", USENIX ATC 2013, section 4.2). A mixture passes with a probability of about 2^-64.
//
// The writer stores the changed words in any order, then the check word. A reader has a copy whose
// words are those of one version; that was the record's content when the check word was fetched,
// unless two versions have the same content. There is no state of "being written": a reader that
// meets one tries again, as it does with versions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "common/base/random.hpp"
#include "common/link/words.hpp"

namespace tickpath::link {

namespace detail {

// The same in every program, for they are part of the format.
template <std::size_t count>
constexpr std::array<std::uint64_t, count> check_keys() noexcept {
  std::array<std::uint64_t, count> keys{};
  std::uint64_t state = 0;
  for (std::uint64_t& key : keys) key = splitmix64(state);
  return keys;
}

// Both halves of the product: each bit of either factor counts, in whatever place it is.
inline std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using UInt128 = unsigned __int128;
  const UInt128 product = static_cast<UInt128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace detail

// Never 0, so that zeroed memory is no record. Any thread, on memory that nobody changes meanwhile:
// a copy.
template <Payload T>
std::uint64_t check_word(const T& value) noexcept {
  constexpr std::size_t kWords = sizeof(T) / 8;
  constexpr std::size_t kPairs = (kWords + 1) / 2;
  constexpr auto kKeys = detail::check_keys<2 * kPairs>();
  const auto word = [&](std::size_t i) noexcept {
    std::uint64_t result = 0;
    if (i < kWords) std::memcpy(&result, reinterpret_cast<const std::byte*>(&value) + i * 8, 8);
    return result ^ kKeys[i];
  };
  const std::uint64_t check = [&]<std::size_t... pair>(std::index_sequence<pair...>) noexcept {
    return (detail::fold_product(word(2 * pair), word(2 * pair + 1)) + ...);
  }
  (std::make_index_sequence<kPairs>());
  return check == 0 ? 1 : check;
}

}  // namespace tickpath::link
