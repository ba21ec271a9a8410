// The copies of the shm provider: what a NIC's DMA engine would do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <immintrin.h>

#include "common/rdma/shm/freedoms.hpp"

namespace tickpath::rdma::detail {

// Stores 8 bytes after everything stored before. Pairs with load_placed(): without release the
// reader could see the sequence word of a slot before its payload.
inline void store_last_word(std::byte* to, const std::byte* from) noexcept {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  if ((reinterpret_cast<std::uintptr_t>(to) & 7) == 0) {
    std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(to))
        .store(word, std::memory_order_release);
    return;
  }
  // Not aligned: still last (x86 keeps stores in order, the fence stops the compiler), no longer
  // promised to be whole.
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(to, &word, sizeof(word));
}

// One cache line, the size of a ring slot and of most messages here. Few stores: each one more is a
// chance for the reader, who polls this line, to take it away in between and delay the rest.
inline void place_line(std::byte* to, const std::byte* from) noexcept {
  if ((reinterpret_cast<std::uintptr_t>(to) & 15) != 0) [[unlikely]] {
    std::memcpy(to, from, 56);
    store_last_word(to + 56, from + 56);
    return;
  }
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m128i third = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 32));
  std::uint64_t last[2];
  std::memcpy(last, from + 48, 16);
  const __m128i fourth =
      _mm_set_epi64x(static_cast<long long>(last[1]), static_cast<long long>(last[0]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), first);
  _mm_store_si128(reinterpret_cast<__m128i*>(to + 32), third);
  // Pairs with load_placed(): the fence keeps the compiler, and x86 keeps its stores, in order;
  // without it the reader could see the word before the payload. An aligned 16-byte store is whole
  // on every CPU with AVX (Intel SDM volume 3, 9.1.1; AMD APM volume 2, 7.3.2).
  std::atomic_thread_fence(std::memory_order_release);
  _mm_store_si128(reinterpret_cast<__m128i*>(to + 48), fourth);
}

// Places `length` bytes in the peer's memory, the last 8 last (the placement guarantee of
// common/rdma/ordering.hpp).
inline void place(std::byte* to, const std::byte* from, std::size_t length) noexcept {
  if (free_to_differ()) [[unlikely]]
    return place_freely(to, from, length);
  if (length == 64) [[likely]] {
    place_line(to, from);
  } else if (length >= 8) {
    std::memcpy(to, from, length - 8);
    store_last_word(to + length - 8, from + length - 8);
  } else {
    std::memcpy(to, from, length);
  }
}

// Fetches `length` bytes from the peer's memory: aligned 8-byte words whole.
inline void fetch(std::byte* to, const std::byte* from, std::size_t length) noexcept {
  if (free_to_differ()) [[unlikely]]
    return fetch_freely(to, from, length);
  // Pairs with the owner's store_for_peer() seen by an earlier READ: without it this copy could be
  // taken before that READ.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (length == 64) [[likely]] {
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), first);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32), second);
  } else if (length == 8) {
    std::memcpy(to, from, 8);
  } else {
    std::memcpy(to, from, length);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
}

// RDMA atomics, on an aligned word; the word as it was. Sequentially consistent: a peer's word may
// be what two of them decide by.
inline std::uint64_t fetch_add(std::uint64_t* word, std::uint64_t add) noexcept {
  if (free_to_differ()) [[unlikely]]
    return fetch_add_freely(word, add);
  return std::atomic_ref<std::uint64_t>(*word).fetch_add(add, std::memory_order_seq_cst);
}

inline std::uint64_t compare_swap(std::uint64_t* word, std::uint64_t compare,
                                  std::uint64_t swap) noexcept {
  if (free_to_differ()) [[unlikely]]
    return compare_swap_freely(word, compare, swap);
  std::atomic_ref<std::uint64_t>(*word).compare_exchange_strong(compare, swap,
                                                                std::memory_order_seq_cst);
  return compare;
}

}  // namespace tickpath::rdma::detail
