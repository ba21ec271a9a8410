#include "common/iex/deep_recording.hpp"

#include <algorithm>

namespace tickpath::iex {
namespace {

constexpr std::uint64_t kNsPerDay = 86'400ull * 1'000'000'000;

}  // namespace

DeepRecording::DeepRecording(const std::filesystem::path& path)
    : capture_(CaptureReader::open(path)) {
  const std::string name = path.string();
  if (capture_ == nullptr)
    throw files::RecordingError(name +
                                ": is no packet capture of IEX DEEP 1.0 over IEX-TP (recordings of "
                                "ITCH are for feed.protocol = \"itch50\")");
  if (capture_->protocol() != kDeep10)
    throw files::RecordingError(name +
                                ": is a capture of IEX TOPS, which has no books; DEEP 1.0 is "
                                "wanted");
}

itch::ReadStatus DeepRecording::next(itch::RecordedMessage& message) {
  CapturedMessage captured;
  if (!capture_->next(captured)) {
    damage_ = capture_->damage();
    return damage_.empty() ? itch::ReadStatus::kEnd : itch::ReadStatus::kDamaged;
  }
  if (midnight_ns_ == 0) midnight_ns_ = captured.send_time_ns / kNsPerDay * kNsPerDay;
  if (captured.send_time_ns > midnight_ns_)
    last_ns_ = std::max(last_ns_, captured.send_time_ns - midnight_ns_);
  message.bytes = captured.bytes;
  message.timestamp_ns = last_ns_;
  return itch::ReadStatus::kMessage;
}

}  // namespace tickpath::iex
