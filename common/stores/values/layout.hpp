// How the memory of shared values is laid out: a header, a region of words that are changed by
// atomics, and one for each lane. Into a lane its writer alone WRITEs
// (common/link/shared_records.hpp).
//
//   header   READ
//     0      ValuesHeader, fixed
//   words    READ; writers: atomics too
//     0      guards of the places
//   lane     READ; its writer: WRITE
//     0      slots of wire::SharedValue, by place
//
// A key stands in the first place, from the one that its hash names onward and round, that was
// never written or has it. A place never becomes free again, so two clients that look for a key
// look at the same places in the same order, and it is never in two of them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/cpu.hpp"
#include "common/base/fnv.hpp"
#include "common/link/shared_records.hpp"
#include "common/wire/values.hpp"

namespace tickpath::values {

inline constexpr std::uint32_t kKeysMax = 65'536;

// 0 magic | 8 version | 12 places | 16 lanes | 20 reserved
struct ValuesHeader {
  static constexpr std::uint64_t kMagic = 0x7365756c61766b74;  // "tkvalues" as bytes in memory
  static constexpr std::uint32_t kVersion = 2;                 // 1 had the header in the words
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t places;  // a power of two
  std::uint32_t lanes;
  std::uint32_t reserved[11];
};
static_assert(sizeof(ValuesHeader) == kCacheLineBytes);

// Offsets and sizes in bytes.
struct ValuesLayout {
  using Records = link::SharedSize<wire::SharedValue>;

  // Twice as many places as keys, so that a search looks at one or two.
  static constexpr std::uint32_t places_for(std::uint32_t keys) noexcept {
    return std::bit_ceil(2 * keys);
  }
  static constexpr std::size_t kGuards = 0;
  static constexpr std::size_t words_bytes(std::size_t places) noexcept {
    return kGuards + Records::guards(places);
  }
  static constexpr std::size_t lane_bytes(std::size_t places) noexcept {
    return Records::lane(places);
  }
};

constexpr std::uint64_t hash_of(std::string_view key) noexcept {
  const std::uint64_t hash = fnv1a(key);
  return hash ^ hash >> 32;
}

// Why a header is none that we can read; nullptr: it is one.
inline const char* wrong_with(const ValuesHeader& header) noexcept {
  if (header.magic != ValuesHeader::kMagic) return "it keeps no shared values";
  if (header.version != ValuesHeader::kVersion) return "its shared values are of another version";
  if (!std::has_single_bit(header.places) || header.places > ValuesLayout::places_for(kKeysMax) ||
      header.lanes == 0 || header.lanes > link::kLanesMax)
    return "the sizes of its shared values are impossible";
  return nullptr;
}

}  // namespace tickpath::values
