#include "common/feeds/itch/moldudp64.hpp"

#include <cstring>

#include "common/base/check.hpp"
#include "common/base/names.hpp"
#include "common/feeds/itch/detail/byte_order.hpp"

namespace tickpath::itch::mold {

namespace {
constexpr std::size_t kSequenceOffset = 10;
constexpr std::size_t kCountOffset = 18;
}  // namespace

std::string_view name(PacketStatus status) noexcept {
  using enum PacketStatus;
  return name_in(status, {{kOk, "ok"},
                          {kTruncatedHeader, "truncated header"},
                          {kTruncatedMessage, "truncated message"},
                          {kTrailingBytes, "trailing bytes"}});
}

PacketHeader load_header(const std::byte* from) noexcept {
  PacketHeader header;
  std::memcpy(header.session.characters.data(), from, header.session.characters.size());
  header.sequence_number = detail::load_big_endian<std::uint64_t>(from + kSequenceOffset);
  header.message_count = detail::load_big_endian<std::uint16_t>(from + kCountOffset);
  return header;
}

void store_header(const PacketHeader& header, std::byte* to) noexcept {
  std::memcpy(to, header.session.characters.data(), header.session.characters.size());
  detail::store_big_endian(to + kSequenceOffset, header.sequence_number);
  detail::store_big_endian(to + kCountOffset, header.message_count);
}

PacketCursor::PacketCursor(std::span<const std::byte> packet) noexcept
    : at_(packet.data()), end_(packet.data() + packet.size()) {
  if (packet.size() < kHeaderBytes) {
    status_ = PacketStatus::kTruncatedHeader;
    return;
  }
  header_ = load_header(at_);
  at_ += kHeaderBytes;
  remaining_ = header_.messages();
  if (remaining_ == 0 && at_ != end_) status_ = PacketStatus::kTrailingBytes;
}

bool PacketCursor::damaged() noexcept {
  status_ = PacketStatus::kTruncatedMessage;
  remaining_ = 0;
  return false;
}

PacketBuilder::PacketBuilder(std::span<std::byte> buffer) noexcept : buffer_(buffer) {
  TICKPATH_CHECK(buffer.size() >= kHeaderBytes, "a MoldUDP64 packet needs 20 bytes of header");
}

void PacketBuilder::begin(const Session& session, std::uint64_t sequence_number) noexcept {
  header_ = {session, sequence_number, 0};
  used_ = kHeaderBytes;
}

std::span<const std::byte> PacketBuilder::finish() noexcept {
  store_header(header_, buffer_.data());
  return buffer_.first(used_);
}

std::span<const std::byte> PacketBuilder::finish_session() noexcept {
  header_.message_count = kEndOfSessionCount;
  used_ = kHeaderBytes;
  return finish();
}

PacketStatus parse_request(std::span<const std::byte> packet, PacketHeader& request) noexcept {
  if (packet.size() < kHeaderBytes) return PacketStatus::kTruncatedHeader;
  request = load_header(packet.data());
  return packet.size() == kHeaderBytes ? PacketStatus::kOk : PacketStatus::kTrailingBytes;
}

}  // namespace tickpath::itch::mold
