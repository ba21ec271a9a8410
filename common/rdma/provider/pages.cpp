#include "common/rdma/provider/pages.hpp"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {
namespace {

// Populated now: a page fault on the datapath costs more than a message.
void* map(std::size_t size_bytes, int flags) {
  void* data = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE | flags, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

}  // namespace

AnonymousPages::AnonymousPages(std::size_t size_bytes, const std::string& name) {
  if (size_bytes == 0) throw SetupError(SetupCause::kLimit, "a region of 0 bytes: " + name);
  // Huge pages only where at least half of the last one is used, so that small regions do not waste
  // 2 MiB each.
  const std::size_t huge_bytes = round_up(size_bytes, kHugePageBytes);
  void* data = nullptr;
  if (huge_bytes - size_bytes <= kHugePageBytes / 2) data = map(huge_bytes, MAP_HUGETLB);
  huge_ = data != nullptr;
  mapped_bytes_ = huge_ ? huge_bytes : round_up(size_bytes, kPageBytes);
  if (!huge_) data = map(mapped_bytes_, 0);
  if (data == nullptr) {
    throw SetupError(SetupCause::kNoMemory, "cannot allocate " + std::to_string(size_bytes) +
                                                " bytes for " + name + ": " + std::strerror(errno) +
                                                "; free memory or make it smaller");
  }
  data_ = static_cast<std::byte*>(data);
}

AnonymousPages::~AnonymousPages() {
  if (data_ != nullptr) ::munmap(data_, mapped_bytes_);
}

}  // namespace tickpath::rdma::detail
