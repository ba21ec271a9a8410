#include "common/rdma/ofi/connection.hpp"

#include <algorithm>
#include <cstring>

#include "common/rdma/ofi/core.hpp"

namespace tickpath::rdma::detail {
namespace {

using Clock = std::chrono::steady_clock;

// libfabric reports the end of a connection before the peer's notice, which says why, has come over
// the set-up stream.
constexpr auto kReasonGrace = std::chrono::milliseconds(200);
// What the peer sent before it went is still on its way through libfabric: so long, unless
// libfabric says earlier that there is nothing more.
constexpr auto kDrainGrace = std::chrono::milliseconds(50);
// Between looks for what libfabric has to tell during set-up: its descriptor is readable whenever
// anything arrives on any connection.
constexpr auto kEventTick = std::chrono::milliseconds(1);
constexpr std::size_t kOfiMailboxMax = 4;  // no side ever has more to say before it is answered

constexpr unsigned kStatusShift = 8;
constexpr unsigned kDetailShift = 32;

}  // namespace

OfiConnection::OfiConnection(OfiCore& core, std::shared_ptr<net::SecureStream> stream,
                             std::string peer)
    : core_(core), stream_(std::move(stream)), peer_(std::move(peer)) {}

OfiConnection::~OfiConnection() {
  core_.forget(*this);
  if (request_ != nullptr) ::fi_reject(passive_, request_->handle, nullptr, 0);
}

void OfiConnection::check_hello(const Core& core, const Header& hello) {
  if (hello.core == core.core_id()) return;
  throw SetupError(SetupCause::kProtocol,
                   "this side uses libfabric's " + core.core_name() +
                       ", the other another provider: fabric.device must name the same at both");
}

// ------------------------------------------------------------------------------------- failure

// True: this cause is new. One word of memory: polling threads call it.
bool OfiConnection::note(OfiCause cause, CompletionStatus status, std::uint32_t detail) noexcept {
  const std::uint64_t value = static_cast<std::uint64_t>(cause) |
                              (static_cast<std::uint64_t>(status) << kStatusShift) |
                              (std::uint64_t{detail} << kDetailShift);
  std::uint64_t seen = state_.load(std::memory_order_acquire);
  // Release: pairs with cause(); the success of the exchange makes one caller the reporter.
  do {
    const auto now = static_cast<OfiCause>(seen & 0xff);
    if (now != OfiCause::kNone && (now != OfiCause::kBroken || cause == OfiCause::kBroken))
      return false;
  } while (!state_.compare_exchange_weak(seen, value, std::memory_order_acq_rel));
  core_.ask_for_sweep();
  return true;
}

void OfiConnection::fail(OfiCause cause) noexcept {
  if (!note(cause, CompletionStatus::kSuccess, 0)) return;
  core_.post([self = shared_from_this()] {
    if (!self->finish_failure()) self->core_.sweep_now();  // it waits for something
  });
}

void OfiConnection::fail_with(OfiCause cause, const std::string& text) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (text_.empty()) text_ = text;  // only the background thread sets it, before the cause
  }
  fail(cause);
}

std::string OfiConnection::own_text() const {
  switch (cause()) {
    case OfiCause::kNone:
      return {};
    case OfiCause::kPeerDied:
      return "its peer ended";
    case OfiCause::kPeerFailed:
      return "its peer failed";
    case OfiCause::kDisconnected:
      return "disconnected";
    case OfiCause::kRequest:
      return std::string(to_string(request_status()));
    case OfiCause::kRefused:
      return "a request of the peer's was refused: " + std::string(to_string(request_status()));
    case OfiCause::kViolation:
      return "the peer sent what no peer of this version sends";
    case OfiCause::kOther: {
      const std::lock_guard lock(mutex_);
      return text_;
    }
    case OfiCause::kBroken:
      return "the connection broke";
  }
  return "an unknown failure";
}

std::string OfiConnection::error_text() const {
  switch (cause()) {
    case OfiCause::kNone:
      return {};
    case OfiCause::kPeerDied:
      return "peer " + peer() + " ended";
    case OfiCause::kPeerFailed: {
      const std::lock_guard lock(mutex_);
      return "peer " + peer_ + ": " + text_;
    }
    case OfiCause::kDisconnected:
      return "disconnected by this side";
    default:
      return own_text() + "; peer: " + peer();
  }
}

