// A 64-bit id (an order id) to a table index: open addressing, preallocated, never grows.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/check.hpp"

namespace tickpath {

// One thread. Linear probing with backward-shift deletion, so that no tombstones pile up over a
// day's orders. Id 0 is not an id.
class IdMap {
 public:
  // Holds up to `ids_max` ids at a load of at most one half.
  explicit IdMap(std::size_t ids_max)
      : cells_(std::bit_ceil(ids_max * 2 < 8 ? std::size_t{8} : ids_max * 2)),
        mask_(cells_.size() - 1),
        shift_(64 - static_cast<unsigned>(std::countr_zero(cells_.size()))),
        ids_max_(ids_max) {}

  static constexpr std::uint32_t kNone = 0xffff'ffff;

  std::uint32_t find(std::uint64_t id) const noexcept {
    for (std::size_t at = home(id);; at = (at + 1) & mask_) {
      if (cells_[at].id == 0) return kNone;  // first: 0 is asked for, too
      if (cells_[at].id == id) return cells_[at].value;
    }
  }

  // False when full, or the id is there already.
  [[nodiscard]] bool insert(std::uint64_t id, std::uint32_t value) noexcept {
    TICKPATH_CHECK(id != 0, "0 is not an id");
    if (size_ == ids_max_) return false;
    std::size_t at = home(id);
    while (cells_[at].id != 0) {
      if (cells_[at].id == id) return false;
      at = (at + 1) & mask_;
    }
    cells_[at] = {id, value};
    ++size_;
    return true;
  }

  void erase(std::uint64_t id) noexcept {
    if (id == 0) return;
    std::size_t hole = home(id);
    while (cells_[hole].id != id) {
      if (cells_[hole].id == 0) return;
      hole = (hole + 1) & mask_;
    }
    // Moves back every later cell of the cluster whose home is at or before the hole; a find()
    // would stop at the hole otherwise.
    for (std::size_t at = (hole + 1) & mask_; cells_[at].id != 0; at = (at + 1) & mask_) {
      if (((at - home(cells_[at].id)) & mask_) >= ((at - hole) & mask_)) {
        cells_[hole] = cells_[at];
        hole = at;
      }
    }
    cells_[hole] = {};
    --size_;
  }

  std::size_t size() const noexcept { return size_; }

 private:
  struct Cell {
    std::uint64_t id = 0;
    std::uint32_t value = 0;
  };
  // Fibonacci hashing: the ids are consecutive, so neighbours must not share a cluster.
  std::size_t home(std::uint64_t id) const noexcept {
    return static_cast<std::size_t>(id * 0x9e37'79b9'7f4a'7c15u >> shift_);
  }

  std::vector<Cell> cells_;
  std::size_t mask_;
  unsigned shift_;
  std::size_t ids_max_;
  std::size_t size_ = 0;
};

}  // namespace tickpath
