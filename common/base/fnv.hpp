// FNV-1a, 64 bits (Fowler, Noll, Vo): tells texts and states apart, and proves nothing against an
// adversary.
#pragma once

#include <cstdint>
#include <string_view>

namespace tickpath {

inline constexpr std::uint64_t kFnvBasis = 0xcbf2'9ce4'8422'2325;
inline constexpr std::uint64_t kFnvPrime = 0x0000'0100'0000'01b3;

// The hash of bytes, or of bytes behind those whose hash is `before`.
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t before = kFnvBasis) noexcept {
  for (const char byte : bytes) before = (before ^ static_cast<unsigned char>(byte)) * kFnvPrime;
  return before;
}

}  // namespace tickpath
