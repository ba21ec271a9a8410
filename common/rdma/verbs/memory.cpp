#include "common/rdma/verbs/memory.hpp"

#include <cerrno>
#include <cstring>

#include <sys/resource.h>

#include "common/rdma/setup/frame.hpp"
#include "common/rdma/verbs/attributes.hpp"
#include "common/rdma/verbs/features.hpp"

namespace tickpath::rdma::detail {
Registration register_memory(const VerbsCore& core, const AnonymousPages& pages,
                             std::size_t size_bytes, int flags, const std::string& name) {
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

namespace {

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

VerbsRegion::VerbsRegion(std::shared_ptr<VerbsCore> core, std::size_t size_bytes,
                         AccessFlags access, const std::string& name)
    : core_(std::move(core)), memory_(new VerbsMemory{AnonymousPages(size_bytes, name), nullptr}) {
  // For local use and for windows.
  int flags = registration_flags(access, core_->options().verbs, core_->binds_windows());
  if ((flags & IBV_ACCESS_LOCAL_WRITE) != 0) flags |= core_->read_sink_access();
  const AnonymousPages& pages = memory_->pages;
  memory_->registration = register_memory(*core_, pages, size_bytes, flags, name);
  data_ = pages.data();
  size_bytes_ = size_bytes;
  lkey_ = memory_->registration->lkey;
  access_ = possible_access(core_->limits(), access);
  if (core_->options().verbs.relaxed_ordering && (access & kRemoteRights) != 0) {
    core_->note_once(
        "ordering",
        "fabric.relaxed_ordering is left out where peers have rights (" + name +
            " and others): what they WRITE may be polled, and its last word must come last");
  }
  if (core_->binds_windows() && !fits_window(size_bytes) && (access & kRemoteRights) != 0) {
    core_->note_once("large", name +
                                  " has more than 2 GiB, and windows none: its keys, where they "
                                  "leak, work on any connection of this device");
  }
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
    if (core.binds_windows() && fits_window(region.size_bytes())) {
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
