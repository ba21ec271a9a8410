#include "common/rdma/verbs/connection.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <boost/asio/steady_timer.hpp>

namespace tickpath::rdma::detail {
namespace {

// rdma_cm may report the end of a connection before the peer's notice, which says why, has come
// over the set-up stream.
constexpr auto kNoticeGrace = std::chrono::milliseconds(200);
// Soft-iWARP has an event for some of these only, and the message that says which (Terminate, RFC
// 5040, 4.8) goes no further than the other side's kernel.
constexpr const char* kStreamEnded =
    "the iWARP stream was ended by a device, which does not say why: a remote access error (key, "
    "bounds, rights), a message that met no receive or a too short one, or TCP gave up";
constexpr std::size_t kMailboxMax = 4;  // no side ever has more to say before it is answered

}  // namespace

VerbsConnection::VerbsConnection(VerbsCore& core, std::shared_ptr<net::SecureStream> stream,
                                 std::string peer)
    : core_(core), stream_(std::move(stream)), peer_(std::move(peer)) {}

VerbsConnection::~VerbsConnection() {
  if (id_ != nullptr) ::rdma_destroy_id(id_);  // the background thread has ended before us
}

// ------------------------------------------------------------------------------------- failure

// True: this cause is new. One word of memory: polling threads call it.
bool VerbsConnection::note_failure(VerbsCause cause, std::uint8_t detail,
                                   std::uint32_t vendor) noexcept {
  const std::uint64_t value = static_cast<std::uint64_t>(cause) | (std::uint64_t{detail} << 8) |
                              (std::uint64_t{vendor} << 32);
  std::uint64_t seen = failure_.load(std::memory_order_acquire);
  // Release: pairs with failed(); the success of the exchange makes one caller the reporter.
  do {
    if (seen != 0 && (seen != static_cast<std::uint64_t>(VerbsCause::kFlushed) || seen == value)) {
      return false;
    }
  } while (!failure_.compare_exchange_weak(seen, value, std::memory_order_acq_rel));
  return true;
}

void VerbsConnection::set_failure(VerbsCause cause, std::uint8_t detail,
                                  std::uint32_t vendor) noexcept {
  if (!note_failure(cause, detail, vendor)) return;
  end_queue_pair();
  core_.kick();
}

// To error, so that what is outstanding is flushed; wakes who is parked. Once.
void VerbsConnection::end_queue_pair() noexcept {
  const std::lock_guard lock(queue_pair_mutex_);
  if (queue_pair_ended() || queue_pair_ == nullptr) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  if (::ibv_modify_qp(queue_pair_, &attributes, IBV_QP_STATE) != 0) {
    // Release: pairs with flush_in_software().
    software_flush_.store(true, std::memory_order_release);
    core_.set_flush_in_software();
  }
  // Release: pairs with queue_pair_ended(). What the device flushed is in its completion queue.
  queue_pair_ended_.store(true, std::memory_order_release);
  if (wake_ != nullptr) wake_->signal();
}

void VerbsConnection::fail_with(VerbsCause cause, const std::string& text) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (text_.empty()) text_ = text;  // only the background thread sets it, before the cause
  }
  set_failure(cause, 0, 0);
}

void VerbsConnection::fail_device(const std::string& text) noexcept {
  software_flush_.store(true, std::memory_order_release);
  core_.set_flush_in_software();
  fail_with(VerbsCause::kOther, text);
  wake();  // also if it had failed before: a parked thread must come and flush
}

void VerbsConnection::wake() noexcept {
  const std::lock_guard lock(queue_pair_mutex_);
  if (wake_ != nullptr) wake_->signal();
}

