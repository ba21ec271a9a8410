// 64-bit ids to slot numbers: open addressing, linear probing, no tombstones.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tickpath::oeg {

// Datapath thread. Allocates in the constructor alone; at most half full, so that a probe is short.
class IdTable {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  explicit IdTable(std::size_t ids_max)
      : cells_(std::bit_ceil(2 * ids_max + 2)), mask_(cells_.size() - 1) {}

  std::uint32_t find(std::uint64_t id) const noexcept {
    for (std::size_t at = home(id);; at = (at + 1) & mask_) {
      if (cells_[at].id == id) return cells_[at].slot;
      if (cells_[at].id == 0) return kNone;
    }
  }
  // id != 0, not in the table, and room: the caller counts.
  void insert(std::uint64_t id, std::uint32_t slot) noexcept {
    std::size_t at = home(id);
    while (cells_[at].id != 0) at = (at + 1) & mask_;
    cells_[at] = {id, slot};
  }
  void erase(std::uint64_t id) noexcept {
    std::size_t at = home(id);
    while (cells_[at].id != id) {
      if (cells_[at].id == 0) return;
      at = (at + 1) & mask_;
    }
    // Backward shift: whoever probed past this cell moves up, so that no probe ends too early.
    for (std::size_t next = (at + 1) & mask_; cells_[next].id != 0; next = (next + 1) & mask_) {
      const std::size_t distance = (next - home(cells_[next].id)) & mask_;
      if (distance < ((next - at) & mask_)) continue;
      cells_[at] = cells_[next];
      at = next;
    }
    cells_[at] = {};
  }

 private:
  struct Cell {
    std::uint64_t id = 0;  // 0: free
    std::uint32_t slot = kNone;
  };
  // Fibonacci hashing: consecutive counters of one strategy spread over the table.
  std::size_t home(std::uint64_t id) const noexcept {
    return static_cast<std::size_t>((id * 0x9e37'79b9'7f4a'7c15u) >> 32) & mask_;
  }

  std::vector<Cell> cells_;
  std::size_t mask_;
};

}  // namespace tickpath::oeg
