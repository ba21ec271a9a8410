// One verbs connection's fate: the authenticated set-up stream that stays open for its life, its
// rdma_cm id, and why it failed. Shared by its queue pair and the device's background thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "common/net/secure_stream.hpp"
#include "common/rdma/provider/event_wake.hpp"
#include "common/rdma/provider/thread_pending.hpp"
#include "common/rdma/verbs/core.hpp"
#include "common/rdma/verbs/setup.hpp"

namespace tickpath::rdma::detail {

enum class VerbsCause : std::uint8_t {
  kNone,
  kPeerDied,      // its stream ended without a notice: process or host gone
  kPeerFailed,    // a notice arrived; its text is kept
  kDisconnected,  // disconnect() or destruction
  kCompletion,    // a request failed; the status is kept beside
  kEvent,         // the device told of it (ibv_get_async_event); the event is kept beside
  kOther,         // text is kept
  kStreamEnded,   // iWARP: by a device that does not say why
  kFlushed,       // a request was flushed, the reason has not arrived yet: any other replaces it
};

class VerbsConnection : public std::enable_shared_from_this<VerbsConnection> {
 public:
  using Core = VerbsCore;
  using Header = VerbsHeader;
  static void check_hello(const Core&, const Header&) {}  // StreamListener: nothing more to ask

  // stream: null for a connection without our set-up (verbs_plain.hpp).
  VerbsConnection(VerbsCore& core, std::shared_ptr<net::SecureStream> stream, std::string peer);
  ~VerbsConnection();
  VerbsConnection(const VerbsConnection&) = delete;
  VerbsConnection& operator=(const VerbsConnection&) = delete;

  // ---- any thread
  bool failed() const noexcept {
    // Pairs with the release in set_failure(): the texts beside it are there.
    return failure_.load(std::memory_order_acquire) != 0;
  }
  VerbsCause cause() const noexcept {
    return static_cast<VerbsCause>(failure_.load(std::memory_order_acquire) & 0xff);
  }
  std::string error_text() const;
  // The first cause stays. Moves the queue pair to error, wakes who is parked, tells the peer: with
  // locks and system calls.
  void fail(VerbsCause cause) noexcept { set_failure(cause, 0, 0); }
  // The same for a polling thread, to which a failed completion was handed: it leaves word, and the
  // background thread does the rest within kSweepEvery. The queue pair is in error already.
  void note_completion(ibv_wc_status status, std::uint32_t vendor) noexcept {
    note_failure(VerbsCause::kCompletion, static_cast<std::uint8_t>(status), vendor);
  }
  void note_flushed() noexcept { note_failure(VerbsCause::kFlushed, 0, 0); }
  // The device will flush nothing any more: the queue pair must do it itself.
  bool flush_in_software() const noexcept {
    return software_flush_.load(std::memory_order_acquire);
  }

  // The queue pair is in error: the device flushes no more than what it has completed by now.
  bool queue_pair_ended() const noexcept {
    return queue_pair_ended_.load(std::memory_order_acquire);  // pairs with end_queue_pair()
  }
  // iWARP, polling thread: the device has ended the stream. The peer's notice, which says why,
  // comes by another way and so a little later: the connection fails with it, or with no reason
  // once it is overdue. Until then nothing is handed out as failed.
  void note_stream_ended() noexcept {
    stream_ended_.store(true, std::memory_order_release);  // pairs with look_for_end()
  }
  // The same, of a failed request: Soft-iWARP calls its own faults, and the peer's leaving while it
  // sends, by one name (IBV_WC_LOC_QP_OP_ERR). Fails with it once the notice is overdue.
  void note_stream_ended_by(ibv_wc_status status) noexcept {
    ended_by_.store(status, std::memory_order_relaxed);  // before the release, and read behind it
    note_stream_ended();
  }
  // iWARP: what the end of the connection says of a request that got no answer.
  VerbsVerdict verdict() const noexcept;
  bool plain() const noexcept { return stream_ == nullptr; }

