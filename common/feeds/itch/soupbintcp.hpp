// SoupBinTCP: how Nasdaq carries a stream of messages over TCP ("SoupBinTCP", version 3.00). Pure
// functions on bytes: any thread; those that append allocate.
//
//   Logical packet (section 1.1)
//     0 length of what follows (2, big-endian, type included) | 2 type (1) | 3 payload
//
// Text and numbers in payloads are ASCII, padded with spaces (sections 2.2 and 2.3): names and
// passwords on the right, sessions and numbers on the left. Readers take either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/feeds/itch/alpha.hpp"

namespace tickpath::itch::soup {

inline constexpr std::size_t kLengthBytes = 2;
inline constexpr std::size_t kHeaderBytes = 3;
inline constexpr std::size_t kMaxPayloadBytes = 0xffff - 1;  // a two-byte length counts the type

// 1.3: each end sends something each second, and may give the other up after 15 of silence.
inline constexpr std::uint64_t kHeartbeatNs = 1'000'000'000;
inline constexpr std::uint64_t kSilenceNs = 15'000'000'000;

enum class PacketType : char {
  kDebug = '+',            // 2.1, either way: for people, ignored
  kLoginAccepted = 'A',    // 2.2.1, server
  kLoginRejected = 'J',    // 2.2.2
  kSequencedData = 'S',    // 2.2.3
  kServerHeartbeat = 'H',  // 2.2.4
  kEndOfSession = 'Z',     // 2.2.5
  kLoginRequest = 'L',     // 2.3.1, client
  kUnsequencedData = 'U',  // 2.3.2
  kClientHeartbeat = 'R',  // 2.3.3
  kLogoutRequest = 'O',    // 2.3.4
};

struct Packet {
  PacketType type{};  // any byte: who reads it decides what is known
  std::span<const std::byte> payload;
};

enum class ReadStatus : std::uint8_t {
  kPacket,
  kIncomplete,  // more bytes are needed
  kDamaged,     // a length of 0: there is no type, and no telling where the next packet begins
};
// The packet at the front of `stream`; `consumed` are its bytes, 0 unless kPacket.
ReadStatus read_packet(std::span<const std::byte> stream, Packet& packet,
                       std::size_t& consumed) noexcept;

// payload: at most kMaxPayloadBytes (CHECK).
void append_packet(std::vector<std::byte>& to, PacketType type,
                   std::span<const std::byte> payload = {});

using Session = Alpha<10>;

// 2.3.1: 0 username (6) | 6 password (10) | 16 requested session (10) | 26 requested sequence
// number (20). A blank session is the current one; number 0 asks for what comes next.
struct LoginRequest {
  static constexpr std::size_t kLength = 46;
  Alpha<6> username;
  Alpha<10> password;
  Session session;
  std::uint64_t sequence_number = 1;
  friend bool operator==(const LoginRequest&, const LoginRequest&) = default;
};

// 2.2.1: 0 session (10) | 10 sequence number of the next sequenced message (20)
struct LoginAccepted {
  static constexpr std::size_t kLength = 30;
  Session session;
  std::uint64_t sequence_number = 1;
  friend bool operator==(const LoginAccepted&, const LoginAccepted&) = default;
};

// 2.2.2: 0 reason (1)
enum class RejectReason : char { kNotAuthorized = 'A', kSessionNotAvailable = 'S' };

void append(std::vector<std::byte>& to, const LoginRequest& login);
void append(std::vector<std::byte>& to, const LoginAccepted& accepted);
void append(std::vector<std::byte>& to, RejectReason reason);

// Nothing: of another length, or with a number that is none.
std::optional<LoginRequest> parse_login_request(std::span<const std::byte> payload) noexcept;
std::optional<LoginAccepted> parse_login_accepted(std::span<const std::byte> payload) noexcept;

// Numbers as text: digits between spaces, at most 2^64 - 1; and right-justified into a field of at
// least 20 characters (CHECK).
inline constexpr std::size_t kNumberBytes = 20;
std::optional<std::uint64_t> parse_number(std::span<const std::byte> field) noexcept;
void store_number(std::uint64_t number, std::span<std::byte> field) noexcept;

}  // namespace tickpath::itch::soup
