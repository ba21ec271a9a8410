// What one message of libfabric carries between two queue pairs of the ofi provider: a part of a
// request, or what the other side answers. Format of our own, little-endian, version kOfiVersion
// (ofi/setup.hpp); everything in it is checked before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

enum class OfiKind : std::uint8_t {
  kNone,
  // Requests, or parts of them: counted, executed in order.
  kWrite,
  kSend,
  kRead,
  kFetchAdd,     // behind the header: 8 addend
  kCompareSwap,  // behind the header: 0 expected | 8 new value
  // Answers: looked at as they come, also while requests wait.
  kFetched,         // bytes that a READ or an atomic asked for
  kExecuted,        // nothing but OfiWireHeader::executed
  kWaitsForReceive  // the request after `executed` met no posted receive
};
inline constexpr OfiKind kOfiLastKind = OfiKind::kWaitsForReceive;

constexpr bool is_request(OfiKind kind) noexcept {
  return kind >= OfiKind::kWrite && kind <= OfiKind::kCompareSwap;
}

namespace wire_flags {
inline constexpr std::uint8_t kLast = 1u << 0;       // the last part of its request
inline constexpr std::uint8_t kImmediate = 1u << 1;  // carries imm_data, consumes a receive
inline constexpr std::uint8_t kSolicited = 1u << 2;
inline constexpr std::uint8_t kTell = 1u << 3;  // its execution is to be told of at once
inline constexpr std::uint8_t kAll = (1u << 4) - 1;
}  // namespace wire_flags

// 0 kind | 1 flags | 2 reserved | 4 executed | 8 length | 12 total_length | 16 rkey | 20 imm_data |
// 24 address | 32 fetch | 36 session
struct OfiWireHeader {
  OfiKind kind = OfiKind::kNone;
  std::uint8_t flags = 0;  // wire_flags
  std::uint16_t reserved = 0;
  // How many requests' messages of the receiver's the sender has executed so far, modulo 2^32.
  std::uint32_t executed = 0;
  std::uint32_t length = 0;        // of the bytes behind the header; kRead: how many are asked for
  std::uint32_t total_length = 0;  // kWrite, kSend: of the whole request
  std::uint32_t rkey = 0;
  std::uint32_t imm_data = 0;
  std::uint64_t address =
      0;                    // where in the target's memory; kFetched: offset in what was asked for
  std::uint32_t fetch = 0;  // kRead, atomics, kFetched: which one, the requester's own number
  std::uint32_t session = 0;  // of the receiver, told over the set-up stream: others are strangers
};
static_assert(std::is_trivially_copyable_v<OfiWireHeader> && sizeof(OfiWireHeader) == 40);
static_assert(offsetof(OfiWireHeader, address) == 24 && offsetof(OfiWireHeader, fetch) == 32);

// In place of a header, for a SEND of one message without imm_data: a word that libfabric hands
// over beside the completion (FI_REMOTE_CQ_DATA). Nothing but the bytes of the SEND is in the
// message.
//   63-32 session | 31-16 executed, modulo 2^16 | 15-8 flags | 7-0 kind
// A core provider whose word has 32 bits leaves the session out, which connected endpoints do not
// need.
namespace header_word {
inline constexpr std::uint64_t kWhole = ~std::uint64_t{0};
inline constexpr std::uint64_t kWithoutSession = 0xffff'ffff;

constexpr std::uint64_t of(const OfiWireHeader& header) noexcept {
  return std::uint64_t{header.session} << 32 | std::uint64_t{header.executed & 0xffffu} << 16 |
         std::uint64_t{header.flags} << 8 | static_cast<std::uint8_t>(header.kind);
}
// answered: the newest `executed` of the sender's that is known; this one is less than 2^16
// further.
constexpr OfiWireHeader read(std::uint64_t word, std::uint32_t bytes,
                             std::uint32_t answered) noexcept {
  const auto executed = static_cast<std::uint16_t>(word >> 16);
  OfiWireHeader header;
  header.kind = static_cast<OfiKind>(word & 0xff);
  header.flags = static_cast<std::uint8_t>(word >> 8);
  header.executed = answered + static_cast<std::uint16_t>(executed - answered);
  header.length = header.total_length = bytes;
  header.session = static_cast<std::uint32_t>(word >> 32);
  return header;
}
}  // namespace header_word

// Bytes of a request in one message. Longer requests go in several.
inline constexpr std::uint32_t kOfiPartBytes = 4096;
inline constexpr std::uint32_t kOfiMessageBytes = sizeof(OfiWireHeader) + kOfiPartBytes;
// Messages of requests on their way to one queue pair: the sender lets no more be unanswered. The
// receiver has a buffer for each, and some for answers, which never wait there.
inline constexpr std::uint32_t kOfiWindow = 128;
inline constexpr std::uint32_t kOfiReceiveBuffers = kOfiWindow + 32;
// The peer tells at the latest after so many what it has executed.
inline constexpr std::uint32_t kOfiTellEvery = kOfiWindow / 4;
inline constexpr std::uint32_t kOfiIdleBuffersMax = 8;  // of those, not posted for a moment
inline constexpr std::uint32_t kOfiSendBuffers = 64;
// READs and atomics under way at once, as max_rd_atomic.
inline constexpr std::uint32_t kOfiFetchesMax = 16;

constexpr bool is_atomic(Opcode opcode) noexcept {
  return opcode == Opcode::kFetchAdd || opcode == Opcode::kCompareSwap;
}
// Brings bytes of the peer here.
constexpr bool is_fetch(Opcode opcode) noexcept {
  return opcode == Opcode::kRead || is_atomic(opcode);
}

// How a message is found again by its completion: the context that libfabric hands back.
//   63-56 slot in the completion queue | 55-33 generation of the slot | 32 receive | 31-0 buffer
// A number and not an address: what completes for a queue pair that is gone is recognised by its
// generation. No queue pair has generation 0.
namespace message_context {
inline constexpr unsigned kSlotShift = 56;
inline constexpr unsigned kTagShift = 33;  // slot and generation
inline constexpr unsigned kSlotOfTag = kSlotShift - kTagShift;
inline constexpr std::uint64_t kReceiveBit = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kGenerationMask = (std::uint64_t{1} << (kSlotShift - kTagShift)) - 1;

inline void* of(std::uint64_t tag, std::uint32_t buffer, bool receive) noexcept {
  return reinterpret_cast<void*>((tag << kTagShift) | (receive ? kReceiveBit : 0) | buffer);
}
inline std::uint32_t buffer_of(const void* context) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(context));
}
inline bool is_receive(const void* context) noexcept {
  return (reinterpret_cast<std::uint64_t>(context) & kReceiveBit) != 0;
}
}  // namespace message_context

}  // namespace tickpath::rdma::detail
