// The send requests of a verbs queue pair, connected or for datagrams, from the post to the
// completion that is handed out; and how the device's object is made.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string>

#include <infiniband/verbs.h>

#include "common/base/counter.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/verbs/completion_queue.hpp"

namespace tickpath::rdma::detail {

struct DestroyQueuePair {
  void operator()(ibv_qp* queue_pair) const noexcept { ::ibv_destroy_qp(queue_pair); }
};
using QueuePairHandle = std::unique_ptr<ibv_qp, DestroyQueuePair>;

// Inline data take room in the send queue: a device that cannot have as much as cap asks for says
// no, and is asked for less; on return cap says what there is. what: names the queue pair in
// errors. Throws SetupError.
QueuePairHandle create_queue_pair(const VerbsCore& core, ibv_cq* queue, ibv_qp_type type,
                                  ibv_qp_cap& cap, const std::string& what);

// Whether the low 32 bits of a wr_id are the position of a request from `done` up to `posted`. A
// completion that is not of one comes too late: a device that failed may still complete what was
// flushed in software.
constexpr bool is_outstanding(std::uint64_t wr_id, std::uint64_t done,
                              std::uint64_t posted) noexcept {
  return static_cast<std::uint32_t>(wr_id - done) < posted - done;
}

// Positions count up for ever; 64 bits never wrap. Their low 32 bits travel in wr_id. Polling
// thread, but for the counts.
class VerbsSends {
 public:
  // Before the first post.
  void open(std::uint32_t depth) {
    depth_ = depth;
    mask_ = std::bit_ceil(depth) - 1;
    sent_ = std::make_unique<Sent[]>(mask_ + 1);
  }

  std::uint32_t depth() const noexcept { return depth_; }
  std::uint64_t completed() const noexcept { return completed_.get(); }  // any thread
  bool all_done() const noexcept { return completed_.get() == posted_; }
  std::uint32_t next_id() const noexcept { return static_cast<std::uint32_t>(posted_); }
  std::uint64_t oldest() const noexcept { return completed_.get(); }
  bool is_outstanding(std::uint64_t wr_id) const noexcept {
    return detail::is_outstanding(wr_id, completed_.get(), posted_);
  }
  // The position of an outstanding request, from its low 32 bits: it is never further away than
  // the depth.
  std::uint64_t position_of(std::uint64_t wr_id) const noexcept {
    const std::uint64_t base = completed_.get();
    return base + static_cast<std::uint32_t>(wr_id - base);
  }

  // Only a request that will complete takes room in the completion queue.
  bool has_place(std::uint8_t flags, const CompletionRoom& room) const noexcept {
    return posted_ - completed_.get() < depth_ && ((flags & kSignaled) == 0 || room.has_room());
  }
  template <class Request>
  void record(const Request& request, CompletionRoom& room) noexcept {
    const bool signaled = (request.flags & kSignaled) != 0;
    sent_[posted_ & mask_] = {request.wr_id, request.length_bytes, request.opcode, signaled};
    ++posted_;
    if (signaled) room.take_room();
  }
  // Undoes record() of the last request, which the device did not take.
  void unrecord(CompletionRoom& room) noexcept {
    --posted_;
    if (sent_[posted_ & mask_].signaled) room.return_room();
  }
  // Unsignalled requests before it are done, too: sends complete in order.
  void complete(std::uint64_t position, std::uint32_t number, CompletionRoom& room,
                Completion& out) noexcept {
    const Sent& sent = sent_[position & mask_];
    completed_.add(position + 1 - completed_.get());
    if (sent.signaled) room.return_room();
    out = {.wr_id = sent.wr_id,
           .opcode = sent.opcode,
           .byte_length = sent.length,
           .qp_number = number};
  }
  // By those that are not done.
  std::uint64_t room_taken() const noexcept {
    std::uint64_t room = 0;
    for (std::uint64_t i = completed_.get(); i != posted_; ++i)
      room += sent_[i & mask_].signaled ? 1 : 0;
    return room;
  }

 private:
  struct Sent {
    std::uint64_t wr_id;
    std::uint32_t length;
    Opcode opcode;
    bool signaled;
  };

  std::uint64_t posted_ = 0;
  Counter completed_;  // of them: executed or failed; their places are free again
  std::uint64_t mask_ = 0;
  std::uint32_t depth_ = 0;
  std::unique_ptr<Sent[]> sent_;
};

}  // namespace tickpath::rdma::detail
