// A framed, mutually authenticated stream for connection set-up: TCP, over it TLS 1.3
// (RFC 8446) with certificates or pre-shared keys, over it frames of
//
//   0 length (u32, little-endian, 1 to frame_bytes_max) | 4 payload
//
// The first frame in each direction is the stream's own greeting; the caller sees none of it. In
// TLS 1.3 a client has finished before the server has looked at its certificate: only the server's
// greeting tells the client that it was let in, so nothing of the caller's leaves before it came.
//
// Everything runs on the io_context given, which exactly one thread runs; handlers are called
// there and never from inside the call that takes them. Counters may be read by any thread.
//
//   auto context = SecureContext::load({SecurityMode::kTls, "keys", "oeg"});
//   SecureAcceptor acceptor(io, context, "10.0.0.1", 7471);
//   acceptor.start([](std::shared_ptr<SecureStream> stream) {  // authenticated
//     stream->receive([stream](const SecureFailure& failure, std::span<const std::byte> frame) {
//       if (!failure && stream->peer().role == "risk") stream->send(answer(frame));
//     }, 2000);
//   });
//   secure_connect(io, context, {.host = "10.0.0.1", .port = 7471, .peer_role = "oeg"},
//                  [](const SecureFailure& failure, std::shared_ptr<SecureStream> stream) {...});
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "common/base/counter.hpp"
#include "common/net/secure_options.hpp"

namespace boost::asio {
class io_context;
}

namespace tickpath::net {

struct SecureFailure {
  SecureCause cause = SecureCause::kNone;
  std::string text;  // with address, cause and remedy
  explicit operator bool() const noexcept { return cause != SecureCause::kNone; }
};

struct SecurePeer {
  std::string role;  // proven in kPsk and kTls; in kLoopback and kNone what the peer says of itself
  bool authenticated = false;
  std::string address;              // "10.0.0.2:4711"
  std::int64_t expires_unix_s = 0;  // when the certificate or key ends; 0: never
  std::string text() const;  // "risk at 10.0.0.2:4711 (certificate until 2027-01-31)", for logs
};

struct StreamLimits {
  std::uint32_t frame_bytes_max = 16 * 1024;  // hello, 16 regions and text fit well
  std::uint32_t setup_timeout_ms = 2000;      // connected to authenticated
  // A frame that has begun must be complete by then: a peer that sends a byte a second cannot hold
  // a buffer for ever.
  std::uint32_t frame_timeout_ms = 2000;
  // The host at the other end is gone when nothing is acknowledged for so long (TCP_USER_TIMEOUT,
  // a keep-alive probe every second); its process, at once (FIN or RST). Long enough for some
  // probes to be lost: of 3 s two would end it, which a network that loses 3 % does now and then.
  std::uint32_t silence_timeout_ms = 5000;
  std::uint32_t pending_max = 64;          // acceptor: connections not authenticated yet
  std::uint32_t pending_address_max = 16;  // of those, from one address
};

// Keys in memory. Immutable; shared by every stream of a device.
class SecureContext {
 public:
  // Throws SecureError: kKeys (missing, wrong permissions, expired, not of this role), kPolicy.
  static std::shared_ptr<const SecureContext> load(const SecurityOptions& options);
  virtual ~SecureContext() = default;
  virtual const SecurityOptions& options() const noexcept = 0;
  // When our own certificate or first key ends; 0: never.
  virtual std::int64_t expires_unix_s() const noexcept = 0;
};

// An authenticated connection. Pending operations keep it alive: close() when it is no longer
// needed. io thread only.
class SecureStream {
 public:
  using Received = std::function<void(const SecureFailure&, std::span<const std::byte> frame)>;
  using Sent = std::function<void(const SecureFailure&)>;

  virtual ~SecureStream() = default;
  virtual const SecurePeer& peer() const noexcept = 0;
  // Where this end is reached: the address, without port, that the peer connected to or from.
  virtual std::string local_address() const = 0;

  // The next frame; valid during the call. One at a time. timeout_ms 0: may take for ever. After a
  // failure the stream is closed.
  virtual void receive(Received handler, std::uint32_t timeout_ms = 0) = 0;
  // Copies the frame; frames leave in order. Empty or too long: fails with kFrame, nothing sent.
  virtual void send(std::span<const std::byte> frame, Sent handler = {}) = 0;
  // Once what was sent has left (at most frame_timeout_ms), says goodbye and closes.
  virtual void finish() = 0;
  // At once. Pending handlers are called with kClosed.
  virtual void close() = 0;
};

struct SecureCounters {
  Counter accepted;                             // TCP connections taken
  Counter authenticated;                        // handed to the caller
  std::array<Counter, kSecureCauses> failed{};  // by SecureCause, before they were authenticated
  std::uint64_t failures() const noexcept;
};

class SecureAcceptor {
 public:
  using Accepted = std::function<void(std::shared_ptr<SecureStream>)>;
  // For the log: who failed to get in, and why. Called on the io thread.
  using Refused = std::function<void(const std::string& address, const SecureFailure&)>;

  // host: an address or name of this host, "0.0.0.0" for all; port 0: any free one. Throws
  // SecureError (kPolicy, kUnreachable). Listens when it returns.
  SecureAcceptor(boost::asio::io_context& io, std::shared_ptr<const SecureContext> context,
                 const std::string& host, std::uint16_t port, const StreamLimits& limits = {});
  // As close(); any thread, provided that the io_context does not run or the caller has waited for
  // a posted close().
  ~SecureAcceptor();
  SecureAcceptor(const SecureAcceptor&) = delete;
  SecureAcceptor& operator=(const SecureAcceptor&) = delete;

  // Once. Each peer that proved its role, in any order; the others are counted and told to
  // `refused`. Any thread.
  void start(Accepted accepted, Refused refused = {});
  // Stops listening and drops what is not authenticated yet; streams handed out live on. io thread.
  void close();

  std::uint16_t port() const noexcept;
  std::string address() const;  // "10.0.0.1:7471", as bound
  const SecureCounters& counters() const noexcept;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

struct SecureTarget {
  std::string host;
  std::uint16_t port = 0;
  // The role that must answer: "oeg". Required in kPsk, where it selects the key. Empty elsewhere:
  // any role, and the caller looks at peer().role.
  std::string peer_role;
};

// Connects within limits.setup_timeout_ms altogether. Any thread; the handler runs on the io
// thread, once.
void secure_connect(
    boost::asio::io_context& io, std::shared_ptr<const SecureContext> context,
    const SecureTarget& target,
    std::function<void(const SecureFailure&, std::shared_ptr<SecureStream>)> handler,
    const StreamLimits& limits = {});

}  // namespace tickpath::net
