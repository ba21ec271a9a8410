#include "common/rdma/datagram.hpp"

#include <algorithm>
#include <thread>

namespace tickpath::rdma {
namespace {

constexpr std::chrono::milliseconds kJoinLookEvery{2};

// The header in the room of a receive. InfiniBand and RoCE over IPv6 fill it with a GRH (volume 1,
// 8.3), which begins with the version 6; RoCE v2 over IPv4 with 20 bytes that are not to be looked
// at and the IPv4 header (ibv_init_ah_from_wc(3) tells them apart likewise).
constexpr std::size_t kSourceGid = 8;
constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kIpv4Source = kIpv4Header + 12;

// Sums to all ones over a whole header (RFC 791, RFC 1071).
bool ipv4_checksum_right(std::span<const std::byte> header) noexcept {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < header.size(); i += 2) {
    sum += std::to_integer<std::uint32_t>(header[i]) << 8 |
           std::to_integer<std::uint32_t>(header[i + 1]);
  }
  sum = (sum & 0xffff) + (sum >> 16);
  return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

bool holds_ipv4(std::span<const std::byte, kGrhBytes> grh) noexcept {
  // In a GRH this byte is in the middle of the source GID, and may be anything.
  if (grh[kIpv4Header] != std::byte{0x45}) return false;  // version 4, 5 words
  return (grh[0] >> 4) != std::byte{6} || ipv4_checksum_right(grh.subspan(kIpv4Header));
}

}  // namespace

void wait_for(MulticastMembership& membership, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!membership.poll()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      throw SetupError(SetupCause::kTimeout, "joining a multicast group took more than " +
                                                 std::to_string(timeout.count()) + " ms");
    }
    std::this_thread::sleep_for(kJoinLookEvery);
  }
}

DatagramAddress source_of(const Completion& completion, std::span<const std::byte, kGrhBytes> grh,
                          std::uint32_t q_key) noexcept {
  DatagramAddress source{.qp_number = completion.source_qp_number, .q_key = q_key};
  if (holds_ipv4(grh)) {
    source.gid[10] = source.gid[11] = std::byte{0xff};
    std::copy_n(grh.begin() + kIpv4Source, 4, source.gid.begin() + 12);
  } else {
    std::copy_n(grh.begin() + kSourceGid, source.gid.size(), source.gid.begin());
  }
  return source;
}

// Here, as rdma.hpp does not know what it returns.
std::unique_ptr<DatagramQueuePair> Device::create_datagram_queue_pair(
    CompletionQueue& /*queue*/, const DatagramOptions& /*options*/) {
  throw SetupError(SetupCause::kLimit,
                   "the " + info().provider + " provider has no datagram queue pairs on " +
                       info().name + "; use a connection, or a device that has them (shm, verbs)");
}

}  // namespace tickpath::rdma
