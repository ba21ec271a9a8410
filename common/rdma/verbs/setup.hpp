// What the two sides of a verbs connection say over the authenticated set-up stream (net::
// SecureStream: whole frames), and what rdma_cm carries.
//
//   connecting side                      listening side
//   kHello   hello bytes           ->    sees the role that was proven; nothing secret moved yet
//                                  <-    kAccept answer, token, rdma_cm address and port
//                                        (or kReject text)
//   rdma_connect, token            ->    looks the token up: this queue pair belongs to that peer
//                                  <-    rdma_accept
//   kRegions regions              <->    once the sender's queue pair is in RTS and has its keys;
//                                        over iWARP the last one is its count of receives, and the
//                                        connecting side has READ the other's before it says its
//                                        own
//   kNotice  text                  <->   the sender's queue pair went to error
//   end of stream without a notice       the process, or its host, is gone
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/rdma/rdma.hpp"
#include "common/rdma/setup/connection_token.hpp"
#include "common/rdma/setup/frame.hpp"

namespace tickpath::rdma::detail {

enum class VerbsMessageType : std::uint8_t { kHello = 1, kAccept, kReject, kRegions, kNotice };

// Why the sender of a notice ended, as far as it concerns requests of the other side.
enum class VerbsVerdict : std::uint8_t {
  kUnknown,
  kDisconnected,  // by its program
  kAccess,        // its device refused a request: key, bounds, rights
  kLength,        // a message did not fit into its receive
  kStreamEnded,   // iWARP: its device ended the stream and does not say why
};

inline constexpr std::uint32_t kVerbsMagic = 0x42565054;  // "TPVB" in memory
inline constexpr std::uint16_t kVerbsVersion = 2;

// Both directions, little-endian, 64 bytes, then grants * RemoteRegion, then the body.
//   0 magic | 4 version | 6 type | 7 max_rd_atomic | 8 grants | 12 body_bytes | 16 process_id |
//   20 min_rnr_timer_us | 24 cm_port | 26 verdict | 27 reserved | 32 token | 48 cm_address
struct VerbsHeader {
  static constexpr std::uint32_t kMagic = kVerbsMagic;
  static constexpr std::uint16_t kVersion = kVerbsVersion;
  static constexpr VerbsMessageType kLastType = VerbsMessageType::kNotice;
  static constexpr std::size_t kRegionsMax = kGrantsMax + 1;  // iWARP: the count of receives
  std::uint32_t magic = kVerbsMagic;
  std::uint16_t version = kVerbsVersion;
  VerbsMessageType type = VerbsMessageType::kHello;
  std::uint8_t max_rd_atomic = 0;  // READs and atomics that the sender can answer at once
  std::uint32_t grants = 0;
  std::uint32_t body_bytes = 0;
  std::uint32_t process_id = 0;
  // In verbs the receiver sets the pause before a message that met no receive is sent again. Here
  // the sender asks for it, as everywhere behind this interface.
  std::uint32_t min_rnr_timer_us = 0;
  std::uint16_t cm_port = 0;  // kAccept: where rdma_cm listens
  VerbsVerdict verdict{};     // kNotice
  std::uint8_t reserved[5] = {};
  ConnectionToken token{};                    // kAccept
  std::array<std::uint8_t, 16> cm_address{};  // kAccept: IPv6, or IPv4 mapped (RFC 4291, 2.5.5.2)
};
static_assert(std::is_trivially_copyable_v<VerbsHeader>);
static_assert(sizeof(VerbsHeader) == 64 && offsetof(VerbsHeader, min_rnr_timer_us) == 20);
static_assert(offsetof(VerbsHeader, token) == 32 && offsetof(VerbsHeader, cm_address) == 48);

// Private data of the rdma_cm request, at most 56 bytes (InfiniBand volume 1, 12.7.37 REQ less the
// 36 bytes of the IP CM header, annex A11).
//   0 magic | 4 version | 6 reserved | 8 token
struct CmPrivateData {
  std::uint32_t magic = kVerbsMagic;
  std::uint16_t version = kVerbsVersion;
  std::uint16_t reserved = 0;
  ConnectionToken token{};
};
static_assert(sizeof(CmPrivateData) == 24);

using VerbsMessage = SetupFrame<VerbsHeader>;

}  // namespace tickpath::rdma::detail
