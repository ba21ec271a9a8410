// A packet capture of IEX DEEP as a recording, for those who replay one: its messages as they are,
// due as the venue sent them (the send times of their segments, UTC).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "common/iex/capture_reader.hpp"
#include "common/itch/recording.hpp"

namespace tickpath::iex {

class DeepRecording final : public itch::RecordingReader {
 public:
  // Throws files::RecordingError: no capture, or none of DEEP 1.0.
  explicit DeepRecording(const std::filesystem::path& path);

  // timestamp_ns counts from the midnight (UTC) before the first segment, beyond a day if need be,
  // and never runs backwards.
  itch::ReadStatus next(itch::RecordedMessage& message) override;
  std::uint64_t file_bytes_read() const override { return capture_->file_bytes_read(); }
  std::uint64_t file_bytes_total() const override { return capture_->file_bytes_total(); }
  itch::RecordingFormat format() const noexcept override { return itch::RecordingFormat::kIexDeep; }
  std::string remarks() const override { return remarks_of(capture_->counts()); }

 private:
  std::unique_ptr<CaptureReader> capture_;
  std::uint64_t midnight_ns_ = 0;  // since the Unix epoch; 0: not known yet
  std::uint64_t last_ns_ = 0;
};

}  // namespace tickpath::iex
