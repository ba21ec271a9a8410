// What the two sides of an ofi connection say over the authenticated set-up stream (net::
// SecureStream: whole frames), and what fi_connect carries.
//
//   connecting side                      listening side
//   kHello   hello bytes           ->    sees the role that was proven; nothing secret moved yet
//                                  <-    kAccept answer, token, address of the passive endpoint
//                                        (or kReject text)
//   fi_connect, token              ->    looks the token up: this endpoint belongs to that peer
//                                  <-    fi_accept
//   kAddress address              <->    instead of these, where endpoints are not connected
//   kRegions regions, session     <->    once the sender's endpoint is connected
//   kNotice  text, status         <->    the sender's queue pair went to error
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

enum class OfiMessageType : std::uint8_t {
  kHello = 1,
  kAccept,
  kReject,
  kAddress,
  kRegions,
  kNotice,
};

inline constexpr std::uint32_t kOfiMagic = 0x464f5054;  // "TPOF" in memory
inline constexpr std::uint16_t kOfiVersion = 2;

// Both directions, little-endian, 64 bytes, then grants * RemoteRegion, then the body.
//   0 magic | 4 version | 6 type | 7 status | 8 grants | 12 body_bytes | 16 process_id | 20 detail
//   | 24 core | 28 port | 30 reserved | 32 token | 48 address
struct OfiHeader {
  static constexpr std::uint32_t kMagic = kOfiMagic;
  static constexpr std::uint16_t kVersion = kOfiVersion;
  static constexpr OfiMessageType kLastType = OfiMessageType::kNotice;
  std::uint32_t magic = kOfiMagic;
  std::uint16_t version = kOfiVersion;
  OfiMessageType type = OfiMessageType::kHello;
  // kNotice: how the request fails that the sender refused (CompletionStatus); 0: it refused none.
  std::uint8_t status = 0;
  std::uint32_t grants = 0;
  std::uint32_t body_bytes = 0;
  std::uint32_t process_id = 0;
  // kRegions: what the receiver's messages are to carry (OfiWireHeader::session). kNotice: messages
  // of requests that were executed before.
  std::uint32_t detail = 0;
  std::uint32_t core = 0;  // kHello: the core provider, both ends must have the same (core_id())
  std::uint16_t port = 0;  // kAccept: where the passive endpoint listens
  std::uint16_t reserved = 0;
  ConnectionToken token{};                 // kAccept
  std::array<std::uint8_t, 16> address{};  // kAccept: IPv6, or IPv4 mapped (RFC 4291, 2.5.5.2)
};
static_assert(std::is_trivially_copyable_v<OfiHeader>);
static_assert(sizeof(OfiHeader) == 64 && offsetof(OfiHeader, detail) == 20);
static_assert(offsetof(OfiHeader, token) == 32 && offsetof(OfiHeader, address) == 48);

// What fi_connect carries. 0 magic | 4 version | 6 reserved | 8 token
struct OfiConnectData {
  std::uint32_t magic = kOfiMagic;
  std::uint16_t version = kOfiVersion;
  std::uint16_t reserved = 0;
  ConnectionToken token{};
};
static_assert(sizeof(OfiConnectData) == 24);

using OfiMessage = SetupFrame<OfiHeader>;

}  // namespace tickpath::rdma::detail
