// Which peers may take part in connection set-up, and how a program proves who it is.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/net/endpoint.hpp"

namespace tickpath::net {

enum class SecurityMode : std::uint8_t {
  kLoopback,  // no authentication; both ends must be on this host (the default)
  kNone,      // no authentication anywhere: for tests and closed laboratories only
  kPsk,       // TLS 1.3 with external pre-shared keys (RFC 8446 section 2.2, RFC 9258 terms)
  kTls,       // TLS 1.3 with a certificate on both sides
};

// Roles as they stand in certificates and pre-shared identities; wire::name(wire::Role) gives the
// same words.
inline constexpr std::array<std::string_view, 6> kRoles = {"mdh",  "strategy", "oeg",
                                                           "risk", "sim",      "tool"};
bool is_role(std::string_view text) noexcept;

struct SecurityOptions {
  SecurityMode mode = SecurityMode::kLoopback;
  std::string keys;  // directory as `tickpath keys` makes it: ca.crt, ROLE.crt, ROLE.key, ROLE.psk
  std::string role;  // of this program: "oeg". In kLoopback and kNone the peer is told, not shown
};

// What failed in set-up. Each is counted by the side that notices.
enum class SecureCause : std::uint8_t {
  kNone,         // nothing failed
  kPolicy,       // this mode may not be used with this address, or lacks something
  kKeys,         // our own key files: missing, unreadable, readable by others, expired, of no role
  kUnreachable,  // nobody listens, no route, the name does not resolve
  kTimeout,      // the peer did not finish in time
  kClosed,       // the peer closed the connection, or its process or host is gone
  kNotTls,       // the peer does not speak TLS (or does where we do not), or speaks no set-up
  kWrongKey,     // the pre-shared key differs, or a certificate's signature does not verify
  kUntrusted,    // no certificate, or not by our CA
  kExpired,      // a certificate or key whose time is over or has not come
  kUnknownRole,  // authenticated, or nearly, but as none of kRoles
  kWrongRole,    // authenticated as another role than the one that was called
  kRefused,      // the peer said no; its text says why
  kFrame,        // a frame of length 0 or above the limit
  kOverload,     // too many connections in set-up at once
  kSystem,       // any other failed system call
};
inline constexpr std::size_t kSecureCauses = 16;

// One line: "certificate expired".
std::string_view to_string(SecureCause cause) noexcept;
std::string_view to_string(SecurityMode mode) noexcept;

// Set-up that cannot start: keys, policy, the listening address.
class SecureError : public NetError {
 public:
  SecureError(SecureCause cause, const std::string& what) : NetError(what), cause_(cause) {}
  SecureCause cause() const noexcept { return cause_; }

 private:
  SecureCause cause_;
};

}  // namespace tickpath::net
