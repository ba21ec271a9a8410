// The queues of a connection over iWARP (RFC 5040, 5041, 5044), behind the same interface as those
// of InfiniBand. What iWARP lacks, and what stands in its place:
//  - No acknowledgements: a WRITE or SEND completes when the local TCP has taken it, refused or
//  not.
//    Here it completes when a READ that was sent behind it came back: the peer's device has
//    processed it by then.
//  - Completions in the order of posting: Soft-iWARP completes a WRITE before an earlier READ.
//  READs
//    complete in order, and here only READs tell of anything.
//  - No waiting for a receive: a SEND that meets none ends the stream. Here each side counts its
//    receives, WRITEs the count to the other now and then, and has it READ by the READs that
//    acknowledge. A SEND without a receive waits on its own side, as do the requests behind it.
//  - No immediate data: a SEND begins with a header that has room for them, and a WRITE with
//    immediate is a WRITE and a SEND of a header.
//  - READs under way are limited by the connection, not by a queue: more of them wait here as well.
//    Soft-iWARP with all its READs under way answers none of the peer's: two such ends stand still.
// A connection without our set-up (verbs_plain) has neither header nor count: its READ is one of
// nothing, which needs no key.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include <infiniband/verbs.h>

#include "common/base/counter.hpp"
#include "common/rdma/provider/pages.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/verbs/completion_queue.hpp"
#include "common/rdma/verbs/connection.hpp"
#include "common/rdma/verbs/memory.hpp"

namespace tickpath::rdma::detail {

enum class IwarpKind : std::uint32_t { kSend = 1, kSendWithImm, kWriteWithImm };

// In front of every message of a connection, little-endian. RFC 5040 has no immediate data.
//   0 kind | 4 imm_data | 8 length_bytes (of the WRITE that it tells of) | 12 reserved
struct IwarpHeader {
  IwarpKind kind{};
  std::uint32_t imm_data = 0;
  std::uint32_t length_bytes = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(IwarpHeader) == 16 && offsetof(IwarpHeader, length_bytes) == 8);

// The bytes of an inline request are copied into memory of the queues, whatever the device can do.
inline constexpr std::uint32_t kIwarpInlineBytes = 240;

class IwarpQueues {
 public:
  // Throws SetupError.
  IwarpQueues(const VerbsCore& core, const QueuePairOptions& options);
  IwarpQueues(const IwarpQueues&) = delete;
  IwarpQueues& operator=(const IwarpQueues&) = delete;

  // What the device's queue must hold for so many of our requests.
  static constexpr std::uint32_t device_depth(std::uint32_t send_depth) {
    return send_depth * kPartsMax + kAcksMax + 2 * kToldMax;
  }
  std::uint32_t inline_bytes() const noexcept { return inline_bytes_; }
  static constexpr std::uint32_t kPieces = 2;  // header and payload: scatter and gather entries

  // ---- set-up, in this order
  // framed: the peer speaks as we do. tag: of this queue pair's wr_ids.
  void start(ibv_qp* queue_pair, VerbsConnection* connection, VerbsCompletionQueue* queue,
             std::uint64_t tag, bool framed) noexcept;
  // Told to the peer behind what it is granted.
  RemoteRegion receive_count() const noexcept;
  // reads: how many may be under way. no_receive_for: a SEND fails after so long; 0: never.
  void set_limits(std::uint32_t reads, std::chrono::microseconds no_receive_for) noexcept;
  // The first READ of the peer's count. On the connecting side it is also the first thing that
  // moves on the stream: the listening side may not speak before (RFC 5044, 7.1.2).
  void greet(const RemoteRegion& peer_count, const SetupDeadline& deadline);
  // What the peer granted. A request for anything else fails here: a key of another connection
  // would be good for the device, which has no memory windows. regions must outlive the queues.
  void set_granted(std::span<const RemoteRegion> regions) noexcept { granted_ = regions; }

  // ---- polling thread
  PostStatus post(std::span<const WorkRequest> requests, std::size_t& accepted) noexcept;
  // received: how many of those before it have completed.
  int post_receive(const ReceiveRequest& request, std::uint64_t position,
                   std::uint64_t received) noexcept;
  // Describes the receive at `position`, which succeeded. False: it is none of ours.
  bool describe(const ibv_wc& done, std::uint64_t position, Completion& out) const noexcept;
  void on_send(const ibv_wc& done) noexcept;
  // Goes on with what waits, and hands out what is done.
  std::size_t move_on(std::span<Completion> out) noexcept;
  // What is not done, in order; for a connection that has failed.
  std::size_t flush(std::span<Completion> out) noexcept;

  std::uint64_t room_taken() const noexcept;  // in the completion queue, by requests not handed out
  std::uint64_t completed() const noexcept {
    return completed_.get();
  }  // any thread, as the others
  std::uint64_t waits() const noexcept { return waits_.get(); }

