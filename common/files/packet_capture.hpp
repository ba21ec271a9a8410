// UDP datagrams of packet captures: pcap (microseconds and nanoseconds, either byte order) and
// pcapng, plain or compressed. libpcap reads the files; link layers known are Ethernet with any
// number of VLAN tags (IEEE 802.1Q, 802.1ad), Linux cooked (SLL, SLL2), raw IP and BSD loopback;
// above them IPv4 (RFC 791) and UDP (RFC 768).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/files/byte_source.hpp"

namespace tickpath::files {

struct Datagram {
  std::uint64_t time_ns = 0;              // captured, since the Unix epoch
  std::uint32_t source_address = 0;       // host byte order
  std::uint32_t destination_address = 0;  // host byte order
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::span<const std::byte> payload;  // valid until the next call
};
// "239.255.7.1:7701"
std::string destination_text(const Datagram& datagram);

enum class CaptureStatus : std::uint8_t {
  kDatagram = 0,
  kEnd = 1,
  kDamaged = 2,  // everything before the damage was delivered; damage() says what and where
};

// What was no datagram to deliver.
struct CaptureCounts {
  std::uint64_t packets = 0;
  std::uint64_t datagrams = 0;
  std::uint64_t other_protocols = 0;  // not IPv4, not UDP
  std::uint64_t fragments = 0;        // of IPv4: not put together
  std::uint64_t cut = 0;              // captured short of their length, or lengths that disagree
  std::uint64_t trailing_bytes = 0;   // ByteSource::trailing_bytes(), at the end
};

// One thread at a time; may allocate and block.
class PacketCapture {
 public:
  // Throws RecordingError: no capture, or of a link layer that is not known.
  explicit PacketCapture(std::unique_ptr<ByteSource> source);
  ~PacketCapture();
  PacketCapture(const PacketCapture&) = delete;
  PacketCapture& operator=(const PacketCapture&) = delete;

  [[nodiscard]] CaptureStatus next(Datagram& datagram);
  // "a.pcap: packet 17 at byte 2345: truncated dump file; ..."; empty when undamaged.
  const std::string& damage() const noexcept;
  const CaptureCounts& counts() const noexcept;

  std::uint64_t file_bytes_read() const;
  std::uint64_t file_bytes_total() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Whether the first bytes of a file are those of a capture.
bool is_packet_capture(std::span<const std::byte> start) noexcept;

}  // namespace tickpath::files
