#include "common/rdma/provider/region_table.hpp"

#include <string>

#include "common/rdma/shm/memory.hpp"

namespace tickpath::rdma::detail {

std::uint32_t RegionTable::add(const std::byte* data, std::size_t size_bytes, AccessFlags access) {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t index = 0; index < kEntries; ++index) {
    Entry& entry = entries_[index];
    if (entry.lkey.load(std::memory_order_relaxed) != 0) continue;  // under the mutex
    std::uint32_t lkey = 0;
    while (lkey >> kIndexBits == 0) lkey = (random_key() & ~(kEntries - 1)) | index;
    entry.base = reinterpret_cast<std::uintptr_t>(data);
    entry.length = size_bytes;
    entry.access = access;
    // Pairs with the acquire in allows(): without it a request could be checked against the bounds
    // of the region that had this entry before.
    entry.lkey.store(lkey, std::memory_order_release);
    return lkey;
  }
  throw SetupError(SetupCause::kLimit, "this device holds " + std::to_string(kEntries) +
                                           " regions at most; allocate fewer, larger ones");
}

void RegionTable::remove(std::uint32_t lkey) noexcept {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[lkey & (kEntries - 1)];
  if (entry.lkey.load(std::memory_order_relaxed) == lkey) {  // under the mutex
    entry.lkey.store(0, std::memory_order_release);
  }
}

}  // namespace tickpath::rdma::detail
