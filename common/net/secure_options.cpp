#include "common/net/secure_options.hpp"

#include <algorithm>

#include "common/base/names.hpp"

namespace tickpath::net {

bool is_role(std::string_view text) noexcept {
  return std::ranges::find(kRoles, text) != kRoles.end();
}

std::string_view to_string(SecureCause cause) noexcept {
  using enum SecureCause;
  return name_in(cause,
                 {{kNone, "no failure"},
                  {kPolicy, "mode not allowed here"},
                  {kKeys, "own keys unusable"},
                  {kUnreachable, "unreachable"},
                  {kTimeout, "timed out"},
                  {kClosed, "closed by the peer"},
                  {kNotTls, "other security mode or protocol"},
                  {kWrongKey, "wrong key"},
                  {kUntrusted, "not certified by our CA"},
                  {kExpired, "certificate or key expired"},
                  {kUnknownRole, "unknown role"},
                  {kWrongRole, "another role than expected"},
                  {kRefused, "refused by the peer"},
                  {kFrame, "malformed frame"},
                  {kOverload, "too many connections in set-up"},
                  {kSystem, "system call failed"}},
                 "unknown");
}

std::string_view to_string(SecurityMode mode) noexcept {
  using enum SecurityMode;
  return name_in(mode, {{kLoopback, "loopback"}, {kNone, "none"}, {kPsk, "psk"}, {kTls, "tls"}},
                 "unknown");
}

}  // namespace tickpath::net
