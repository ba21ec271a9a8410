// IEX-TP: how the Investors Exchange carries numbered messages over UDP multicast ("IEX Transport
// Protocol Specification", version 1.25). Integers are little-endian. Allocation-free and noexcept:
// any thread, datapath included.
//
//   Outbound segment (section "Outbound Segment")
//     0 version (1) | 1 reserved (1) | 2 message protocol (2) | 4 channel (4) | 8 session (4)
//     12 payload length (2) | 14 message count (2) | 16 stream offset (8)
//     24 sequence number of the first message (8) | 32 send time, ns since the Unix epoch (8)
//     40 message blocks: length (2), that many bytes; one after the other
//
// A heartbeat is a segment without messages; it carries the next sequence number and stream offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tickpath::iex {

inline constexpr std::size_t kSegmentHeaderBytes = 40;
inline constexpr std::size_t kBlockLengthBytes = 2;
inline constexpr std::uint8_t kTransportVersion = 1;

// Protocols of a segment's messages ("Message Protocol ID").
inline constexpr std::uint16_t kDeep10 = 0x8004;
inline constexpr std::uint16_t kTops16 = 0x8003;

enum class SegmentStatus : std::uint8_t {
  kOk = 0,
  kTruncatedHeader = 1,   // fewer than kSegmentHeaderBytes
  kUnknownVersion = 2,    // of the transport: nothing behind the first byte is known
  kWrongLength = 3,       // the payload length is not what the datagram holds
  kTruncatedMessage = 4,  // a block, or its length, reaches past the payload's end
  kTrailingBytes = 5,     // bytes are left after the last block: count and content disagree
};
std::string_view name(SegmentStatus status) noexcept;

struct SegmentHeader {
  std::uint16_t protocol = 0;
  std::uint32_t channel = 0;
  std::uint32_t session = 0;
  std::uint16_t payload_bytes = 0;
  std::uint16_t message_count = 0;
  std::uint64_t stream_offset = 0;          // of the payload's first byte, from the session's start
  std::uint64_t first_sequence_number = 0;  // from 1
  std::uint64_t send_time_ns = 0;           // since the Unix epoch

  bool is_heartbeat() const noexcept { return message_count == 0; }
  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};

// Writes kSegmentHeaderBytes bytes.
void store_header(const SegmentHeader& header, std::byte* to) noexcept;

// Walks the messages of one segment in place:
//
//   iex::SegmentCursor segment(datagram);
//   std::uint64_t sequence = segment.header().first_sequence_number;
//   for (std::span<const std::byte> m; segment.next(m); ++sequence) books.apply(m);
//   if (segment.status() != iex::SegmentStatus::kOk) bad_segments.add();
//
// Whole messages before a damage are delivered; status() tells of it afterwards.
class SegmentCursor {
 public:
  explicit SegmentCursor(std::span<const std::byte> datagram) noexcept;

  // All zero when status() is kTruncatedHeader or kUnknownVersion.
  const SegmentHeader& header() const noexcept { return header_; }
  SegmentStatus status() const noexcept { return status_; }

  // False at the end of the segment or at damage. Spans point into the datagram.
  bool next(std::span<const std::byte>& message) noexcept {
    if (remaining_ == 0) return false;
    if (left_.size() < kBlockLengthBytes) [[unlikely]]
      return damaged();
    const std::size_t length =
        static_cast<std::size_t>(left_[0]) | static_cast<std::size_t>(left_[1]) << 8;
    if (left_.size() - kBlockLengthBytes < length) [[unlikely]]
      return damaged();
    message = left_.subspan(kBlockLengthBytes, length);
    left_ = left_.subspan(kBlockLengthBytes + length);
    if (--remaining_ == 0 && !left_.empty()) status_ = SegmentStatus::kTrailingBytes;
    return true;
  }

 private:
  bool damaged() noexcept;

  std::span<const std::byte> left_;
  SegmentHeader header_;
  std::uint16_t remaining_ = 0;
  SegmentStatus status_ = SegmentStatus::kOk;
};

// Builds segments in a buffer of the caller, who keeps it alive:
//
//   builder.begin(next_sequence);
//   while (more && builder.append(message)) { ... }
//   socket.send(builder.finish(now_ns));
class SegmentBuilder {
 public:
  // `buffer` holds kSegmentHeaderBytes or more (CHECK); its size limits the segment, and so does
  // the payload length's 16 bits. `like` gives protocol, channel and session.
  SegmentBuilder(std::span<std::byte> buffer, const SegmentHeader& like) noexcept;

  // The stream offset follows by itself: it grows by the last payload when the number does.
  void begin(std::uint64_t first_sequence_number) noexcept;
  // False, and nothing changed, when the message does not fit any more.
  [[nodiscard]] bool append(std::span<const std::byte> message) noexcept;
  std::uint16_t message_count() const noexcept { return header_.message_count; }
  // Writes the header; may be called again. Without a message the segment is a heartbeat.
  std::span<const std::byte> finish(std::uint64_t send_time_ns) noexcept;

 private:
  std::span<std::byte> buffer_;
  SegmentHeader header_;
};

}  // namespace tickpath::iex
