#include "common/rdma/detail/shm_core.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tickpath::rdma::detail {
namespace {

long membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

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
