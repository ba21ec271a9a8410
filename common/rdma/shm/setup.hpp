// What the two sides of a connection say over the Unix socket (SOCK_SEQPACKET: whole messages).
//
//   connecting side                      listening side
//   kHello  hello bytes            ->    looks at user and hello; nothing secret has moved yet
//                                  <-    kAccept answer, wire, wake-up, regions   (or kReject text)
//   kConfirm wire, wake-up, regions ->   both ready
//   kNotice reason                 <->   the sender's queue pair went to error
//   kRevoke region index           <->   the sender takes one of its regions back
//   end of file without a notice         the process is gone
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/rdma/rdma.hpp"
#include "common/rdma/setup/frame.hpp"
#include "common/rdma/shm/memory.hpp"

namespace tickpath::rdma::detail {

using Deadline = std::chrono::steady_clock::time_point;

enum class SetupType : std::uint8_t { kHello = 1, kAccept, kReject, kConfirm, kNotice, kRevoke };

enum SetupFlags : std::uint8_t {
  kHasBarrier = 1u << 0,  // this process takes part in membarrier(GLOBAL_EXPEDITED)
  kHasWake = 1u << 1,     // a socket follows the wire descriptor
};

// Both directions, little-endian, 32 bytes, then grants * RemoteRegion, then the body.
//   0 magic | 4 version | 6 type | 7 flags | 8 grants | 12 body_bytes | 16 wire_slots |
//   20 message_bytes_max | 24 reason | 28 reserved
struct SetupHeader {
  static constexpr std::uint32_t kMagic = 0x48535054;  // "TPSH" in memory
  static constexpr std::uint16_t kVersion = 3;
  static constexpr SetupType kLastType = SetupType::kRevoke;
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  SetupType type = SetupType::kHello;
  std::uint8_t flags = 0;
  std::uint32_t grants = 0;
  std::uint32_t body_bytes = 0;
  std::uint32_t wire_slots = 0;
  std::uint32_t message_bytes_max = 0;
  std::uint32_t reason = 0;  // kNotice: FailureCause; kRevoke: index of the region
  std::uint32_t reserved = 0;
};
static_assert(sizeof(SetupHeader) == 32 && offsetof(SetupHeader, reason) == 24);

// A message as it is sent or after it was received and checked for form.
struct SetupMessage : SetupFrame<SetupHeader> {
  std::vector<UniqueFd> descriptors;  // received: wire, wake-up, one a region
};

struct PeerIdentity {
  pid_t pid = 0;
  uid_t uid = 0;
  std::string text() const;  // "process 4711 (user 0)"
};

// The process at the other end, as the kernel names it (SO_PEERCRED).
PeerIdentity peer_identity(const UniqueFd& socket);
// Same user or root.
bool peer_allowed(const PeerIdentity& peer) noexcept;

// The bytes of one message and the descriptors that came with it.
struct SocketMessage {
  std::vector<std::byte> bytes;
  std::vector<UniqueFd> descriptors;
};

inline constexpr std::size_t kDescriptorsMax = kGrantsMax + 2;  // wire and wake-up

// Throws SetupError{kRefused} if the peer is gone.
void send_bytes(const UniqueFd& socket, std::span<const std::byte> bytes,
                std::span<const int> descriptors);
// nullopt: nothing there yet. Throws SetupError: kProtocol (too long), kRefused (end of file).
std::optional<SocketMessage> receive_bytes(const UniqueFd& socket);

// Sends header, regions, body and the descriptors. Throws SetupError{kRefused} if the peer is gone.
void send_setup(const UniqueFd& socket, const SetupHeader& header,
                std::span<const RemoteRegion> regions, std::span<const std::byte> body,
                std::span<const int> descriptors);

// nullopt: nothing there yet. Throws SetupError: kProtocol (not our form, other version), kRefused
// (end of file).
std::optional<SetupMessage> receive_setup(const UniqueFd& socket);

}  // namespace tickpath::rdma::detail
