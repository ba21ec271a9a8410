// A packet of the feed in MoldUDP64's terms, whatever carries it: session, number of the first
// message, count, and message blocks. The arbiter parses a packet once; nobody behind it does.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/units.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/feeds/live/live_format.hpp"

namespace tickpath::mdh {

using feeds::FeedProtocol;
using itch::mold::PacketHeader;
using itch::mold::PacketStatus;
using Message = std::span<const std::byte>;

enum class Line : std::uint8_t { kA = 0, kB = 1, kRetransmission = 2 };
inline constexpr std::size_t kLines = 3;

// When a packet came.
struct Arrival {
  std::int64_t kernel_realtime_ns = 0;  // 0: unknown
  TscTicks tsc{0};                      // in user space
};

struct Packet {
  PacketHeader header;  // all zero where it cannot be read
  Line line = Line::kA;
  bool big_endian = true;                   // the lengths of the blocks
  PacketStatus status = PacketStatus::kOk;  // of the header
  Message blocks;                           // two bytes of length before each message
  std::size_t bytes = 0;                    // of the datagram
  std::uint64_t send_time_ns = 0;           // IEX-TP's, since the Unix epoch; MoldUDP64 has none
  Arrival arrival;
};

// An IEX-TP session is a number; its decimal digits are the session here.
inline void parse_segment(std::span<const std::byte> datagram, Packet& packet) noexcept {
  const iex::SegmentCursor segment(datagram);
  const iex::SegmentHeader& from = segment.header();
  auto& digits = packet.header.session.characters;
  std::to_chars(digits.data(), digits.data() + digits.size(), from.session);
  packet.header.sequence_number = from.first_sequence_number;
  packet.header.message_count = from.message_count;
  packet.send_time_ns = from.send_time_ns;
  packet.blocks = datagram.subspan(iex::kSegmentHeaderBytes);
  // Whatever else is wrong with a segment counts as this, another protocol's messages included.
  if (segment.status() != iex::SegmentStatus::kOk || from.protocol != iex::kDeep10)
    packet.status = PacketStatus::kTruncatedMessage;
}

// status is kTruncatedHeader where the datagram is shorter than a header.
inline Packet parse(feeds::Transport transport, Line line, std::span<const std::byte> datagram,
                    const Arrival& arrival) noexcept {
  Packet packet;
  packet.line = line;
  packet.bytes = datagram.size();
  packet.arrival = arrival;
  packet.big_endian = feeds::has_big_endian_blocks(transport);
  const bool mold = transport == feeds::Transport::kMoldUdp64;
  const std::size_t header_bytes = mold ? itch::mold::kHeaderBytes : iex::kSegmentHeaderBytes;
  if (datagram.size() < header_bytes) [[unlikely]] {
    packet.status = PacketStatus::kTruncatedHeader;
  } else if (mold) [[likely]] {
    packet.header = itch::mold::load_header(datagram.data());
    packet.blocks = datagram.subspan(itch::mold::kHeaderBytes);
  } else {
    parse_segment(datagram, packet);
  }
  return packet;
}

// Calls use(message) for each message, before a damage too; returns what is wrong with the packet.
template <bool BigEndian, class Use>
PacketStatus walk_blocks(const Packet& packet, Use&& use) noexcept {
  constexpr std::size_t kLengthBytes = itch::mold::kBlockLengthBytes;
  static_assert(kLengthBytes == iex::kBlockLengthBytes);
  Message left = packet.blocks;
  for (std::uint32_t count = packet.header.messages(); count > 0; --count) {
    if (left.size() < kLengthBytes) [[unlikely]]
      return PacketStatus::kTruncatedMessage;
    const std::size_t length = static_cast<std::size_t>(left[BigEndian ? 0 : 1]) << 8 |
                               static_cast<std::size_t>(left[BigEndian ? 1 : 0]);
    if (left.size() - kLengthBytes < length) [[unlikely]]
      return PacketStatus::kTruncatedMessage;
    use(left.subspan(kLengthBytes, length));
    left = left.subspan(kLengthBytes + length);
  }
  return left.empty() ? PacketStatus::kOk : PacketStatus::kTrailingBytes;
}
template <class Use>
PacketStatus for_each_message(const Packet& packet, Use&& use) noexcept {
  if (packet.status != PacketStatus::kOk) [[unlikely]]
    return packet.status;
  return packet.big_endian ? walk_blocks<true>(packet, use) : walk_blocks<false>(packet, use);
}

// kOk: the whole packet walks. One that does not must not be able to change the session.
inline PacketStatus status_of(const Packet& packet) noexcept {
  return for_each_message(packet, [](Message) noexcept {});
}

// Whether a sender can have given these numbers. Trace ids have 56 bits (common/trace): a sequence
// number beyond is damage, not data.
inline bool plausible(const PacketHeader& header) noexcept {
  constexpr std::uint64_t kSequenceMax = (std::uint64_t{1} << 56) - 1;
  return header.sequence_number != 0 && header.sequence_number <= kSequenceMax - header.messages();
}

}  // namespace tickpath::mdh
