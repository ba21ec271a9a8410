// A bounded queue between exactly one producer thread and one consumer thread: how the datapath
// and the control thread of a program talk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "common/base/check.hpp"
#include "common/base/cpu.hpp"

namespace tickpath {

// T: trivially copyable. Index: unsigned; tests use std::uint8_t to reach wrap-around quickly.
template <class T, class Index = std::uint64_t>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<T> && std::is_unsigned_v<Index>);

 public:
  // capacity: a power of two, at most half the range of Index (so that full and empty differ).
  explicit SpscRing(std::size_t capacity)
      : slots_(std::make_unique<T[]>(capacity)), mask_(static_cast<Index>(capacity - 1)) {
    TICKPATH_CHECK(capacity >= 1 && (capacity & (capacity - 1)) == 0, "a power of two");
    TICKPATH_CHECK(capacity - 1 <= static_cast<Index>(~Index{0}) / 2, "capacity exceeds the index");
  }

  // Producer only. False when full: the caller counts and decides.
  [[nodiscard]] bool try_push(const T& value) noexcept {
    const Index tail = tail_.load(std::memory_order_relaxed);  // own index: no ordering needed
    if (static_cast<Index>(tail - cached_head_) > mask_) {
      // Pairs with the release in try_pop(): without it this slot could be overwritten while the
      // consumer still reads it.
      cached_head_ = head_.load(std::memory_order_acquire);
      if (static_cast<Index>(tail - cached_head_) > mask_) return false;
    }
    slots_[tail & mask_] = value;
    // Pairs with the acquire in try_pop(): without it the consumer may see the new tail before
    // the bytes it points at.
    tail_.store(static_cast<Index>(tail + 1), std::memory_order_release);
    return true;
  }

  // Producer only. Whether the consumer has taken everything.
  bool drained() const noexcept {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_relaxed);
  }

  // Consumer only. False when empty.
  [[nodiscard]] bool try_pop(T& value) noexcept {
    const Index head = head_.load(std::memory_order_relaxed);  // own index: no ordering needed
    if (head == cached_tail_) {
      // Pairs with the release in try_push(), as above.
      cached_tail_ = tail_.load(std::memory_order_acquire);
      if (head == cached_tail_) return false;
    }
    value = slots_[head & mask_];
    // Pairs with the acquire in try_push(), as above.
    head_.store(static_cast<Index>(head + 1), std::memory_order_release);
    return true;
  }

 private:
  // Each side's index with its cached copy of the other's, on a line of its own: the sides touch a
  // shared line only when the cached copy runs out.
  alignas(kCacheLineBytes) std::atomic<Index> tail_{0};
  Index cached_head_{0};
  alignas(kCacheLineBytes) std::atomic<Index> head_{0};
  Index cached_tail_{0};
  alignas(kCacheLineBytes) std::unique_ptr<T[]> slots_;
  Index mask_;
};

}  // namespace tickpath
