// The local keys of a device whose library checks them itself.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

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

}  // namespace tickpath::rdma::detail
