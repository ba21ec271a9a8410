// The messages of one queue pair of the ofi provider: what libfabric receives into and sends from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/rdma/ofi/choice.hpp"
#include "common/rdma/ofi/wire.hpp"
#include "common/rdma/provider/pages.hpp"

namespace tickpath::rdma::detail {

class OfiCore;

class OfiBuffers {
 public:
  explicit OfiBuffers(const OfiCore& core);  // throws SetupError

  // receive: 0 to kOfiReceiveBuffers - 1. Send buffers are those behind them.
  std::byte* at(std::uint32_t index) const noexcept { return pages_.data() + index * kStep; }
  static constexpr std::uint32_t send_index(std::uint32_t i) noexcept {
    return kOfiReceiveBuffers + i;
  }
  // For libfabric; null where it wants none.
  void* descriptor() const noexcept { return descriptor_; }

 private:
  static constexpr std::size_t kStep = (kOfiMessageBytes + 63) / 64 * 64;

  AnonymousPages pages_;
  Fid<fid_mr> registration_;
  void* descriptor_ = nullptr;
};

// A queue of small numbers in a ring that never overflows by how it is used. One thread at a time.
template <std::uint32_t kCapacity>
class IndexQueue {
 public:
  bool empty() const noexcept { return head_ == tail_; }
  std::uint32_t size() const noexcept { return tail_ - head_; }
  std::uint32_t front() const noexcept { return entries_[head_ & kMask]; }
  void push(std::uint32_t index) noexcept { entries_[tail_++ & kMask] = index; }
  std::uint32_t pop() noexcept { return entries_[head_++ & kMask]; }

 private:
  static constexpr std::uint32_t kMask = kCapacity - 1;
  static_assert((kCapacity & kMask) == 0, "a power of two");
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t entries_[kCapacity];
};

}  // namespace tickpath::rdma::detail
