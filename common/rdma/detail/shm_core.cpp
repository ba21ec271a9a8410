#include "common/rdma/detail/shm_core.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tickpath::rdma::detail {
namespace {

long membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

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
  throw SetupError(SetupCause::kLimit, "the shm device holds " + std::to_string(kEntries) +
                                           " regions at most; allocate fewer, larger ones");
}

void RegionTable::remove(std::uint32_t lkey) noexcept {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[lkey & (kEntries - 1)];
  if (entry.lkey.load(std::memory_order_relaxed) == lkey) {  // under the mutex
    entry.lkey.store(0, std::memory_order_release);
  }
}

Barriers Barriers::register_process() noexcept {
  Barriers barriers;
  barriers.within_process = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  barriers.across_processes = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
  return barriers;
}

void Barriers::run_within() const noexcept {
  if (within_process) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void Barriers::run_across() const noexcept {
  if (across_processes) membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

void DeviceCore::note_once(const std::string& key, const std::string& text) {
  const std::lock_guard lock(mutex_);
  for (const auto& each : notes_) {
    if (each.first == key) return;
  }
  notes_.emplace_back(key, text);
}

std::vector<std::string> DeviceCore::notes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  for (const auto& each : notes_) texts.push_back(each.second);
  return texts;
}

}  // namespace tickpath::rdma::detail