std::string VerbsConnection::own_text() const {
  const std::uint64_t failure = failure_.load(std::memory_order_acquire);
  const auto detail = static_cast<std::uint8_t>(failure >> 8);
  switch (static_cast<VerbsCause>(failure & 0xff)) {
    case VerbsCause::kNone:
      return {};
    case VerbsCause::kPeerDied:
      return "its peer ended";
    case VerbsCause::kPeerFailed:
      return "its peer failed";
    case VerbsCause::kDisconnected:
      return "disconnected";
    case VerbsCause::kCompletion: {
      std::array<char, 32> vendor;
      std::snprintf(vendor.data(), vendor.size(), "0x%x", static_cast<unsigned>(failure >> 32));
      return std::string(::ibv_wc_status_str(static_cast<ibv_wc_status>(detail))) +
             " (vendor error " + vendor.data() + ")";
    }
    case VerbsCause::kEvent: {
      const auto event = static_cast<ibv_event_type>(detail);
      const std::string text = ::ibv_event_type_str(event);
      if (event == IBV_EVENT_QP_ACCESS_ERR) {
        return "the peer asked for what it was not granted: remote access error (" + text + ")";
      }
      return "the device reports: " + text;
    }
    case VerbsCause::kStreamEnded:
      return kStreamEnded;
    case VerbsCause::kOther: {
      const std::lock_guard lock(mutex_);
      return text_;
    }
    case VerbsCause::kFlushed:
      return "the queue pair went to error";
  }
  return "an unknown failure";
}

// For the peer, whose requests may have ended us.
VerbsVerdict VerbsConnection::own_verdict() const noexcept {
  const std::uint64_t failure = failure_.load(std::memory_order_acquire);
  const auto detail = static_cast<std::uint8_t>(failure >> 8);
  switch (static_cast<VerbsCause>(failure & 0xff)) {
    case VerbsCause::kDisconnected:
      return VerbsVerdict::kDisconnected;
    case VerbsCause::kCompletion:
      return detail == IBV_WC_LOC_LEN_ERR ? VerbsVerdict::kLength : VerbsVerdict::kUnknown;
    case VerbsCause::kEvent:
      return detail == IBV_EVENT_QP_ACCESS_ERR || detail == IBV_EVENT_QP_REQ_ERR
                 ? VerbsVerdict::kAccess
                 : VerbsVerdict::kStreamEnded;
    case VerbsCause::kStreamEnded:
      return VerbsVerdict::kStreamEnded;
    default:
      return VerbsVerdict::kUnknown;
  }
}

VerbsVerdict VerbsConnection::verdict() const noexcept {
  // Acquire: pairs with on_frame(). Before the cause, which is set behind it.
  const VerbsVerdict told = peer_verdict_.load(std::memory_order_acquire);
  if (told != VerbsVerdict::kUnknown) return told;
  return cause() == VerbsCause::kStreamEnded ? VerbsVerdict::kStreamEnded : VerbsVerdict::kUnknown;
}

std::string VerbsConnection::error_text() const {
  switch (cause()) {
    case VerbsCause::kNone:
      return {};
    case VerbsCause::kPeerDied:
      return "peer " + peer() + " ended";
    case VerbsCause::kPeerFailed: {
      const std::lock_guard lock(mutex_);
      return "peer " + peer_ + ": " + text_;
    }
    case VerbsCause::kDisconnected:
      return "disconnected by this side";
    default:
      return own_text() + "; peer: " + peer();
  }
}

std::string VerbsConnection::peer() const {
  const std::lock_guard lock(mutex_);
  return peer_;
}

void VerbsConnection::set_peer(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  peer_ = peer;
}

// ------------------------------------------------------------------------- background thread

void VerbsConnection::finish_failure() noexcept {
  end_queue_pair();
  announce();
}

void VerbsConnection::announce() noexcept {
  if (announced_) return;
  const VerbsCause why = cause();
  if (why == VerbsCause::kFlushed && !reason_overdue_) return announce_later();
  announced_ = true;
  if (stream_ != nullptr) {
    if (why != VerbsCause::kPeerDied && why != VerbsCause::kPeerFailed) {
      const std::string text = own_text().substr(0, kHelloBytesMax);
      VerbsHeader header;
      header.type = VerbsMessageType::kNotice;
      header.verdict = own_verdict();
      stream_->send(encode(header, {}, std::as_bytes(std::span(text))));
    }
    stream_->finish();
  }
  rdma_cm_id* id = nullptr;
  {
    const std::lock_guard lock(mutex_);
    id = id_;
  }
  if (id != nullptr) ::rdma_disconnect(id);
}

