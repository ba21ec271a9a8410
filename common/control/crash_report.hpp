// What a program says when it dies by its own fault or a plugin's: which signal, where, in whose
// code, and a stack trace, on stderr; then its control thread writes what is waiting for the log
// and the trace file; then the signal takes its course (a core file, the exit status).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tickpath::control {

// In the line of every crash, on stderr and in the log.
inline constexpr std::string_view kCrashedBy = "crashed by ";

// Control thread, once: SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT are reported from now on. Who
// has handlers of its own (a sanitizer) gets the signal afterwards. tellers: control threads that
// call crash_told().
void report_crashes(const std::string& name, int tellers = 1);

// A stack for the handler on the thread that makes it: a stack that overflowed holds none. Threads
// without one are reported all the same, unless it is their stack that is full.
class CrashStack {
 public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack&) = delete;
  CrashStack& operator=(const CrashStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

// Control threads, each tick. Not nullptr: another thread has crashed, is this line, and waits a
// moment until everything is written and each teller has called crash_told(), once.
const char* crash_to_tell() noexcept;
void crash_told() noexcept;

}  // namespace tickpath::control
