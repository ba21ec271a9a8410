// Queue pair of the ofi provider: what RC promises, by messages of one endpoint of libfabric.
//
// A request waits in our queue until it can go: its bytes travel in messages of kOfiPartBytes, and
// the peer's library executes them in order (common/rdma/DESIGN.md, "The ofi provider"). Who has
// entered the completion queue (PollerGate) sends, executes and hands out; who
// posts only writes into the two queues of requests, and enters if nobody else is there.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/rdma/ofi/buffers.hpp"
#include "common/rdma/ofi/completion_queue.hpp"
#include "common/rdma/ofi/connection.hpp"
#include "common/rdma/ofi/memory.hpp"
#include "common/rdma/ofi/wire.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

inline constexpr std::uint32_t kOfiInlineBytesMax = 256;
inline constexpr std::uint32_t kOfiQueueDepthMax = 1u << 16;
// How long an endpoint without a connection waits, when it goes, for the answers to its messages.
inline constexpr std::chrono::milliseconds kOfiDrainLimit{50};

// Indices of requests count up for ever; 64 bits never wrap.
class OfiQueuePair final : public QueuePair {
 public:
  // Throws SetupError.
  OfiQueuePair(std::shared_ptr<OfiCore> core, OfiCompletionQueue& queue,
               const QueuePairOptions& options, std::span<const Grant> grants,
               std::span<const ReceiveRequest> initial_receives);
  ~OfiQueuePair() override;

  // Set-up, in this order. Throws SetupError.
  // info: of core_info(), or of the request that is to be accepted. Receives are posted.
  void open(FabricInfo info, std::shared_ptr<OfiConnection> connection);
  void connect(const sockaddr_storage& address, std::span<const std::byte> data);
  void accept();
  // Instead of these, where endpoints are not connected.
  void exchange_addresses(const SetupDeadline& deadline);
  void send_grants();
  void set_peer_regions(const OfiMessage& message);
  // Last, of those without a connection.
  void greet(const SetupDeadline& deadline);

  // For open(). peer: where it will connect to, if its endpoints do.
  FabricInfo new_info(const sockaddr_storage& peer) const;

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

  // ---- polling thread, entered or not
  std::size_t take_receives(std::span<Completion> out) noexcept;

  // ---- whoever has entered the completion queue
  std::uint64_t tag() const noexcept { return tag_; }
  void on_done(const fi_cq_data_entry& entry) noexcept;  // libfabric completed a message
  void on_failed(const void* context, int error) noexcept;
  // Executes what arrived, sends what can go. `drained`: libfabric's queue was read to its end.
  // `polled`: what there is to hand out is handed out next.
  void work(bool drained, bool polled) noexcept;
  // After a post.
  void look() noexcept;
  std::size_t hand_out(std::span<Completion> out) noexcept;
  bool has_something(bool solicited_only) noexcept;
  // There is more to do than libfabric would tell of: a clock, or room for messages.
  bool restless() const noexcept;
  // There is nothing to do, nor to hand out, until libfabric, a post or a failure brings it.
  bool quiet() const noexcept;
  // The peer must be told what was executed, if no message of ours tells it on the way.
  bool owes_answer() const noexcept { return tell_ || executed_ - told_ >= kOfiTellEvery; }
  bool has_failed() const noexcept { return connection_->cause() != OfiCause::kNone; }

 private:
  friend class OfiHostilePeer;  // tests/unit/rdma: a peer that sends what none of ours does
  enum class Step : std::uint8_t { kDone, kBlocked, kFailed };

  struct Sent {
    WorkRequest request;
    std::uint32_t last_message = 0;  // how many messages had gone with its last one, modulo 2^32
    std::uint32_t fetched = 0;       // bytes of a READ or an atomic that have come
    bool fetched_all = false;
    CompletionStatus status = CompletionStatus::kSuccess;
  };

  struct Received {
    ReceiveRequest request;
    Completion completion;  // once a message has consumed it
  };

  // A message in its buffer.
  struct Arrived {
    bool here = false;
    bool has_word = false;  // a header_word, and no header
    std::uint32_t bytes = 0;
    std::uint64_t word = 0;
  };

