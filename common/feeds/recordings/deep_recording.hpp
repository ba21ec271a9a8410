// One packet capture of IEX DEEP, or several, as a recording to be replayed. Its messages are as
// they were, due as the venue sent them (the send times of their segments, UTC). Where the
// numbering restarts, updates of size 0 take out every level of before: books begin anew. If a day
// had ended by then, a start of messages begins another, whether the capture has one or not. A
// numbering of another date ends the day before, where the capture lacks its end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/feeds/iex/codec.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "common/feeds/recordings/capture_days.hpp"
#include "common/feeds/recordings/iex_capture_reader.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "common/feeds/recordings/several_files.hpp"

namespace tickpath::iex {

class DeepRecording final : public itch::RecordingReader {
 public:
  // Throws files::RecordingError: no capture, or none of DEEP 1.0.
  explicit DeepRecording(const std::filesystem::path& path)
      : DeepRecording(CaptureReader::open(path), itch::split_files(path).front()) {}
  // name: how errors call it.
  DeepRecording(std::unique_ptr<CaptureReader> capture, const std::string& name);

  // timestamp_ns is CaptureDays', and never runs backwards.
  itch::ReadStatus next(itch::RecordedMessage& message) override;
  std::uint64_t file_bytes_read() const override { return capture_->file_bytes_read(); }
  std::uint64_t file_bytes_total() const override { return capture_->file_bytes_total(); }
  itch::RecordingFormat format() const noexcept override { return itch::RecordingFormat::kIexDeep; }
  std::uint64_t midnight_ns() const override { return days_.midnight_ns(); }
  std::string remarks() const override { return remarks_of(capture_->counts()); }

 private:
  // (side, price) of each level that rests, by symbol.
  using Levels = std::map<std::string, std::set<std::pair<char, Price>>, std::less<>>;
  struct Collector;

  struct Made {
    std::array<std::byte, kMaxMessageBytes> bytes;
    std::size_t size;
    bool of_before;  // belongs to the numbering before, and to its last time
  };

  template <class Message>
  void tell_first(const Message& message, bool of_before);
  void begin_anew(std::uint64_t time_ns);
  void clear_books(Timestamp time);

  Levels levels_;
  std::vector<Made> first_;  // to be told before what was captured
  std::size_t next_first_ = 0;
  CapturedMessage captured_;
  bool has_captured_ = false;  // waits until all of them were told
  std::unique_ptr<CaptureReader> capture_;
  CaptureDays days_;
  itch::TradingDay day_;
};

}  // namespace tickpath::iex
