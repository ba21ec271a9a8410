// Queue pair of the shm provider: posting executes the request at once on the peer's mapped memory;
// only a SEND or immediate that meets no receive waits in the software send queue.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/shm/completion_queue.hpp"
#include "common/rdma/shm/connection.hpp"
#include "common/rdma/shm/core.hpp"
#include "common/rdma/shm/memory.hpp"
#include "common/rdma/shm/setup.hpp"
#include "common/rdma/shm/wire.hpp"

namespace tickpath::rdma::detail {

inline constexpr std::uint32_t kInlineBytesMax = 512;  // copied into the send queue if it waits
inline constexpr std::uint32_t kQueueDepthMax = 1u << 15;

// Indices of queue pairs and completion queues count up for ever; 64 bits never wrap.
class ShmQueuePair final : public QueuePair {
 public:
  // The local half: queues and receive wire, initial receives posted. peer_barrier: the peer's
  // process answers membarrier (SetupFlags). Throws SetupError.
  ShmQueuePair(std::shared_ptr<DeviceCore> core, ShmCompletionQueue& queue,
               const QueuePairOptions& options, std::span<const ReceiveRequest> initial_receives,
               bool peer_barrier);
  ~ShmQueuePair() override;

  // The peer's half, from its set-up message; then bound to the completion queue and watched.
  // Throws SetupError if what it sent cannot be mapped or contradicts itself.
  void connect(UniqueFd socket, const PeerIdentity& peer, SetupMessage message);

  PostStatus post_send(const WorkRequest& request) noexcept override;
  PostStatus post_send(std::span<const WorkRequest> requests,
                       std::size_t* posted) noexcept override;
  PostStatus post_receive(const ReceiveRequest& request) noexcept override;

  QueuePairState state() const noexcept override;
  std::uint32_t number() const noexcept override { return number_; }
  std::uint32_t inline_bytes() const noexcept override { return inline_bytes_; }
  std::string error_text() const override;
  void disconnect() noexcept override;
  std::span<const RemoteRegion> remote_regions() const noexcept override { return regions_; }
  QueuePairCounters counters() const noexcept override;
  std::size_t revoke(const MemoryRegion& region) noexcept override;

  // For the completion queue. Polling thread.
  std::size_t poll(std::span<Completion> out) noexcept;
  void arm(bool solicited_only) noexcept;
  bool has_waiting_sends() const noexcept { return waiting_count_ != 0; }
  // For the destroyer, once no poll sees this queue pair any more.
  std::uint64_t room_taken() const noexcept;

  // Control thread, during set-up: what the peer got, in the order of its indices.
  void remember_grants(std::span<const Grant> grants);

  // Control thread, during set-up: what the peer wakes us by; invalid: nobody parks.
  UniqueFd wake_for_peer();

  const UniqueFd& wire_descriptor() const noexcept { return wire_memory_.fd; }
  const WireLayout& wire_layout() const noexcept { return layout_; }
  std::uint8_t setup_flags() const noexcept;

 private:
  // How far a request got when it was tried.
  enum class Step : std::uint8_t {
    kDone,
    kNoReceive,   // has to wait
    kBadRequest,  // not to be posted
    kRemoteAccess,
    kLocalProtection,
    kRemoteInvalid,
    kPeerProtocol,
  };

  // A region of the peer, mapped here.
  struct alignas(32) Target {
    std::byte* mapped = nullptr;
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    std::uint32_t rkey = 0;  // 0: none
    AccessFlags access = 0;
  };

  struct SendDone {
    std::uint64_t wr_id;
    std::uint64_t posted_through;  // requests before this one are done with their queue slots
    std::uint32_t byte_length;
    CompletionStatus status;
    Opcode opcode;
  };

  struct Receive {
    std::uint64_t wr_id;
    std::byte* address;
    std::uint32_t length;
    // What a SEND may have without a closer look: length, but not above what the wire can hold, and
    // 0 if lkey, bounds or rights were wrong when posted.
    std::uint32_t length_plain;
  };

