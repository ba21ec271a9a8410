#include "common/net/detail/secure_context.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <unistd.h>

#include "common/base/utc.hpp"
#include "common/net/socket_owner.hpp"

namespace tickpath::net::detail {
namespace {

// Both end in SHA-256, the hash that external keys are bound to (RFC 8446 section 4.2.11).
constexpr const char* kCipherSuites = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
constexpr unsigned char kPskCipherId[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256

// Nothing is resumed, but OpenSSL takes an external key for a session, and wants its scope named.
constexpr std::array<unsigned char, 8> kScope = {'t', 'i', 'c', 'k', 'p', 'a', 't', 'h'};

int state_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}
int context_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

HandshakeState* state_of(const SSL* connection) {
  return static_cast<HandshakeState*>(SSL_get_ex_data(connection, state_index()));
}

UniqueSession session_of(SSL* connection, const PreSharedKey& key) {
  UniqueSession session(SSL_SESSION_new());
  const SSL_CIPHER* cipher = SSL_CIPHER_find(connection, kPskCipherId);
  if (!session || cipher == nullptr ||
      SSL_SESSION_set1_master_key(session.get(), key.bytes.data(), key.bytes.size()) != 1 ||
      SSL_SESSION_set_cipher(session.get(), cipher) != 1 ||
      SSL_SESSION_set1_id_context(session.get(), kScope.data(), kScope.size()) != 1 ||
      SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1)
    return nullptr;
  return session;
}

// "ended 2026-11-20T10:00:00Z", empty while the time is right.
std::string wrong_time(std::int64_t begins, std::int64_t ends) {
  const std::int64_t now = std::time(nullptr);
  if (now >= ends) return "ended " + utc_text(ends);
  return now < begins ? "begins only " + utc_text(begins) : std::string();
}

}  // namespace

SecureContextImpl::SecureContextImpl(const SecurityOptions& options)
    : options_(options), tls_(boost::asio::ssl::context::tls) {
  if (!is_role(options.role))
    throw SecureError(SecureCause::kPolicy, "\"" + options.role + "\" is no role of a program");
  if (!encrypted()) return;
  if (options.keys.empty())
    throw SecureError(SecureCause::kPolicy,
                      "security.mode = \"" + std::string(to_string(options.mode)) +
                          "\" needs security.keys, a directory made by `tickpath keys`");
  SSL_CTX* context = tls_.native_handle();
  SSL_CTX_set_ex_data(context, context_index(), this);
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context, kCipherSuites);
  // Every connection proves itself anew: no tickets, no resumption, no early data.
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(context, kScope.data(), kScope.size());
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  if (options.mode == SecurityMode::kTls)
    use_certificates();
  else
    use_pre_shared_keys();
}

void SecureContextImpl::use_certificates() {
  const std::string base = options_.keys + "/" + options_.role;
  const UniqueCertificate authority =
      read_certificate(read_public_file(options_.keys + "/ca.crt"), options_.keys + "/ca.crt");
  const UniqueCertificate own = read_certificate(read_public_file(base + ".crt"), base + ".crt");
  const UniqueKey key = read_key(read_secret_file(base + ".key"), base + ".key");
  if (role_of(own.get()) != options_.role)
    throw_keys(base + ".crt is not made out to " + options_.role);
  if (X509_check_private_key(own.get(), key.get()) != 1)
    throw_keys(base + ".key does not belong to " + base + ".crt");
  if (X509_verify(own.get(), X509_get0_pubkey(authority.get())) != 1) {
    ERR_clear_error();
    throw_keys(base + ".crt is not signed by " + options_.keys + "/ca.crt");
  }
  expires_unix_s_ = not_after_unix_s(own.get());
  const std::string time = wrong_time(not_before_unix_s(own.get()), expires_unix_s_);
  if (!time.empty())
    throw_keys(base + ".crt " + time + ": tickpath keys --force --role " + options_.role);

  SSL_CTX* context = tls_.native_handle();
  // The store holds one CA, ours: the system's authorities vouch for nobody here.
  if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
      SSL_CTX_use_certificate(context, own.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    throw_keys("OpenSSL refuses " + base + ".crt: " + openssl_error());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_verify_depth(context, 1);
}

void SecureContextImpl::use_pre_shared_keys() {
  const std::string path = options_.keys + "/" + options_.role + ".psk";
  keys_ = parse_psk_file(read_secret_file(path), path);
  for (const auto& [peer, key] : keys_)
    expires_unix_s_ =
        expires_unix_s_ == 0 ? key.expires_unix_s : std::min(expires_unix_s_, key.expires_unix_s);
  SSL_CTX* context = tls_.native_handle();
  SSL_CTX_set_psk_use_session_callback(context, &SecureContextImpl::use_session);
  SSL_CTX_set_psk_find_session_callback(context, &SecureContextImpl::find_session);
  // A server that offers a certificate instead of our key must not pass: no CA, but verified.
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
}

void SecureContextImpl::attach(SSL* connection, HandshakeState& state) {
  SSL_set_ex_data(connection, state_index(), &state);
}

// Client. Returning 0 ends the handshake; what is in `state.refusal` then says why.
int SecureContextImpl::use_session(SSL* connection, const EVP_MD* digest,
                                   const unsigned char** identity, std::size_t* identity_bytes,
                                   SSL_SESSION** session) {
  const auto* self = static_cast<const SecureContextImpl*>(
      SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), context_index()));
  HandshakeState& state = *state_of(connection);
  const auto found = self->keys_.find(state.called_role);
  if (found == self->keys_.end()) {
    state.refusal = {SecureCause::kKeys,
                     "our " + self->options_.role + ".psk has no key for " + state.called_role};
    return 0;
  }
  if (std::time(nullptr) >= found->second.expires_unix_s) {
    state.refusal = {SecureCause::kExpired, "our key for " + state.called_role + " ended " +
                                                utc_text(found->second.expires_unix_s)};
    return 0;
  }
  UniqueSession made = session_of(connection, found->second);
  if (!made) return 0;
  const SSL_CIPHER* cipher = SSL_SESSION_get0_cipher(made.get());
  // A server that wants another hash cannot be met with this key.
  if (digest != nullptr && digest != SSL_CIPHER_get_handshake_digest(cipher)) {
    *session = nullptr;
    return 1;
  }
  state.identity = self->options_.role + ">" + state.called_role;
  state.peer_role = state.called_role;
  state.expires_unix_s = found->second.expires_unix_s;
  *identity = reinterpret_cast<const unsigned char*>(state.identity.data());
  *identity_bytes = state.identity.size();
  *session = made.release();
  return 1;
}

