#include "common/link/ring.hpp"

#include <algorithm>

namespace tickpath::link {

std::uint64_t RingReader::live_position(std::uint64_t next) const noexcept {
  const auto sequence_at = [this](std::uint64_t position) {
    // Pairs with the order of the peer's WRITEs: seeing one sequence, all earlier ones are there.
    return load_word(slots_[position & mask_].sequence, std::memory_order_acquire) & ~kHole;
  };
  // Slots from `start` on carry start, start+1, ... up to the newest, then older ones: the newest
  // is where that order ends, found by bisection.
  const std::uint64_t start = std::max(sequence_at(next), sequence_at(next - 1));
  std::uint64_t written = 0;
  std::uint64_t not_written = depth();
  while (not_written - written > 1) {
    const std::uint64_t middle = written + (not_written - written) / 2;
    if (sequence_at(start + middle) >= start + middle)
      written = middle;
    else
      not_written = middle;
  }
  return start + written;
}

}  // namespace tickpath::link
