#include "common/base/huge_array.hpp"

#include <cerrno>
#include <cstdint>
#include <string>

#include <sys/mman.h>

#include "common/base/error.hpp"
#include "common/base/memory.hpp"

namespace tickpath {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;  // x86-64
constexpr std::size_t kPageBytes = 4096;

std::size_t rounded(std::size_t size_bytes) noexcept {
  return (size_bytes + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
}

}  // namespace

void* map_huge(std::size_t size_bytes, const char* what) {
  const std::size_t wanted = rounded(size_bytes == 0 ? 1 : size_bytes);
  // One huge page more than needed, then trimmed: mmap aligns to small pages only.
  void* mapped = ::mmap(nullptr, wanted + kHugePageBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw SystemError("cannot get " + std::to_string(wanted >> 20) + " MiB for " + what +
                          " (configure less, or add memory)",
                      errno);
  auto* start = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const std::size_t head = (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes;
  if (head > 0) ::munmap(start, head);
  std::byte* aligned = start + head;
  if (head < kHugePageBytes) ::munmap(aligned + wanted, kHugePageBytes - head);
  // A refusal only means small pages: slower, not wrong.
  (void)::madvise(aligned, wanted, MADV_HUGEPAGE);
  for (std::size_t offset = 0; !UntouchedPages::chosen() && offset < wanted; offset += kPageBytes)
    const_cast<volatile std::byte&>(aligned[offset]) = std::byte{0};
  return aligned;
}

void unmap_huge(void* address, std::size_t size_bytes) noexcept {
  ::munmap(address, rounded(size_bytes == 0 ? 1 : size_bytes));
}

}  // namespace tickpath
