// Keys in memory and the OpenSSL context made of them.
#pragma once

#include <string>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "common/net/detail/openssl.hpp"
#include "common/net/secure_keys.hpp"
#include "common/net/secure_stream.hpp"

namespace tickpath::net::detail {

// What one handshake needs to know and learns; OpenSSL's callbacks find it by the connection.
struct HandshakeState {
  std::string called_role;          // client: whom it calls; in kPsk it selects the key
  std::string identity;             // kPsk: "risk>oeg", as sent or as received
  std::string peer_role;            // kPsk: the other half of the identity
  std::int64_t expires_unix_s = 0;  // kPsk: of the key in use
  // Why no key could be given to OpenSSL, whose own error says less.
  SecureFailure refusal;
};

class SecureContextImpl final : public SecureContext {
 public:
  explicit SecureContextImpl(const SecurityOptions& options);

  const SecurityOptions& options() const noexcept override { return options_; }
  std::int64_t expires_unix_s() const noexcept override { return expires_unix_s_; }

  bool encrypted() const noexcept {
    return options_.mode == SecurityMode::kPsk || options_.mode == SecurityMode::kTls;
  }
  // For ssl::stream, which takes it mutable and changes nothing but its reference count.
  boost::asio::ssl::context& tls() const noexcept { return tls_; }

  // Ties `state` to the connection; it must outlive the handshake.
  static void attach(SSL* connection, HandshakeState& state);

 private:
  void use_certificates();
  void use_pre_shared_keys();
  static int use_session(SSL* connection, const EVP_MD* digest, const unsigned char** identity,
                         std::size_t* identity_bytes, SSL_SESSION** session);
  static int find_session(SSL* connection, const unsigned char* identity,
                          std::size_t identity_bytes, SSL_SESSION** session);

  SecurityOptions options_;
  mutable boost::asio::ssl::context tls_;
  PskFile keys_;
  std::int64_t expires_unix_s_ = 0;
};

// Whether an address is one of this host's: loopback, or of one of its interfaces. What is sent to
// such an address stays here, and what comes from one was sent here.
bool of_this_host(const boost::asio::ip::address& address);

// Throws SecureError{kPolicy} if the mode forbids this address; `shown` is what the text calls it.
void require_allowed(const SecureContext& context, const boost::asio::ip::address& address,
                     const std::string& shown);

// Whoever is at the other end of a connected socket. With kLoopback nothing proves a role, so only
// programs of our own user, and root's, may state one: throws SecureError{kPolicy}. `they_listen`:
// we have connected to them.
void require_own_user(const SecureContext& context, const boost::asio::ip::tcp::socket& socket,
                      bool they_listen, const std::string& shown);

// Text of a peer, fit for a log: control characters replaced, cut at 200 bytes.
std::string printable(std::string_view text);

}  // namespace tickpath::net::detail
