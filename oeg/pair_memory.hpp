// What one of a pair knows of the leadership, over its restarts: a small file, mapped. It survives
// the end of the process, not a power cut: a host that comes back has to join.
//
//   0 magic | 8 state_bytes | 12 place | 64 slot 0 | 320 slot 1       slot: 0 sequence | 8 state
//
// Host order; of this program alone, as the state is Succession itself. The slot with the higher
// sequence counts; the other one is written next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/mapping.hpp"
#include "oeg/succession.hpp"

namespace tickpath::oeg {

class PairMemory {
 public:
  // Control thread. Opens or makes the file. Throws SystemError, Error (no such file, or of the
  // other place).
  PairMemory(const std::string& path, std::uint8_t place);

  // Nothing: there was no former life.
  std::optional<Succession> load() const noexcept;
  // One thread. Before anything of it takes effect.
  void store(const Succession& state) noexcept;

 private:
  struct Slot;

  Slot& slot(std::uint64_t sequence) const noexcept;

  Mapping mapping_;
  std::uint64_t sequence_ = 0;
};

}  // namespace tickpath::oeg
