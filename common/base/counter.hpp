// A counter with one writer (the datapath thread) and any number of readers (control, metrics).
#pragma once

#include <atomic>
#include <cstdint>

namespace tickpath {

class Counter {
 public:
  // Writer thread only. A plain load and store instead of a locked add: there is one writer.
  // Relaxed: a reader wants a recent value and orders nothing by it.
  void add(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }

  // Any thread.
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace tickpath
