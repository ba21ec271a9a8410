// Copies of memory that a peer may be writing or reading at the same moment.
//
// Such bytes are torn, not undefined: every 8-byte word is moved by a relaxed or ordered atomic, so
// that the C++ memory model (and ThreadSanitizer) sees no data race, and the caller decides by
// version or sequence words whether the copy is whole. On x86-64 each compiles to one plain mov.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tickpath::link {

// A payload that may cross a process boundary as 8-byte words.
// clang-format off
template <class T>
concept Payload = std::is_trivially_copyable_v<T> &&
                  std::is_default_constructible_v<T> &&
                  sizeof(T) % 8 == 0 && alignof(T) <= 8;
// clang-format on

template <Payload T>
using Words = std::array<std::uint64_t, sizeof(T) / 8>;

inline std::uint64_t load_word(const std::uint64_t& word, std::memory_order order) noexcept {
  // atomic_ref<const T> arrives with C++26; the word is never written through this reference.
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(word)).load(order);
}

inline void store_word(std::uint64_t& word, std::uint64_t value, std::memory_order order) noexcept {
  std::atomic_ref<std::uint64_t>(word).store(value, order);
}

// Copies out of shared memory. Acquire on every word: whatever the caller loads next (the version
// again) cannot move before the copy, which is what makes the second check mean something.
inline void load_words(std::uint64_t* out, const std::uint64_t* in, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) out[i] = load_word(in[i], std::memory_order_acquire);
}

// Copies into shared memory. Release on every word: none becomes visible before what the caller
// stored earlier (the odd version, the previous slot's sequence).
inline void store_words(std::uint64_t* out, const std::uint64_t* in, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) store_word(out[i], in[i], std::memory_order_release);
}

}  // namespace tickpath::link