  // Posting (shm/queue_pair_datapath.cpp).
  const std::byte* source_of(const WorkRequest& request) const noexcept;
  std::byte* target_of(const WorkRequest& request, AccessFlags needed) const noexcept;
  PostStatus post_one(const WorkRequest& request) noexcept;
  bool still_ready() noexcept;
  Step execute(const WorkRequest& request) noexcept;
  Step execute_waiting(const WorkRequest& request) noexcept;
  Step write(const WorkRequest& request, const std::byte* source) noexcept;
  Step write_with_imm(const WorkRequest& request) noexcept;
  Step send(const WorkRequest& request) noexcept;
  Step read(const WorkRequest& request) noexcept;
  Step atomic(const WorkRequest& request) noexcept;
  Step no_credit() noexcept;
  void wake_peer(bool solicited) noexcept;
  PostStatus settle(const WorkRequest& request, Step step) noexcept;
  void settle_failed(const WorkRequest& request, Step step) noexcept;
  bool acceptable(const WorkRequest& request) const noexcept;
  void push_done(const WorkRequest& request, CompletionStatus status) noexcept;

  // Requests that wait (shm/queue_pair_waiting.cpp). They hold a slot of the send queue and room in
  // the completion queue, so that executing them later can overrun neither.
  PostStatus post_behind(const WorkRequest& request) noexcept;
  void enqueue(const WorkRequest& request) noexcept;
  const WorkRequest& dequeue() noexcept;
  void advance() noexcept;
  bool rnr_expired() noexcept;
  void fail_receive(CompletionStatus status) noexcept;
  std::size_t flush(std::span<Completion> out) noexcept;

  // Polling.
  std::size_t take_sends(std::span<Completion> out) noexcept;
  std::size_t take_receives(std::span<Completion> out) noexcept;
  bool accept_message(const WireReceiver::Message& message, Completion& completion) noexcept;
  bool accept_unusual(const WireReceiver::Message& message, Completion& completion) noexcept;
  void adopt() noexcept;

  void enqueue_receive(const ReceiveRequest& request) noexcept;
  void map_targets(SetupMessage& message, std::size_t first_descriptor);
  void map_peer_wire(SetupMessage& message);

  // Hot, in the order in which a post and a poll touch it.
  Connection* connection_ = nullptr;  // owned by connection_owner_
  ShmCompletionQueue* queue_;
  Counter executed_;                 // send requests run, or failed
  std::uint64_t reclaimed_ = 0;      // of them: their slots in the send queue are free again
  std::uint64_t send_room_;          // send_depth less the requests that wait
  std::uint64_t waiting_count_ = 0;  // accepted, not executed yet
  std::uint32_t inline_bytes_;
  const RegionTable* local_regions_;
  std::array<Target, kGrantsMax> targets_{};
  WireSender sender_;
  WireReceiver receiver_;
  std::uint64_t done_head_ = 0;  // completions of sends: handed out
  std::uint64_t done_tail_ = 0;  // ... produced
  std::uint64_t send_mask_;
  std::uint64_t receive_mask_;
  std::uint32_t receive_depth_;
  std::uint32_t number_;
  bool adopted_ = false;         // the completion queue has counted our receives
  bool flushed_send_ = false;    // the first interrupted send has been reported
  bool stop_receiving_ = false;  // after a failed receive the wire is not read any more
  bool unfenced_ = false;        // stores of WRITEs and SENDs may be on their way
  std::unique_ptr<SendDone[]> done_;
  std::unique_ptr<Receive[]> receives_;

  // Waiting requests.
  std::unique_ptr<WorkRequest[]> waiting_;
  std::unique_ptr<std::byte[]> waiting_inline_;
  std::uint64_t rnr_since_tsc_ = 0;  // 0: the oldest one has not met an empty receive queue yet
  std::uint64_t rnr_limit_tsc_;
  bool rnr_for_ever_;

  Counter rnr_waits_, refused_, wakeups_;

  // Owned.
  std::shared_ptr<DeviceCore> core_;
  std::shared_ptr<Connection> connection_owner_;
  WireLayout layout_;
  OwnedMemory wire_memory_;
  Mapping peer_wire_;
  UniqueFd peer_wake_;
  WakeEnd our_wake_;
  std::vector<Mapping> mappings_;
  std::vector<RemoteRegion> regions_;
  std::vector<const MemoryRegion*> granted_;  // to the peer, by index; null once taken back
};

}  // namespace tickpath::rdma::detail
