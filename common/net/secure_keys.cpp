#include "common/net/secure_keys.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include <sstream>

#include <openssl/rand.h>

#include "common/net/detail/key_files.hpp"

namespace tickpath::net {
namespace {

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool parse_hex(std::string_view text, std::array<unsigned char, kPskBytes>& bytes) noexcept {
  if (text.size() != 2 * kPskBytes) return false;
  for (std::size_t i = 0; i < kPskBytes; ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return true;
}

bool parse_utc(const std::string& text, std::int64_t& unix_s) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return false;
  unix_s = ::timegm(&parts);
  return true;
}

struct RolePaths {
  std::string certificate, key, psk;
};
RolePaths paths_of(const std::string& directory, std::string_view role) {
  const std::string base = directory + "/" + std::string(role);
  return {base + ".crt", base + ".key", base + ".psk"};
}

void require_absent(const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    if (std::filesystem::exists(path))
      detail::throw_keys(path +
                         " is there already; nothing was written. --force replaces it, and whoever "
                         "has the old one must get the new one");
}

// ------------------------------------------------------------------------------- certificates

detail::Authority load_authority(const std::string& directory) {
  const std::string certificate = directory + "/ca.crt";
  const std::string key = directory + "/ca.key";
  if (!std::filesystem::exists(key))
    detail::throw_keys(key +
                       " is not here: make certificates where the CA's key is kept, or start anew "
                       "with --force and no --role");
  return {detail::read_certificate(detail::read_public_file(certificate), certificate),
          detail::read_key(detail::read_secret_file(key), key)};
}

std::vector<std::string> make_certificates(const KeyRequest& request,
                                           const std::vector<std::string>& roles) {
  const std::string& directory = request.directory;
  if (!request.force) {
    std::vector<std::string> made;
    for (const std::string& role : roles) {
      made.push_back(paths_of(directory, role).certificate);
      made.push_back(paths_of(directory, role).key);
    }
    require_absent(made);
  }
  std::vector<std::string> written;
  const auto write = [&written](const std::string& path, const std::string& text) {
    detail::write_key_file(path, text);
    written.push_back(path);
  };
  const bool has_authority = std::filesystem::exists(directory + "/ca.crt");
  const bool fresh = !has_authority || (request.force && request.roles.empty());
  const detail::Authority authority =
      fresh ? detail::make_authority(request.authority_valid_s) : load_authority(directory);
  if (fresh) {
    write(directory + "/ca.key", detail::pem_of(authority.key.get()));
    write(directory + "/ca.crt", detail::pem_of(authority.certificate.get()));
  }
  for (const std::string& role : roles) {
    const detail::UniqueKey key = detail::make_ed25519();
    const detail::UniqueCertificate certificate =
        detail::make_certificate(authority, key.get(), role, request.valid_s);
    write(paths_of(directory, role).key, detail::pem_of(key.get()));
    write(paths_of(directory, role).certificate, detail::pem_of(certificate.get()));
  }
  return written;
}

// --------------------------------------------------------------------------- pre-shared keys

std::vector<std::string> make_pre_shared(const KeyRequest& request,
                                         const std::vector<std::string>& roles) {
  std::map<std::string, PskFile, std::less<>> files;
  for (const std::string_view role : kRoles) {
    const std::string path = paths_of(request.directory, role).psk;
    if (std::filesystem::exists(path))
      files[std::string(role)] = parse_psk_file(detail::read_secret_file(path), path);
  }
  std::set<std::string> changed;
  std::set<std::pair<std::string, std::string>> made;  // the smaller name first
  for (const std::string& role : roles) {
    for (const std::string_view other : kRoles) {
      const std::string peer(other);
      if (!made.insert(std::minmax(role, peer)).second) continue;
      if (!request.force && files[role].contains(peer))
        detail::throw_keys(
            paths_of(request.directory, role).psk + " has a key for " + peer +
            " already; nothing was written. --force replaces it, and whoever has the old "
            "one must get the new one");
      PreSharedKey key;
      if (RAND_bytes(key.bytes.data(), static_cast<int>(key.bytes.size())) != 1)
        detail::throw_keys("no random numbers: " + detail::openssl_error());
      key.expires_unix_s = std::time(nullptr) + request.valid_s;
      files[role][peer] = key;
      files[peer][role] = key;
      changed.insert({role, peer});
    }
  }
  std::vector<std::string> written;
  for (const std::string& role : changed) {
    written.push_back(paths_of(request.directory, role).psk);
    detail::write_key_file(written.back(), detail::text_of(files[role], role));
  }
  return written;
}

}  // namespace

PskFile parse_psk_file(std::string_view text, const std::string& name) {
  PskFile keys;
  std::istringstream stream{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::string where = name + ":" + std::to_string(number) + ": ";
    std::istringstream words(line);
    std::string role, end, hex, more;
    if (!(words >> role) || role[0] == '#') continue;
    if (!(words >> end >> hex) || words >> more)
      detail::throw_keys(where + "a line is: peer role, end, 64 hex digits");
    PreSharedKey key;
    if (!is_role(role)) detail::throw_keys(where + "\"" + role + "\" is no role");
    if (!parse_utc(end, key.expires_unix_s))
      detail::throw_keys(where + "\"" + end + "\" is no time like 2027-02-19T10:00:00Z");
    if (!parse_hex(hex, key.bytes))
      detail::throw_keys(where + "the key of " + role + " is not 64 hex digits");
    if (!keys.emplace(role, key).second) detail::throw_keys(where + "a second key for " + role);
  }
  if (keys.empty()) detail::throw_keys(name + " holds no key");
  return keys;
}

std::vector<std::string> make_keys(const KeyRequest& request) {
  std::vector<std::string> roles = request.roles;
  if (roles.empty()) roles.assign(kRoles.begin(), kRoles.end());
  for (const std::string& role : roles)
    if (!is_role(role))
      detail::throw_keys("\"" + role + "\" is no role: mdh, strategy, oeg, risk, sim, tool");
  detail::make_key_directory(request.directory);
  return request.psk ? make_pre_shared(request, roles) : make_certificates(request, roles);
}

}  // namespace tickpath::net
