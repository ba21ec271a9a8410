#include "common/files/packet_capture.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <pcap/pcap.h>

namespace tickpath::files {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::array<std::uint16_t, 3> kEtherTypesOfTags{0x8100, 0x88a8, 0x9100};
constexpr std::size_t kTagBytes = 4;
constexpr std::size_t kUdpHeaderBytes = 8;
constexpr std::size_t kIpv4HeaderBytesMin = 20;
constexpr unsigned kProtocolUdp = 17;
constexpr unsigned kMoreFragments = 0x2000, kFragmentOffset = 0x1fff;

std::uint16_t load16(const std::byte* from) noexcept {
  return static_cast<std::uint16_t>(static_cast<unsigned>(from[0]) << 8 |
                                    static_cast<unsigned>(from[1]));
}
std::uint32_t load32(const std::byte* from) noexcept {
  return static_cast<std::uint32_t>(load16(from)) << 16 | load16(from + 2);
}

using Bytes = std::span<const std::byte>;

// What follows an Ethernet header's addresses: the IPv4 packet, or nothing.
std::optional<Bytes> behind_ether_type(Bytes bytes, std::size_t at) {
  while (bytes.size() >= at + 2) {
    const std::uint16_t type = load16(bytes.data() + at);
    if (type == kEtherTypeIpv4) return bytes.subspan(at + 2);
    if (std::ranges::find(kEtherTypesOfTags, type) == kEtherTypesOfTags.end()) break;
    at += kTagBytes;
  }
  return std::nullopt;
}

// Link layers: https://www.tcpdump.org/linktypes.html.
std::optional<Bytes> ip_packet(int link, Bytes packet) {
  switch (link) {
    case DLT_EN10MB:
      return behind_ether_type(packet, 12);
    case DLT_LINUX_SLL:
      return behind_ether_type(packet, 14);
    case DLT_LINUX_SLL2:
      if (packet.size() < 20 || load16(packet.data()) != kEtherTypeIpv4) return std::nullopt;
      return packet.subspan(20);
    case DLT_NULL:
    case DLT_LOOP:
      if (packet.size() < 4) return std::nullopt;
      return packet.subspan(4);
    default:
      return packet;  // DLT_RAW, DLT_IPV4
  }
}

bool known_link(int link) noexcept {
  constexpr std::array<int, 7> kKnown{DLT_EN10MB, DLT_LINUX_SLL, DLT_LINUX_SLL2, DLT_NULL,
                                      DLT_LOOP,   DLT_RAW,       DLT_IPV4};
  return std::ranges::find(kKnown, link) != kKnown.end();
}

// pcapng may have several interfaces, each with its link type, and several sections, each with its
// byte order (draft-ietf-opsawg-pcapng, 4.1, 4.2). libpcap has one of each a file.
constexpr std::uint32_t kAnotherSection = 0x0a0d0d0a;
constexpr std::string_view kOfAnotherInterface = "of the first interface";  // libpcap's words
constexpr const char* kAdviceOnParts =
    "; libpcap reads one link type and one byte order a file. Write each interface (of a section: "
    "frame.section_number == 1) into a file of its own: tshark -r FILE -Y \"frame.interface_id == "
    "0\" -w PART.pcapng, then editcap -F pcap -T ether PART.pcapng PART.pcap (ether: its link "
    "type)";

}  // namespace

std::string destination_text(const Datagram& datagram) {
  char text[32];
  const std::uint32_t a = datagram.destination_address;
  std::snprintf(text, sizeof(text), "%u.%u.%u.%u:%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255,
                unsigned{datagram.destination_port});
  return text;
}

bool is_packet_capture(std::span<const std::byte> start) noexcept {
  if (start.size() < 4) return false;
  constexpr std::array<std::uint32_t, 5> kMagics{0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1,
                                                 0x0a0d0d0a};
  return std::ranges::find(kMagics, load32(start.data())) != kMagics.end();
}

