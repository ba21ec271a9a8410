// Values that strategies and tools of several hosts share, in the memory of an mdh told to keep
// them: a key, bytes, and a version that rises with every change (common/stores/values/DESIGN.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace tickpath::wire {

inline constexpr std::size_t kValueKeyBytes = 32;
inline constexpr std::size_t kValueBytes = 400;

enum ValueFlags : std::uint16_t {
  kValueRemoved = 1u << 0,  // the key keeps its place, and its versions go on
};

// 0 key[32] | 32 written_realtime_ns | 40 length | 42 flags | 44 reserved | 48 bytes[400]
struct SharedValue {
  char key[kValueKeyBytes];           // NUL-padded; all of it may be used
  std::uint64_t written_realtime_ns;  // by the writer's clock
  std::uint16_t length;               // of bytes
  std::uint16_t flags;                // ValueFlags
  std::uint32_t reserved;
  std::byte bytes[kValueBytes];

  std::string_view key_text() const noexcept { return {key, ::strnlen(key, sizeof(key))}; }
  bool removed() const noexcept { return (flags & kValueRemoved) != 0; }
};
static_assert(std::is_trivially_copyable_v<SharedValue> && sizeof(SharedValue) == 448 &&
              offsetof(SharedValue, bytes) == 48);

}  // namespace tickpath::wire