  // Posting thread (ofi/queue_pair_posting.cpp).
  bool acceptable(const WorkRequest& request) const noexcept;
  PostStatus post_one(const WorkRequest& request) noexcept;
  PostStatus admit(const WorkRequest& request) noexcept;
  bool send_at_once(const WorkRequest& request) noexcept;
  void record(const WorkRequest& request) noexcept;
  void record(const ReceiveRequest& request) noexcept;
  std::byte* inline_slot(std::uint64_t position) const noexcept {
    return inline_bytes_of_requests_.get() + (position & send_mask_) * inline_bytes_;
  }

  // Sending (ofi/queue_pair_sending.cpp).
  bool may_go(const Sent& sent) const noexcept;
  void send_posted() noexcept;
  void send_requests() noexcept;
  bool send_next_part(Sent& sent) noexcept;
  // Asked when the bytes are touched: the region may be gone since it was posted (OfiRegion).
  bool local_bytes_allowed(const WorkRequest& request) const noexcept;
  void send_answers() noexcept;
  bool room_to_send() const noexcept { return !free_sends_.empty(); }
  bool room_for_message() const noexcept {
    return messages_ - answered_ < kOfiWindow && room_to_send();
  }
  // One message without a header of its own, see header_word.
  bool goes_bare(const WorkRequest& request) const noexcept {
    return request.opcode == Opcode::kSend && request.length_bytes <= inject_bytes_ &&
           request.length_bytes <= kOfiPartBytes && word_bits_ != 0;
  }
  // wire_flags of the message that completes the request.
  static std::uint8_t last_part_flags(const WorkRequest& request) noexcept {
    const Opcode opcode = request.opcode;
    std::uint8_t flags = wire_flags::kLast;
    if (opcode == Opcode::kSendWithImm || opcode == Opcode::kWriteWithImm)
      flags |= wire_flags::kImmediate;
    if ((request.flags & kSolicited) != 0) flags |= wire_flags::kSolicited;
    if ((request.flags & kSignaled) != 0 && !is_fetch(opcode)) flags |= wire_flags::kTell;
    return flags;
  }
  // The next free buffer; room_to_send() was asked.
  std::byte* message_buffer() const noexcept {
    return buffers_.at(OfiBuffers::send_index(free_sends_.front()));
  }
  bool send_message(OfiWireHeader header, std::uint32_t bytes) noexcept;
  bool send_with_bytes(const OfiWireHeader& header, const WorkRequest& request) noexcept;
  bool send_bare(OfiWireHeader header, const void* bytes) noexcept;
  bool gone(long result) noexcept;

  // Executing what the peer asks for (ofi/queue_pair_serving.cpp).
  void take_arrived() noexcept;
  bool take(std::uint32_t buffer) noexcept;
  OfiWireHeader header_of(std::uint32_t buffer) const noexcept;
  const std::byte* bytes_of(std::uint32_t buffer) const noexcept {
    return buffers_.at(buffer) + (arrived_[buffer].has_word ? 0 : sizeof(OfiWireHeader));
  }
  bool valid(const OfiWireHeader& header, std::uint32_t bytes) const noexcept;
  void take_answer(const OfiWireHeader& header, const std::byte* bytes) noexcept;
  void take_fetched(const OfiWireHeader& header, const std::byte* bytes) noexcept;
  bool serve(std::uint32_t buffer, const OfiWireHeader& header) noexcept;
  void serve_waiting() noexcept;
  Step execute(const OfiWireHeader& header, const std::byte* bytes) noexcept;
  Step execute_write(const OfiWireHeader& header, const std::byte* bytes) noexcept;
  Step execute_send(const OfiWireHeader& header, const std::byte* bytes) noexcept;
  Step execute_read(const OfiWireHeader& header) noexcept;
  Step execute_atomic(const OfiWireHeader& header, const std::byte* bytes) noexcept;
  Step refuse(CompletionStatus status) noexcept;
  Step fail_receive(Received& received, CompletionStatus here, CompletionStatus there) noexcept;
  Received* next_receive() noexcept;
  void count_filled() noexcept;
  void fill(Received& received, const OfiWireHeader& header) noexcept;
  bool post_buffer(std::uint32_t buffer) noexcept;
  void post_buffers_again() noexcept;
  void violate() noexcept;

  // Handing out (ofi/queue_pair_completing.cpp).
  bool done(const Sent& sent) const noexcept;
  std::size_t take_sends(std::span<Completion> out) noexcept;
  std::size_t take_refused(std::span<Completion> out) noexcept;
  std::size_t flush(std::span<Completion> out) noexcept;
  CompletionStatus flush_status(std::uint64_t position) noexcept;
  bool complete_send(std::uint64_t position, CompletionStatus status, Completion& out) noexcept;
  void complete_receive(const Completion& completion, Completion& out) noexcept;
  bool rnr_expired() const noexcept;