// A flushed completion was polled before the peer's notice or the device's event, which say why.
void VerbsConnection::announce_later() noexcept {
  if (waits_for_reason_) return;
  waits_for_reason_ = true;
  auto timer = std::make_shared<boost::asio::steady_timer>(core_.io(), kNoticeGrace);
  timer->async_wait([self = shared_from_this(), timer](const boost::system::error_code&) {
    self->reason_overdue_ = true;
    self->announce();
  });
}

void VerbsConnection::receive_next() {
  stream_->receive([self = shared_from_this()](const net::SecureFailure& failure,
                                               std::span<const std::byte> frame) {
    self->on_frame(failure, frame);
  });
}

void VerbsConnection::on_frame(const net::SecureFailure& failure,
                               std::span<const std::byte> frame) {
  if (failure) {
    close_mailbox(failure.text);
    fail(VerbsCause::kPeerDied);
    return;
  }
  try {
    VerbsMessage message = parse_frame<VerbsHeader>(frame);
    if (message.header.type == VerbsMessageType::kNotice) {
      close_mailbox(message.text());
      peer_verdict_.store(message.header.verdict, std::memory_order_release);
      fail_with(VerbsCause::kPeerFailed, message.text());
    } else {
      const std::lock_guard lock(mutex_);
      if (mailbox_.size() == kMailboxMax) {
        throw SetupError(SetupCause::kProtocol, "the peer talks out of turn");
      }
      mailbox_.push_back(std::move(message));
      changed_.notify_all();
    }
  } catch (const SetupError& error) {
    close_mailbox(error.what());
    fail_with(VerbsCause::kOther, error.what());
  }
  receive_next();
}

void VerbsConnection::close_mailbox(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (mailbox_closed_) return;
  mailbox_closed_ = true;
  closed_why_ = why;
  changed_.notify_all();
}

void VerbsConnection::on_cm_request(rdma_cm_id* id) noexcept {
  const std::lock_guard lock(mutex_);
  id->context = this;
  id_ = id;
  requested_ = true;
  changed_.notify_all();
}

void VerbsConnection::on_cm_event(rdma_cm_event_type event, int status) noexcept {
  switch (event) {
    case RDMA_CM_EVENT_ESTABLISHED: {
      const std::lock_guard lock(mutex_);
      established_ = true;
      changed_.notify_all();
      return;
    }
    case RDMA_CM_EVENT_DISCONNECTED: {
      fail_when_overdue();
      return;
    }
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return;
    default: {
      const std::string text =
          std::string(::rdma_event_str(event)) + ", status " + std::to_string(status);
      close_mailbox(text);
      fail_with(VerbsCause::kOther, "rdma_cm: " + text);
    }
  }
}

// The queue pair's end is known before the peer's notice, which says why, has come.
void VerbsConnection::fail_when_overdue() noexcept {
  auto timer = std::make_shared<boost::asio::steady_timer>(core_.io(), kNoticeGrace);
  timer->async_wait([self = shared_from_this(), timer](const boost::system::error_code&) {
    // Over iWARP this is how a device that refused a request ends both sides.
    const ibv_wc_status ended_by = self->ended_by_.load(std::memory_order_relaxed);
    if (ended_by != IBV_WC_SUCCESS) {
      self->set_failure(VerbsCause::kCompletion, static_cast<std::uint8_t>(ended_by), 0);
    } else if (self->core_.iwarp() && self->stream_ != nullptr) {
      self->fail(VerbsCause::kStreamEnded);
    } else {
      self->fail_with(VerbsCause::kPeerFailed, "disconnected (rdma_cm)");
    }
  });
}

void VerbsConnection::fail_event(ibv_event_type event) noexcept {
  // Soft-iWARP says no more than that the stream has ended, also where the peer only left.
  if (core_.iwarp() && event == IBV_EVENT_QP_FATAL) return note_stream_ended();
  set_failure(VerbsCause::kEvent, static_cast<std::uint8_t>(event), 0);
}

void VerbsConnection::look_for_end() noexcept {
  // Acquire: pairs with note_stream_ended().
  if (waits_for_reason_ || !stream_ended_.load(std::memory_order_acquire)) return;
  waits_for_reason_ = true;
  fail_when_overdue();
}

