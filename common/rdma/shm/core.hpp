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

#include "common/rdma/provider/barriers.hpp"
#include "common/rdma/provider/region_table.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/shm/monitor.hpp"

namespace tickpath::rdma::detail {

struct DeviceCore {
  DeviceInfo info;
  Barriers barriers;
  RegionTable regions;
  std::array<std::byte, 16> gid{};  // of its datagram queue pairs: fe80::, then random
  Monitor monitor;

  // Things a person should know once: memory that could not be locked, no huge pages.
  void note_once(const std::string& key, const std::string& text);
  std::vector<std::string> notes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> notes_;
};

}  // namespace tickpath::rdma::detail
