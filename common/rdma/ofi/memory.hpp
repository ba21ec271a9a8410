// Memory of the ofi provider: plain pages. Nobody but this library touches them for a peer, by what
// was granted on its connection.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/rdma/provider/pages.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

class OfiCore;

class OfiRegion final : public MemoryRegion {
 public:
  OfiRegion(std::shared_ptr<OfiCore> core, std::size_t size_bytes, AccessFlags access,
            const std::string& name);  // throws SetupError
  ~OfiRegion() override;
  const std::shared_ptr<AnonymousPages>& pages() const noexcept { return pages_; }

 private:
  std::shared_ptr<OfiCore> core_;
  std::shared_ptr<AnonymousPages> pages_;
};

// What one peer got: the keys of one connection, and what each of them allows.
class OfiGrants {
 public:
  // Control thread. Throws SetupError (kLimit, kPermission).
  explicit OfiGrants(std::span<const Grant> grants);

  // For the peer.
  std::vector<RemoteRegion> regions() const;

  // The memory of [address, address + length) under this key; nullptr: the key is not one of this
  // connection, was taken back, lacks the right, or the range leaves its region. Whoever executes
  // requests of the peer's.
  std::byte* find(std::uint32_t rkey, std::uint64_t address, std::uint64_t length,
                  AccessFlags needed) const noexcept {
    const Entry& entry = entries_[rkey & kIndexMask];
    const std::uint64_t offset = address - entry.address;
    // Relaxed: who takes a key back waits until nobody executes requests (OfiQueuePair::revoke()).
    if (rkey == 0 || entry.rkey.load(std::memory_order_relaxed) != rkey ||
        (entry.access & needed) == 0 || offset > entry.length || length > entry.length - offset)
        [[unlikely]]
      return nullptr;
    return entry.pages->data() + offset;
  }

  // Takes the keys of `region` back; how many there were. Control thread.
  std::size_t take_back(const MemoryRegion& region) noexcept;

 private:
  static constexpr std::uint32_t kIndexMask = kGrantsMax - 1;
  static_assert((kGrantsMax & kIndexMask) == 0);

  struct Entry {
    std::atomic<std::uint32_t> rkey{0};  // 0: none, or taken back
    AccessFlags access = 0;
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    const MemoryRegion* region = nullptr;
    std::shared_ptr<AnonymousPages> pages;  // outlive their region as long as a peer may write
  };
  std::array<Entry, kGrantsMax> entries_;
  std::uint32_t count_ = 0;
};

}  // namespace tickpath::rdma::detail