bool VerbsConnection::uses(const ibv_qp* queue_pair) const noexcept {
  const std::lock_guard lock(queue_pair_mutex_);
  return queue_pair_ == queue_pair;
}

bool VerbsConnection::uses(const ibv_cq* queue) const noexcept {
  const std::lock_guard lock(queue_pair_mutex_);
  return queue_pair_ != nullptr && queue_pair_->send_cq == queue;
}

// ---------------------------------------------------------------------------- control thread

void VerbsConnection::start() {
  core_.watch(shared_from_this());
  if (stream_ != nullptr) core_.post([self = shared_from_this()] { self->receive_next(); });
}

void VerbsConnection::send(std::vector<std::byte> frame) {
  core_.post([self = shared_from_this(), frame = std::move(frame)] { self->stream_->send(frame); });
}

// The end is noted behind the frame: a sweep in between would say goodbye first.
void VerbsConnection::refuse(std::vector<std::byte> frame) {
  core_.post([self = shared_from_this(), frame = std::move(frame)] {
    self->stream_->send(frame);
    self->close();
  });
}

template <class Ready>
void VerbsConnection::await(const SetupDeadline& deadline, const std::string& what, Ready&& ready) {
  std::unique_lock lock(mutex_);
  const auto settled = [&] { return mailbox_closed_ || ready(); };
  while (!changed_.wait_until(lock, deadline.next_look(), settled) && !deadline.over()) {
  }
  if (ready()) return;
  if (mailbox_closed_) {
    throw SetupError(SetupCause::kRefused,
                     "the peer " + peer_ + " ended the connection during set-up: " + closed_why_);
  }
  throw SetupError(SetupCause::kTimeout, "timed out waiting for " + what + " of " + peer_);
}

VerbsMessage VerbsConnection::await_message(const SetupDeadline& deadline,
                                            const std::string& what) {
  await(deadline, what, [this] { return !mailbox_.empty(); });
  const std::lock_guard lock(mutex_);
  VerbsMessage message = std::move(mailbox_.front());
  mailbox_.pop_front();
  return message;
}

void VerbsConnection::send_regions(std::span<const RemoteRegion> regions) {
  VerbsHeader header;
  header.type = VerbsMessageType::kRegions;
  send(encode(header, regions, {}));
}

std::vector<RemoteRegion> VerbsConnection::await_regions(const SetupDeadline& deadline) {
  VerbsMessage message = await_message(deadline, "the regions");
  if (message.header.type == VerbsMessageType::kRegions) return std::move(message.regions);
  throw SetupError(SetupCause::kProtocol, "peer " + peer() + " answered out of turn");
}

rdma_cm_id* VerbsConnection::await_cm_request(const SetupDeadline& deadline) {
  await(deadline, "the RDMA connection", [this] { return requested_; });
  const std::lock_guard lock(mutex_);
  return id_;
}

void VerbsConnection::await_established(const SetupDeadline& deadline) {
  await(deadline, "the end of the RDMA connection's set-up", [this] { return established_; });
}

void VerbsConnection::adopt(rdma_cm_id* id) noexcept {
  const std::lock_guard lock(mutex_);
  id->context = this;
  id_ = id;
}

void VerbsConnection::bind(ibv_qp* queue_pair, std::shared_ptr<EventWake> wake) {
  const std::lock_guard lock(queue_pair_mutex_);
  queue_pair_ = queue_pair;
  wake_ = std::move(wake);
}

void VerbsConnection::unbind() noexcept {
  const std::lock_guard lock(queue_pair_mutex_);
  queue_pair_ = nullptr;
  wake_ = nullptr;
}

void VerbsConnection::close() noexcept {
  fail(VerbsCause::kDisconnected);
  core_.forget(*this);
  core_.post([self = shared_from_this()] {
    self->announce();
    rdma_cm_id* id = nullptr;
    {
      const std::lock_guard lock(self->mutex_);
      std::swap(id, self->id_);
    }
    if (id != nullptr) ::rdma_destroy_id(id);
  });
}

}  // namespace tickpath::rdma::detail