std::string OfiConnection::peer() const {
  const std::lock_guard lock(mutex_);
  return peer_;
}

void OfiConnection::set_peer(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  peer_ = peer;
}

// -------------------------------------------------------------------------- background thread

bool OfiConnection::finish_failure() noexcept {
  if (cause() == OfiCause::kNone || ended()) return true;
  const Clock::time_point now = Clock::now();
  if (failed_since_ == Clock::time_point{}) failed_since_ = now;
  switch (cause()) {
    case OfiCause::kBroken:
      if (now - failed_since_ < kReasonGrace) return false;
      fail_with(OfiCause::kOther,
                "the connection broke (libfabric: " + core_.core_name() +
                    "): the network, or the peer refused a request that it had not granted");
      break;
    case OfiCause::kPeerDied:
    case OfiCause::kPeerFailed: {
      const std::lock_guard lock(mutex_);
      if (!(shut_down_ && core_.ends_behind_data()) && now - failed_since_ < kDrainGrace)
        return false;
      break;
    }
    default:
      break;
  }
  announce();
  end_endpoint();
  return true;
}

void OfiConnection::announce() noexcept {
  if (announced_) return;
  announced_ = true;
  const OfiCause why = cause();
  if (why != OfiCause::kPeerDied && why != OfiCause::kPeerFailed) {
    const std::string text = own_text().substr(0, kHelloBytesMax);
    OfiHeader header;
    header.type = OfiMessageType::kNotice;
    if (why == OfiCause::kRefused) {
      header.status = static_cast<std::uint8_t>(request_status());
      header.detail =
          static_cast<std::uint32_t>(state_.load(std::memory_order_acquire) >> kDetailShift);
    }
    stream_->send(encode(header, {}, std::as_bytes(std::span(text))));
  }
  stream_->finish();
}

void OfiConnection::end_endpoint() noexcept {
  const std::lock_guard lock(mutex_);
  if (ended()) return;
  if (endpoint_ != nullptr) ::fi_shutdown(endpoint_, 0);
  // Pairs with the acquire in ended(): what libfabric completed before is in its queue.
  ended_.store(true, std::memory_order_release);
  if (wake_ != nullptr) wake_->signal();
}

void OfiConnection::receive_next() {
  stream_->receive([self = shared_from_this()](const net::SecureFailure& failure,
                                               std::span<const std::byte> frame) {
    self->on_frame(failure, frame);
  });
}

void OfiConnection::on_frame(const net::SecureFailure& failure, std::span<const std::byte> frame) {
  if (failure) {
    close_mailbox(failure.text);
    fail(OfiCause::kPeerDied);
    return;
  }
  try {
    take(parse_frame<OfiHeader>(frame));
  } catch (const SetupError& error) {
    close_mailbox(error.what());
    fail_with(OfiCause::kOther, error.what());
  }
  receive_next();
}

void OfiConnection::take(OfiMessage message) {
  if (message.header.type == OfiMessageType::kNotice) return take_notice(message);
  const std::lock_guard lock(mutex_);
  if (mailbox_.size() == kOfiMailboxMax)
    throw SetupError(SetupCause::kProtocol, "the peer talks out of turn");
  mailbox_.push_back(std::move(message));
  changed_.notify_all();
}

void OfiConnection::take_notice(const OfiMessage& message) {
  close_mailbox(message.text());
  if (message.header.status <= static_cast<std::uint8_t>(CompletionStatus::kGeneral)) {
    peer_status_ = static_cast<CompletionStatus>(message.header.status);
    peer_executed_ = message.header.detail;
  }
  fail_with(OfiCause::kPeerFailed, message.text());
}

void OfiConnection::close_mailbox(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (mailbox_closed_) return;
  mailbox_closed_ = true;
  closed_why_ = why;
  changed_.notify_all();
}

// -------------------------------------------------------------------------- libfabric's events

bool OfiConnection::uses(const fid* endpoint) const noexcept {
  const std::lock_guard lock(mutex_);
  return endpoint_ != nullptr && &endpoint_->fid == endpoint;
}

