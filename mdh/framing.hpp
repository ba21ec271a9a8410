// Packets of either protocol in MoldUDP64's terms: session, number of the first message, count. An
// IEX-TP session is a number; its decimal digits are the session here.
#pragma once

#include <charconv>
#include <cstddef>
#include <span>

#include "common/control/feed_protocol.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "common/feeds/itch/moldudp64.hpp"

namespace tickpath::mdh {

using control::FeedProtocol;

// An itch::mold::PacketCursor over an IEX-TP segment of DEEP 1.0. Datapath thread.
class SegmentPacketCursor {
 public:
  explicit SegmentPacketCursor(std::span<const std::byte> packet) noexcept : segment_(packet) {
    const iex::SegmentHeader& from = segment_.header();
    std::to_chars(header_.session.characters.data(),
                  header_.session.characters.data() + header_.session.characters.size(),
                  from.session);
    header_.sequence_number = from.first_sequence_number;
    header_.message_count = from.message_count;
  }

  const itch::mold::PacketHeader& header() const noexcept { return header_; }
  // kTruncatedMessage stands for whatever is wrong with a segment, another protocol's included.
  itch::mold::PacketStatus status() const noexcept {
    const bool good =
        segment_.status() == iex::SegmentStatus::kOk && segment_.header().protocol == iex::kDeep10;
    return good ? itch::mold::PacketStatus::kOk : itch::mold::PacketStatus::kTruncatedMessage;
  }
  bool next(std::span<const std::byte>& message) noexcept { return segment_.next(message); }

 private:
  iex::SegmentCursor segment_;
  itch::mold::PacketHeader header_;
};

// Calls use(cursor) with the cursor of the protocol, and returns what it does.
template <class Use>
auto with_cursor(FeedProtocol protocol, std::span<const std::byte> packet, Use&& use) noexcept {
  if (protocol == FeedProtocol::kItch50) [[likely]]
    return use(itch::mold::PacketCursor(packet));
  return use(SegmentPacketCursor(packet));
}

// The whole packet walks: one that does not must not be able to change the session.
inline bool is_whole(FeedProtocol protocol, std::span<const std::byte> packet) noexcept {
  return with_cursor(protocol, packet, [](auto cursor) noexcept {
    for (std::span<const std::byte> message; cursor.next(message);) {
    }
    return cursor.status() == itch::mold::PacketStatus::kOk;
  });
}

// Shorter packets have no header that could be read.
inline std::size_t header_bytes(FeedProtocol protocol) noexcept {
  return protocol == FeedProtocol::kItch50 ? itch::mold::kHeaderBytes : iex::kSegmentHeaderBytes;
}

// packet: header_bytes() or more. All zero where an IEX-TP segment is of an unknown version.
inline itch::mold::PacketHeader header_of(FeedProtocol protocol,
                                          std::span<const std::byte> packet) noexcept {
  if (protocol == FeedProtocol::kItch50) [[likely]]
    return itch::mold::load_header(packet.data());
  return SegmentPacketCursor(packet).header();
}

}  // namespace tickpath::mdh
