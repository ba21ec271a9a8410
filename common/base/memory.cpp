#include "common/base/memory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tickpath {
namespace {

// Since Linux 5.14; older headers do not name it.
constexpr int kPopulateRead = 22;   // MADV_POPULATE_READ
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE
constexpr std::uintptr_t kPageMask = 4095;

// QuickFIX goes deepest, some 20 kB.
constexpr std::size_t kStackBytes = 256 << 10;
// A Logon and its answer take some 100 kB. In blocks that malloc() takes from the heap and not from
// mmap() (from 128 kB on).
constexpr std::size_t kHeapBlockBytes = 64 << 10;
constexpr std::size_t kHeapBlocks = 16;

bool populate(std::uintptr_t begin, std::uintptr_t end, int advice) noexcept {
  begin &= ~kPageMask;
  return begin >= end || ::madvise(reinterpret_cast<void*>(begin), end - begin, advice) == 0;
}

// One module's segments. What the loader has made read-only (RELRO), the beginning of the data,
// stays as it is.
int prefault_module(dl_phdr_info* module, std::size_t, void*) noexcept {
  const auto* const first = module->dlpi_phdr;
  const auto* const last = first + module->dlpi_phnum;
  const auto relro =
      std::find_if(first, last, [](const auto& part) { return part.p_type == PT_GNU_RELRO; });
  const std::uintptr_t relro_end =
      relro == last ? 0 : module->dlpi_addr + relro->p_vaddr + relro->p_memsz;
  std::for_each(first, last, [&](const auto& part) {
    if (part.p_type != PT_LOAD) return;
    const std::uintptr_t begin = module->dlpi_addr + part.p_vaddr;
    const std::uintptr_t end = begin + part.p_memsz;
    (void)populate(begin, end, kPopulateRead);
    if ((part.p_flags & PF_W) != 0)
      (void)populate(std::max(begin, (relro_end + kPageMask) & ~kPageMask), end, kPopulateWrite);
  });
  return 0;
}

// A file of /proc, as text. False: it cannot be read.
bool read_text(const char* path, std::span<char> text) noexcept {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (size <= 0) return false;
  text[static_cast<std::size_t>(size)] = '\0';
  return true;
}

}  // namespace

bool prefault_for_writing(const void* begin, std::size_t bytes) noexcept {
  if (UntouchedPages::chosen()) return true;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  return populate(first, first + bytes, kPopulateWrite);
}

void prefault_stack() noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  const int error = ::pthread_attr_getstack(&attributes, &lowest, &bytes);
  ::pthread_attr_destroy(&attributes);
  if (error != 0) return;
  const auto here = reinterpret_cast<std::uintptr_t>(&attributes);
  const auto end_of_stack = reinterpret_cast<std::uintptr_t>(lowest);
  (void)populate(std::max(end_of_stack, here - kStackBytes), here, kPopulateWrite);
}

void prefault_heap() noexcept {
  std::array<void*, kHeapBlocks> blocks{};
  for (void*& block : blocks) {
    block = std::malloc(kHeapBlockBytes);
    if (block != nullptr) (void)prefault_for_writing(block, kHeapBlockBytes);
  }
  for (void* block : blocks) std::free(block);
}

void keep_freed_memory() noexcept {
  constexpr int kNever = 1 << 30;
  (void)::mallopt(M_TRIM_THRESHOLD, kNever);
}

void prefault_image() noexcept { ::dl_iterate_phdr(prefault_module, nullptr); }

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

// proc(5), /proc/[pid]/statm: "size resident shared text lib data dt", in pages.
std::uint64_t resident_bytes() noexcept {
  char text[256];
  unsigned long pages = 0;
  if (!read_text("/proc/self/statm", text) || std::sscanf(text, "%*u %lu", &pages) != 1) return 0;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// proc(5), /proc/[pid]/task/[tid]/stat: "pid (comm) state ppid pgrp session tty_nr tpgid flags
// minflt cminflt majflt ...". A name may hold anything: the rest follows the last ")".
std::optional<PageFaults> page_faults(int thread_id) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread_id);
  char text[512];
  if (!read_text(path, text)) return std::nullopt;
  const char* const rest = std::strrchr(text, ')');
  unsigned long minor = 0;
  unsigned long major = 0;
  if (rest == nullptr ||
      std::sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu", &minor, &major) != 2)
    return std::nullopt;
  return PageFaults{minor, major};
}

}  // namespace tickpath
