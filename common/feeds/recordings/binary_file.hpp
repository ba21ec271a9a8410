// BinaryFILE: Nasdaq's framing of recorded feeds ("BinaryFILE Specification", V 1.00): before each
// message its length, two bytes big-endian; a length of zero ends the session and the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/feeds/itch/detail/byte_order.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "common/files/byte_source.hpp"

namespace tickpath::itch {

inline constexpr std::size_t kFrameLengthBytes = 2;
inline constexpr std::size_t kMaxFrameBytes = kFrameLengthBytes + 0xffff;

enum class FrameStatus : std::uint8_t {
  kMessage = 0,
  kEndOfSession = 1,  // the frame of length zero was read
  kIncomplete = 2,    // the bytes end, at a frame's border or inside one: see remaining()
};

// Walks frames in memory, in place: no copy, no allocation, noexcept. The core of the
// streaming reader.
class FrameCursor {
 public:
  FrameCursor() noexcept = default;
  explicit FrameCursor(std::span<const std::byte> bytes) noexcept
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[gnu::always_inline]] FrameStatus next(std::span<const std::byte>& message) noexcept {
    const std::size_t left = remaining();
    if (left < kFrameLengthBytes) return FrameStatus::kIncomplete;
    const std::size_t length = detail::load_big_endian<std::uint16_t>(at_);
    if (left - kFrameLengthBytes < length) [[unlikely]]
      return FrameStatus::kIncomplete;
    message = {at_ + kFrameLengthBytes, length};
    at_ += kFrameLengthBytes + length;
    return length == 0 ? FrameStatus::kEndOfSession : FrameStatus::kMessage;
  }

  // Bytes that were not taken yet.
  std::size_t remaining() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  std::span<const std::byte> rest() const noexcept { return {at_, remaining()}; }

 private:
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
};

// Reads BinaryFILE through a buffer of fixed size.
class BinaryFileReader final : public RecordingReader {
 public:
  // Read granularity: large enough that a read costs nothing beside what is read.
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

  // `buffer_bytes` is at least kMaxFrameBytes (CHECK): the longest message must fit whole.
  explicit BinaryFileReader(std::unique_ptr<files::ByteSource> source,
                            std::size_t buffer_bytes = kBufferBytes);

  ReadStatus next(RecordedMessage& message) override;
  std::uint64_t file_bytes_read() const override { return source_->file_bytes_read(); }
  std::uint64_t file_bytes_total() const override { return source_->file_bytes_total(); }
  RecordingFormat format() const noexcept override { return RecordingFormat::kBinaryFile; }
  std::string remarks() const override;

 private:
  bool refill();
  ReadStatus finish();
  ReadStatus finish_session();
  std::string place() const;

  std::unique_ptr<files::ByteSource> source_;
  std::vector<std::byte> buffer_;
  FrameCursor cursor_;
  std::uint64_t messages_ = 0;
  std::uint64_t offset_ = 0;  // of the next frame, in the uncompressed file
  TradingDay day_;
  bool ended_ = false;
  bool end_marker_ = false;
};

// Writes BinaryFILE; compressed when the name ends in .gz or .zst. Not for the datapath.
class BinaryFileWriter {
 public:
  // Creates or truncates the file. Throws RecordingError.
  explicit BinaryFileWriter(const std::filesystem::path& path);
  ~BinaryFileWriter();
  BinaryFileWriter(const BinaryFileWriter&) = delete;
  BinaryFileWriter& operator=(const BinaryFileWriter&) = delete;

  // `message` has 1 to 65535 bytes (CHECK). Throws RecordingError when the disk does not take it.
  void write(std::span<const std::byte> message);
  // Writes the end of session, and closes. Without it the file has no end marker, as after a crash.
  void finish();

  std::uint64_t messages() const noexcept { return messages_; }
  std::uint64_t bytes() const noexcept { return bytes_; }  // before compression

 private:
  void flush();

  std::unique_ptr<files::ByteSink> sink_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace tickpath::itch
