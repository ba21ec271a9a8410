// Proof that a datapath thread neither allocates nor frees after start.
//
// The datapath thread holds a DatapathScope while it polls. The allocation guard (a malloc hook
// that tests link or preload) calls datapath_violation() when such a thread allocates.
//
// One exception has a name: what the FIX session layer does outside the order path (logon, resend,
// heartbeat) runs QuickFIX, which allocates. It runs inside a SessionScope, and is counted.
#pragma once

#include <cstdint>

namespace tickpath {

enum class DatapathState : std::uint8_t { kOutside, kPolling, kSession };

// Of the calling thread. Async-signal-safe, allocation-free: a malloc hook may call it.
DatapathState datapath_state() noexcept;
void set_datapath_state(DatapathState state) noexcept;

class DatapathScope {
 public:
  DatapathScope() noexcept : before_(datapath_state()) {
    set_datapath_state(DatapathState::kPolling);
  }
  ~DatapathScope() { set_datapath_state(before_); }
  DatapathScope(const DatapathScope&) = delete;
  DatapathScope& operator=(const DatapathScope&) = delete;

 private:
  DatapathState before_;
};

// Suspends the guard for one rare, named piece of work on the datapath thread.
class SessionScope {
 public:
  SessionScope() noexcept : before_(datapath_state()) {
    set_datapath_state(DatapathState::kSession);
  }
  ~SessionScope() { set_datapath_state(before_); }
  SessionScope(const SessionScope&) = delete;
  SessionScope& operator=(const SessionScope&) = delete;

 private:
  DatapathState before_;
};

}  // namespace tickpath
