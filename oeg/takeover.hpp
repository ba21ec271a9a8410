// What happened in the last takeover, and when.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "common/base/counter.hpp"
#include "common/clock/clock.hpp"
#include "common/link/connection.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::oeg {

// How the former leader is kept from the log of who took over.
enum class FenceResult : std::uint8_t {
  kNone,       // there is none, or none that could write
  kLogAlone,   // shm: nobody takes back a mapping; this log is never read again
  kRevoked,    // the device has taken the right back: another WRITE is a remote access error
  kEndedOnly,  // it could not: the connection was ended, and the right with it
};
std::string_view in_words(FenceResult fence);

// CLOCK_MONOTONIC, ns. 0: not yet.
struct TakeoverTimes {
  TICKPATH_COUNTERS(last_entry_ns,  // of the old leader, as taken here
                    suspected_ns, fenced_ns, decided_ns, recovered_ns, connected_ns, logged_on_ns,
                    first_order_ns);  // accepted by the venue
};

inline void stamp_step(Counter& at) noexcept {
  at.set(static_cast<std::uint64_t>(clock::monotonic_ns()));
}

class Takeover {
 public:
  // Whether the device takes a right back (rdma::DeviceInfo::revokes).
  explicit Takeover(bool device_revokes) noexcept : device_revokes_(device_revokes) {}

  TakeoverTimes& times() noexcept { return times_; }
  // Any thread.
  const TakeoverTimes& times() const noexcept { return times_; }
  FenceResult fence_result() const noexcept {
    return fence_result_.load(std::memory_order_relaxed);
  }

  // Control thread. Takes back the former leader's right to WRITE into `region`, and ends its
  // connection. The log's own fence, which came first, is what the proof rests on; this is the
  // device's word for it. nullptr: there is none.
  FenceResult revoke(link::Connection* former, rdma::MemoryRegion* region) noexcept;
  // Datapath thread. Stamps the steps at the venue; accepted: orders of its whole life.
  void follow(bool connected, bool logged_on, std::uint64_t accepted) noexcept;

 private:
  const bool device_revokes_;
  TakeoverTimes times_;
  std::uint64_t accepted_before_ = 0;  // orders, when the venue was connected to
  std::atomic<FenceResult> fence_result_{FenceResult::kNone};
};

}  // namespace tickpath::oeg
