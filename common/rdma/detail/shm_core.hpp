// What all objects of one shm device share; it lives until the last of them is gone, so that they
// may be destroyed in any order.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "common/rdma/detail/shm_monitor.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

// The device's local keys: what a work request's lkey is checked against.
class RegionTable {
 public:
  static constexpr std::uint32_t kIndexBits = 12;
  static constexpr std::uint32_t kEntries = 1u << kIndexBits;

  // Control thread. Throws SetupError{kLimit}.
  std::uint32_t add(const std::byte* data, std::size_t size_bytes, AccessFlags access);
  void remove(std::uint32_t lkey) noexcept;

  // Datapath. May [address, address + length) be read (or written) locally under this key?
  bool allows(std::uint32_t lkey, const void* address, std::uint64_t length,
              bool write) const noexcept {
    const Entry& entry = entries_[lkey & (kEntries - 1)];
    // Pairs with the release in add(): a key that is seen comes with its bounds.
    if (lkey == 0 || entry.lkey.load(std::memory_order_acquire) != lkey) return false;
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(address) - entry.base;
    return offset <= entry.length && length <= entry.length - offset &&
           (!write || (entry.access & kLocalWrite) != 0);
  }

 private:
  struct alignas(32) Entry {
    std::atomic<std::uint32_t> lkey{0};  // 0: free
    AccessFlags access = 0;
    std::uint64_t base = 0;
    std::uint64_t length = 0;
  };
  std::mutex mutex_;  // writers only
  std::array<Entry, kEntries> entries_;
};

// membarrier(2): one thread runs a full barrier on every core where a thread of the registered
// processes runs, so that the frequent side of a handshake needs no fence of its own.
struct Barriers {
  bool within_process = false;    // MEMBARRIER_CMD_PRIVATE_EXPEDITED works
  bool across_processes = false;  // MEMBARRIER_CMD_GLOBAL_EXPEDITED works, and we are registered

  static Barriers register_process() noexcept;
  void run_within() const noexcept;
  void run_across() const noexcept;
};

struct DeviceCore {
  DeviceInfo info;
  Barriers barriers;
  RegionTable regions;
  Monitor monitor;

  // Things a person should know once: memory that could not be locked, no huge pages.
  void note_once(const std::string& key, const std::string& text);
  std::vector<std::string> notes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> notes_;
};

}  // namespace tickpath::rdma::detail
