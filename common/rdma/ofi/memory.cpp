#include "common/rdma/ofi/memory.hpp"

#include "common/rdma/ofi/core.hpp"
#include "common/rdma/setup/frame.hpp"
#include "common/rdma/shm/memory.hpp"

namespace tickpath::rdma::detail {

OfiRegion::OfiRegion(std::shared_ptr<OfiCore> core, std::size_t size_bytes, AccessFlags access,
                     const std::string& name)
    : core_(std::move(core)), pages_(std::make_shared<AnonymousPages>(size_bytes, name)) {
  data_ = pages_->data();
  size_bytes_ = size_bytes;
  access_ = access;
  lkey_ = core_->regions().add(data_, size_bytes_, access_);
  if (!pages_->huge() && pages_->mapped_bytes() >= kHugePageBytes) {
    core_->note_once("huge", "no free huge pages for " + name +
                                 ": small pages are used; reserve some in vm.nr_hugepages");
  }
}

OfiRegion::~OfiRegion() {
  core_->regions().remove(lkey_);
  // Whoever found the key before, as OfiProgress may while the owner polls nothing, is done with
  // these bytes then.
  core_->progress().pass();
}

OfiGrants::OfiGrants(std::span<const Grant> grants) {
  if (grants.size() > kGrantsMax) {
    throw SetupError(SetupCause::kLimit,
                     "a connection grants at most " + std::to_string(kGrantsMax) + " regions");
  }
  for (const Grant& grant : grants) {
    const auto& region = dynamic_cast<const OfiRegion&>(*grant.region);
    if ((grant.access & ~(region.access() & kRemoteRights)) != 0) {
      throw SetupError(SetupCause::kPermission,
                       "a grant gives rights that its region was not allocated with");
    }
    Entry& entry = entries_[count_];
    // An index in its low bits, random above: a key of another connection is worthless.
    std::uint32_t key = 0;
    while ((key & ~kIndexMask) == 0) key = random_key();
    // Relaxed: nobody executes requests of a connection that is not there yet.
    entry.rkey.store((key & ~kIndexMask) | count_, std::memory_order_relaxed);
    entry.access = grant.access;
    entry.address = reinterpret_cast<std::uintptr_t>(region.data());
    entry.length = region.size_bytes();
    entry.region = &region;
    entry.pages = region.pages();
    ++count_;
  }
}

std::vector<RemoteRegion> OfiGrants::regions() const {
  std::vector<RemoteRegion> regions;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Entry& entry = entries_[i];
    regions.push_back(
        {entry.address, entry.length, entry.rkey.load(std::memory_order_relaxed), entry.access});
  }
  return regions;
}

std::size_t OfiGrants::take_back(const MemoryRegion& region) noexcept {
  std::size_t taken = 0;
  for (Entry& entry : entries_) {
    // Relaxed: as find().
    if (entry.region != &region || entry.rkey.exchange(0, std::memory_order_relaxed) == 0) continue;
    ++taken;
  }
  return taken;
}

}  // namespace tickpath::rdma::detail
