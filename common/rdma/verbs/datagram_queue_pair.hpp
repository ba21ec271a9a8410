// Datagram queue pair (UD) of the verbs provider, and what goes with it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include <infiniband/verbs.h>

#include "common/base/counter.hpp"
#include "common/rdma/datagram.hpp"
#include "common/rdma/verbs/completion_queue.hpp"
#include "common/rdma/verbs/core.hpp"
#include "common/rdma/verbs/sends.hpp"

namespace tickpath::rdma::detail {

class VerbsDatagramQueuePair;

// Why a datagram queue pair went to error: by a completion, noted without a lock by the polling
// thread, or by an event of the device. The device's background thread sees to the rest.
class DatagramFate {
 public:
  DatagramFate(ibv_qp* queue_pair, std::shared_ptr<EventWake> wake) noexcept
      : queue_pair_(queue_pair), wake_(std::move(wake)) {}

  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  // The device answers no more: what is outstanding is flushed in software.
  bool gone() const noexcept { return gone_.load(std::memory_order_acquire); }
  std::string error_text() const;

  // Polling thread.
  void note_completion(ibv_wc_status status) noexcept;
  // Background thread.
  void fail(const std::string& text, bool gone) noexcept;
  bool uses(const ibv_qp* queue_pair) const noexcept;
  bool uses(const ibv_cq* queue) const noexcept;
  // Moves a failed queue pair to error, so that the device flushes it: a failed send stops the send
  // queue alone (volume 1, 10.3.1, SQE).
  void finish() noexcept;
  // Control thread: the queue pair is about to go.
  void unbind() noexcept;

 private:
  std::atomic<bool> failed_{false};
  std::atomic<bool> gone_{false};
  std::atomic<int> status_{IBV_WC_SUCCESS};  // of the first completion that failed
  mutable std::mutex mutex_;                 // of the rest; never on the datapath
  ibv_qp* queue_pair_;
  bool finished_ = false;
  std::string text_;
  std::shared_ptr<EventWake> wake_;  // null: nobody parks
};

class VerbsAddressHandle final : public AddressHandle {
 public:
  // attributes: from rdma_cm for a group. Throws SetupError{kAddress}.
  VerbsAddressHandle(const VerbsDatagramQueuePair& owner, std::shared_ptr<VerbsCore> core,
                     const DatagramAddress& address, const ibv_ah_attr& attributes);
  ~VerbsAddressHandle() override { ::ibv_destroy_ah(handle_); }

  ibv_ah* handle() const noexcept { return handle_; }
  const VerbsDatagramQueuePair& owner() const noexcept { return *owner_; }

 private:
  const VerbsDatagramQueuePair* owner_;
  std::shared_ptr<VerbsCore> core_;
  ibv_ah* handle_;
};

class VerbsDatagramQueuePair final : public DatagramQueuePair {
 public:
  // Throws SetupError.
  VerbsDatagramQueuePair(std::shared_ptr<VerbsCore> core, VerbsCompletionQueue& queue,
                         const DatagramOptions& options);
  ~VerbsDatagramQueuePair() override;

  PostStatus post_send(const DatagramRequest& request) noexcept override;
  PostStatus post_send(std::span<const DatagramRequest> requests,
                       std::size_t* posted) noexcept override;
  PostStatus post_receive(const ReceiveRequest& request) noexcept override;

  QueuePairState state() const noexcept override;
  std::uint32_t number() const noexcept override { return address_.qp_number; }
  std::uint32_t inline_bytes() const noexcept override { return inline_bytes_; }
  std::uint32_t datagram_bytes_max() const noexcept override { return datagram_bytes_max_; }
  std::string error_text() const override { return fate_->error_text(); }
  DatagramCounters counters() const noexcept override;
  const DatagramAddress& address() const noexcept override { return address_; }
  std::unique_ptr<AddressHandle> create_address_handle(const DatagramAddress& address) override;
  std::unique_ptr<MulticastMembership> join(const std::string& group, MulticastRole role) override;

  // For the completion queue. Polling thread. False: of a request that was flushed before.
  bool complete(const ibv_wc& done, Completion& out) noexcept;
  std::size_t flush_in_software(std::span<Completion> out) noexcept;
  std::uint64_t tag() const noexcept { return tag_; }

  // For memberships. Control thread.
  ibv_qp* queue_pair() const noexcept { return queue_pair_.get(); }
  const std::shared_ptr<VerbsCore>& core() const noexcept { return core_; }

 private:
  static constexpr std::size_t kBatch = 16;  // requests chained to one doorbell

  void create(const DatagramOptions& options);
  void make_ready();
  bool acceptable(const DatagramRequest& request) const noexcept;
  PostStatus prepare(const DatagramRequest& request, std::size_t index) noexcept;
  void complete_receive(Completion& out) noexcept;

  // Hot, in the order in which a post touches it.
  std::shared_ptr<DatagramFate> fate_;
  VerbsCompletionQueue* queue_;
  QueuePairHandle queue_pair_;
  std::uint64_t tag_ = 0;
  VerbsSends sends_;
  std::uint32_t inline_bytes_ = 0;
  std::uint32_t datagram_bytes_max_;
  // Prefilled at set-up: list pointers and counts never change, posting sets the rest.
  std::array<ibv_send_wr, kBatch> requests_{};
  std::array<ibv_sge, kBatch> parts_{};

  std::uint64_t receives_posted_ = 0;
  std::uint64_t receives_done_ = 0;
  std::uint64_t receive_mask_;
  std::uint32_t receive_depth_;
  std::unique_ptr<std::uint64_t[]> receives_;  // wr_ids
  ibv_recv_wr receive_request_{};
  ibv_sge receive_part_{};
  Counter received_, refused_;

  DatagramAddress address_;
  std::shared_ptr<VerbsCore> core_;
};

}  // namespace tickpath::rdma::detail
