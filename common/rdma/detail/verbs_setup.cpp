#include "common/rdma/detail/verbs_setup.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/random.h>

namespace tickpath::rdma::detail {
namespace {

constexpr AccessFlags kRemoteRights = kRemoteWrite | kRemoteRead | kRemoteAtomic;

[[noreturn]] void refuse(const std::string& what) { throw SetupError(SetupCause::kProtocol, what); }

}  // namespace

std::string VerbsMessage::text() const {
  std::string text(reinterpret_cast<const char*>(body.data()), body.size());
  // It goes to logs: a peer must not be able to write lines of its own into them.
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

std::vector<std::byte> encode(VerbsHeader header, std::span<const RemoteRegion> regions,
                              std::span<const std::byte> body) {
  header.grants = static_cast<std::uint32_t>(regions.size());
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  std::vector<std::byte> frame(sizeof(header) + regions.size_bytes() + body.size());
  std::byte* at = frame.data();
  std::memcpy(at, &header, sizeof(header));
  at += sizeof(header);
  if (!regions.empty()) std::memcpy(at, regions.data(), regions.size_bytes());
  at += regions.size_bytes();
  if (!body.empty()) std::memcpy(at, body.data(), body.size());
  return frame;
}

VerbsMessage parse(std::span<const std::byte> frame) {
  VerbsMessage message;
  VerbsHeader& header = message.header;
  if (frame.size() < sizeof(header)) refuse("the peer's set-up message is too short");
  std::memcpy(&header, frame.data(), sizeof(header));
  if (header.magic != kVerbsMagic) refuse("the peer does not speak the fabric's set-up");
  if (header.version != kVerbsVersion) {
    refuse("the peer's set-up has version " + std::to_string(header.version) + ", this is " +
           std::to_string(kVerbsVersion) + ": run the same release on both sides");
  }
  const auto type = static_cast<std::uint8_t>(header.type);
  if (type < static_cast<std::uint8_t>(VerbsMessageType::kHello) ||
      type > static_cast<std::uint8_t>(VerbsMessageType::kNotice)) {
    refuse("the peer sent a set-up message of unknown type " + std::to_string(type));
  }
  const std::size_t rest = frame.size() - sizeof(header);
  if (header.grants > kGrantsMax || header.body_bytes > kHelloBytesMax ||
      rest != header.grants * sizeof(RemoteRegion) + header.body_bytes) {
    refuse("the peer's set-up message has a wrong length");
  }
  const std::byte* at = frame.data() + sizeof(header);
  message.regions.resize(header.grants);
  if (header.grants != 0) {
    std::memcpy(message.regions.data(), at, header.grants * sizeof(RemoteRegion));
  }
  at += header.grants * sizeof(RemoteRegion);
  message.body.assign(at, at + header.body_bytes);
  for (const RemoteRegion& region : message.regions) {
    if (region.address + region.length_bytes < region.address ||
        (region.access & ~kRemoteRights) != 0) {
      refuse("the peer describes an impossible region");
    }
  }
  return message;
}

ConnectionToken random_token() {
  ConnectionToken token{};
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    throw SetupError(SetupCause::kSystem, std::string("getrandom: ") + std::strerror(errno));
  }
  return token;
}

}  // namespace tickpath::rdma::detail
