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

#include "common/rdma/detail/region_table.hpp"
#include "common/rdma/detail/shm_monitor.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

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
