// Memory of the verbs provider: allocated on huge pages where there are any, registered once for
// local use (lkey) and once more for every grant, with exactly the rights of that grant (rkey).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "common/rdma/detail/verbs_core.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

// An anonymous mapping. Shared, not private: a fork would else move the pages of the parent away
// from what the device was told (ibv_fork_init(3)).
class VerbsPages {
 public:
  VerbsPages(std::size_t size_bytes, const std::string& name);  // throws SetupError{kNoMemory}
  ~VerbsPages();
  VerbsPages(const VerbsPages&) = delete;
  VerbsPages& operator=(const VerbsPages&) = delete;
  std::byte* data() const noexcept { return data_; }
  bool huge() const noexcept { return huge_; }
  std::size_t mapped_bytes() const noexcept { return mapped_bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  bool huge_ = false;
};

struct RegionDeregister {
  void operator()(ibv_mr* region) const noexcept { ::ibv_dereg_mr(region); }
};
using Registration = std::unique_ptr<ibv_mr, RegionDeregister>;

class VerbsRegion final : public MemoryRegion {
 public:
  VerbsRegion(std::shared_ptr<VerbsCore> core, std::size_t size_bytes, AccessFlags access,
              const std::string& name);

  const std::shared_ptr<VerbsPages>& pages() const noexcept { return pages_; }

 private:
  std::shared_ptr<VerbsCore> core_;
  std::shared_ptr<VerbsPages> pages_;
  Registration registration_;
};

// What one peer got of one region. The pages live at least as long as their registration.
struct VerbsGrant {
  const MemoryRegion* region = nullptr;
  std::shared_ptr<VerbsPages> pages;
  Registration registration;  // empty once taken back
  AccessFlags access = 0;

  RemoteRegion remote() const noexcept;
};

// Registers each for one peer. Throws SetupError (kLimit, kPermission, kMemoryLock, kNoMemory).
std::vector<VerbsGrant> register_grants(const VerbsCore& core, std::span<const Grant> grants);
std::vector<RemoteRegion> remote_regions(std::span<const VerbsGrant> grants);

}  // namespace tickpath::rdma::detail
