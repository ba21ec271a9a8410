// Writes UDP datagrams and TCP streams as a packet capture that Wireshark, tcpdump and
// PacketCapture read: pcapng (draft-ietf-opsawg-pcapng, "Section Header Block", "Interface
// Description Block", "Enhanced Packet Block"), little-endian, one interface of link type IPV4
// (228), time stamps in nanoseconds. IPv4 (RFC 791), UDP (RFC 768) and TCP headers are made up from
// the addresses, with right checksums.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/files/byte_source.hpp"
#include "common/files/packet_capture.hpp"

namespace tickpath::files {

// One thread at a time; may allocate and block.
class CaptureWriter {
 public:
  // Creates or truncates the file; compressed when its name ends in .gz or .zst. interface_name and
  // application: for people, kept in the file. Throws RecordingError.
  CaptureWriter(const std::filesystem::path& path, const std::string& interface_name,
                const std::string& application);
  ~CaptureWriter();
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  // Every field of the datagram counts; its payload has 65,507 bytes at most (CHECK). Throws
  // RecordingError when the disk does not take it.
  void write(const Datagram& datagram);
  // The same of a piece of a TCP stream (RFC 9293): datagram.payload, of 65,495 bytes at most
  // (CHECK), begins at `sequence`; `acknowledged` is what came the other way.
  void write_tcp(const Datagram& datagram, std::uint32_t sequence, std::uint32_t acknowledged);
  void flush();
  // Writes what is left. Without it the file may end inside a packet, as after a crash.
  void finish();

 private:
  void begin_block(std::uint32_t type);
  void end_block();
  void option(std::uint16_t code, std::span<const std::byte> value);
  void option(std::uint16_t code, const std::string& text);
  void begin_packet(const Datagram& datagram, std::size_t header_bytes);
  void end_packet(const Datagram& datagram);
  std::byte* append_ip(const Datagram& datagram, std::uint8_t protocol, std::size_t header_bytes);
  void append_udp(const Datagram& datagram);

  std::unique_ptr<ByteSink> sink_;
  std::vector<std::byte> buffer_;
  std::size_t block_ = 0;  // where the open one begins
};

}  // namespace tickpath::files
