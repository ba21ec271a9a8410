// The key files behind security.mode = "tls" and "psk": made and checked by `tickpath keys`, read
// by every program. Control threads and tools only.
//
//   ca.crt, ca.key      our own authority (Ed25519, RFC 8410). The key is needed only to make
//                       certificates: keep it off the machines that trade.
//   ROLE.crt, ROLE.key  X.509 v3: CN = ROLE, subjectAltName DNS:ROLE.tickpath, for TLS client and
//                       server; signed by the CA
//   ROLE.psk            one line a peer role: "oeg 2027-02-19T10:00:00Z <32 bytes in hex>". The key
//                       of the pair stands in both roles' files, and in no other: a stolen file
//                       lets its finder be ROLE and nobody else.
//
// A host needs ca.crt and the files of the roles that run there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/net/secure_options.hpp"

namespace tickpath::net {

inline constexpr std::size_t kPskBytes = 32;  // as long as SHA-256, the hash of our cipher suites

struct PreSharedKey {
  std::array<unsigned char, kPskBytes> bytes{};
  std::int64_t expires_unix_s = 0;
};

// By peer role.
using PskFile = std::map<std::string, PreSharedKey, std::less<>>;

// Throws SecureError{kKeys} that names file and line.
PskFile parse_psk_file(std::string_view text, const std::string& name);

struct KeyRequest {
  std::string directory;           // made with mode 0700 if missing
  std::vector<std::string> roles;  // empty: all
  std::int64_t valid_s = 90 * 86'400;
  std::int64_t authority_valid_s = std::int64_t{3650} * 86'400;
  bool psk = false;    // pre-shared keys instead of certificates
  bool force = false;  // replaces what is there; with no roles named, the CA too
};

// Makes what is asked for and the CA if there is none. Files get mode 0600 and appear whole or not
// at all. Returns their paths. Throws SecureError{kKeys}: a file is there already (none was
// written), an unknown role, a CA without its key, the directory cannot be written.
std::vector<std::string> make_keys(const KeyRequest& request);

enum class KeyState : std::uint8_t {
  kGood,
  kEndsSoon,  // within kEndsSoonS
  kExpired,
  kBad,  // unreadable, readable by others, key and certificate of different pairs, not by our CA
};
inline constexpr std::int64_t kEndsSoonS = 14 * 86'400;

struct KeyStatus {
  std::string file;  // without directory
  KeyState state = KeyState::kGood;
  std::int64_t expires_unix_s = 0;  // 0: does not end
  std::string text;                 // what it is, or what is wrong and what to do
};

// What stands in the directory, and whether programs could use it. Throws SecureError{kKeys} if
// there is nothing at all.
std::vector<KeyStatus> check_keys(const std::string& directory, std::int64_t now_unix_s);

std::string_view to_string(KeyState state) noexcept;

}  // namespace tickpath::net
