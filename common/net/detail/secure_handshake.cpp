// From a TCP connection to an authenticated stream.
#include <string>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include "common/net/detail/secure_stream_impl.hpp"

namespace tickpath::net::detail {

namespace asio = boost::asio;
using boost::system::error_code;

SecureFailure StreamImpl::failure(SecureCause cause, const std::string& text) const {
  return {cause,
          (peer_.role.empty() ? "" : printable(peer_.role) + " at ") + peer_.address + ": " + text};
}

void StreamImpl::establish(Clock::time_point deadline, Sent handler) {
  established_ = std::move(handler);
  setup_timer_.expires_at(deadline);
  setup_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || self->closed_ || !self->established_) return;
    self->fail(self->failure(
        SecureCause::kTimeout,
        "the set-up took longer than " + std::to_string(self->limits_.setup_timeout_ms) + " ms"));
  });
  tune_socket();
  if (context_->encrypted())
    handshake();
  else
    greet();
}

void StreamImpl::settle(const SecureFailure& failure) {
  if (!established_) return;
  setup_timer_.cancel();
  const Sent handler = std::exchange(established_, nullptr);
  handler(failure);
}

// A peer whose host is gone is noticed, and small frames leave at once.
void StreamImpl::tune_socket() {
  const int fd = tls_.next_layer().native_handle();
  const auto set = [fd](int level, int option, int value) {
    (void)::setsockopt(fd, level, option, &value, sizeof(value));
  };
  constexpr int kProbeSeconds = 1;  // the kernel's least
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(limits_.silence_timeout_ms));
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kProbeSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
}

void StreamImpl::handshake() {
  const auto type =
      side_ == Side::kClient ? asio::ssl::stream_base::client : asio::ssl::stream_base::server;
  tls_.async_handshake(
      type, [self = shared_from_this()](const error_code& error) { self->on_handshake(error); });
}

void StreamImpl::on_handshake(const error_code& error) {
  if (closed_) return;
  if (error) return fail(explain(error));
  if (SecureFailure wrong = identify_peer()) return refuse(std::move(wrong));
  greet();
}

// ------------------------------------------------------------------------------- who is there

SecureFailure StreamImpl::identify_peer() {
  SecureFailure wrong = context_->options().mode == SecurityMode::kTls ? identify_by_certificate()
                                                                       : identify_by_key();
  if (wrong) return wrong;
  peer_.authenticated = true;
  if (side_ == Side::kClient && !state_.called_role.empty() && peer_.role != state_.called_role)
    return failure(SecureCause::kWrongRole, "we called " + state_.called_role + ", and this is " +
                                                peer_.role + "; is the endpoint right?");
  return {};
}

SecureFailure StreamImpl::identify_by_certificate() {
  const UniqueCertificate certificate(SSL_get1_peer_certificate(tls_.native_handle()));
  if (!certificate || SSL_get_verify_result(tls_.native_handle()) != X509_V_OK)
    return failure(SecureCause::kUntrusted, "it showed no certificate that holds");
  const std::string role = role_of(certificate.get());
  if (!is_role(role))
    return failure(SecureCause::kUnknownRole,
                   "its certificate is made out to no role of ours" +
                       (role.empty() ? std::string() : " but to \"" + printable(role) + "\""));
  peer_.role = role;
  peer_.expires_unix_s = not_after_unix_s(certificate.get());
  return {};
}

SecureFailure StreamImpl::identify_by_key() {
  // Without this a handshake that got by without our key would pass.
  if (SSL_session_reused(tls_.native_handle()) != 1 || !is_role(state_.peer_role))
    return failure(SecureCause::kWrongKey, "it did not use a pre-shared key");
  peer_.role = state_.peer_role;
  peer_.expires_unix_s = state_.expires_unix_s;
  return {};
}

// ----------------------------------------------------------------------------------- greetings

void StreamImpl::greet() {
  if (side_ == Side::kClient) {
    Greeting hello;
    hello.mode = static_cast<std::uint8_t>(context_->options().mode);
    hello.role = context_->options().role;
    send(hello.encode(), {});
  }
  // No owner captured here or in refuse(): the stream would hold itself.
  receive(
      [this](const SecureFailure& failure, std::span<const std::byte> frame) {
        failure ? fail(failure) : on_greeting(frame);
      },
      0);
}

void StreamImpl::on_greeting(std::span<const std::byte> payload) {
  std::string why;
  const std::optional<Greeting> greeting = parse_greeting(payload, why);
  if (!greeting) return refuse(failure(SecureCause::kNotTls, why));
  if (SecureFailure wrong = judge(*greeting)) return refuse(std::move(wrong));
  if (side_ == Side::kClient) return settle({});
  Greeting welcome;
  welcome.kind = Greeting::Kind::kWelcome;
  welcome.mode = static_cast<std::uint8_t>(context_->options().mode);
  welcome.role = context_->options().role;
  // Whatever the caller sends next stands behind it in the queue.
  send(welcome.encode(), {});
  settle({});
}

SecureFailure StreamImpl::judge(const Greeting& greeting) {
  if (greeting.kind == Greeting::Kind::kRefusal)
    return failure(SecureCause::kRefused, "it refuses us: " + printable(greeting.text));
  const bool expected =
      greeting.kind == (side_ == Side::kClient ? Greeting::Kind::kWelcome : Greeting::Kind::kHello);
  if (!expected) return failure(SecureCause::kNotTls, "its greeting is out of turn");
  const bool plain = greeting.mode <= static_cast<std::uint8_t>(SecurityMode::kNone);
  if (plain == context_->encrypted())
    return failure(SecureCause::kNotTls, "it runs with another security.mode");
  if (!is_role(greeting.role))
    return failure(SecureCause::kUnknownRole,
                   "it says to be \"" + printable(greeting.role) + "\", which is no role");
  if (peer_.authenticated && greeting.role != peer_.role)
    return failure(SecureCause::kWrongRole,
                   "it says to be " + greeting.role + ", and its key is of " + peer_.role);
  peer_.role = greeting.role;
  if (side_ == Side::kClient && !state_.called_role.empty() && peer_.role != state_.called_role)
    return failure(SecureCause::kWrongRole, "we called " + state_.called_role + ", and this is " +
                                                peer_.role + "; is the endpoint right?");
  return {};
}

