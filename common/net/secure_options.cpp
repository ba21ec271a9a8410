#include "common/net/secure_options.hpp"

#include <algorithm>

namespace tickpath::net {

bool is_role(std::string_view text) noexcept {
  return std::ranges::find(kRoles, text) != kRoles.end();
}

std::string_view to_string(SecureCause cause) noexcept {
  switch (cause) {
    case SecureCause::kNone:
      return "no failure";
    case SecureCause::kPolicy:
      return "mode not allowed here";
    case SecureCause::kKeys:
      return "own keys unusable";
    case SecureCause::kUnreachable:
      return "unreachable";
    case SecureCause::kTimeout:
      return "timed out";
    case SecureCause::kClosed:
      return "closed by the peer";
    case SecureCause::kNotTls:
      return "other security mode or protocol";
    case SecureCause::kWrongKey:
      return "wrong key";
    case SecureCause::kUntrusted:
      return "not certified by our CA";
    case SecureCause::kExpired:
      return "certificate or key expired";
    case SecureCause::kUnknownRole:
      return "unknown role";
    case SecureCause::kWrongRole:
      return "another role than expected";
    case SecureCause::kRefused:
      return "refused by the peer";
    case SecureCause::kFrame:
      return "malformed frame";
    case SecureCause::kOverload:
      return "too many connections in set-up";
    case SecureCause::kSystem:
      return "system call failed";
  }
  return "unknown";
}

std::string_view to_string(SecurityMode mode) noexcept {
  switch (mode) {
    case SecurityMode::kLoopback:
      return "loopback";
    case SecurityMode::kNone:
      return "none";
    case SecurityMode::kPsk:
      return "psk";
    case SecurityMode::kTls:
      return "tls";
  }
  return "unknown";
}

}  // namespace tickpath::net
