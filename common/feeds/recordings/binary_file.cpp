#include "common/feeds/recordings/binary_file.hpp"

#include <cstring>

#include "common/base/check.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/detail/remarks.hpp"

namespace tickpath::itch {

BinaryFileReader::BinaryFileReader(std::unique_ptr<files::ByteSource> source,
                                   std::size_t buffer_bytes)
    : source_(std::move(source)), buffer_(buffer_bytes) {
  TICKPATH_CHECK(buffer_bytes >= kMaxFrameBytes, "a buffer holds the longest message");
}

ReadStatus BinaryFileReader::next(RecordedMessage& message) {
  if (ended_) return damage_.empty() ? ReadStatus::kEnd : ReadStatus::kDamaged;
  FrameStatus status = cursor_.next(message.bytes);
  if (status == FrameStatus::kIncomplete) {
    if (!refill()) return finish();
    status = cursor_.next(message.bytes);
    if (status == FrameStatus::kIncomplete) return finish();
  }
  if (status == FrameStatus::kEndOfSession) return finish_session();
  ++messages_;
  offset_ += kFrameLengthBytes + message.bytes.size();
  message.begins_day = day_.skips_night(day_.on_message(message.bytes));
  message.timestamp_ns = message.bytes.size() < kHeaderBytes ? 0 : day_.time_ns();
  return ReadStatus::kMessage;
}

// Moves what is left of a frame to the front and reads behind it. False if nothing was added.
bool BinaryFileReader::refill() {
  const std::span<const std::byte> rest = cursor_.rest();
  if (!rest.empty()) std::memmove(buffer_.data(), rest.data(), rest.size());
  const std::size_t added = source_->read(std::span(buffer_).subspan(rest.size()));
  cursor_ = FrameCursor(std::span(buffer_).first(rest.size() + added));
  return added > 0;
}

// Nothing may follow the end of session. Looking for it makes zlib compare the checksum too, so a
// zero that damage put into the middle is not taken for the end.
ReadStatus BinaryFileReader::finish_session() {
  end_marker_ = true;
  const bool more = cursor_.remaining() > 0 || refill();
  if (!more) return finish();
  ended_ = true;
  damage_ = place() + "data follows the end of the session";
  return ReadStatus::kDamaged;
}

ReadStatus BinaryFileReader::finish() {
  ended_ = true;
  const std::span<const std::byte> rest = cursor_.rest();
  if (rest.empty() && source_->error().empty()) return ReadStatus::kEnd;
  damage_ = place();
  if (!source_->error().empty()) {
    damage_ += source_->error();
  } else if (rest.size() < kFrameLengthBytes) {
    damage_ += "truncated: 1 of 2 bytes of the length";
  } else {
    damage_ += "truncated: " + std::to_string(rest.size() - kFrameLengthBytes) + " of " +
               std::to_string(detail::load_big_endian<std::uint16_t>(rest.data())) + " bytes";
  }
  return ReadStatus::kDamaged;
}

std::string BinaryFileReader::place() const {
  return source_->name() + ": message " + std::to_string(messages_ + 1) + " at byte " +
         std::to_string(offset_) + ": ";
}

std::string BinaryFileReader::remarks() const {
  std::string text;
  if (ended_ && !end_marker_ && damage_.empty())
    text = "no end-of-session marker: the recording is an extract, or its writer stopped early";
  detail::add_remark(text, source_->trailing_bytes(), detail::kTrailingBytes);
  return text;
}

BinaryFileWriter::BinaryFileWriter(const std::filesystem::path& path)
    : sink_(files::create_file(path)), buffer_(BinaryFileReader::kBufferBytes) {}

BinaryFileWriter::~BinaryFileWriter() {
  if (sink_ == nullptr) return;
  try {
    flush();
    sink_->close();
  } catch (const RecordingError&) {
    // The writer is being dropped after an error that was already told, or by one.
  }
}

void BinaryFileWriter::write(std::span<const std::byte> message) {
  TICKPATH_CHECK(!message.empty() && message.size() <= 0xffff, "BinaryFILE lengths are 1 to 65535");
  const std::size_t frame = kFrameLengthBytes + message.size();
  if (buffer_.size() - used_ < frame) flush();
  detail::store_big_endian(buffer_.data() + used_, static_cast<std::uint16_t>(message.size()));
  std::memcpy(buffer_.data() + used_ + kFrameLengthBytes, message.data(), message.size());
  used_ += frame;
  bytes_ += frame;
  ++messages_;
}

void BinaryFileWriter::finish() {
  if (buffer_.size() - used_ < kFrameLengthBytes) flush();
  detail::store_big_endian(buffer_.data() + used_, std::uint16_t{0});
  used_ += kFrameLengthBytes;
  bytes_ += kFrameLengthBytes;
  flush();
  const std::unique_ptr<files::ByteSink> sink = std::move(sink_);
  sink->close();
}

void BinaryFileWriter::flush() {
  const std::size_t used = std::exchange(used_, 0);
  sink_->write(std::span(buffer_).first(used));
}

}  // namespace tickpath::itch
