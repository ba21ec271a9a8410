// The configuration keys that every program has.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.hpp"
#include "common/log/log.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::control {

// How a datapath thread waits for work (DESIGN: The programs).
enum class WaitMode : std::uint8_t { kSpin, kYield, kPark, kAuto };

// "datapath.cpu": a CPU number, or one of these.
inline constexpr int kCpuUnpinned = -1;
inline constexpr int kCpuAuto = -2;  // a core that no other polling thread has, if there is one

struct CommonConfig {
  std::string name;             // of this instance; empty: the program's
  std::string run_dir = "run";  // one for all programs that belong together
  // The venue that this program belongs to, in a pipeline of several; 0: there is one, or it
  // belongs to all.
  std::uint8_t venue = 0;
  // For `tickpath up`: instances of one program with the same word here share a process; empty: one
  // of its own.
  std::string process;
  log::Level log_level = log::Level::kInfo;

  int cpu = kCpuUnpinned;
  WaitMode wait = WaitMode::kAuto;
  std::int64_t park_timeout_ns = 10'000'000;  // park: wakes at the latest after this
  std::int64_t stop_timeout_ns = 5'000'000'000;
  std::int64_t hang_after_ns = 100'000'000;
  // A seventh of the silence that peers take for death by default: one late beat alarms nobody.
  std::int64_t heartbeat_period_ns = 5'000'000;

  bool trace_enabled = true;
  std::string trace_file = "{run_dir}/{name}.trace";
  std::uint64_t trace_capacity = std::uint64_t{1} << 20;  // records of 16 bytes

  rdma::DeviceOptions fabric;
  // Where this program listens; empty: it does not.
  std::string fabric_endpoint = "{run_dir}/{name}.fabric";
};

// Keys: name, run_dir, venue_number, process, log.level, datapath.{cpu, wait, park_timeout,
// stop_timeout, hang_after}, heartbeat.period, trace.{enabled, file, capacity}, fabric.{provider,
// device, endpoint, peer_timeout, timeout, retry_cnt, rnr_retry, min_rnr_timer, max_rd_atomic,
// traffic_class, multicast_hops, inline_bytes, send_depth, receive_depth, relaxed_ordering},
// security.{mode, keys}.
config::Schema<CommonConfig> common_schema();

std::string_view to_string(WaitMode mode) noexcept;

}  // namespace tickpath::control
