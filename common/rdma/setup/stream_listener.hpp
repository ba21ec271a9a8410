// What the listening and the connecting side of every connection have in common that is set up over
// an authenticated stream (verbs, ofi). A Connection names its Core and its Header, is made of
// (Core&, stream, peer's text) and has check_hello(const Core&, const Header&), which throws
// SetupError.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/net/secure_stream.hpp"
#include "common/rdma/provider/event_wake.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/setup/connection_token.hpp"
#include "common/rdma/setup/frame.hpp"
#include "common/rdma/setup/stream.hpp"

namespace tickpath::rdma::detail {

// Closes a connection that no queue pair owns yet.
template <class Connection>
class ConnectionGuard {
 public:
  explicit ConnectionGuard(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}
  ~ConnectionGuard() {
    if (connection_ != nullptr) connection_->close();
  }
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;
  void release() noexcept { connection_ = nullptr; }

 private:
  std::shared_ptr<Connection> connection_;
};

// A token by which the device's connection is told from a stranger's. Forgets it whatever happens.
template <class Connection>
class Expectation {
 public:
  using Core = typename Connection::Core;
  Expectation(Core& core, const std::shared_ptr<Connection>& connection)
      : core_(core), token_(random_token()) {
    core_.expect(token_, connection);
  }
  ~Expectation() { core_.expect_no_more(token_); }
  Expectation(const Expectation&) = delete;
  Expectation& operator=(const Expectation&) = delete;
  const ConnectionToken& token() const { return token_; }

 private:
  Core& core_;
  ConnectionToken token_;
};

template <class Header>
std::vector<std::byte> encode_reject(std::string_view reason) {
  Header header;
  header.type = decltype(header.type)::kReject;
  return encode(header, {}, std::as_bytes(std::span(reason.substr(0, kHelloBytesMax))));
}

// The listener's answer to a hello. Throws SetupError (kRefused, kProtocol, kTimeout).
template <class Connection>
SetupFrame<typename Connection::Header> await_accept(Connection& connection,
                                                     const SetupDeadline& deadline) {
  SetupFrame<typename Connection::Header> answer = connection.await_message(deadline, "the answer");
  using Type = decltype(answer.header.type);
  if (answer.header.type == Type::kReject) throw SetupError(SetupCause::kRefused, answer.text());
  if (answer.header.type != Type::kAccept)
    throw SetupError(SetupCause::kProtocol, "peer " + connection.peer() + " answered out of turn");
  return answer;
}

// One who said hello.
template <class Connection>
struct Caller {
  std::shared_ptr<Connection> connection;
  net::SecurePeer peer;
  std::string local_address;
  SetupFrame<typename Connection::Header> hello;
};

// A provider adds start_accept().
template <class Connection>
class StreamRequest : public ConnectionRequest {
 public:
  using Core = typename Connection::Core;
  StreamRequest(std::shared_ptr<Core> core, Caller<Connection> caller)
      : core_(std::move(core)), caller_(std::move(caller)) {}
  ~StreamRequest() override { close(); }

  std::span<const std::byte> hello() const noexcept override { return caller_.hello.body; }
  std::string peer() const override { return peer_; }
  std::string peer_role() const override {
    return caller_.peer.authenticated ? caller_.peer.role : std::string();
  }
  void reject(std::string_view reason) noexcept override {
    if (caller_.connection == nullptr) return;
    std::exchange(caller_.connection, nullptr)
        ->refuse(encode_reject<typename Connection::Header>(reason));
  }

 protected:
  // Throws SetupError{kProtocol}.
  void require_unanswered() const {
    if (caller_.connection == nullptr)
      throw SetupError(SetupCause::kProtocol, "this connection request was answered already");
  }
  // Answered: it is somebody else's from here on.
  std::shared_ptr<Connection> take_connection() noexcept { return std::move(caller_.connection); }
  const std::shared_ptr<Core>& core() const noexcept { return core_; }
  const Caller<Connection>& caller() const noexcept { return caller_; }

 private:
  void close() noexcept {
    if (caller_.connection != nullptr) caller_.connection->close();
    caller_.connection = nullptr;
  }

  std::shared_ptr<Core> core_;
  Caller<Connection> caller_;  // its connection: null once answered
  std::string peer_ = caller_.connection->peer();
};

// Takes streams, hears their hello in the background, and hands them out as Requests.
template <class Connection, class Request>
class StreamListener : public Listener {
 public:
  using Core = typename Connection::Core;
  // provider: for the text of the error. Throws SetupError (kAddress, kPermission).
  StreamListener(std::shared_ptr<Core> core, const std::string& endpoint,
                 const std::string& provider)
      : core_(std::move(core)), inbox_(std::make_shared<Inbox>()) {
    const HostPort where = parse_host_port(endpoint, provider);
    try {
      acceptor_ = std::make_unique<net::SecureAcceptor>(core_->io(), core_->security(), where.host,
                                                        where.port);
    } catch (const net::SecureError& error) {
      throw SetupError(error.cause() == net::SecureCause::kPolicy ? SetupCause::kPermission
                                                                  : SetupCause::kAddress,
                       "cannot listen on " + endpoint + ": " + error.what());
    }
    // The background thread does not own the core, which would have to wait for itself; it ends
    // first.
    acceptor_->start(
        [&core = *core_, inbox = std::weak_ptr(inbox_)](std::shared_ptr<net::SecureStream> stream) {
          greet(core, inbox, stream);
        },
        [inbox = std::weak_ptr(inbox_)](const std::string& peer, const net::SecureFailure& why) {
          if (const std::shared_ptr<Inbox> into = inbox.lock(); into != nullptr) {
            const std::lock_guard lock(into->mutex);
            into->keep(peer, why.text);
          }
        });
  }
  ~StreamListener() override {
    std::promise<void> closed;
    core_->post([&] {
      acceptor_->close();
      closed.set_value();
    });
    closed.get_future().wait();
    const std::lock_guard lock(inbox_->mutex);
    for (const Caller<Connection>& each : inbox_->callers) each.connection->close();
  }

