// GLIMPSE 5.0: the state of Nasdaq's books at one moment ("Nasdaq GLIMPSE 5.0"), as the sequenced
// messages of a SoupBinTCP session that is logged into at number 1 ("Architecture"). Messages are
// those of TotalView-ITCH 5.0 (GLIMPSE 1.1 to 1.6 and 1.8: S, A, F, R, H, Y, N, h), then this one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/feeds/itch/soupbintcp.hpp"

namespace tickpath::itch::glimpse {

// 1.7 Snapshot: 0 'G' | 1 sequence number (20, ASCII). The snapshot is complete; go on with the
// real-time message of that number.
inline constexpr char kSnapshotType = 'G';
inline constexpr std::size_t kSnapshotBytes = 1 + soup::kNumberBytes;

inline std::array<std::byte, kSnapshotBytes> make_snapshot(std::uint64_t next_sequence) noexcept {
  std::array<std::byte, kSnapshotBytes> message;
  message[0] = static_cast<std::byte>(kSnapshotType);
  soup::store_number(next_sequence, std::span(message).subspan(1));
  return message;
}

// Nothing: not of this type and length, or without a number.
inline std::optional<std::uint64_t> parse_snapshot(std::span<const std::byte> message) noexcept {
  if (message.size() != kSnapshotBytes || static_cast<char>(message[0]) != kSnapshotType)
    return std::nullopt;
  return soup::parse_number(message.subspan(1));
}

// The ITCH types that a snapshot is made of.
constexpr bool is_state(char type) noexcept {
  switch (type) {
    case 'S':
    case 'A':
    case 'F':
    case 'R':
    case 'H':
    case 'Y':
    case 'N':
    case 'h':
      return true;
    default:
      return false;
  }
}

}  // namespace tickpath::itch::glimpse
