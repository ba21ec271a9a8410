// Queue pair of the verbs provider.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "common/base/counter.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/verbs/attributes.hpp"
#include "common/rdma/verbs/completion_queue.hpp"
#include "common/rdma/verbs/connection.hpp"
#include "common/rdma/verbs/iwarp_queues.hpp"
#include "common/rdma/verbs/memory.hpp"
#include "common/rdma/verbs/sends.hpp"

namespace tickpath::rdma::detail {

class VerbsQueuePair final : public QueuePair {
 public:
  // In RESET, with grants prepared for its peer. Throws SetupError.
  VerbsQueuePair(std::shared_ptr<VerbsCore> core, VerbsCompletionQueue& queue,
                 const QueuePairOptions& options, std::span<const Grant> grants,
                 std::span<const ReceiveRequest> initial_receives);
  ~VerbsQueuePair() override;

  // Set-up, in this order; control thread. Throws SetupError.
  // To INIT with the port that rdma_cm resolved; initial receives posted; bound to its completion
  // queue and to the connection's fate.
  void initialise(rdma_cm_id* id, std::shared_ptr<VerbsConnection> connection,
                  std::span<const ReceiveRequest> initial_receives);
  // To RTR and RTS.
  void make_ready(rdma_cm_id* id, const VerbsAttributes& attributes);
  // From its return on the peer may use what granted() says.
  void bind_grants(const SetupDeadline& deadline);
  // What the peer is told, and what it tells. Over iWARP the last one is the count of receives,
  // and the peer's is READ when it is known.
  std::vector<RemoteRegion> regions_for_peer() const;
  void set_remote_regions(std::vector<RemoteRegion> regions, const SetupDeadline& deadline);

  const QueuePairOptions& options() const noexcept { return options_; }
  std::span<const VerbsGrant> granted() const noexcept { return grants_; }

  PostStatus post_send(const WorkRequest& request) noexcept override;
  PostStatus post_send(std::span<const WorkRequest> requests,
                       std::size_t* posted) noexcept override;
  PostStatus post_receive(const ReceiveRequest& request) noexcept override;

  QueuePairState state() const noexcept override;
  std::uint32_t number() const noexcept override { return queue_pair_->qp_num; }
  std::uint32_t inline_bytes() const noexcept override { return inline_bytes_; }
  std::string error_text() const override;
  void disconnect() noexcept override;
  std::span<const RemoteRegion> remote_regions() const noexcept override { return regions_; }
  QueuePairCounters counters() const noexcept override;
  std::size_t revoke(const MemoryRegion& region) noexcept override;

  // For the completion queue. Polling thread.
  // False: nothing for the program, or of a request that was flushed before.
  bool complete(const ibv_wc& done, Completion& out) noexcept;
  // iWARP: what was held back, and once the connection has failed and the device has nothing more,
  // what is not done.
  std::size_t move_on(std::span<Completion> out, bool drained) noexcept;
  std::size_t flush_in_software(std::span<Completion> out) noexcept;
  std::uint64_t tag() const noexcept { return tag_; }

 private:
  static constexpr std::size_t kBatch = 16;  // requests chained to one doorbell

  void create(const QueuePairOptions& options);
  std::uint32_t device_send_depth() const noexcept;
  void leave() noexcept;
  bool complete_iwarp(const ibv_wc& done, Completion& out) noexcept;
  std::size_t flush_receives(std::span<Completion> out) noexcept;
  PostStatus admit(const WorkRequest& request) noexcept;
  PostStatus prepare(const WorkRequest& request, std::size_t index) noexcept;
  int post_receive_to_device(const ReceiveRequest& request) noexcept;
  void on_error(const ibv_wc& done, bool receive, Completion& out) noexcept;
  void complete_receive(Completion& out) noexcept;

  // Hot, in the order in which a post touches it.
  VerbsConnection* connection_ = nullptr;  // owned by connection_owner_
  VerbsCompletionQueue* queue_;
  std::unique_ptr<IwarpQueues> iwarp_;  // null: InfiniBand and RoCE
  QueuePairHandle queue_pair_;
  std::uint64_t tag_ = 0;
  VerbsSends sends_;  // iWARP: none, they are in iwarp_
  std::uint32_t inline_bytes_ = 0;
  // Prefilled at set-up: list pointers and counts never change, posting sets the rest.
  std::array<ibv_send_wr, kBatch> requests_{};
  std::array<ibv_sge, kBatch> parts_{};

  std::uint64_t receives_posted_ = 0;
  Counter received_;
  std::uint64_t receive_mask_;
  std::uint32_t receive_depth_;
  std::unique_ptr<std::uint64_t[]> receives_;  // wr_ids
  ibv_recv_wr receive_request_{};
  ibv_sge receive_part_{};
  bool ended_ = false;  // iWARP: seen, so that what the device completed before has been polled
  bool flushed_ =
      false;  // iWARP: what is left is flushed here; the device's own word comes too late
  bool interrupted_send_ = false;  // the first one that a dead peer left unanswered was reported

  Counter refused_;

  std::shared_ptr<VerbsCore> core_;
  QueuePairOptions options_;
  std::shared_ptr<VerbsConnection> connection_owner_;
  std::vector<VerbsGrant> grants_;
  std::vector<RemoteRegion> regions_;
};

}  // namespace tickpath::rdma::detail
