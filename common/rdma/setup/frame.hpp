// The form of every set-up message, whatever the provider: its header, the regions that the sender
// grants, a body. A Header is trivially copyable and names kMagic, kVersion and kLastType; and
// kRegionsMax where that is more than a connection's grants.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

inline constexpr AccessFlags kRemoteRights = kRemoteWrite | kRemoteRead | kRemoteAtomic;

template <class Header>
struct SetupFrame {
  Header header;
  std::vector<RemoteRegion> regions;
  std::vector<std::byte> body;

  // The body of a refusal or a notice. It goes to logs: a peer must not be able to write lines of
  // its own into them.
  std::string text() const {
    std::string text(reinterpret_cast<const char*>(body.data()), body.size());
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
    return text;
  }
};

// Sets header.grants and header.body_bytes.
template <class Header>
std::vector<std::byte> encode(Header header, std::span<const RemoteRegion> regions,
                              std::span<const std::byte> body) {
  header.grants = static_cast<std::uint32_t>(regions.size());
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  std::vector<std::byte> bytes;
  bytes.reserve(sizeof(header) + regions.size_bytes() + body.size());
  for (const std::span<const std::byte> part :
       {std::as_bytes(std::span(&header, 1)), std::as_bytes(regions), body})
    bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

// The form only: what the rest says is checked where it is used. Throws SetupError{kProtocol}.
template <class Header>
SetupFrame<Header> parse_frame(std::span<const std::byte> bytes) {
  const auto require_form = [](bool good, const std::string& what) {
    if (!good)
      throw SetupError(SetupCause::kProtocol,
                       what + "; is it a tickpath endpoint of the same version?");
  };
  SetupFrame<Header> frame;
  Header& header = frame.header;
  require_form(bytes.size() >= sizeof(header), "the peer's set-up message is too short");
  std::memcpy(&header, bytes.data(), sizeof(header));
  require_form(header.magic == Header::kMagic, "the peer does not speak the fabric's set-up");
  require_form(header.version == Header::kVersion,
               "the peer's set-up has version " + std::to_string(header.version) + ", this is " +
                   std::to_string(Header::kVersion));
  const auto type = static_cast<unsigned>(header.type);
  require_form(type != 0 && type <= static_cast<unsigned>(Header::kLastType),
               "the peer sent a set-up message of unknown type " + std::to_string(type));
  std::size_t regions_max = kGrantsMax;
  if constexpr (requires { Header::kRegionsMax; }) regions_max = Header::kRegionsMax;
  const std::size_t region_bytes = header.grants * sizeof(RemoteRegion);
  require_form(header.grants <= regions_max && header.body_bytes <= kHelloBytesMax &&
                   bytes.size() == sizeof(header) + region_bytes + header.body_bytes,
               "the peer's set-up message has a wrong length");
  frame.regions.resize(header.grants);
  const std::span<const std::byte> rest = bytes.subspan(sizeof(header));
  if (header.grants != 0) std::memcpy(frame.regions.data(), rest.data(), region_bytes);
  frame.body.assign(rest.begin() + static_cast<std::ptrdiff_t>(region_bytes), rest.end());
  for (const RemoteRegion& region : frame.regions)
    require_form(region.address + region.length_bytes >= region.address &&
                     (region.access & ~kRemoteRights) == 0,
                 "the peer describes an impossible region");
  return frame;
}

}  // namespace tickpath::rdma::detail
