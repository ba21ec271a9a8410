// One ofi connection's fate: the authenticated set-up stream that stays open for its life, its
// endpoint, and why it failed. Shared by its queue pair and the device's background thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/net/secure_stream.hpp"
#include "common/rdma/ofi/choice.hpp"
#include "common/rdma/ofi/setup.hpp"
#include "common/rdma/provider/event_wake.hpp"
#include "common/rdma/provider/thread_pending.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

class OfiCore;

enum class OfiCause : std::uint8_t {
  kNone,
  kPeerDied,      // its stream ended without a notice: process or host gone
  kPeerFailed,    // a notice arrived; its text is kept
  kDisconnected,  // disconnect() or destruction
  kRequest,       // a request of ours failed; the status is kept beside
  kRefused,       // a request of the peer's was refused here; likewise
  kViolation,     // the peer sent what no peer of this version sends
  kOther,         // text is kept
  kBroken,        // libfabric flushed, the reason has not arrived yet: any other replaces it
};

class OfiConnection : public std::enable_shared_from_this<OfiConnection> {
 public:
  using Core = OfiCore;
  using Header = OfiHeader;
  // Throws SetupError{kProtocol}: both ends must name the same core provider.
  static void check_hello(const Core& core, const Header& hello);

  OfiConnection(OfiCore& core, std::shared_ptr<net::SecureStream> stream, std::string peer);
  ~OfiConnection();
  OfiConnection(const OfiConnection&) = delete;
  OfiConnection& operator=(const OfiConnection&) = delete;

  // ---- any thread
  // A connection that broke counts as failed once it is known why, or kReasonGrace is over: whoever
  // is told asks at once for the text.
  bool failed() const noexcept {
    const OfiCause now = cause();
    return now != OfiCause::kNone && now != OfiCause::kBroken;
  }
  OfiCause cause() const noexcept {
    // Pairs with the release in note(): the texts beside it are there.
    return static_cast<OfiCause>(state_.load(std::memory_order_acquire) & 0xff);
  }
  // This side ended it: nothing that the peer asked for is done any more.
  bool ended_here() const noexcept {
    const OfiCause now = cause();
    return now != OfiCause::kNone && now != OfiCause::kPeerDied && now != OfiCause::kPeerFailed &&
           now != OfiCause::kBroken;
  }
  // What outstanding requests are to be flushed with is known, and nothing more comes.
  bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  // How the peer's failure says that one of our requests failed; kSuccess: it does not. And how
  // many messages of requests it had executed before, modulo 2^32.
  CompletionStatus peer_status() const noexcept { return peer_status_; }
  std::uint32_t peer_executed() const noexcept { return peer_executed_; }
  // How the request failed that this side's failure was about; kSuccess: it was about none.
  CompletionStatus request_status() const noexcept {
    return static_cast<CompletionStatus>((state_.load(std::memory_order_acquire) >> 8) & 0xff);
  }
  std::string error_text() const;
  std::string peer() const;
  // The first cause stays. With locks and system calls.
  void fail(OfiCause cause) noexcept;
  // The same for a polling thread: it leaves word, and the background thread does the rest within
  // kOfiPolledTickMs (OfiCore::ask_for_sweep()).
  void note_request(CompletionStatus status) noexcept { note(OfiCause::kRequest, status, 0); }
  // status: as the peer is to see it. executed: messages of its requests, before this one.
  void note_refused(CompletionStatus status, std::uint32_t executed) noexcept {
    note(OfiCause::kRefused, status, executed);
  }
  void note_violation() noexcept { note(OfiCause::kViolation, CompletionStatus::kSuccess, 0); }
  void note_broken() noexcept { note(OfiCause::kBroken, CompletionStatus::kSuccess, 0); }

  // ---- the thread of its set-up, then the control thread
  void start();  // begins to receive
  void send(std::vector<std::byte> frame);
  void refuse(std::vector<std::byte> frame);  // the last that it sends; then it closes
  void set_peer(const std::string& peer);     // once known by its hello
  // Throw SetupError (kTimeout, kRefused, kProtocol).
  OfiMessage await_message(const SetupDeadline& deadline, const std::string& what);
  void send_regions(std::span<const RemoteRegion> regions, std::uint32_t session);
  // For an endpoint without a connection (FI_EP_RDM): the peers exchange addresses.
  void send_address(std::span<const std::byte> address);
  std::vector<std::byte> await_address(const SetupDeadline& deadline);
  OfiMessage await_regions(const SetupDeadline& deadline);
  FabricInfo await_request(const SetupDeadline& deadline);
  void await_connected(const SetupDeadline& deadline);
  void bind(fid_ep* endpoint, std::shared_ptr<EventWake> wake);
  void unbind() noexcept;
  // The peer sees the end of the endpoint.
  void end_endpoint() noexcept;
  // Says goodbye, closes and lets go, in the background.
  void close() noexcept;

  // ---- OfiCore::take_events()
  bool uses(const fid* endpoint) const noexcept;
  void on_request(FabricInfo info, fid_pep* passive) noexcept;
  void on_connected() noexcept;
  void on_shutdown() noexcept;
  void on_refused(const std::string& why) noexcept;

  // The device goes, and its background thread has ended: what the stream would still have told
  // keeps nobody alive.
  void abandon() noexcept { stream_.reset(); }

  // ---- background thread
  void fail_with(OfiCause cause, const std::string& text) noexcept;
  // After a failure: finds its cause, and ends the connection. False: has to wait, call again soon.
  bool finish_failure() noexcept;

 private:
  bool note(OfiCause cause, CompletionStatus status, std::uint32_t detail) noexcept;
  void announce() noexcept;
  void receive_next();
  void on_frame(const net::SecureFailure& failure, std::span<const std::byte> frame);
  void take(OfiMessage message);
  void take_notice(const OfiMessage& message);
  void close_mailbox(const std::string& why);
  std::string own_text() const;
  template <class Ready>
  void await(const SetupDeadline& deadline, const std::string& what, Ready&& ready);

  // cause | status << 8 | detail << 32
  std::atomic<std::uint64_t> state_{0};
  std::atomic<bool> ended_{false};
  // Written by the background thread before the cause is kPeerFailed, read once it is.
  CompletionStatus peer_status_ = CompletionStatus::kSuccess;
  std::uint32_t peer_executed_ = 0;
  OfiCore& core_;
  std::shared_ptr<net::SecureStream> stream_;             // background thread
  bool announced_ = false;                                // background thread
  std::chrono::steady_clock::time_point failed_since_{};  // background thread

  mutable std::mutex mutex_;  // set-up and failures only
  std::condition_variable changed_;
  std::string peer_;
  std::string text_;  // of kPeerFailed, kOther
  std::deque<OfiMessage> mailbox_;
  bool mailbox_closed_ = false;
  std::string closed_why_;
  FabricInfo request_;  // until it is accepted; else it must be rejected
  fid_pep* passive_ = nullptr;
  bool requested_ = false;
  bool connected_ = false;
  bool shut_down_ = false;
  fid_ep* endpoint_ = nullptr;
  std::shared_ptr<EventWake> wake_;
};

}  // namespace tickpath::rdma::detail
