#include "common/feeds/iex/iex_tp.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/base/check.hpp"
#include "common/base/names.hpp"

namespace tickpath::iex {
namespace {

constexpr std::size_t kPayloadBytesMax = 0xffff;  // what its length field can say

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

template <class Integer>
void load(const std::byte* from, Integer& value) noexcept {
  std::memcpy(&value, from, sizeof(value));
}
template <class Integer>
void store(std::byte* to, const Integer& value) noexcept {
  std::memcpy(to, &value, sizeof(value));
}

// Calls field(offset, member) for each.
template <class Header, class Field>
void each_field(Header& header, Field&& field) noexcept {
  field(2, header.protocol);
  field(4, header.channel);
  field(8, header.session);
  field(12, header.payload_bytes);
  field(14, header.message_count);
  field(16, header.stream_offset);
  field(24, header.first_sequence_number);
  field(32, header.send_time_ns);
}

}  // namespace

std::string_view name(SegmentStatus status) noexcept {
  using enum SegmentStatus;
  return name_in(status, {{kOk, "ok"},
                          {kTruncatedHeader, "truncated header"},
                          {kUnknownVersion, "unknown transport version"},
                          {kWrongLength, "wrong payload length"},
                          {kTruncatedMessage, "truncated message"},
                          {kTrailingBytes, "trailing bytes"}});
}

void store_header(const SegmentHeader& header, std::byte* to) noexcept {
  to[0] = std::byte{kTransportVersion};
  to[1] = std::byte{0};
  each_field(header, [to](std::size_t at, const auto& member) noexcept { store(to + at, member); });
}

SegmentCursor::SegmentCursor(std::span<const std::byte> datagram) noexcept {
  if (datagram.size() < kSegmentHeaderBytes) {
    status_ = SegmentStatus::kTruncatedHeader;
    return;
  }
  if (datagram[0] != std::byte{kTransportVersion}) {
    status_ = SegmentStatus::kUnknownVersion;
    return;
  }
  each_field(header_, [&](std::size_t at, auto& member) noexcept { load(&datagram[at], member); });
  left_ = datagram.subspan(kSegmentHeaderBytes);
  if (left_.size() != header_.payload_bytes) {
    status_ = SegmentStatus::kWrongLength;
    if (left_.size() > header_.payload_bytes) left_ = left_.first(header_.payload_bytes);
  }
  remaining_ = header_.message_count;
  if (remaining_ == 0 && !left_.empty() && status_ == SegmentStatus::kOk)
    status_ = SegmentStatus::kTrailingBytes;
}

SegmentBuilder::SegmentBuilder(std::span<std::byte> buffer, const SegmentHeader& like) noexcept
    : buffer_(buffer.first(std::min(buffer.size(), kSegmentHeaderBytes + kPayloadBytesMax))) {
  TICKPATH_CHECK(buffer.size() >= kSegmentHeaderBytes, "a segment holds its header");
  header_.protocol = like.protocol;
  header_.channel = like.channel;
  header_.session = like.session;
  header_.first_sequence_number = 1;
}

void SegmentBuilder::begin(std::uint64_t first_sequence_number) noexcept {
  if (first_sequence_number != header_.first_sequence_number)
    header_.stream_offset += header_.payload_bytes;
  header_.first_sequence_number = first_sequence_number;
  header_.payload_bytes = 0;
  header_.message_count = 0;
}

bool SegmentBuilder::append(std::span<const std::byte> message) noexcept {
  const std::size_t used = kSegmentHeaderBytes + header_.payload_bytes;
  if (buffer_.size() - used < kBlockLengthBytes + message.size()) return false;
  const std::span<std::byte> to = buffer_.subspan(used);
  store(to.data(), static_cast<std::uint16_t>(message.size()));
  if (!message.empty()) std::memcpy(to.data() + kBlockLengthBytes, message.data(), message.size());
  header_.payload_bytes =
      static_cast<std::uint16_t>(header_.payload_bytes + kBlockLengthBytes + message.size());
  ++header_.message_count;
  return true;
}

std::span<const std::byte> SegmentBuilder::finish(std::uint64_t send_time_ns) noexcept {
  header_.send_time_ns = send_time_ns;
  store_header(header_, buffer_.data());
  return buffer_.first(kSegmentHeaderBytes + header_.payload_bytes);
}

bool SegmentCursor::damaged() noexcept {
  if (status_ == SegmentStatus::kOk) status_ = SegmentStatus::kTruncatedMessage;
  remaining_ = 0;
  return false;
}

}  // namespace tickpath::iex
