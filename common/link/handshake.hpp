// What link adds to a connection's hello and answer, behind the program's own opaque bytes.
//
//   hello, answer = program's bytes (any length, opaque here) | an invitation or nothing |
//                   link's 64 bytes
//
// Which region means what is link's business too: each pattern documents the order of its grants;
// the program's own grants ("extras") follow them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "common/rdma/rdma.hpp"

namespace tickpath::link {

enum class Pattern : std::uint16_t {
  kTables = 1,   // nothing but the program's grants
  kRing = 2,     // Subscriber asks a Publisher
  kChannel = 3,  // ChannelClient asks a ChannelServer
};

// How ring slots become visible to the reader.
enum class RingMode : std::uint16_t {
  kPoll = 1,       // plain WRITE; the reader polls the slot's sequence
  kImmediate = 2,  // WRITE_WITH_IMM; a completion for each slot, so a reader can sleep
};

// Both directions. Fields that a pattern does not name are 0.
//  0 magic | 4 version | 6 pattern | 8 mode | 10 reserved | 12 depth | 16 payload_bytes
// 20 reply_bytes | 24 image_bytes | 28 image_count | 32 extra_grants | 36 takes_multicast
// 40 multicast_bytes | 44 reserved
struct LinkPart {
  static constexpr std::uint32_t kMagic = 0x6b6e6c74;  // "tlnk" as bytes in memory
  static constexpr std::uint16_t kVersion = 1;         // of everything in common/link
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  Pattern pattern = Pattern::kTables;
  RingMode mode = RingMode::kPoll;
  std::uint16_t reserved0 = 0;
  std::uint32_t depth = 0;          // ring slots; receives of the channel side that speaks
  std::uint32_t payload_bytes = 0;  // sizeof(T); channel: of what the client sends
  std::uint32_t reply_bytes = 0;    // channel: of what the server sends
  std::uint32_t image_bytes = 0;    // 0: no images
  std::uint32_t image_count = 0;
  std::uint32_t extra_grants = 0;     // how many of the speaker's grants are the program's
  std::uint32_t takes_multicast = 0;  // ring, the subscriber's: 1, it can be sent datagrams
  // Ring, the publisher's: bytes of an invitation (multicast.hpp) between the program's and these.
  std::uint32_t multicast_bytes = 0;
  std::uint32_t reserved1[5] = {};
};
static_assert(sizeof(LinkPart) == 64 && std::is_trivially_copyable_v<LinkPart>);

// Control thread, all of it.
std::vector<std::byte> join_hello(std::span<const std::byte> program, const LinkPart& part);
// With an invitation to multicast, of part.multicast_bytes.
std::vector<std::byte> join_hello(std::span<const std::byte> program,
                                  std::span<const std::byte> invitation, const LinkPart& part);
// The invitation; empty where there is none.
std::span<const std::byte> invitation_part(std::span<const std::byte> hello) noexcept;
// The program's bytes of a hello or answer; empty if there is no valid link part at the end.
std::span<const std::byte> program_part(std::span<const std::byte> hello) noexcept;
// Link's part; nullopt where magic or version do not match.
std::optional<LinkPart> link_part(std::span<const std::byte> hello) noexcept;

// The program's bytes as the struct they are, e.g. read_program<wire::Hello>(request.hello()).
// nullopt when the length differs; what is inside is the caller's to check.
template <class H>
std::optional<H> read_program(std::span<const std::byte> hello) noexcept {
  static_assert(std::is_trivially_copyable_v<H>);
  const std::span<const std::byte> bytes = program_part(hello);
  if (bytes.size() != sizeof(H)) return std::nullopt;
  H value;
  std::memcpy(&value, bytes.data(), sizeof(H));
  return value;
}

template <class H>
std::span<const std::byte> bytes_of(const H& value) noexcept {
  static_assert(std::is_trivially_copyable_v<H>);
  return {reinterpret_cast<const std::byte*>(&value), sizeof(H)};
}

// Throws rdma::SetupError{kProtocol} that names the field, when `theirs` cannot work with `ours`
// (pattern, payload_bytes, reply_bytes, image_bytes).
void require_compatible(const LinkPart& ours, const LinkPart& theirs);

}  // namespace tickpath::link
