// Completion queue and channel of the verbs provider.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <infiniband/verbs.h>

#include "common/rdma/provider/completion_room.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/verbs/connection.hpp"
#include "common/rdma/verbs/core.hpp"

namespace tickpath::rdma::detail {

class VerbsQueuePair;
class VerbsDatagramQueuePair;

// The device's completion events and our own wake-ups (a failed connection has not always something
// to complete) behind one descriptor.
class VerbsChannel final : public CompletionChannel {
 public:
  explicit VerbsChannel(std::shared_ptr<VerbsCore> core);  // throws SetupError
  ~VerbsChannel() override;

  int file_descriptor() const noexcept override { return epoll_; }
  void acknowledge() noexcept override;
  ibv_comp_channel* channel() const noexcept { return channel_; }
  const std::shared_ptr<EventWake>& wake() const noexcept { return wake_; }

 private:
  std::shared_ptr<VerbsCore> core_;
  ibv_comp_channel* channel_ = nullptr;
  std::shared_ptr<EventWake> wake_;
  int epoll_ = -1;
};

// How a work request is found again by its completion: ibv_wc's wr_id.
//   63-56 slot in the completion queue | 55-34 generation of the slot | 33 acknowledgement (iWARP)
//   | 32 receive | 31-0 position
// The generation tells completions of a destroyed queue pair, which some devices (rxe) leave in the
// completion queue, from those of its successor. No queue pair has generation 0: it marks requests
// of the set-up (Hold).
inline constexpr unsigned kSlotShift = 56;
inline constexpr unsigned kTagShift = 34;  // slot and generation
inline constexpr std::uint64_t kAckBit = std::uint64_t{1} << 33;
inline constexpr std::uint64_t kReceiveBit = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kGenerationMask = (std::uint64_t{1} << (kSlotShift - kTagShift)) - 1;

// What completes without having taken room (unsignalled requests that fail) fits into the part of
// the device's queue beyond depth(), which reserve() provides.
class VerbsCompletionQueue final : public CompletionQueue, public CompletionRoom {
 public:
  static constexpr std::size_t kQueuePairsMax = 256;

  VerbsCompletionQueue(std::shared_ptr<VerbsCore> core, std::uint32_t depth, VerbsChannel* channel);
  ~VerbsCompletionQueue() override;

  std::size_t poll(std::span<Completion> out) noexcept override;
  void arm(bool solicited_only) noexcept override;

  ibv_cq* queue() const noexcept { return queue_; }
  const std::shared_ptr<EventWake>& wake() const noexcept { return wake_; }

  // Control thread, also while another thread polls. A place for a queue pair, by its tag: bits
  // 63-33 of its wr_ids. Throws SetupError{kLimit}.
  std::uint64_t reserve(std::uint32_t send_depth);
  // From now on polls find it. receives: how many it has posted so far.
  void attach(VerbsQueuePair& queue_pair, std::uint32_t receives) noexcept;
  // Gives the place back; on return no poll sees the queue pair any more.
  void detach(const VerbsQueuePair& queue_pair, std::uint32_t send_depth) noexcept;
  void attach(VerbsDatagramQueuePair& queue_pair) noexcept;
  void detach(const VerbsDatagramQueuePair& queue_pair, std::uint32_t send_depth) noexcept;

  // During set-up its thread waits for completions of its own in a queue that another
  // thread polls, or that nobody polls just now. While it holds the queue, polls find nothing; what
  // completes for others is kept and comes first afterwards. A few microseconds for each request.
  class Hold {
   public:
    explicit Hold(VerbsCompletionQueue& queue) noexcept;
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    std::uint64_t new_id() noexcept;  // for the next request
    // Throws SetupError{kTimeout}.
    ibv_wc await(std::uint64_t wr_id, const SetupDeadline& deadline);

   private:
    VerbsCompletionQueue& queue_;
    std::unique_lock<std::mutex> lock_;
  };

 private:
  enum class Access : std::uint8_t { kOpen, kHeld, kKept };

  bool deliver(const ibv_wc& done, Completion& out) noexcept;
  bool deliver_datagram(const ibv_wc& done, Completion& out) noexcept;
  void give_back(std::size_t slot, std::uint32_t send_depth) noexcept;
  std::size_t poll_device(std::span<Completion> out) noexcept;
  std::size_t poll_kept(std::span<Completion> out) noexcept;
  std::size_t flush(std::span<Completion> out) noexcept;
  std::size_t move_on(std::span<Completion> out, bool drained) noexcept;
  void make_room_for(std::uint32_t send_depth);  // mutex_ held

  std::atomic<std::uint64_t> polls_{0};  // odd: a poll is under way
  std::atomic<Access> access_{Access::kOpen};
  ibv_cq* queue_ = nullptr;
  // A place is taken in one of the two.
  std::array<std::atomic<VerbsQueuePair*>, kQueuePairsMax> slots_{};
  std::array<std::atomic<VerbsDatagramQueuePair*>, kQueuePairsMax> datagram_slots_{};
  std::array<bool, kQueuePairsMax> reserved_{};
  std::atomic<std::size_t> used_{0};  // slots before this one have had queue pairs
  std::mutex mutex_;                  // set-up and the end of queue pairs only
  // Whoever may poll: the control thread while it holds the queue, else the polling thread, which
  // only moves on in it.
  std::vector<ibv_wc> kept_;
  std::size_t kept_next_ = 0;
  std::uint32_t set_up_requests_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t send_depths_ = 0;  // of all attached
  std::shared_ptr<EventWake> wake_;
  std::shared_ptr<VerbsCore> core_;
};

}  // namespace tickpath::rdma::detail
