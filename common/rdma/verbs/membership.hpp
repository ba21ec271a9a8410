// Membership in a multicast group of the verbs provider: rdma_cm joins (it tells the switches by
// IGMP, MLD or the subnet manager), and the queue pair is attached to what came of it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include "common/rdma/datagram.hpp"
#include "common/rdma/verbs/datagram_queue_pair.hpp"

namespace tickpath::rdma::detail {

class VerbsMembership final : public MulticastMembership {
 public:
  // Begins to join. Throws SetupError.
  VerbsMembership(VerbsDatagramQueuePair& queue_pair, const std::string& group, MulticastRole role);
  ~VerbsMembership() override;

  bool poll() override;
  const AddressHandle* group() const noexcept override { return handle_.get(); }
  std::uint32_t datagram_bytes_max() const noexcept override {
    return queue_pair_->datagram_bytes_max();
  }
  std::string error_text() const override;
  std::size_t senders() const noexcept override { return 0; }

 private:
  struct ChannelDestroy {
    void operator()(rdma_event_channel* channel) const noexcept {
      ::rdma_destroy_event_channel(channel);
    }
  };
  struct IdDestroy {
    void operator()(rdma_cm_id* id) const noexcept { ::rdma_destroy_id(id); }
  };

  void begin();
  void on_event(rdma_cm_event_type type, int status, const rdma_ud_param& joined);
  void lose(const std::string& what);
  void on_joined(const rdma_ud_param& joined);
  [[noreturn]] void fail(SetupCause cause, const std::string& what) const;

  VerbsDatagramQueuePair* queue_pair_;
  std::string name_;
  MulticastRole role_;
  sockaddr_storage address_;
  std::unique_ptr<rdma_event_channel, ChannelDestroy> channel_;
  std::unique_ptr<rdma_cm_id, IdDestroy> id_;  // goes before its channel
  bool asked_ = false;                         // rdma_cm was asked to join
  bool joined_ = false;
  bool attached_ = false;
  std::uint64_t gid_changes_ = 0;  // of the device, as looked at last
  ibv_gid gid_{};
  std::uint16_t lid_ = 0;
  std::uint32_t gid_index_ = 0;  // from which it was joined
  std::unique_ptr<VerbsAddressHandle> handle_;
  mutable std::mutex mutex_;  // of the text alone
  std::string error_text_;
};

}  // namespace tickpath::rdma::detail