 private:
  static constexpr std::uint32_t kPartsMax = 2;  // a WRITE, and the SEND that tells of it
  static constexpr std::uint32_t kAcksMax = 2;   // one comes back while another is on its way
  // WRITEs of our count that are not acknowledged yet; beyond, the peer READs it.
  static constexpr std::uint32_t kToldMax = 32;
  static constexpr std::size_t kBatch = 16;  // requests of the device with one doorbell
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  // In registered memory, a place for each request: what the peer gets before the payload, and the
  // payload of an inline request.
  struct Place {
    IwarpHeader header;
    std::byte inlined[kIwarpInlineBytes];
  };
  static_assert(sizeof(Place) == 256);
  struct Counts {
    // The peer's: it READs the first and WRITEs the second. Whoever lies deceives itself: it may
    // send what meets no receive, and loses its connection.
    alignas(64) std::uint64_t receives = 0;
    std::uint64_t peer_receives = 0;
    // Ours: into which our READs of its first word come.
    alignas(64) std::array<std::uint64_t, kAcksMax> read_receives{};
  };
  static constexpr std::size_t kSharedBytes = 16;
  static_assert(offsetof(Counts, peer_receives) == 8);
  enum class Waits : std::uint8_t { kNothing, kReceive, kReads, kRefused };

  PostStatus admit(const WorkRequest& request) noexcept;
  bool granted(const WorkRequest& request) const noexcept;
  std::uint64_t peer_receives() const noexcept;
  Waits waits_for(const WorkRequest& request) const noexcept;
  void issue() noexcept;
  void add(std::uint64_t position) noexcept;
  void add_message(std::uint64_t position, IwarpKind kind, bool payload) noexcept;
  void add_acknowledgement() noexcept;
  void tell_receives(std::uint64_t posted) noexcept;
  void add_part(ibv_wr_opcode opcode, std::uint64_t wr_id, const WorkRequest& request) noexcept;
  void ring_doorbell() noexcept;
  void give_up(Waits waits) noexcept;
  CompletionStatus interrupted() const noexcept;
  void hand_out(Completion& out, CompletionStatus status) noexcept;
  std::uint64_t id(std::uint64_t position) const noexcept;
  ibv_sge counts_piece(std::size_t place) const noexcept;

  ibv_qp* queue_pair_ = nullptr;
  VerbsConnection* connection_ = nullptr;
  VerbsCompletionQueue* queue_ = nullptr;
  std::uint64_t tag_ = 0;
  bool framed_ = true;

  // Positions of requests count up for ever, acknowledged_ <= issued_ <= posted_; what is flushed
  // is handed out without having been acknowledged.
  std::uint64_t posted_ = 0;        // accepted from the program
  std::uint64_t issued_ = 0;        // of them: given to the device
  std::uint64_t acknowledged_ = 0;  // of them: a READ behind them came back
  Counter completed_;               // of them: handed out
  std::uint64_t wanted_ = 0;        // behind the newest one that must be acknowledged
  std::uint64_t covered_ = 0;       // behind the newest one that a READ under way acknowledges
  std::uint32_t reads_ = 0;         // the program's, under way
  std::uint64_t acks_sent_ = 0, acks_back_ = 0;
  std::array<std::uint64_t, kAcksMax> ack_covers_{};
  std::uint32_t reads_max_ = 1;
  RemoteRegion peer_count_;
  std::span<const RemoteRegion> granted_;
  std::uint64_t peer_receives_ = 0;  // posted by the peer, as far as our READs know
  std::uint64_t messages_ = 0;       // issued, each of which takes a receive
  std::uint64_t told_ = 0;           // the count that the peer has got
  std::uint32_t tellings_ = 0;       // WRITEs of it since the last READ came back

  std::chrono::microseconds no_receive_for_{0};
  std::chrono::steady_clock::time_point waiting_since_{};
  std::uint64_t waiting_ = kNone;          // the position that was last seen without a receive
  std::uint64_t failed_position_ = kNone;  // the device said of this one how it failed
  CompletionStatus failed_status_ = CompletionStatus::kGeneral;
  bool interrupted_ = false;  // the first one that got no answer was reported
  Counter waits_;

  std::uint64_t mask_;
  std::uint64_t receive_mask_;
  std::uint32_t send_depth_;
  std::uint32_t receive_depth_;
  std::uint32_t inline_bytes_;
  std::unique_ptr<WorkRequest[]> requests_;
  AnonymousPages pages_;
  Registration registration_;        // ours alone
  Registration count_registration_;  // of the line that the peer READs
  Counts* counts_;
  Place* places_;
  IwarpHeader* receive_headers_;

  std::size_t parts_ = 0;
  std::array<ibv_send_wr, kBatch> work_{};
  std::array<std::array<ibv_sge, kPieces>, kBatch> pieces_{};
};

}  // namespace tickpath::rdma::detail
