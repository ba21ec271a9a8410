// Proof that a datapath thread neither allocates nor calls the kernel after start.
//
// The datapath thread holds a DatapathScope while it polls. A guard that tests preload
// (tests/support/alloc_guard: a malloc hook and a system call filter) ends the program when such a
// thread allocates, or calls the kernel other than for sockets and its wait mode.
//
// One exception has a name: what the FIX session layer does outside the order path (logon, resend,
// heartbeat) runs QuickFIX, which allocates. It runs inside a SessionScope, and is counted.
#pragma once

#include <cstdint>

namespace tickpath {

enum class DatapathState : std::uint8_t { kOutside, kPolling, kSession };

// The state of the calling thread. Async-signal-safe, allocation-free: a malloc hook may call it.
DatapathState datapath_state() noexcept;
void set_datapath_state(DatapathState state) noexcept;

// Called by each thread as it starts to poll. nullptr but in tests: a preloaded guard puts its own
// function here before main(), to watch the system calls of exactly these threads.
extern void (*datapath_watcher)() noexcept;

class DatapathScope {
 public:
  DatapathScope() noexcept : before_(datapath_state()) {
    if (datapath_watcher != nullptr) datapath_watcher();
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
