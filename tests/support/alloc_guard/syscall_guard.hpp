// Ends the program, with call, thread and backtrace, at the first system call of a thread that
// polls (DatapathScope), other than on sockets and those of the wait modes:
//
//   sockets    sendto, sendmsg, sendmmsg, recvfrom, recvmsg, recvmmsg; read and write of a socket
//   the wait   sched_yield, ppoll, timerfd_settime, membarrier (by which a parking thread arms its
//              queues); read and write of an eventfd or a timerfd
//   the clock  clock_gettime, where the vDSO cannot answer
//
// Inside a SessionScope, before and after polling everything is allowed.
//
// How: a seccomp filter (seccomp(2)) on the thread that starts to poll lets these pass at full
// speed and traps all others; the SIGSYS handler carries out what is allowed after all, from one
// address that the filter knows, and complains about the rest. x86-64.
#pragma once

#include <cstdint>

namespace tickpath::test_support {

// From now on every thread that starts to poll is watched, once each. The preloaded guard calls it
// by itself; a thread stays watched to its end.
void watch_system_calls() noexcept;

// Threads that are or were watched. Any thread.
std::uint64_t watched_threads() noexcept;

// Held while a thread tells of what it must not do: what it allocates and calls for that is no
// news.
class ComplaintScope {
 public:
  ComplaintScope() noexcept;
  ~ComplaintScope();
  ComplaintScope(const ComplaintScope&) = delete;
  ComplaintScope& operator=(const ComplaintScope&) = delete;
  // Whether the calling thread is held. Async-signal-safe.
  static bool held() noexcept;
};

}  // namespace tickpath::test_support
