#include "common/files/capture_writer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/base/check.hpp"

namespace tickpath::files {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are written as they are");

constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a, kInterfaceDescription = 1, kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr std::uint16_t kEndOfOptions = 0, kInterfaceName = 2, kApplication = 4,
                        kTimeResolution = 9;
constexpr std::uint16_t kLinkTypeIpv4 = 228;
constexpr std::byte kNanoseconds{9};  // a negative power of ten
constexpr std::size_t kIpv4Bytes = 20, kUdpBytes = 8, kTcpBytes = 20;
constexpr std::uint8_t kTcp = 6, kUdp = 17;
// Written to the disk in pieces of this size at least.
constexpr std::size_t kFlushBytes = 256 * 1024;

template <class Integer>
void put(std::vector<std::byte>& to, Integer value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}
void put16(std::byte* to, std::uint32_t value) noexcept {
  to[0] = static_cast<std::byte>(value >> 8);
  to[1] = static_cast<std::byte>(value);
}
void put32(std::byte* to, std::uint32_t value) noexcept {
  put16(to, value >> 16);
  put16(to + 2, value);
}

// RFC 1071: the sum of 16-bit words, an odd byte padded with zero.
std::uint32_t sum_of(std::span<const std::byte> bytes, std::uint32_t sum) noexcept {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    sum += static_cast<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  return sum;
}
std::uint32_t checksum(std::uint32_t sum) noexcept {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}

}  // namespace

CaptureWriter::CaptureWriter(const std::filesystem::path& path, const std::string& interface_name,
                             const std::string& application)
    : sink_(create_file(path)) {
  begin_block(kSectionHeader);
  put(buffer_, kByteOrderMagic);
  put(buffer_, std::uint32_t{1});   // version 1.0
  put(buffer_, ~std::uint64_t{0});  // length of the section: not given
  option(kApplication, application);
  put(buffer_, std::uint32_t{kEndOfOptions});
  end_block();
  begin_block(kInterfaceDescription);
  put(buffer_, std::uint32_t{kLinkTypeIpv4});
  put(buffer_, std::uint32_t{0});  // packets of any length
  option(kInterfaceName, interface_name);
  option(kTimeResolution, std::span(&kNanoseconds, 1));
  put(buffer_, std::uint32_t{kEndOfOptions});
  end_block();
  flush();
}

CaptureWriter::~CaptureWriter() {
  if (sink_ == nullptr) return;
  try {
    finish();
  } catch (const RecordingError&) {
    // The writer is being dropped after an error that was already told, or by one.
  }
}

void CaptureWriter::begin_block(std::uint32_t type) {
  block_ = buffer_.size();
  put(buffer_, type);
  put(buffer_, std::uint32_t{0});  // its length, once known
}

void CaptureWriter::end_block() {
  const auto length = static_cast<std::uint32_t>(buffer_.size() - block_ + sizeof(std::uint32_t));
  std::memcpy(&buffer_[block_ + 4], &length, sizeof(length));
  put(buffer_, length);
}

void CaptureWriter::option(std::uint16_t code, std::span<const std::byte> value) {
  put(buffer_, code);
  put(buffer_, static_cast<std::uint16_t>(value.size()));
  buffer_.insert(buffer_.end(), value.begin(), value.end());
  buffer_.resize((buffer_.size() + 3) / 4 * 4);
}

void CaptureWriter::option(std::uint16_t code, const std::string& text) {
  option(code, std::as_bytes(std::span(text).first(std::min<std::size_t>(text.size(), 0xffff))));
}

// IPv4 header and room for the next one, which is returned.
std::byte* CaptureWriter::append_ip(const Datagram& datagram, std::uint8_t protocol,
                                    std::size_t header_bytes) {
  constexpr std::uint32_t kHops = 1;
  const std::size_t at = buffer_.size();
  buffer_.resize(at + kIpv4Bytes + header_bytes);
  std::byte* const ip = &buffer_[at];
  put16(ip, 0x4500);
  put16(ip + 2, static_cast<std::uint32_t>(kIpv4Bytes + header_bytes + datagram.payload.size()));
  put16(ip + 8, kHops << 8 | protocol);
  put32(ip + 12, datagram.source_address);
  put32(ip + 16, datagram.destination_address);
  put16(ip + 10, checksum(sum_of({ip, kIpv4Bytes}, 0)));
  return ip + kIpv4Bytes;
}

void CaptureWriter::append_udp(const Datagram& datagram) {
  std::byte* const udp = append_ip(datagram, kUdp, kUdpBytes);
  const auto udp_bytes = static_cast<std::uint32_t>(kUdpBytes + datagram.payload.size());
  put16(udp, datagram.source_port);
  put16(udp + 2, datagram.destination_port);
  put16(udp + 4, udp_bytes);
  std::uint32_t sum = sum_of({udp - 8, 8}, kUdp + udp_bytes);  // the pseudo header
  sum = sum_of(datagram.payload, sum_of({udp, kUdpBytes}, sum));
  const std::uint32_t check = checksum(sum);
  put16(udp + 6, check == 0 ? 0xffff : check);  // 0 would say that there is none
}

void CaptureWriter::begin_packet(const Datagram& datagram, std::size_t header_bytes) {
  const std::size_t length = kIpv4Bytes + header_bytes + datagram.payload.size();
  TICKPATH_CHECK(length <= 65'535, "what an IPv4 packet holds");
  begin_block(kEnhancedPacket);
  put(buffer_, std::uint32_t{0});  // the interface
  put(buffer_, static_cast<std::uint32_t>(datagram.time_ns >> 32));
  put(buffer_, static_cast<std::uint32_t>(datagram.time_ns));
  put(buffer_, static_cast<std::uint32_t>(length));
  put(buffer_, static_cast<std::uint32_t>(length));
}

void CaptureWriter::end_packet(const Datagram& datagram) {
  buffer_.insert(buffer_.end(), datagram.payload.begin(), datagram.payload.end());
  buffer_.resize((buffer_.size() + 3) / 4 * 4);
  end_block();
  if (buffer_.size() >= kFlushBytes) flush();
}

void CaptureWriter::write(const Datagram& datagram) {
  begin_packet(datagram, kUdpBytes);
  append_udp(datagram);
  end_packet(datagram);
}

void CaptureWriter::write_tcp(const Datagram& datagram, std::uint32_t sequence,
                              std::uint32_t acknowledged) {
  constexpr std::uint32_t kHeaderWords = kTcpBytes / 4, kPushAndAck = 0x18, kWindow = 0xffff;
  begin_packet(datagram, kTcpBytes);
  std::byte* const tcp = append_ip(datagram, kTcp, kTcpBytes);
  put16(tcp, datagram.source_port);
  put16(tcp + 2, datagram.destination_port);
  put32(tcp + 4, sequence);
  put32(tcp + 8, acknowledged);
  put16(tcp + 12, kHeaderWords << 12 | kPushAndAck);
  put16(tcp + 14, kWindow);
  const auto tcp_bytes = static_cast<std::uint32_t>(kTcpBytes + datagram.payload.size());
  const std::uint32_t sum =
      sum_of(datagram.payload, sum_of({tcp, kTcpBytes}, sum_of({tcp - 8, 8}, kTcp + tcp_bytes)));
  put16(tcp + 16, checksum(sum));
  end_packet(datagram);
}

void CaptureWriter::flush() {
  sink_->write(buffer_);
  buffer_.clear();
}

void CaptureWriter::finish() {
  const std::unique_ptr<ByteSink> sink = std::move(sink_);
  sink->write(buffer_);
  buffer_.clear();
  sink->close();
}

}  // namespace tickpath::files
