// Memory that a datapath thread may touch without a page fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tickpath {

// While one lives, pages are left to their first use: for whoever runs programs without their
// times, and waits for memory that mostly stays unused (deterministic replay). Control thread.
class UntouchedPages {
 public:
  UntouchedPages() noexcept { chosen_ = true; }
  ~UntouchedPages() { chosen_ = false; }
  UntouchedPages(const UntouchedPages&) = delete;
  UntouchedPages& operator=(const UntouchedPages&) = delete;
  static bool chosen() noexcept { return chosen_; }

 private:
  static inline constinit bool chosen_ = false;
};

// Makes the pages of [begin, begin + bytes) present and writable, as a write would, and changes
// nothing in them; other threads may be using them. For mapped files: when the kernel has written a
// page back it write-protects it, and the next write takes a fault, which may wait for the disk.
// Control threads do that in place of the datapath. False: the kernel cannot (before Linux 5.14),
// or the disk is full.
bool prefault_for_writing(const void* begin, std::size_t bytes) noexcept;

// An empty vector gets room for `count` elements whose pages have been written: none of its
// push_back() up to there takes a fault. reserve() leaves the faults to those who fill it.
template <typename T>
void reserve_touched(std::vector<T>& vector, std::size_t count) {
  vector.resize(count);
  vector.clear();
}

// Touches pages of the calling thread before it polls. Deep calls will need those of its stack, the
// rare work that allocates on a datapath (SessionScope) those of its heap.
void prefault_stack() noexcept;
void prefault_heap() noexcept;
// What free() returns stays mapped in this process, for the next who allocates. Before threads.
void keep_freed_memory() noexcept;

// The code and data of the program and its libraries: code that runs for the first time, in an
// hour, takes no fault then. Control thread; reads them from the disk where they are not in memory.
void prefault_image() noexcept;

// Keeps what is mapped now in memory, each page once it is there, where the limit on locked memory
// allows it (or CAP_IPC_LOCK). Empty, or why not and what to do.
std::string lock_memory() noexcept;

// What the process has in memory now; 0: /proc does not say.
std::uint64_t resident_bytes() noexcept;

struct PageFaults {
  std::uint64_t minor = 0;  // the page was in memory
  std::uint64_t major = 0;  // it was read from a disk
};
// Page faults of one thread of this process since it started. nullopt: there is none of this id.
std::optional<PageFaults> page_faults(int thread_id) noexcept;

}  // namespace tickpath
