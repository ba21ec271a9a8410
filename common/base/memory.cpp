#include "common/base/memory.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tickpath {
namespace {

// Since Linux 5.14; older headers do not name it.
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE
constexpr std::uintptr_t kPageMask = 4095;

}  // namespace

bool prefault_for_writing(const void* begin, std::size_t bytes) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(begin) & ~kPageMask;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(begin) + bytes;
  return ::madvise(reinterpret_cast<void*>(first), end - first, kPopulateWrite) == 0;
}

std::string lock_memory() noexcept {
  // On fault: what is reserved and never used takes no memory. Not MCL_FUTURE: with it,
  // MAP_POPULATE of later mappings would do nothing (mm/gup.c, populate_vma_page_range()).
  if (::mlockall(MCL_CURRENT | MCL_ONFAULT) == 0) return {};
  const int error = errno;
  rlimit limit{};
  (void)::getrlimit(RLIMIT_MEMLOCK, &limit);
  return std::string("memory is not locked (") + std::strerror(error) + "; ulimit -l is " +
         std::to_string(limit.rlim_cur >> 10) +
         " kB): short of memory, the kernel may take pages from the datapath thread, which then "
         "waits "
         "for a disk. Allow it with a line '* - memlock unlimited' in "
         "/etc/security/limits.d/90-tickpath.conf";
}

// proc(5), /proc/[pid]/task/[tid]/stat: "pid (comm) state ppid pgrp session tty_nr tpgid flags
// minflt cminflt majflt ...". A name may hold anything: the rest follows the last ")".
std::optional<PageFaults> page_faults(int thread_id) noexcept {
  char text[512];
  std::snprintf(text, sizeof(text), "/proc/self/task/%d/stat", thread_id);
  const int file = ::open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  const ssize_t size = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  if (size <= 0) return std::nullopt;
  text[size] = '\0';
  const char* const rest = std::strrchr(text, ')');
  unsigned long minor = 0;
  unsigned long major = 0;
  if (rest == nullptr ||
      std::sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu", &minor, &major) != 2)
    return std::nullopt;
  return PageFaults{minor, major};
}

}  // namespace tickpath