  void validate(std::span<const ReceiveRequest> initial_receives) const;
  void make_rings();
  void leave() noexcept;
  void drain() noexcept;

  // ---- posting thread, which is the one that polls
  OfiConnection* connection_ = nullptr;  // owned by connection_owner_
  OfiCompletionQueue* queue_;
  std::atomic<std::uint64_t> posted_{0};           // send requests
  std::atomic<std::uint64_t> receives_posted_{0};  // release: the request behind it is there
  Counter completed_;                              // send requests whose places are free again
  Counter received_;                               // receives handed out
  std::uint64_t send_mask_ = 0;
  std::uint64_t receive_mask_ = 0;
  std::uint32_t send_depth_;
  std::uint32_t receive_depth_;
  std::uint32_t inline_bytes_;
  std::unique_ptr<Sent[]> sent_;
  std::unique_ptr<Received[]> receives_;
  std::unique_ptr<std::byte[]> inline_bytes_of_requests_;
  Counter refused_;
  // A message of the peer's waits for a receive: whoever posts one looks after it.
  std::atomic<bool> starving_{false};

  // ---- by whoever has entered the completion queue
  Fid<fid_av> addresses_;  // of endpoints without connections: the peer's alone
  Fid<fid_ep> endpoint_;
  fi_addr_t peer_address_ = FI_ADDR_UNSPEC;
  std::uint64_t tag_ = 0;
  OfiBuffers buffers_;
  std::size_t inject_bytes_ = 0;
  std::uint64_t word_bits_;  // see OfiCore::header_word_bits()
  IndexQueue<kOfiSendBuffers> free_sends_;
  // Our requests.
  std::uint64_t given_ = 0;       // of posted_: all their messages have gone
  std::uint32_t part_bytes_ = 0;  // of the next one: have gone
  std::uint32_t messages_ = 0;    // of requests, that have gone, modulo 2^32
  std::uint32_t answered_ = 0;    // of them: executed by the peer
  std::uint32_t fetches_ = 0;     // READs and atomics under way
  bool refuses_ = false;          // the next one must not go at all: its status says why
  // The peer's requests.
  IndexQueue<256> posted_buffers_;  // libfabric receives into them, in this order
  IndexQueue<256> waiting_;         // messages of requests that are not executed yet
  IndexQueue<256> idle_buffers_;    // could not be posted again yet
  std::array<Arrived, kOfiReceiveBuffers> arrived_{};
  std::uint32_t executed_ = 0;  // messages of requests, modulo 2^32
  std::uint32_t told_ = 0;      // of them: the peer knows
  // Posted receives that a message has consumed. Release: the completion is there.
  std::atomic<std::uint64_t> filled_{0};
  std::uint32_t filling_bytes_ = 0;  // of a SEND in several messages: have come
  std::uint32_t read_bytes_ = 0;     // of the READ that is executed: have been sent
  bool tell_ = false;                // the peer waits to know
  bool tells_waiting_ = false;       // the peer is to be told that its message met no receive
  bool noticed_waiting_ = false;     // once for each message
  std::uint64_t atomic_old_ = 0;
  bool atomic_done_ = false;  // the atomic that is executed was, its answer has not gone
  // What there is to hand out.
  bool news_ = false;
  bool solicited_news_ = false;  // that wakes who waits for solicited ones
  bool ready_ = false;           // set-up is over on this side
  bool seen_ended_ = false;      // the connection has ended
  bool ended_ = false;           // the connection has ended, and all that came before was taken
  bool interrupted_ = false;     // the first send that the failure left unanswered was reported
  // A message of ours waits for a receive since then; epoch: none does.
  std::chrono::steady_clock::time_point rnr_since_{};
  std::chrono::microseconds rnr_limit_;
  bool rnr_for_ever_;
  Counter rnr_waits_;
  std::uint64_t looked_at_ = 0;  // of given_: known to be done

  std::uint32_t session_ = 0;       // what our peer's messages carry
  std::uint32_t peer_session_ = 0;  // what ours carry
  std::uint32_t number_;
  std::shared_ptr<OfiCore> core_;
  QueuePairOptions options_;
  std::shared_ptr<OfiConnection> connection_owner_;
  OfiGrants grants_;
  std::vector<RemoteRegion> regions_;
};

}  // namespace tickpath::rdma::detail
