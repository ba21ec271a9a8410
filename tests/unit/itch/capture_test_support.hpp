// Packet captures made up by tests, written without libpcap: pcap (draft-ietf-opsawg-pcap) and
// pcapng (draft-ietf-opsawg-pcapng), both little-endian, of UDP over IPv4 over Ethernet.
#pragma once

#include <cstdint>

#include "common/feeds/itch/moldudp64.hpp"
#include "tests/unit/itch/test_support.hpp"

namespace tickpath::itch::test {

template <class Integer>
void put(Bytes& to, Integer value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}
inline void put_big(Bytes& to, std::uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    to.push_back(static_cast<std::byte>(value >> shift & 255));
}

struct Frame {
  std::uint64_t time_ns = 0;
  Bytes bytes;
};

// tags: VLAN tags before the IPv4 header. group: last byte of the destination 239.255.1.x.
inline Frame udp_frame(std::uint64_t time_ns, std::span<const std::byte> payload, int tags = 0,
                       std::uint8_t group = 1) {
  Frame frame{time_ns, Bytes(12)};
  for (int i = 0; i < tags; ++i) put_big(frame.bytes, 0x81000064, 4);
  put_big(frame.bytes, 0x0800, 2);
  put_big(frame.bytes, 0x4500, 2);
  put_big(frame.bytes, static_cast<std::uint32_t>(28 + payload.size()), 2);
  put_big(frame.bytes, 0, 4);
  put_big(frame.bytes, 0x1011'0000, 4);  // TTL 16, UDP
  put_big(frame.bytes, 0x0a000001, 4);
  put_big(frame.bytes, 0xefff0100 + group, 4);
  put_big(frame.bytes, 40'000, 2);
  put_big(frame.bytes, 26'400, 2);
  put_big(frame.bytes, static_cast<std::uint32_t>(8 + payload.size()), 2);
  put_big(frame.bytes, 0, 2);
  frame.bytes.insert(frame.bytes.end(), payload.begin(), payload.end());
  return frame;
}

inline Bytes mold_packet(std::uint64_t sequence, const std::vector<Bytes>& messages,
                         const char* session = "SESSION001") {
  Bytes packet(mold::kMaxPacketBytes);
  mold::PacketBuilder builder(packet);
  builder.begin(session, sequence);
  for (const Bytes& message : messages)
    if (!builder.append(message)) throw std::length_error("the packet is full");
  packet.resize(builder.finish().size());
  return packet;
}

// nanoseconds: as the magic number says; else microseconds.
inline Bytes pcap_file(const std::vector<Frame>& frames, bool nanoseconds = true) {
  Bytes file;
  put(file, nanoseconds ? 0xa1b23c4dU : 0xa1b2c3d4U);
  put(file, std::uint32_t{0x0004'0002});  // version 2.4
  put(file, std::uint64_t{0});
  put(file, std::uint32_t{65'535});
  put(file, std::uint32_t{1});  // Ethernet
  for (const Frame& frame : frames) {
    put(file, static_cast<std::uint32_t>(frame.time_ns / 1'000'000'000));
    put(file, static_cast<std::uint32_t>(frame.time_ns % 1'000'000'000 / (nanoseconds ? 1 : 1000)));
    put(file, static_cast<std::uint32_t>(frame.bytes.size()));
    put(file, static_cast<std::uint32_t>(frame.bytes.size()));
    file.insert(file.end(), frame.bytes.begin(), frame.bytes.end());
  }
  return file;
}

// Section header, one interface with nanoseconds (if_tsresol 9), enhanced packets.
inline Bytes pcapng_file(const std::vector<Frame>& frames) {
  Bytes file;
  const auto block = [&file](std::uint32_t type, Bytes body) {
    body.resize((body.size() + 3) / 4 * 4);
    const auto length = static_cast<std::uint32_t>(body.size() + 12);
    put(file, type);
    put(file, length);
    file.insert(file.end(), body.begin(), body.end());
    put(file, length);
  };
  Bytes section;
  put(section, std::uint32_t{0x1a2b3c4d});
  put(section, std::uint32_t{1});  // version 1.0
  put(section, std::uint64_t{0xffff'ffff'ffff'ffff});
  block(0x0a0d0d0a, section);
  Bytes interface;
  put(interface, std::uint32_t{1});  // Ethernet
  put(interface, std::uint32_t{65'535});
  put(interface, std::uint32_t{0x0001'0009});  // if_tsresol, one byte
  put(interface, std::uint32_t{9});
  put(interface, std::uint32_t{0});  // end of options
  block(1, interface);
  for (const Frame& frame : frames) {
    Bytes packet;
    put(packet, std::uint32_t{0});
    put(packet, static_cast<std::uint32_t>(frame.time_ns >> 32));
    put(packet, static_cast<std::uint32_t>(frame.time_ns));
    put(packet, static_cast<std::uint32_t>(frame.bytes.size()));
    put(packet, static_cast<std::uint32_t>(frame.bytes.size()));
    packet.insert(packet.end(), frame.bytes.begin(), frame.bytes.end());
    block(6, packet);
  }
  return file;
}

}  // namespace tickpath::itch::test
