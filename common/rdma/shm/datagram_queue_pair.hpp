// Datagram queue pair of the shm provider: posting copies the datagram into the ring of its
// destination, polling takes what is in the rings of others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/base/counter.hpp"
#include "common/rdma/datagram.hpp"
#include "common/rdma/shm/completion_queue.hpp"
#include "common/rdma/shm/core.hpp"
#include "common/rdma/shm/datagram_publication.hpp"
#include "common/rdma/shm/datagram_sources.hpp"

namespace tickpath::rdma::detail {

class ShmDatagramQueuePair;

class ShmAddressHandle final : public AddressHandle {
 public:
  // Throws SetupError.
  ShmAddressHandle(ShmDatagramQueuePair& queue_pair, const DatagramAddress& address);
  // Its publication is ready; the monitor watches it from now on.
  void start();
  ~ShmAddressHandle() override;

  DatagramPublication& publication() const noexcept { return *publication_; }
  const ShmDatagramQueuePair& owner() const noexcept { return *owner_; }

 private:
  ShmDatagramQueuePair* owner_;
  std::shared_ptr<DatagramPublication> publication_;
  bool watched_ = false;
};

class ShmDatagramQueuePair final : public DatagramQueuePair {
 public:
  // Throws SetupError.
  ShmDatagramQueuePair(std::shared_ptr<DeviceCore> core, ShmCompletionQueue& queue,
                       const DatagramOptions& options);
  ~ShmDatagramQueuePair() override;

  PostStatus post_send(const DatagramRequest& request) noexcept override;
  PostStatus post_send(std::span<const DatagramRequest> requests,
                       std::size_t* posted) noexcept override;
  PostStatus post_receive(const ReceiveRequest& request) noexcept override;

  QueuePairState state() const noexcept override;
  std::uint32_t number() const noexcept override { return address_.qp_number; }
  std::uint32_t inline_bytes() const noexcept override { return inline_bytes_; }
  std::uint32_t datagram_bytes_max() const noexcept override { return layout_.datagram_bytes_max; }
  std::string error_text() const override;
  DatagramCounters counters() const noexcept override;
  const DatagramAddress& address() const noexcept override { return address_; }

  std::unique_ptr<AddressHandle> create_address_handle(const DatagramAddress& address) override;
  std::unique_ptr<MulticastMembership> join(const std::string& group, MulticastRole role) override;

  // For the completion queue. Polling thread.
  std::size_t poll(std::span<Completion> out) noexcept;
  void arm(bool solicited_only) noexcept;

  // For handles and memberships. Control thread.
  DeviceCore& core() const noexcept { return *core_; }
  const DatagramRingLayout& layout() const noexcept { return layout_; }
  ShmCompletionQueue& queue() const noexcept { return *queue_; }
  DatagramSources& sources() noexcept { return sources_; }

 private:
  enum class Failure : std::uint8_t { kNone, kSendProtection, kReceiveProtection };

  struct SendDone {
    std::uint64_t wr_id;
    std::uint64_t posted_through;  // requests before this one are done with their places
    std::uint32_t byte_length;
    CompletionStatus status;
    Opcode opcode;
  };

  struct Receive {
    std::uint64_t wr_id;
    std::byte* address;
    std::uint32_t length;
    bool valid;  // lkey, bounds and rights were right when it was posted
  };

  // What became of the datagram that a source had.
  enum class Taken : std::uint8_t { kNothing, kCompleted, kDropped };

  bool acceptable(const DatagramRequest& request) const noexcept;
  void push_done(const DatagramRequest& request, CompletionStatus status) noexcept;
  std::size_t take_sends(std::span<Completion> out) noexcept;
  std::size_t take_datagrams(std::span<Completion> out) noexcept;
  std::size_t take_from(DatagramSource& source, std::span<Completion> out) noexcept;
  Taken take_one(DatagramSource& source, Completion& completion) noexcept;
  Taken accept(DatagramSource& source, const DatagramReader::Datagram& datagram,
               Completion& completion) noexcept;
  Taken overrun(DatagramSource& source) noexcept;
  void fill_grh(const DatagramSource& source, std::byte* at, std::uint32_t length) const noexcept;
  std::size_t flush(std::span<Completion> out) noexcept;
  void fail(Failure failure) noexcept { failure_.store(failure, std::memory_order_release); }
  bool failed() const noexcept {
    return failure_.load(std::memory_order_relaxed) != Failure::kNone;
  }

  ShmCompletionQueue* queue_;
  const RegionTable* local_regions_;
  std::atomic<Failure> failure_{Failure::kNone};  // by the polling thread, read by any
  std::uint32_t inline_bytes_;
  std::uint32_t send_depth_;
  std::uint32_t receive_depth_;
  DatagramRingLayout layout_;
  DatagramAddress address_;
  Counter executed_;
  std::uint64_t reclaimed_ = 0;  // of the executed: their places in the send queue are free again
  std::uint64_t done_head_ = 0;  // completions of sends: handed out
  std::uint64_t done_tail_ = 0;  // ... produced
  std::uint64_t receives_head_ = 0;
  std::uint64_t receives_tail_ = 0;
  std::uint64_t send_mask_;
  std::uint64_t receive_mask_;
  std::size_t first_source_ = 0;  // where the next poll starts, for fairness
  std::unique_ptr<SendDone[]> done_;
  std::unique_ptr<Receive[]> receives_;
  Counter received_, refused_, wakeups_;
  Counter overrun_, without_receive_, wrong_q_key_, too_long_, malformed_;

  std::shared_ptr<DeviceCore> core_;
  DatagramSources sources_;
  std::shared_ptr<DatagramInbox> inbox_;
};

}  // namespace tickpath::rdma::detail
