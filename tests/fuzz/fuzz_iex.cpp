// IEX-TP segments with DEEP 1.0 and TOPS 1.6 messages, into books; and packet captures of them
// (what begins as one does), as ITCH that a book can follow.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>

#include "common/feeds/iex/codec.hpp"
#include "common/feeds/iex/deep_books.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "common/feeds/recordings/deep_to_itch.hpp"
#include "tests/fuzz/itch_auditor.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/packet_walk.hpp"

using namespace tickpath;

namespace {

// What was decoded encodes to the bytes that it was decoded from.
struct RoundTrip {
  std::span<const std::byte> message;
  void operator()(const auto& decoded) const noexcept {
    std::array<std::byte, iex::kMaxMessageBytes> again;
    const std::size_t length = iex::encode(decoded, again.data());
    if (length > message.size() ||
        !std::equal(again.begin(), again.begin() + static_cast<std::ptrdiff_t>(length),
                    message.begin()))
      std::abort();
  }
};

void convert_capture(std::span<const std::byte> bytes) {
  try {
    auto capture = iex::CaptureReader::open(test_support::open_memory(bytes, "fuzz"));
    if (capture == nullptr) return;
    iex::DeepToItch reader(std::move(capture), "fuzz");
    itch::audit(reader);
  } catch (const files::RecordingError&) {
    // A capture of TOPS, or one that is damaged before its first segment.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static book::LevelBookSet set({.orders_max = 256, .levels_max = 256});
  static iex::DeepBooks books(set);
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  if (size >= 4 && files::is_packet_capture(bytes.first<4>())) {
    convert_capture(bytes);
    return 0;
  }
  iex::SegmentCursor segment(bytes);
  if (segment.header().protocol == iex::kDeep10 &&
      !test_support::walks_alike(segment, feeds::Transport::kIexTp, bytes))
    std::abort();
  std::size_t count = 0;
  for (std::span<const std::byte> message; segment.next(message); ++count) {
    if (message.data() < bytes.data() || message.data() + message.size() > bytes.data() + size)
      std::abort();
    (void)iex::decode(message, RoundTrip{message});
    (void)iex::decode(message, books);
  }
  if (segment.status() == iex::SegmentStatus::kOk && count != segment.header().message_count)
    std::abort();
  if (set.orders_resting() > 256) std::abort();
  return 0;
}
