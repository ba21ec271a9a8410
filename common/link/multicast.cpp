#include "common/link/multicast.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace tickpath::link {
namespace {

[[noreturn]] void refuse_loss(std::string_view text) {
  throw rdma::SetupError(rdma::SetupCause::kSystem,
                         "TICKPATH_MULTICAST_LOSS is \"" + std::string(text) +
                             "\"; it must be like \"per_mille=50,seed=1\", per_mille at most 1000");
}

std::uint64_t number_of(std::string_view digits, std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) refuse_loss(text);
  return number;
}

}  // namespace

MulticastLoss parse_loss(std::string_view text) {
  constexpr std::string_view kPerMille = "per_mille=";
  constexpr std::string_view kSeed = "seed=";
  MulticastLoss loss;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    if (item.starts_with(kPerMille)) {
      const std::uint64_t number = number_of(item.substr(kPerMille.size()), text);
      if (number > 1000) refuse_loss(text);
      loss.per_mille = static_cast<std::uint32_t>(number);
    } else if (item.starts_with(kSeed)) {
      loss.seed = number_of(item.substr(kSeed.size()), text);
    } else {
      refuse_loss(text);
    }
  }
  return loss;
}

MulticastLoss loss_of_environment() {
  const char* const text = std::getenv("TICKPATH_MULTICAST_LOSS");
  return text == nullptr ? MulticastLoss{} : parse_loss(text);
}

std::vector<std::byte> invitation_bytes(const MulticastInvitation& invitation) {
  MulticastPart part = invitation.part;
  part.group_bytes = static_cast<std::uint32_t>(invitation.group.size());
  std::vector<std::byte> bytes(sizeof(part) + invitation.group.size());
  std::memcpy(bytes.data(), &part, sizeof(part));
  std::memcpy(bytes.data() + sizeof(part), invitation.group.data(), invitation.group.size());
  return bytes;
}

MulticastInvitation read_invitation(std::span<const std::byte> bytes) {
  MulticastInvitation invitation;
  MulticastPart& part = invitation.part;
  if (bytes.size() > sizeof(part)) {
    std::memcpy(&part, bytes.data(), sizeof(part));
    invitation.group.assign(reinterpret_cast<const char*>(bytes.data()) + sizeof(part),
                            bytes.size() - sizeof(part));
  }
  const bool power = part.depth >= 2 && (part.depth & (part.depth - 1)) == 0;
  if (!power || part.group_bytes != invitation.group.size() ||
      part.datagram_bytes < sizeof(DatagramHeader) + sizeof(RingSlot))
    throw rdma::SetupError(
        rdma::SetupCause::kProtocol,
        "the publisher's invitation to multicast makes no sense: " + std::to_string(bytes.size()) +
            " bytes, a ring of " + std::to_string(part.depth) + " slots, datagrams of " +
            std::to_string(part.datagram_bytes) + " bytes");
  return invitation;
}

}  // namespace tickpath::link
