#include "tests/support/alloc_guard/alloc_guard.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include "common/base/datapath_guard.hpp"
#include "tests/support/alloc_guard/syscall_guard.hpp"

namespace tickpath {
// The program's. Weak: a preloaded guard also loads into programs that have no datapath.
DatapathState datapath_state() noexcept __attribute__((weak));
}  // namespace tickpath

// glibc's own entry points, exported beside the ones replaced here.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
}

namespace tickpath::test_support {
namespace {

// Relaxed everywhere: statistics, read when the threads are gone.
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> session_allocations{0};
std::atomic<std::uint64_t> violations{0};
std::atomic<bool> report_only{false};

void complain(const char* function, std::size_t size) noexcept {
  char line[160];
  const int length =
      std::snprintf(line, sizeof(line),
                    "tickpath alloc guard: %s(%zu) on a polling datapath thread (process %d)\n",
                    function, size, static_cast<int>(::getpid()));
  (void)!::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
  void* frames[64];
  const int depth = ::backtrace(frames, 64);
  ::backtrace_symbols_fd(frames, depth, STDERR_FILENO);
}

// Called by every hook before it does its work.
void look(const char* function, std::size_t size) noexcept {
  if (ComplaintScope::held() || datapath_state == nullptr) return;
  const DatapathState state = datapath_state();
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (state == DatapathState::kSession) session_allocations.fetch_add(1, std::memory_order_relaxed);
  if (state != DatapathState::kPolling) return;
  violations.fetch_add(1, std::memory_order_relaxed);
  const ComplaintScope complaint;
  complain(function, size);
  if (!report_only.load(std::memory_order_relaxed)) std::abort();
}

// One line a process: "pid program allocations session violations watched", the last the number of
// threads whose system calls were watched.
void write_report() {
  const char* path = std::getenv("TICKPATH_ALLOC_GUARD_FILE");
  if (path == nullptr || datapath_state == nullptr) return;
  char line[256];
  const int length = std::snprintf(line, sizeof(line), "%d %s %llu %llu %llu %llu\n",
                                   static_cast<int>(::getpid()), program_invocation_short_name,
                                   static_cast<unsigned long long>(allocations.load()),
                                   static_cast<unsigned long long>(session_allocations.load()),
                                   static_cast<unsigned long long>(violations.load()),
                                   static_cast<unsigned long long>(watched_threads()));
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  (void)!::write(file, line, static_cast<std::size_t>(length));
  ::close(file);
}

[[gnu::constructor]] void prepare() {
  const char* mode = std::getenv("TICKPATH_ALLOC_GUARD");
  if (mode != nullptr && std::strcmp(mode, "report") == 0) report_only = true;
  void* frame = nullptr;
  (void)::backtrace(&frame, 1);  // its first call loads a library, not fit for a hook
  (void)std::atexit(write_report);
#ifdef TICKPATH_PRELOADED
  watch_system_calls();
#endif
}

}  // namespace

AllocationCounts allocation_counts() noexcept {
  return {allocations.load(std::memory_order_relaxed),
          session_allocations.load(std::memory_order_relaxed),
          violations.load(std::memory_order_relaxed)};
}

void alloc_guard_report_only(bool on) noexcept { report_only = on; }

}  // namespace tickpath::test_support

using tickpath::test_support::look;

extern "C" {

void* malloc(std::size_t size) {
  look("malloc", size);
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  look("calloc", count * size);
  return __libc_calloc(count, size);
}

void* realloc(void* memory, std::size_t size) {
  look("realloc", size);
  return __libc_realloc(memory, size);
}

void free(void* memory) {
  if (memory != nullptr) look("free", 0);
  __libc_free(memory);
}

void* memalign(std::size_t alignment, std::size_t size) {
  look("memalign", size);
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  look("aligned_alloc", size);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  look("posix_memalign", size);
  *result = __libc_memalign(alignment, size);
  return *result == nullptr ? ENOMEM : 0;
}

}  // extern "C"
