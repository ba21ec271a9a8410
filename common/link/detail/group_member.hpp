// Membership in a multicast group. The network may end it: the subnet manager is restarted, the
// interface loses its address, its bond fails over. Then the group is joined again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "common/rdma/datagram.hpp"

namespace tickpath::link {

class GroupMember {
 public:
  // Control thread. Begins to join. The queue pair outlives it. Throws rdma::SetupError.
  GroupMember(rdma::DatagramQueuePair& pair, std::string group, rdma::MulticastRole role);

  // ---- control thread
  // The first join. False: under way. Throws rdma::SetupError.
  bool joined() { return membership_->poll(); }
  // Blocks until it has joined. Throws rdma::SetupError.
  void wait();
  // Once joined, now and then: notices that the group is lost, and joins it again, a try a second.
  void keep();
  std::uint32_t datagram_bytes_max() const noexcept { return membership_->datagram_bytes_max(); }

  // ---- any thread
  // Why no datagram passes; empty while the group is joined.
  std::string error_text() const;
  // As a destination. Another one after a join anew; the one before it stays valid until the next.
  const rdma::AddressHandle* group() const noexcept {
    return handle_.load(std::memory_order_acquire);  // pairs with the release in take()
  }

 private:
  using Clock = std::chrono::steady_clock;

  void join_again();
  void take(std::unique_ptr<rdma::MulticastMembership> joined);
  void say(const std::string& text);

  rdma::DatagramQueuePair& pair_;
  std::string group_;
  rdma::MulticastRole role_;
  // What names the handle of the former one may still be under way.
  std::unique_ptr<rdma::MulticastMembership> former_;
  std::unique_ptr<rdma::MulticastMembership> membership_;
  std::unique_ptr<rdma::MulticastMembership> next_;  // being joined
  bool lost_ = false;
  Clock::time_point try_at_, give_up_at_;
  std::atomic<const rdma::AddressHandle*> handle_{nullptr};
  mutable std::mutex mutex_;  // of the text alone; never the datapath
  std::string error_text_;
};

}  // namespace tickpath::link
