// A fixed pool of nodes named by index. The node returned last goes out first: it is still cached.
#pragma once

#include <cstdint>

#include "common/book/detail/huge_array.hpp"

namespace tickpath::book::detail {

// Node has a std::uint32_t member `next`, which links free nodes.
template <class Node>
class Pool {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  Pool(std::uint32_t capacity, const char* what) : nodes_(capacity, what), capacity_(capacity) {}

  Node& operator[](std::uint32_t index) noexcept { return nodes_[index]; }
  const Node& operator[](std::uint32_t index) const noexcept { return nodes_[index]; }

  // kNone when all are out.
  [[nodiscard]] std::uint32_t take() noexcept {
    if (free_ != kNone) {
      const std::uint32_t index = free_;
      free_ = nodes_[index].next;
      ++in_use_;
      return index;
    }
    if (fresh_ == capacity_) return kNone;
    ++in_use_;
    return fresh_++;
  }
  void give_back(std::uint32_t index) noexcept {
    nodes_[index].next = free_;
    free_ = index;
    --in_use_;
  }
  bool full() const noexcept { return in_use_ == capacity_; }
  std::uint32_t in_use() const noexcept { return in_use_; }
  std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  HugeArray<Node> nodes_;
  std::uint32_t capacity_;
  std::uint32_t free_ = kNone;
  std::uint32_t fresh_ = 0;  // nodes at and above were never used
  std::uint32_t in_use_ = 0;
};

}  // namespace tickpath::book::detail