  int file_descriptor() const noexcept override { return inbox_->arrived.descriptor(); }
  std::string endpoint() const override { return acceptor_->address(); }
  std::unique_ptr<ConnectionRequest> next() override {
    const std::lock_guard lock(inbox_->mutex);
    while (!inbox_->callers.empty()) {
      Caller<Connection> caller = std::move(inbox_->callers.front());
      inbox_->callers.pop_front();
      if (inbox_->callers.empty()) inbox_->arrived.acknowledge();
      if (!caller.connection->failed()) return std::make_unique<Request>(core_, std::move(caller));
      caller.connection->close();  // it left while it waited
    }
    inbox_->arrived.acknowledge();  // it may have been for a bad peer
    return nullptr;
  }
  std::uint64_t bad_peers() const noexcept override {
    const std::lock_guard lock(inbox_->mutex);
    return inbox_->bad + acceptor_->counters().failures();
  }
  std::uint64_t bad_peers_by(net::SecureCause cause) const noexcept override {
    const std::lock_guard lock(inbox_->mutex);
    return cause == net::SecureCause::kNone
               ? inbox_->bad
               : acceptor_->counters().failed[static_cast<std::size_t>(cause)].get();
  }
  std::optional<BadPeer> next_bad_peer() override {
    const std::lock_guard lock(inbox_->mutex);
    if (inbox_->untold.empty()) return std::nullopt;
    BadPeer peer = std::move(inbox_->untold.front());
    inbox_->untold.pop_front();
    return peer;
  }

 private:
  using Header = typename Connection::Header;

  // A peer sends its hello right after it was let in; who takes longer is broken. Generous for
  // emulated machines.
  static constexpr std::uint32_t kHelloTimeoutMs = 2000;
  static constexpr std::size_t kUntoldMax = 32;

  // Filled by the background thread; outlives the listener while a hello is under way.
  struct Inbox {
    EventWake arrived;
    std::mutex mutex;
    std::deque<Caller<Connection>> callers;
    std::uint64_t bad = 0;
    std::deque<BadPeer> untold;

    // Bounded: strangers in numbers must not cost memory. Locked by the caller.
    void keep(const std::string& peer, std::string_view why) {
      if (untold.size() == kUntoldMax) return;
      if (why.starts_with(peer + ": ")) why.remove_prefix(peer.size() + 2);
      untold.push_back({peer, std::string(why)});
      arrived.signal();
    }
  };

  static SetupFrame<Header> read_hello(const Core& core, const net::SecureFailure& failure,
                                       std::span<const std::byte> frame) {
    if (failure) throw SetupError(SetupCause::kProtocol, failure.text);
    SetupFrame<Header> hello = parse_frame<Header>(frame);
    if (hello.header.type != decltype(hello.header.type)::kHello || !hello.regions.empty())
      throw SetupError(SetupCause::kProtocol, "a hello was expected");
    Connection::check_hello(core, hello.header);
    return hello;
  }

  // Background thread: the hello of one who was let in.
  static void greet(Core& core, const std::weak_ptr<Inbox>& inbox,
                    const std::shared_ptr<net::SecureStream>& stream) {
    stream->receive(
        [&core, inbox, stream](const net::SecureFailure& failure,
                               std::span<const std::byte> frame) {
          const std::shared_ptr<Inbox> into = inbox.lock();
          if (into == nullptr) return stream->close();
          const std::lock_guard lock(into->mutex);
          try {
            SetupFrame<Header> hello = read_hello(core, failure, frame);
            auto connection = std::make_shared<Connection>(
                core, stream, peer_text(stream->peer(), hello.header.process_id));
            connection->start();
            into->callers.push_back(
                {connection, stream->peer(), stream->local_address(), std::move(hello)});
            into->arrived.signal();
          } catch (const SetupError& error) {
            ++into->bad;
            into->keep(stream->peer().text(), error.what());
            if (failure) return;
            stream->send(encode_reject<Header>(error.what()));
            stream->finish();
          }
        },
        kHelloTimeoutMs);
  }

  std::shared_ptr<Core> core_;
  std::shared_ptr<Inbox> inbox_;
  std::unique_ptr<net::SecureAcceptor> acceptor_;
};

}  // namespace tickpath::rdma::detail
