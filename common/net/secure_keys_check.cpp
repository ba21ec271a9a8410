// What a key directory holds and whether programs could use it.
#include <algorithm>
#include <filesystem>

#include "common/base/names.hpp"
#include "common/base/utc.hpp"
#include "common/net/detail/openssl.hpp"
#include "common/net/secure_keys.hpp"

namespace tickpath::net {
namespace {

KeyState state_at(std::int64_t expires, std::int64_t now) noexcept {
  if (expires <= now) return KeyState::kExpired;
  return expires - now < kEndsSoonS ? KeyState::kEndsSoon : KeyState::kGood;
}

KeyStatus ending(const std::string& file, std::int64_t expires, std::int64_t now,
                 const std::string& what) {
  const KeyState state = state_at(expires, now);
  std::string text =
      what + (state == KeyState::kExpired ? ", ended " : ", until ") + utc_text(expires);
  if (state != KeyState::kGood) text += "; make a new one: tickpath keys --force --role ...";
  return {file, state, expires, text};
}

// Looks at one file after the other; the CA comes first, as certificates are held against it.
class Inspector {
 public:
  Inspector(const std::string& directory, std::int64_t now) : directory_(directory), now_(now) {}

  std::vector<KeyStatus> run() {
    if (has("ca.crt")) try_file("ca.crt", [this] { return authority(); });
    if (has("ca.key")) try_file("ca.key", [this] { return authority_key(); });
    for (const std::string_view role : kRoles) {
      const std::string name(role);
      if (has(name + ".crt")) try_file(name + ".crt", [&] { return certificate(name); });
      if (has(name + ".key")) try_file(name + ".key", [&] { return key(name); });
    }
    for (const std::string_view role : kRoles) {
      const std::string name(role);
      if (has(name + ".psk")) try_file(name + ".psk", [&] { return pre_shared(name); });
    }
    return std::move(found_);
  }

 private:
  std::string path(const std::string& file) const { return directory_ + "/" + file; }
  bool has(const std::string& file) const { return std::filesystem::exists(path(file)); }

  template <class Look>
  void try_file(const std::string& file, Look look) {
    try {
      found_.push_back(look());
    } catch (const SecureError& error) {
      found_.push_back({file, KeyState::kBad, 0, error.what()});
    }
  }

  detail::UniqueCertificate read(const std::string& file) const {
    return detail::read_certificate(detail::read_public_file(path(file)), path(file));
  }

  KeyStatus authority() {
    authority_ = read("ca.crt");
    return ending("ca.crt", detail::not_after_unix_s(authority_.get()), now_, "the CA");
  }

  KeyStatus authority_key() {
    const auto key = detail::read_key(detail::read_secret_file(path("ca.key")), path("ca.key"));
    if (!authority_ || X509_check_private_key(authority_.get(), key.get()) != 1)
      return {"ca.key", KeyState::kBad, 0, "does not belong to ca.crt"};
    return {"ca.key", KeyState::kGood, 0, "the CA's key; not needed on the machines that trade"};
  }

  KeyStatus certificate(const std::string& role) {
    const std::string file = role + ".crt";
    const detail::UniqueCertificate made = read(file);
    if (detail::role_of(made.get()) != role)
      return {file, KeyState::kBad, 0, "is not made out to " + role};
    if (!authority_ || X509_verify(made.get(), X509_get0_pubkey(authority_.get())) != 1)
      return {file, KeyState::kBad, 0, "is not signed by ca.crt"};
    if (!has(role + ".key")) return {file, KeyState::kBad, 0, role + ".key is missing"};
    return ending(file, detail::not_after_unix_s(made.get()), now_, "certificate of " + role);
  }

  KeyStatus key(const std::string& role) {
    const std::string file = role + ".key";
    const auto own = detail::read_key(detail::read_secret_file(path(file)), path(file));
    const detail::UniqueCertificate made = read(role + ".crt");
    if (X509_check_private_key(made.get(), own.get()) != 1)
      return {file, KeyState::kBad, 0, "does not belong to " + role + ".crt"};
    return {file, KeyState::kGood, 0, "key of " + role};
  }

  KeyStatus pre_shared(const std::string& role) {
    const std::string file = role + ".psk";
    const PskFile keys = parse_psk_file(detail::read_secret_file(path(file)), path(file));
    std::int64_t first = 0;
    for (const auto& [peer, key] : keys) {
      first = first == 0 ? key.expires_unix_s : std::min(first, key.expires_unix_s);
      const std::string other = peer + ".psk";
      if (!has(other)) continue;  // kept on another host
      const PskFile theirs = parse_psk_file(detail::read_secret_file(path(other)), path(other));
      const auto same = theirs.find(role);
      if (same == theirs.end() || same->second.bytes != key.bytes)
        return {file, KeyState::kBad, 0, "has another key for " + peer + " than " + other};
    }
    return ending(file, first, now_, std::to_string(keys.size()) + " pre-shared keys of " + role);
  }

  std::string directory_;
  std::int64_t now_;
  detail::UniqueCertificate authority_;
  std::vector<KeyStatus> found_;
};

}  // namespace

std::vector<KeyStatus> check_keys(const std::string& directory, std::int64_t now_unix_s) {
  std::vector<KeyStatus> found = Inspector(directory, now_unix_s).run();
  if (found.empty())
    throw SecureError(SecureCause::kKeys, "no keys in " + directory + "; `tickpath keys --dir " +
                                              directory + "` makes them");
  return found;
}

std::string_view to_string(KeyState state) noexcept {
  using enum KeyState;
  return name_in(state,
                 {{kGood, "good"}, {kEndsSoon, "ends soon"}, {kExpired, "expired"}, {kBad, "bad"}},
                 "unknown");
}

}  // namespace tickpath::net
