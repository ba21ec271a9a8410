// Frames of a set-up stream and the greeting that opens it; form only, no sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tickpath::net {

//   0 length (u32, little-endian) | 4 payload
inline constexpr std::size_t kFrameHeaderBytes = 4;

// Cuts a byte stream into frames. Holds at most one frame and what was appended behind it.
class FrameDecoder {
 public:
  enum class Status : std::uint8_t { kNeedMore, kFrame, kBad };

  explicit FrameDecoder(std::uint32_t frame_bytes_max) : frame_bytes_max_(frame_bytes_max) {}

  void append(std::span<const std::byte> bytes);
  // kFrame: frame() is the oldest one, until pop(). kBad: length 0 or above the limit; for good.
  Status status() const noexcept;
  std::span<const std::byte> frame() const noexcept;
  void pop();
  // A frame has begun and is not complete.
  bool partial() const noexcept { return status() == Status::kNeedMore && !buffer_.empty(); }
  std::size_t buffered_bytes() const noexcept { return buffer_.size(); }
  // The first bytes are a TLS record's (RFC 8446 section 5.1: type 20 to 23, version 3.x) where a
  // plain frame should be.
  bool looks_like_tls() const noexcept;

 private:
  std::uint32_t length() const noexcept;

  std::uint32_t frame_bytes_max_;
  std::vector<std::byte> buffer_;
};

// Header and payload in one piece, to be written at once. The caller has checked the length.
std::vector<std::byte> encode_frame(std::span<const std::byte> payload);

// First frame of each direction; 24 bytes, a refusal's text behind them.
//   0 magic "tpsg" | 4 version (u16) | 6 kind (u8) | 7 mode (u8) | 8 role[16], NUL-padded | 24 text
struct Greeting {
  static constexpr std::uint32_t kMagic = 0x67737074;  // "tpsg" as bytes in memory
  static constexpr std::uint16_t kVersion = 1;
  static constexpr std::size_t kBytes = 24;
  static constexpr std::size_t kTextBytesMax = 512;  // longer is cut
  enum class Kind : std::uint8_t { kHello = 1, kWelcome = 2, kRefusal = 3 };

  Kind kind = Kind::kHello;
  std::uint8_t mode = 0;  // SecurityMode of the sender
  std::string role;       // of the sender
  std::string text;       // kRefusal: why, for a person

  std::vector<std::byte> encode() const;  // the frame's payload
};

// nullopt: not a greeting, or of another version (`why` says which).
std::optional<Greeting> parse_greeting(std::span<const std::byte> payload, std::string& why);

}  // namespace tickpath::net
