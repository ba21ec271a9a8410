// A packet capture of any bytes, read as a recording: messages lie inside what was read, come in
// time's order, and their count is what the reader counted.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "common/feeds/recordings/capture_recording.hpp"
#include "tests/support/memory_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tickpath;
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
  try {
    itch::CaptureRecording recording(test_support::open_memory(bytes, "fuzz"));
    itch::RecordedMessage message;
    itch::ReadStatus status;
    std::uint64_t messages = 0, before_ns = 0, sum = 0;
    while ((status = recording.next(message)) == itch::ReadStatus::kMessage) {
      if (message.timestamp_ns < before_ns) std::abort();
      before_ns = message.timestamp_ns;
      for (const std::byte each : message.bytes) sum += static_cast<std::uint64_t>(each);
      ++messages;
    }
    if (messages != recording.counts().messages || sum > size * 255) std::abort();
    if ((status == itch::ReadStatus::kDamaged) == recording.damage().empty()) std::abort();
    if (recording.remarks().empty()) std::abort();
  } catch (const files::RecordingError&) {
    // No capture, or no ITCH in it.
  }
  return 0;
}