class PacketCapture::Impl {
 public:
  explicit Impl(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), buffer_(kBufferBytes) {
    // libpcap reads a FILE; this one is our source. Unbuffered: the buffer here knows the place.
    cookie_io_functions_t calls{};
    calls.read = [](void* self, char* to, std::size_t size) -> ssize_t {
      return static_cast<Impl*>(self)->give(to, size);
    };
    std::FILE* const file = ::fopencookie(this, "rb", calls);
    if (file == nullptr) throw RecordingError(source_->name() + ": out of memory");
    std::setvbuf(file, nullptr, _IONBF, 0);
    char error[PCAP_ERRBUF_SIZE] = "";
    capture_ = ::pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error);
    if (capture_ == nullptr) {
      std::fclose(file);
      throw RecordingError(source_->name() + ": is no packet capture that can be read: " + error);
    }
    link_ = ::pcap_datalink(capture_);
    if (!known_link(link_)) {
      const char* const name = ::pcap_datalink_val_to_name(link_);
      const std::string text = name != nullptr ? name : std::to_string(link_);
      ::pcap_close(capture_);
      throw RecordingError(source_->name() + ": the link layer " + text +
                           " is not known; known are Ethernet, Linux cooked, raw IP, loopback");
    }
  }
  ~Impl() { ::pcap_close(capture_); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  CaptureStatus next(Datagram& datagram) {
    if (!damage_.empty()) return CaptureStatus::kDamaged;
    for (;;) {
      const std::uint64_t at = packet_at_ = taken_;
      block_type_ = {};
      pcap_pkthdr* header = nullptr;
      const u_char* data = nullptr;
      const int got = ::pcap_next_ex(capture_, &header, &data);
      if (got != 1) return finish(got, at);
      ++counts_.packets;
      const Bytes packet{reinterpret_cast<const std::byte*>(data), header->caplen};
      if (!take(packet, datagram)) continue;
      // With the precision that was asked for, tv_usec is in nanoseconds.
      datagram.time_ns = static_cast<std::uint64_t>(header->ts.tv_sec) * 1'000'000'000 +
                         static_cast<std::uint64_t>(header->ts.tv_usec);
      ++counts_.datagrams;
      return CaptureStatus::kDatagram;
    }
  }

  const std::string& damage() const noexcept { return damage_; }
  const CaptureCounts& counts() const noexcept { return counts_; }
  const ByteSource& source() const noexcept { return *source_; }

 private:
  ssize_t give(char* to, std::size_t size) {
    if (at_ == filled_) {
      filled_ = source_->read(buffer_);
      at_ = 0;
    }
    const std::size_t count = std::min(size, filled_ - at_);
    for (std::size_t i = 0; i < count && taken_ + i < packet_at_ + block_type_.size(); ++i)
      block_type_[taken_ + i - packet_at_] = buffer_[at_ + i];
    std::memcpy(to, buffer_.data() + at_, count);
    at_ += count;
    taken_ += count;
    return static_cast<ssize_t>(count);
  }

  CaptureStatus finish(int got, std::uint64_t at) {
    counts_.trailing_bytes = source_->trailing_bytes();
    std::string why;
    if (!source_->error().empty()) {
      why = source_->error();
    } else if (got == PCAP_ERROR) {
      why = ::pcap_geterr(capture_);
      const bool in_section_header = load32(block_type_.data()) == kAnotherSection;
      if (in_section_header || why.ends_with(kOfAnotherInterface)) why += kAdviceOnParts;
    } else {
      return CaptureStatus::kEnd;
    }
    damage_ = source_->name() + ": packet " + std::to_string(counts_.packets + 1) + " at byte " +
              std::to_string(at) + ": " + why;
    return CaptureStatus::kDamaged;
  }

  bool take(Bytes packet, Datagram& datagram) {
    const std::optional<Bytes> found = ip_packet(link_, packet);
    if (!found) {
      ++counts_.other_protocols;
      return false;
    }
    const Bytes ip = *found;
    if (ip.size() < kIpv4HeaderBytesMin) {
      ++counts_.cut;
      return false;
    }
    const auto version = static_cast<unsigned>(ip[0]);
    const std::size_t header_bytes = (version & 15) * 4;
    if (version >> 4 != 4 || static_cast<unsigned>(ip[9]) != kProtocolUdp) {
      ++counts_.other_protocols;
      return false;
    }
    if ((load16(ip.data() + 6) & (kMoreFragments | kFragmentOffset)) != 0) {
      ++counts_.fragments;
      return false;
    }
    if (header_bytes < kIpv4HeaderBytesMin || ip.size() < header_bytes + kUdpHeaderBytes) {
      ++counts_.cut;
      return false;
    }
    const Bytes udp = ip.subspan(header_bytes);
    const std::size_t length = load16(udp.data() + 4);
    if (length < kUdpHeaderBytes || length > udp.size()) {
      ++counts_.cut;
      return false;
    }
    datagram.source_address = load32(ip.data() + 12);
    datagram.destination_address = load32(ip.data() + 16);
    datagram.source_port = load16(udp.data());
    datagram.destination_port = load16(udp.data() + 2);
    datagram.payload = udp.subspan(kUdpHeaderBytes, length - kUdpHeaderBytes);
    return true;
  }

  std::unique_ptr<ByteSource> source_;
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t taken_ = 0;                // bytes, by libpcap
  std::uint64_t packet_at_ = 0;            // where it looks for the next packet
  std::array<std::byte, 4> block_type_{};  // of pcapng, that it finds there
  pcap_t* capture_ = nullptr;
  int link_ = 0;
  CaptureCounts counts_;
  std::string damage_;
};

PacketCapture::PacketCapture(std::unique_ptr<ByteSource> source)
    : impl_(std::make_unique<Impl>(std::move(source))) {}
PacketCapture::~PacketCapture() = default;
CaptureStatus PacketCapture::next(Datagram& datagram) { return impl_->next(datagram); }
const std::string& PacketCapture::damage() const noexcept { return impl_->damage(); }
const CaptureCounts& PacketCapture::counts() const noexcept { return impl_->counts(); }
std::uint64_t PacketCapture::file_bytes_read() const { return impl_->source().file_bytes_read(); }
std::uint64_t PacketCapture::file_bytes_total() const { return impl_->source().file_bytes_total(); }

}  // namespace tickpath::files
