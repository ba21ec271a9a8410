#include "common/net/setup_frame.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tickpath::net {

static_assert(std::endian::native == std::endian::little, "frames are little-endian");

void FrameDecoder::append(std::span<const std::byte> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::uint32_t FrameDecoder::length() const noexcept {
  std::uint32_t length = 0;
  std::memcpy(&length, buffer_.data(), sizeof(length));
  return length;
}

FrameDecoder::Status FrameDecoder::status() const noexcept {
  if (buffer_.size() < kFrameHeaderBytes) return Status::kNeedMore;
  // Judged by the header alone: a lie about the length is never waited for.
  if (length() == 0 || length() > frame_bytes_max_) return Status::kBad;
  return buffer_.size() - kFrameHeaderBytes >= length() ? Status::kFrame : Status::kNeedMore;
}

std::span<const std::byte> FrameDecoder::frame() const noexcept {
  if (status() != Status::kFrame) return {};
  return std::span(buffer_).subspan(kFrameHeaderBytes, length());
}

void FrameDecoder::pop() {
  if (status() != Status::kFrame) return;
  const auto end = static_cast<std::ptrdiff_t>(kFrameHeaderBytes + length());
  buffer_.erase(buffer_.begin(), buffer_.begin() + end);
}

bool FrameDecoder::looks_like_tls() const noexcept {
  return buffer_.size() >= 2 && buffer_[0] >= std::byte{20} && buffer_[0] <= std::byte{23} &&
         buffer_[1] == std::byte{3};
}

std::vector<std::byte> encode_frame(std::span<const std::byte> payload) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  std::vector<std::byte> frame(kFrameHeaderBytes + payload.size());
  std::memcpy(frame.data(), &length, sizeof(length));
  std::ranges::copy(payload, frame.begin() + kFrameHeaderBytes);
  return frame;
}

std::vector<std::byte> Greeting::encode() const {
  const std::string_view told = std::string_view(text).substr(0, kTextBytesMax);
  std::vector<std::byte> bytes(kBytes + told.size());
  const std::uint32_t magic = kMagic;
  const std::uint16_t version = kVersion;
  std::memcpy(bytes.data(), &magic, sizeof(magic));
  std::memcpy(bytes.data() + 4, &version, sizeof(version));
  bytes[6] = static_cast<std::byte>(kind);
  bytes[7] = static_cast<std::byte>(mode);
  std::memcpy(bytes.data() + 8, role.data(), std::min<std::size_t>(role.size(), 16));
  std::memcpy(bytes.data() + kBytes, told.data(), told.size());
  return bytes;
}

std::optional<Greeting> parse_greeting(std::span<const std::byte> payload, std::string& why) {
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  why = "it speaks another protocol; is it a tickpath program?";
  if (payload.size() < Greeting::kBytes) return std::nullopt;
  std::memcpy(&magic, payload.data(), sizeof(magic));
  std::memcpy(&version, payload.data() + 4, sizeof(version));
  if (magic != Greeting::kMagic) return std::nullopt;
  if (version != Greeting::kVersion) {
    why = "its set-up has version " + std::to_string(version) + ", ours " +
          std::to_string(Greeting::kVersion) + "; run the same version of every program";
    return std::nullopt;
  }
  Greeting greeting;
  greeting.kind = static_cast<Greeting::Kind>(payload[6]);
  greeting.mode = static_cast<std::uint8_t>(payload[7]);
  if (greeting.kind < Greeting::Kind::kHello || greeting.kind > Greeting::Kind::kRefusal)
    return std::nullopt;
  const auto* chars = reinterpret_cast<const char*>(payload.data());
  greeting.role.assign(chars + 8, ::strnlen(chars + 8, 16));
  const std::size_t text_bytes =
      std::min(payload.size() - Greeting::kBytes, Greeting::kTextBytesMax);
  greeting.text.assign(chars + Greeting::kBytes, text_bytes);
  why.clear();
  return greeting;
}

}  // namespace tickpath::net
