// What a recording is known by: its messages, and the day that they are put on. A run has one; rows
// of another one under its name would be believed to be its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tickpath::history {

struct RecordingIdentity {
  std::uint64_t messages = 0;  // the first so many ...
  std::uint64_t digest = 0;    // ... have this digest (common/feeds/recordings/message_digest.hpp)
  std::int64_t midnight_ns = 0;  // before the first message; 0: it is of no day that is known
};

// Somebody's word for it.
struct KnownDigest {
  std::uint64_t messages = 0;
  std::uint64_t digest = 0;
  std::string of;  // "sim-1 replayed"
};

// As a ledger has it: "recording_messages", and "recording_digest" in hexadecimal. Empty: of a sim
// that did not say.
std::optional<KnownDigest> known_digest(std::uint64_t messages, const std::string& digest,
                                        std::string of);

// Reads the first `messages` of the file, and more where a known digest is of more. midnight_ns: in
// place of what the recording says. Throws Error with both digests where one is another, and where
// the file ends before; files::RecordingError.
RecordingIdentity identify(const std::string& path, const std::string& stock,
                           std::uint64_t messages, std::optional<std::int64_t> midnight_ns,
                           const std::vector<KnownDigest>& known);

}  // namespace tickpath::history
