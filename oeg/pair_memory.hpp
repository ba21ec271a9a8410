// What one of a pair knows of the leadership, over its restarts: a small file, mapped. It survives
// the end of the process at once, and reaches the disk a moment later. So that of a former start of
// the host may not be the newest: it says so, and who finds it asks the witness (PairKeeper).
//
//   0 magic | 8 state_bytes | 12 place | 16 inode | 24 born_ns | 64 slot 0 | 320 slot 1
//   slot: 0 sequence | 8 boot | 16 state
//
// Host order; of this program alone, as the state is Succession itself. The slot with the higher
// sequence counts; the other one is written next. inode and born_ns (statx(2), STATX_BTIME; 0 where
// the file system has none) name the file. A copy has others: it may be older than what its
// original knows, and the original may be in use. So it is no memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/mapping.hpp"
#include "oeg/succession.hpp"

namespace tickpath::oeg {

class PairMemory {
 public:
  // Control thread. Opens or makes the file. What is in a copy is forgotten. Throws SystemError,
  // Error (no such file, or of the other place). boot: this start of the host (clock::host_id()).
  PairMemory(const std::string& path, std::uint8_t place, std::uint64_t boot);

  // The file was a copy of another one.
  bool was_copied() const noexcept { return was_copied_; }
  // Nothing: there was no former life, or the file was a copy.
  std::optional<Succession> load() const noexcept;
  // What load() returns was stored since the host was started.
  bool is_of_this_boot() const noexcept;
  // One thread. Before anything of it takes effect.
  void store(const Succession& state) noexcept;
  // The same thread. What store() was given last is on the disk, or cannot be brought there: sync()
  // has said so.
  bool is_saved() const noexcept { return saved_.load(std::memory_order_relaxed) >= sequence_; }
  // Control thread, now and then, and where more follows than on this host: on the disk, if
  // anything was stored since. 0, or the errno: it may not be there.
  int sync() noexcept;

 private:
  struct Slot;

  Slot& slot(std::uint64_t sequence) const noexcept;
  void know_file(int file, const std::string& path);

  Mapping mapping_;
  bool was_copied_ = false;
  const std::uint64_t boot_;
  std::uint64_t sequence_ = 0;
  std::uint64_t synced_ = 0;  // by this process: its former life may have ended before it did
  std::atomic<std::uint64_t> saved_{0};  // relaxed: nothing else is read by it
};

}  // namespace tickpath::oeg
