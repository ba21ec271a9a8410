// MoldUDP64: how Nasdaq carries numbered messages over UDP multicast ("MoldUDP64 Protocol
// Specification", V 1.00). Integers are unsigned and big-endian. Allocation-free and noexcept: any
// thread, datapath included.
//
//   Downstream packet (sender -> group; section "Downstream Packet")
//     0 session (10) | 10 sequence number of the first message (8) | 18 message count (2)
//     20 message blocks: length (2), that many bytes; one after the other
//   Request packet (receiver -> retransmission server; section "Request Packet")
//     0 session (10) | 10 first requested sequence number (8) | 18 requested message count (2)
//
// A heartbeat is a downstream packet with count 0, the end of a session one with count 0xFFFF; both
// carry the next sequence number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "common/feeds/itch/alpha.hpp"

namespace tickpath::itch::mold {

using Session = Alpha<10>;

inline constexpr std::size_t kHeaderBytes = 20;
inline constexpr std::size_t kBlockLengthBytes = 2;
inline constexpr std::uint16_t kHeartbeatCount = 0;
inline constexpr std::uint16_t kEndOfSessionCount = 0xffff;

// What fits one Ethernet frame: 1500 less 20 of IPv4 and 8 of UDP. Larger packets would be
// fragmented, and lost whole when one fragment is.
inline constexpr std::size_t kMaxPacketBytes = 1472;

enum class PacketStatus : std::uint8_t {
  kOk = 0,
  kTruncatedHeader = 1,   // fewer than kHeaderBytes
  kTruncatedMessage = 2,  // a block, or its length, reaches past the packet's end
  kTrailingBytes = 3,     // bytes are left after the last block: count and content disagree
};
std::string_view name(PacketStatus status) noexcept;

struct PacketHeader {
  Session session{};
  std::uint64_t sequence_number = 0;
  std::uint16_t message_count = 0;

  bool is_heartbeat() const noexcept { return message_count == kHeartbeatCount; }
  bool is_end_of_session() const noexcept { return message_count == kEndOfSessionCount; }
  // Messages that follow: 0 for a heartbeat and the end of session.
  std::uint16_t messages() const noexcept { return is_end_of_session() ? 0 : message_count; }
  friend bool operator==(const PacketHeader&, const PacketHeader&) = default;
};

// Reads or writes the 20 bytes that downstream and request packets share in layout; `message_count`
// is the requested count in a request. The buffer holds kHeaderBytes or more.
PacketHeader load_header(const std::byte* from) noexcept;
void store_header(const PacketHeader& header, std::byte* to) noexcept;

// Walks the messages of one downstream packet in place:
//
//   mold::PacketCursor packet(datagram);
//   std::uint64_t sequence = packet.header().sequence_number;
//   for (std::span<const std::byte> m; packet.next(m); ++sequence) book.apply(sequence, m);
//   if (packet.status() != mold::PacketStatus::kOk) bad_packets.add();
//
// Whole messages before a damage are delivered; status() tells of it afterwards.
class PacketCursor {
 public:
  explicit PacketCursor(std::span<const std::byte> packet) noexcept;

  // All zero when status() is kTruncatedHeader.
  const PacketHeader& header() const noexcept { return header_; }
  PacketStatus status() const noexcept { return status_; }

  // False at the end of the packet or at damage. Spans point into the packet.
  bool next(std::span<const std::byte>& message) noexcept {
    if (remaining_ == 0) return false;
    const std::size_t left = static_cast<std::size_t>(end_ - at_);
    if (left < kBlockLengthBytes) [[unlikely]]
      return damaged();
    const std::size_t length =
        static_cast<std::size_t>(at_[0]) << 8 | static_cast<std::size_t>(at_[1]);
    if (left - kBlockLengthBytes < length) [[unlikely]]
      return damaged();
    message = {at_ + kBlockLengthBytes, length};
    at_ += kBlockLengthBytes + length;
    if (--remaining_ == 0 && at_ != end_) status_ = PacketStatus::kTrailingBytes;
    return true;
  }

 private:
  bool damaged() noexcept;

  const std::byte* at_;
  const std::byte* end_;
  PacketHeader header_;
  std::uint16_t remaining_ = 0;
  PacketStatus status_ = PacketStatus::kOk;
};

// Builds downstream packets in a buffer of the caller, who keeps it alive:
//
//   builder.begin(session, next_sequence);
//   while (more && builder.append(message)) { ... }
//   socket.send(builder.finish());
class PacketBuilder {
 public:
  // `buffer` holds kHeaderBytes or more (CHECK); its size limits the packet.
  explicit PacketBuilder(std::span<std::byte> buffer) noexcept;

  void begin(const Session& session, std::uint64_t sequence_number) noexcept;
  // False, and nothing changed, when the message does not fit any more.
  [[nodiscard]] bool append(std::span<const std::byte> message) noexcept {
    if (message.size() > kMaxMessageBytes || header_.message_count == kMaxMessageCount) [[unlikely]]
      return false;
    if (buffer_.size() - used_ < kBlockLengthBytes + message.size()) return false;
    std::byte* const to = buffer_.data() + used_;
    to[0] = static_cast<std::byte>(message.size() >> 8);
    to[1] = static_cast<std::byte>(message.size());
    if (!message.empty()) std::memcpy(to + kBlockLengthBytes, message.data(), message.size());
    used_ += kBlockLengthBytes + message.size();
    ++header_.message_count;
    return true;
  }
  std::uint16_t message_count() const noexcept { return header_.message_count; }
  std::size_t size_bytes() const noexcept { return used_; }
  // As far as it goes; its header is written by finish().
  std::span<const std::byte> packet() const noexcept { return buffer_.first(used_); }
  // Writes the header. Without a message the packet is a heartbeat.
  std::span<const std::byte> finish() noexcept;
  // The packet that ends the session, in place of finish(); messages appended are dropped.
  std::span<const std::byte> finish_session() noexcept;

 private:
  // 0xFFFF is not a count but the end of session.
  static constexpr std::uint16_t kMaxMessageCount = kEndOfSessionCount - 1;
  static constexpr std::size_t kMaxMessageBytes = 0xffff;  // a two-byte length

  std::span<std::byte> buffer_;
  std::size_t used_ = kHeaderBytes;
  PacketHeader header_;
};

// A request packet. parse_request() returns kTruncatedHeader or kTrailingBytes for another size.
PacketStatus parse_request(std::span<const std::byte> packet, PacketHeader& request) noexcept;

}  // namespace tickpath::itch::mold