  // ---- the thread of its set-up, then the control thread
  void start();  // begins to receive
  void send(std::vector<std::byte> frame);
  void refuse(std::vector<std::byte> frame);  // the last that it sends; then it closes
  void set_peer(const std::string& peer);     // once known by its hello
  std::string peer() const;
  // Throws SetupError (kTimeout, kRefused, kProtocol).
  VerbsMessage await_message(const SetupDeadline& deadline, const std::string& what);
  void send_regions(std::span<const RemoteRegion> regions);
  std::vector<RemoteRegion> await_regions(const SetupDeadline& deadline);
  rdma_cm_id* await_cm_request(const SetupDeadline& deadline);
  void await_established(const SetupDeadline& deadline);
  void adopt(rdma_cm_id* id) noexcept;  // of the connecting side, already established
  void bind(ibv_qp* queue_pair, std::shared_ptr<EventWake> wake);
  void unbind() noexcept;
  // Says goodbye, closes and lets go, in the background.
  void close() noexcept;

  // ---- background thread
  void fail_with(VerbsCause cause, const std::string& text) noexcept;
  void fail_event(ibv_event_type event) noexcept;
  void fail_device(const std::string& text) noexcept;  // it answers nothing any more
  void on_cm_request(rdma_cm_id* id) noexcept;
  void on_cm_event(rdma_cm_event_type event, int status) noexcept;
  void finish_failure() noexcept;  // of a connection that has failed: the queue pair, the peer
  void look_for_end() noexcept;    // of one that has not: iWARP's stream
  bool uses(const ibv_qp* queue_pair) const noexcept;
  bool uses(const ibv_cq* queue) const noexcept;

 private:
  bool note_failure(VerbsCause cause, std::uint8_t detail, std::uint32_t vendor) noexcept;
  void set_failure(VerbsCause cause, std::uint8_t detail, std::uint32_t vendor) noexcept;
  void end_queue_pair() noexcept;
  void wake() noexcept;      // who is parked
  void announce() noexcept;  // what failed, to the peer; once
  void announce_later() noexcept;
  void fail_when_overdue() noexcept;
  void receive_next();
  void on_frame(const net::SecureFailure& failure, std::span<const std::byte> frame);
  void close_mailbox(const std::string& why);
  std::string own_text() const;  // without the peer's name
  VerbsVerdict own_verdict() const noexcept;
  template <class Ready>
  void await(const SetupDeadline& deadline, const std::string& what, Ready&& ready);

  // cause | detail << 8 | vendor error << 32
  std::atomic<std::uint64_t> failure_{0};
  std::atomic<bool> software_flush_{false};
  VerbsCore& core_;
  std::shared_ptr<net::SecureStream> stream_;                       // background thread
  bool announced_ = false;                                          // background thread
  bool waits_for_reason_ = false;                                   // background thread
  bool reason_overdue_ = false;                                     // background thread
  std::atomic<VerbsVerdict> peer_verdict_{VerbsVerdict::kUnknown};  // of its notice

  mutable std::mutex mutex_;  // set-up and failures only
  std::condition_variable changed_;
  std::string peer_;
  std::string text_;  // of kPeerFailed, kOther
  std::deque<VerbsMessage> mailbox_;
  bool mailbox_closed_ = false;
  std::string closed_why_;
  rdma_cm_id* id_ = nullptr;  // destroyed on the background thread
  bool requested_ = false;    // a CM request arrived
  bool established_ = false;

  mutable std::mutex queue_pair_mutex_;  // failing against destroying
  ibv_qp* queue_pair_ = nullptr;
  std::atomic<bool> queue_pair_ended_{false};
  std::atomic<bool> stream_ended_{false};
  std::atomic<ibv_wc_status> ended_by_{IBV_WC_SUCCESS};
  std::shared_ptr<EventWake> wake_;
};

}  // namespace tickpath::rdma::detail