void OfiConnection::on_request(FabricInfo info, fid_pep* passive) noexcept {
  const std::lock_guard lock(mutex_);
  request_ = std::move(info);
  passive_ = passive;
  requested_ = true;
  changed_.notify_all();
}

void OfiConnection::on_connected() noexcept {
  const std::lock_guard lock(mutex_);
  connected_ = true;
  changed_.notify_all();
}

void OfiConnection::on_shutdown() noexcept {
  {
    const std::lock_guard lock(mutex_);
    shut_down_ = true;
  }
  note_broken();
}

void OfiConnection::on_refused(const std::string& why) noexcept { close_mailbox(why); }

// ---------------------------------------------------------------------------- control thread

void OfiConnection::start() {
  core_.watch(shared_from_this());
  core_.post([self = shared_from_this()] { self->receive_next(); });
}

void OfiConnection::send(std::vector<std::byte> frame) {
  core_.post([self = shared_from_this(), frame = std::move(frame)] { self->stream_->send(frame); });
}

// The end is noted behind the frame: a sweep in between would say goodbye first.
void OfiConnection::refuse(std::vector<std::byte> frame) {
  core_.post([self = shared_from_this(), frame = std::move(frame)] {
    self->stream_->send(frame);
    self->close();
  });
}

template <class Ready>
void OfiConnection::await(const SetupDeadline& deadline, const std::string& what, Ready&& ready) {
  for (;;) {
    core_.take_events();
    std::unique_lock lock(mutex_);
    const auto settled = [&] { return mailbox_closed_ || ready(); };
    changed_.wait_for(lock, kEventTick, settled);
    if (ready()) return;
    if (mailbox_closed_) {
      throw SetupError(SetupCause::kRefused,
                       "the peer " + peer_ + " ended the connection during set-up: " + closed_why_);
    }
    if (deadline.over()) {
      throw SetupError(SetupCause::kTimeout, "timed out waiting for " + what + " of " + peer_);
    }
  }
}

OfiMessage OfiConnection::await_message(const SetupDeadline& deadline, const std::string& what) {
  await(deadline, what, [this] { return !mailbox_.empty(); });
  const std::lock_guard lock(mutex_);
  OfiMessage message = std::move(mailbox_.front());
  mailbox_.pop_front();
  return message;
}

void OfiConnection::send_regions(std::span<const RemoteRegion> regions, std::uint32_t session) {
  OfiHeader header;
  header.type = OfiMessageType::kRegions;
  header.detail = session;
  send(encode(header, regions, {}));
}

void OfiConnection::send_address(std::span<const std::byte> address) {
  OfiHeader header;
  header.type = OfiMessageType::kAddress;
  send(encode(header, {}, address));
}

std::vector<std::byte> OfiConnection::await_address(const SetupDeadline& deadline) {
  OfiMessage message = await_message(deadline, "the address");
  if (message.header.type == OfiMessageType::kAddress) return std::move(message.body);
  throw SetupError(SetupCause::kProtocol, "peer " + peer() + " answered out of turn");
}

OfiMessage OfiConnection::await_regions(const SetupDeadline& deadline) {
  OfiMessage message = await_message(deadline, "the regions");
  if (message.header.type == OfiMessageType::kRegions) return message;
  throw SetupError(SetupCause::kProtocol, "peer " + peer() + " answered out of turn");
}

FabricInfo OfiConnection::await_request(const SetupDeadline& deadline) {
  await(deadline, "the data connection", [this] { return requested_; });
  const std::lock_guard lock(mutex_);
  return std::move(request_);
}

void OfiConnection::await_connected(const SetupDeadline& deadline) {
  await(deadline, "the end of the data connection's set-up", [this] { return connected_; });
}

void OfiConnection::bind(fid_ep* endpoint, std::shared_ptr<EventWake> wake) {
  const std::lock_guard lock(mutex_);
  endpoint_ = endpoint;
  wake_ = std::move(wake);
}

void OfiConnection::unbind() noexcept {
  const std::lock_guard lock(mutex_);
  endpoint_ = nullptr;
  wake_ = nullptr;
}

void OfiConnection::close() noexcept {
  fail(OfiCause::kDisconnected);
  core_.post([self = shared_from_this()] { self->announce(); });
}

}  // namespace tickpath::rdma::detail
