#include "common/rdma/detail/verbs_memory.hpp"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>

#include "common/rdma/detail/pages.hpp"
#include "common/rdma/detail/setup_frame.hpp"
#include "common/rdma/detail/verbs_attributes.hpp"

namespace tickpath::rdma::detail {
namespace {

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

Window allocate_window(const VerbsCore& core) {
  Window window(::ibv_alloc_mw(core.domain(), IBV_MW_TYPE_2));
  if (window != nullptr) return window;
  throw SetupError(SetupCause::kNoMemory,
                   "no memory window of " + core.info().name + " for a grant (it has " +
                       std::to_string(core.limits().max_mw) + "): " + std::strerror(errno));
}

// As registrations' (access_flags()), less what is the registration's own.
unsigned window_access_flags(AccessFlags access) noexcept {
  return static_cast<unsigned>(access_flags(access) & ~IBV_ACCESS_LOCAL_WRITE);
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
    : core_(std::move(core)), memory_(new VerbsMemory{VerbsPages(size_bytes, name), nullptr}) {
  // For local use and for windows: it has no remote rights, so that peers reach it through keys of
  // their own only. Windows for writing need local write (InfiniBand volume 1, C10-74).
  int flags = access_flags(access) & IBV_ACCESS_LOCAL_WRITE;
  if (core_->binds_windows()) flags |= IBV_ACCESS_MW_BIND;
  const VerbsPages& pages = memory_->pages;
  memory_->registration = register_memory(*core_, pages, size_bytes, flags, name);
  data_ = pages.data();
  size_bytes_ = size_bytes;
  lkey_ = memory_->registration->lkey;
  access_ = possible_access(core_->limits(), access);
  if (!pages.huge() && pages.mapped_bytes() >= kHugePageBytes) {
    core_->note_once("huge", "no free huge pages for " + name +
                                 ": small pages are used; reserve some in vm.nr_hugepages");
  }
}

RemoteRegion VerbsGrant::remote() const noexcept {
  const std::uint32_t rkey =
      window != nullptr ? window->rkey : (registration != nullptr ? registration->rkey : 0);
  return {reinterpret_cast<std::uintptr_t>(memory->pages.data()), memory->registration->length,
          rkey, access};
}

ibv_send_wr VerbsGrant::bind_request(std::uint64_t wr_id) const noexcept {
  ibv_send_wr request{};
  request.wr_id = wr_id;
  request.opcode = IBV_WR_BIND_MW;
  request.send_flags = IBV_SEND_SIGNALED;
  request.bind_mw.mw = window.get();
  request.bind_mw.rkey = ::ibv_inc_rkey(window->rkey);
  request.bind_mw.bind_info = {memory->registration.get(),
                               reinterpret_cast<std::uintptr_t>(memory->pages.data()),
                               memory->registration->length, window_access_flags(access)};
  return request;
}

bool VerbsGrant::revoke() noexcept {
  if (window != nullptr) {
    if (::ibv_dealloc_mw(window.get()) != 0) return false;
    window.release();
  }
  if (registration != nullptr) {
    if (::ibv_dereg_mr(registration.get()) != 0) return false;
    registration.release();
  }
  return true;
}

std::vector<VerbsGrant> prepare_grants(const VerbsCore& core, std::span<const Grant> grants) {
  if (grants.size() > kGrantsMax) {
    throw SetupError(SetupCause::kLimit,
                     "a connection grants at most " + std::to_string(kGrantsMax) + " regions");
  }
  std::vector<VerbsGrant> prepared;
  for (const Grant& grant : grants) {
    const auto& region = dynamic_cast<const VerbsRegion&>(*grant.region);
    const AccessFlags access = possible_access(core.limits(), grant.access);
    if ((access & ~(region.access() & kRemoteRights)) != 0) {
      throw SetupError(SetupCause::kPermission,
                       "a grant gives rights that its region was not allocated with");
    }
    VerbsGrant& made = prepared.emplace_back();
    made = {&region, access, region.memory(), nullptr, nullptr};
    if (core.binds_windows()) {
      made.window = allocate_window(core);
    } else {
      made.registration = register_memory(core, region.memory()->pages, region.size_bytes(),
                                          access_flags(access), "a granted region");
    }
  }
  return prepared;
}

std::size_t revoke_grants(std::span<VerbsGrant> grants, const MemoryRegion& region,
                          bool& kept) noexcept {
  std::size_t count = 0;
  for (VerbsGrant& grant : grants) {
    if (grant.region != &region || grant.revoked()) continue;
    if (grant.revoke()) {
      ++count;
    } else {
      kept = true;
    }
  }
  return count;
}

std::vector<RemoteRegion> remote_regions(std::span<const VerbsGrant> grants) {
  std::vector<RemoteRegion> regions;
  for (const VerbsGrant& grant : grants) regions.push_back(grant.remote());
  return regions;
}

}  // namespace tickpath::rdma::detail
