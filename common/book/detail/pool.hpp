// A fixed pool of nodes named by index. The node returned last goes out first: it is still cached.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/huge_array.hpp"

namespace tickpath::book::detail {

// Node has a std::uint32_t member `next`, which links free nodes.
//
// Node kNil is never given out. It exists, so that code that unlinks a list writes through its ends
// without asking whether there is a neighbour: what lands in kNil is never read.
template <class Node>
class Pool {
 public:
  static constexpr std::uint32_t kNil = 0;

  Pool(std::uint32_t capacity, const char* what)
      : nodes_(std::size_t{capacity} + 1, what), capacity_(capacity) {}

  Node& operator[](std::uint32_t index) noexcept { return nodes_[index]; }
  const Node& operator[](std::uint32_t index) const noexcept { return nodes_[index]; }

  // Not when full().
  [[nodiscard]] std::uint32_t take() noexcept {
    ++in_use_;
    if (free_ == kNil) return fresh_++;
    const std::uint32_t index = free_;
    free_ = nodes_[index].next;
    return index;
  }
  void give_back(std::uint32_t index) noexcept {
    nodes_[index].next = free_;
    free_ = index;
    --in_use_;
  }
  bool full() const noexcept { return in_use_ == capacity_; }
  std::uint32_t in_use() const noexcept { return in_use_; }

 private:
  HugeArray<Node> nodes_;
  std::uint32_t capacity_;
  std::uint32_t free_ = kNil;
  std::uint32_t fresh_ = 1;  // nodes at and above were never used
  std::uint32_t in_use_ = 0;
};

}  // namespace tickpath::book::detail
