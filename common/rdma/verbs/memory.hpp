// Memory of the verbs provider: allocated on huge pages where there are any, registered once for
// local use (lkey). Every grant gets a key of its own with exactly its rights (rkey): a memory
// window that only one connection's queue pair can use or, on a device without such windows, one
// more registration.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "common/rdma/provider/pages.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/verbs/core.hpp"

namespace tickpath::rdma::detail {

struct RegionDeregister {
  void operator()(ibv_mr* region) const noexcept { ::ibv_dereg_mr(region); }
};
using Registration = std::unique_ptr<ibv_mr, RegionDeregister>;

struct WindowDeallocate {
  void operator()(ibv_mw* window) const noexcept { ::ibv_dealloc_mw(window); }
};
using Window = std::unique_ptr<ibv_mw, WindowDeallocate>;

// ibv_reg_mr with an error that says what to do.
Registration register_memory(const VerbsCore& core, const AnonymousPages& pages,
                             std::size_t size_bytes, int flags, const std::string& name);

// Registered pages. Shared by their region and its grants, as a registration must outlive the
// windows that are bound to it; deregistered before the pages go.
struct VerbsMemory {
  AnonymousPages pages;
  Registration registration;
};

class VerbsRegion final : public MemoryRegion {
 public:
  VerbsRegion(std::shared_ptr<VerbsCore> core, std::size_t size_bytes, AccessFlags access,
              const std::string& name);

  const std::shared_ptr<VerbsMemory>& memory() const noexcept { return memory_; }

 private:
  std::shared_ptr<VerbsCore> core_;
  std::shared_ptr<VerbsMemory> memory_;
};

// libmlx5 binds no window of more (rdma-core, mlx5_bind_mw()).
constexpr bool fits_window(std::size_t bytes) noexcept { return bytes <= std::size_t{1} << 31; }

// What one peer got of one region. Control thread.
struct VerbsGrant {
  const MemoryRegion* region = nullptr;
  AccessFlags access = 0;
  std::shared_ptr<VerbsMemory> memory;
  // One of them; both empty once revoked.
  Window window;
  Registration registration;

  // Valid once the window is bound. Key 0 if revoked.
  RemoteRegion remote() const noexcept;
  // The bind request for a queue pair in RTS, and what must follow its success.
  ibv_send_wr bind_request(std::uint64_t wr_id) const noexcept;
  void bound(const ibv_send_wr& request) noexcept { window->rkey = request.bind_mw.rkey; }
  // From its return on the device refuses the key. False: it could not.
  bool revoke() noexcept;
  bool revoked() const noexcept { return window == nullptr && registration == nullptr; }
};

// A window not bound yet, or a registration, for each. Throws SetupError (kLimit, kPermission,
// kMemoryLock, kNoMemory).
std::vector<VerbsGrant> prepare_grants(const VerbsCore& core, std::span<const Grant> grants);
// All of `region`. Returns how many keys the device refuses from now on; kept: it could not let go
// of one, which stays valid.
std::size_t revoke_grants(std::span<VerbsGrant> grants, const MemoryRegion& region,
                          bool& kept) noexcept;
std::vector<RemoteRegion> remote_regions(std::span<const VerbsGrant> grants);

}  // namespace tickpath::rdma::detail
