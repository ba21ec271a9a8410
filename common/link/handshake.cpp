#include "common/link/handshake.hpp"

#include <string>

namespace tickpath::link {

std::vector<std::byte> join_hello(std::span<const std::byte> program, const LinkPart& part) {
  return join_hello(program, {}, part);
}

std::vector<std::byte> join_hello(std::span<const std::byte> program,
                                  std::span<const std::byte> invitation, const LinkPart& part) {
  std::vector<std::byte> bytes(program.begin(), program.end());
  bytes.insert(bytes.end(), invitation.begin(), invitation.end());
  const std::span<const std::byte> tail = bytes_of(part);
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  if (bytes.size() > rdma::kHelloBytesMax)
    throw rdma::SetupError(rdma::SetupCause::kLimit,
                           "the hello has " + std::to_string(bytes.size()) + " bytes, at most " +
                               std::to_string(rdma::kHelloBytesMax) + " can be sent");
  return bytes;
}

std::optional<LinkPart> link_part(std::span<const std::byte> hello) noexcept {
  if (hello.size() < sizeof(LinkPart)) return std::nullopt;
  LinkPart part;
  std::memcpy(&part, hello.data() + hello.size() - sizeof(LinkPart), sizeof(LinkPart));
  if (part.magic != LinkPart::kMagic || part.version != LinkPart::kVersion) return std::nullopt;
  if (part.multicast_bytes > hello.size() - sizeof(LinkPart)) return std::nullopt;
  return part;
}

std::span<const std::byte> program_part(std::span<const std::byte> hello) noexcept {
  const std::optional<LinkPart> part = link_part(hello);
  if (!part) return {};
  return hello.first(hello.size() - sizeof(LinkPart) - part->multicast_bytes);
}

std::span<const std::byte> invitation_part(std::span<const std::byte> hello) noexcept {
  const std::optional<LinkPart> part = link_part(hello);
  if (!part) return {};
  return hello.subspan(hello.size() - sizeof(LinkPart) - part->multicast_bytes,
                       part->multicast_bytes);
}

namespace {

void require_equal(const char* field, std::uint64_t ours, std::uint64_t theirs) {
  if (ours == theirs) return;
  throw rdma::SetupError(rdma::SetupCause::kProtocol,
                         std::string("the peer differs in ") + field + ": ours " +
                             std::to_string(ours) + ", theirs " + std::to_string(theirs) +
                             "; run the same version of every program");
}

}  // namespace

void require_compatible(const LinkPart& ours, const LinkPart& theirs) {
  require_equal("pattern", static_cast<std::uint64_t>(ours.pattern),
                static_cast<std::uint64_t>(theirs.pattern));
  require_equal("payload_bytes", ours.payload_bytes, theirs.payload_bytes);
  require_equal("reply_bytes", ours.reply_bytes, theirs.reply_bytes);
  require_equal("image_bytes", ours.image_bytes, theirs.image_bytes);
}

}  // namespace tickpath::link