// Tells the peer why, where it can understand it, and ends the set-up.
void StreamImpl::refuse(SecureFailure failure) {
  if (side_ == Side::kClient || failure.cause == SecureCause::kNotTls) return fail(failure);
  Greeting refusal;
  refusal.kind = Greeting::Kind::kRefusal;
  refusal.mode = static_cast<std::uint8_t>(context_->options().mode);
  refusal.role = context_->options().role;
  refusal.text = failure.text;
  send(refusal.encode(),
       [this, failure = std::move(failure)](const SecureFailure&) { fail(failure); });
}

// ---------------------------------------------------------------------------------- what failed

namespace {

struct Reason {
  SecureCause cause;
  const char* text;
};

// What the peer's alert says of us (RFC 8446 section 6.2).
Reason explain_alert(int alert, bool psk) {
  switch (alert) {
    case SSL_AD_CERTIFICATE_EXPIRED:
      return {SecureCause::kExpired, "it says that our certificate is not valid at this time"};
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_CERTIFICATE_REQUIRED:
      return {SecureCause::kUntrusted,
              "it does not trust our certificate: are both made by the same CA (ca.crt)?"};
    case SSL_AD_DECRYPT_ERROR:
    case SSL_AD_ILLEGAL_PARAMETER:
      return {
          SecureCause::kWrongKey,
          "it has another key for us: do both sides have the files of one `tickpath keys` run?"};
    case SSL_AD_UNKNOWN_PSK_IDENTITY:
      return {SecureCause::kUnknownRole, "it knows no key of our role"};
    case SSL_AD_PROTOCOL_VERSION:
      return {SecureCause::kNotTls, "it does not speak TLS 1.3"};
    case SSL_AD_HANDSHAKE_FAILURE:
      return {SecureCause::kWrongKey,
              psk ? "it accepts no pre-shared key of ours: another security.mode, or no key, or an "
                    "expired one for our role"
                  : "it shows no certificate: another security.mode?"};
    default:
      return {SecureCause::kRefused, "it ended the handshake"};
  }
}

Reason explain_local(int reason, bool psk) {
  switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_UNEXPECTED_MESSAGE:
    case SSL_R_LENGTH_MISMATCH:
    case SSL_R_LENGTH_TOO_SHORT:
    case SSL_R_NO_PROTOCOLS_AVAILABLE:
      return {SecureCause::kNotTls, "it does not speak TLS 1.3: set the same security.mode"};
    case SSL_R_BINDER_DOES_NOT_VERIFY:
    case SSL_R_BAD_SIGNATURE:
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
    case SSL_R_DIGEST_CHECK_FAILED:
      return {SecureCause::kWrongKey,
              "its key is another than ours: do both sides have the files of one `tickpath keys` "
              "run?"};
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return {SecureCause::kUntrusted, "it showed no certificate"};
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
      return {SecureCause::kWrongKey,
              psk ? "it offered no pre-shared key that we know" : "it shares no cipher with us"};
    default:
      return {SecureCause::kNotTls, nullptr};
  }
}

Reason explain_transport(const error_code& error) {
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated ||
      error == asio::error::connection_reset || error == asio::error::broken_pipe ||
      error == asio::error::operation_aborted)
    return {SecureCause::kClosed, "it closed the connection"};
  if (error == asio::error::timed_out || error == asio::error::host_unreachable ||
      error == asio::error::network_unreachable)
    return {SecureCause::kClosed, "its host does not answer any more"};
  return {SecureCause::kSystem, nullptr};
}

}  // namespace

SecureFailure StreamImpl::explain(const error_code& error) {
  ERR_clear_error();  // the queue is the thread's: leave nothing for the next connection
  if (state_.refusal) return failure(state_.refusal.cause, state_.refusal.text);
  if (error.category() != asio::error::get_ssl_category()) {
    const Reason reason = explain_transport(error);
    std::string text = reason.text != nullptr ? reason.text : error.message();
    // TLS says nothing to those who do not speak it.
    if (established_ && reason.cause == SecureCause::kClosed)
      text += " during set-up: is security.mode the same at both ends?";
    return failure(reason.cause, text);
  }
  const bool psk = context_->options().mode == SecurityMode::kPsk;
  const int code = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
  if (code == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    if (psk)
      return failure(
          SecureCause::kNotTls,
          "it shows a certificate, and we use pre-shared keys: set the same security.mode");
    const long verdict = SSL_get_verify_result(tls_.native_handle());
    const bool time =
        verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID;
    return failure(
        time ? SecureCause::kExpired : SecureCause::kUntrusted,
        std::string("its certificate does not hold: ") + X509_verify_cert_error_string(verdict));
  }
  const Reason reason = code >= SSL_AD_REASON_OFFSET
                            ? explain_alert(code - SSL_AD_REASON_OFFSET, psk)
                            : explain_local(code, psk);
  std::string text = reason.text != nullptr ? reason.text : "the handshake failed";
  return failure(reason.cause, text + " (" + error.message() + ")");
}

}  // namespace tickpath::net::detail