// Server. No session and 1: OpenSSL goes on without the key, finds no certificate, and fails.
int SecureContextImpl::find_session(SSL* connection, const unsigned char* identity,
                                    std::size_t identity_bytes, SSL_SESSION** session) {
  const auto* self = static_cast<const SecureContextImpl*>(
      SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), context_index()));
  HandshakeState& state = *state_of(connection);
  *session = nullptr;
  const std::string_view given(reinterpret_cast<const char*>(identity), identity_bytes);
  const std::size_t arrow = given.find('>');
  const std::string_view role = given.substr(0, arrow);
  if (arrow == std::string_view::npos || !is_role(role)) {
    state.refusal = {SecureCause::kUnknownRole,
                     "its identity \"" + printable(given) + "\" names no role"};
    return 1;
  }
  if (given.substr(arrow + 1) != self->options_.role) {
    state.refusal = {SecureCause::kWrongRole, "it calls \"" + printable(given.substr(arrow + 1)) +
                                                  "\", and this is " + self->options_.role};
    return 1;
  }
  const auto found = self->keys_.find(role);
  if (found == self->keys_.end()) {
    state.refusal = {SecureCause::kWrongKey,
                     "our " + self->options_.role + ".psk has no key for " + std::string(role)};
    return 1;
  }
  if (std::time(nullptr) >= found->second.expires_unix_s) {
    state.refusal = {SecureCause::kExpired, "the key of " + std::string(role) + " ended " +
                                                utc_text(found->second.expires_unix_s)};
    return 1;
  }
  UniqueSession made = session_of(connection, found->second);
  if (!made) return 0;
  state.identity = given;
  state.peer_role = role;
  state.expires_unix_s = found->second.expires_unix_s;
  *session = made.release();
  return 1;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kShownMax = 200;
  std::string shown(text.substr(0, kShownMax));
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return shown;
}

bool of_this_host(const boost::asio::ip::address& address) {
  if (address.is_unspecified()) return false;
  if (address.is_loopback()) return true;
  ifaddrs* list = nullptr;
  if (!address.is_v4() || ::getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, Freer<&::freeifaddrs>> owner(list);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in own{};
    std::memcpy(&own, each->ifa_addr, sizeof(own));
    if (ntohl(own.sin_addr.s_addr) == address.to_v4().to_uint()) return true;
  }
  return false;
}

void require_allowed(const SecureContext& context, const boost::asio::ip::address& address,
                     const std::string& shown) {
  if (context.options().mode != SecurityMode::kLoopback || of_this_host(address)) return;
  throw SecureError(SecureCause::kPolicy,
                    shown +
                        " is not an address of this host: set security.mode to \"tls\" or "
                        "\"psk\" with keys of `tickpath keys`, or to \"none\" on a network "
                        "where everybody may do everything");
}

void require_own_user(const SecureContext& context, const boost::asio::ip::tcp::socket& socket,
                      bool they_listen, const std::string& shown) {
  if (context.options().mode != SecurityMode::kLoopback) return;
  const auto refuse = [&](const std::string& what) {
    throw SecureError(SecureCause::kPolicy,
                      shown + ": " + what +
                          ", and with security.mode = \"loopback\" only our own user's and root's "
                          "may connect: set it to \"tls\" or \"psk\" with keys of `tickpath keys`");
  };
  boost::system::error_code gone;
  const auto theirs = socket.remote_endpoint(gone), ours = socket.local_endpoint(gone);
  if (gone || !theirs.address().is_v4() || !ours.address().is_v4())
    return refuse("whose program it is cannot be found");
  const Endpoint peer{theirs.address().to_v4().to_uint(), theirs.port()};
  const Endpoint own{ours.address().to_v4().to_uint(), ours.port()};
  const std::optional<uid_t> user = they_listen ? listener_owner(peer) : socket_owner(peer, own);
  if (!user) return refuse("whose program it is cannot be found");
  if (*user != ::geteuid() && *user != 0)
    refuse("it is a program of user " + std::to_string(*user));
}

}  // namespace tickpath::net::detail

namespace tickpath::net {

std::shared_ptr<const SecureContext> SecureContext::load(const SecurityOptions& options) {
  return std::make_shared<detail::SecureContextImpl>(options);
}

}  // namespace tickpath::net
