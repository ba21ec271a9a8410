#include "common/rdma/shm/core.hpp"

namespace tickpath::rdma::detail {

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
