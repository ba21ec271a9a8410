#include "tools/history/recording_identity.hpp"

#include <algorithm>
#include <cstdlib>

#include "common/base/error.hpp"
#include "common/feeds/recordings/message_digest.hpp"
#include "common/feeds/recordings/recording.hpp"

namespace tickpath::history {
namespace {

void check(const std::string& path, const KnownDigest& known, std::uint64_t digest) {
  if (known.digest == digest) return;
  throw Error(path + " is not what " + known.of + ": the digest of its first " +
              std::to_string(known.messages) + " messages is " + itch::digest_text(digest) +
              ", and was " + itch::digest_text(known.digest) +
              "; name the right file (--recording), or load this one under another name (--run)");
}

}  // namespace

std::optional<KnownDigest> known_digest(std::uint64_t messages, const std::string& digest,
                                        std::string of) {
  if (digest.empty()) return std::nullopt;
  return KnownDigest{messages, std::strtoull(digest.c_str(), nullptr, 16), std::move(of)};
}

RecordingIdentity identify(const std::string& path, const std::string& stock,
                           std::uint64_t messages, std::optional<std::int64_t> midnight_ns,
                           const std::vector<KnownDigest>& known) {
  const auto recording = itch::open_recording(path, {.stock = stock});
  RecordingIdentity identity;
  itch::MessageDigest digest;
  std::uint64_t last = 0;  // that somebody knows
  for (const KnownDigest& each : known) last = std::max(last, each.messages);
  std::uint64_t read = 0;
  for (itch::RecordedMessage message; read < std::max(messages, last); ++read) {
    if (recording->next(message) != itch::ReadStatus::kMessage) break;
    digest.take(message.bytes);
    for (const KnownDigest& each : known)
      if (each.messages == read + 1) check(path, each, digest.value());
    if (read >= messages) continue;
    identity.messages = read + 1;
    identity.digest = digest.value();
  }
  for (const KnownDigest& each : known)
    if (each.messages > read)
      throw Error(path + " is not what " + each.of + ": it has " + std::to_string(read) +
                  " messages, and " + std::to_string(each.messages) + " were read then" +
                  (recording->damage().empty() ? "" : "; " + recording->damage()));
  identity.midnight_ns = midnight_ns.value_or(static_cast<std::int64_t>(recording->midnight_ns()));
  return identity;
}

}  // namespace tickpath::history
