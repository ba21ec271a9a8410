#include "common/rdma/detail/verbs_memory.hpp"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>

#include "common/rdma/detail/verbs_attributes.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;  // x86-64's default

std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

// Populated now: a page fault on the datapath costs more than a message.
void* map(std::size_t size_bytes, int flags) {
  void* data = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE | flags, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

// ibv_reg_mr with an error that says what to do.
Registration register_memory(const VerbsCore& core, const VerbsPages& pages, std::size_t size_bytes,
                             int flags, const std::string& name) {
  Registration registration(::ibv_reg_mr(core.domain(), pages.data(), size_bytes, flags));
  if (registration != nullptr) return registration;
  const int error = errno;
  const std::string what = "cannot register " + std::to_string(size_bytes) + " bytes of " + name +
                           " with " + core.info().name + ": " + std::strerror(error);
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  if ((error == ENOMEM || error == EAGAIN || error == EPERM) && limit.rlim_cur != RLIM_INFINITY) {
    throw SetupError(SetupCause::kMemoryLock,
                     what + "; this process may lock " + std::to_string(limit.rlim_cur >> 10) +
                         " KiB: raise it with `ulimit -l unlimited`, `memlock` in "
                         "/etc/security/limits.conf or LimitMEMLOCK= of the service");
  }
  throw SetupError(error == ENOMEM ? SetupCause::kNoMemory : SetupCause::kSystem, what);
}

}  // namespace

VerbsPages::VerbsPages(std::size_t size_bytes, const std::string& name) {
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

VerbsPages::~VerbsPages() {
  if (data_ != nullptr) ::munmap(data_, mapped_bytes_);
}

VerbsRegion::VerbsRegion(std::shared_ptr<VerbsCore> core, std::size_t size_bytes,
                         AccessFlags access, const std::string& name)
    : core_(std::move(core)), pages_(std::make_shared<VerbsPages>(size_bytes, name)) {
  // For local use only: peers reach it through registrations of their own.
  registration_ =
      register_memory(*core_, *pages_, size_bytes, access_flags(access & kLocalWrite), name);
  data_ = pages_->data();
  size_bytes_ = size_bytes;
  lkey_ = registration_->lkey;
  access_ = access;
  if (!pages_->huge() && pages_->mapped_bytes() >= kHugePageBytes) {
    core_->note_once("huge", "no free huge pages for " + name +
                                 ": small pages are used; reserve some in vm.nr_hugepages");
  }
}

RemoteRegion VerbsGrant::remote() const noexcept {
  return {reinterpret_cast<std::uintptr_t>(registration->addr), registration->length,
          registration->rkey, access};
}

std::vector<VerbsGrant> register_grants(const VerbsCore& core, std::span<const Grant> grants) {
  if (grants.size() > kGrantsMax) {
    throw SetupError(SetupCause::kLimit,
                     "a connection grants at most " + std::to_string(kGrantsMax) + " regions");
  }
  std::vector<VerbsGrant> registered;
  for (const Grant& grant : grants) {
    const auto& region = dynamic_cast<const VerbsRegion&>(*grant.region);
    constexpr AccessFlags kRemoteRights = kRemoteWrite | kRemoteRead | kRemoteAtomic;
    if ((grant.access & ~(region.access() & kRemoteRights)) != 0) {
      throw SetupError(SetupCause::kPermission,
                       "a grant gives rights that its region was not allocated with");
    }
    registered.push_back({&region, region.pages(),
                          register_memory(core, *region.pages(), region.size_bytes(),
                                          access_flags(grant.access), "a granted region"),
                          grant.access});
  }
  return registered;
}

std::vector<RemoteRegion> remote_regions(std::span<const VerbsGrant> grants) {
  std::vector<RemoteRegion> regions;
  for (const VerbsGrant& grant : grants) regions.push_back(grant.remote());
  return regions;
}

}  // namespace tickpath::rdma::detail
