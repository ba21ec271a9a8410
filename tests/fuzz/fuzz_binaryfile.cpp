// A BinaryFILE recording of any bytes, read by the streaming reader and by the in-place cursor:
// both must deliver the same messages, and no byte may be lost.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "common/feeds/recordings/binary_file.hpp"
#include "tests/support/memory_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tickpath::itch;
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
  BinaryFileReader reader(tickpath::test_support::open_memory(bytes, "fuzz"), kMaxFrameBytes);
  FrameCursor cursor(bytes);
  RecordedMessage message;
  std::span<const std::byte> frame;
  ReadStatus status;
  while ((status = reader.next(message)) == ReadStatus::kMessage) {
    if (cursor.next(frame) != FrameStatus::kMessage) std::abort();
    if (!std::ranges::equal(frame, message.bytes)) std::abort();
  }
  if (cursor.next(frame) == FrameStatus::kMessage) std::abort();
  if ((status == ReadStatus::kDamaged) == reader.damage().empty()) std::abort();
  // Undamaged means: everything was taken.
  if ((status == ReadStatus::kEnd) != (cursor.remaining() == 0)) std::abort();
  if (reader.next(message) != status) std::abort();
  return 0;
}
