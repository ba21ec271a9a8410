// What `generate` and `convert` share: a recording is read to its end, written, and summed up.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "common/feeds/recordings/recording.hpp"

namespace tickpath::cli {

struct RecordingSummary {
  std::array<std::uint64_t, 256> by_type{};  // index: the type byte
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  // framed, before compression
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  bool damaged = false;  // the reader's damage() says how; what came before it was written
};

// Writes every message of `recording` to `output`, with a progress bar called `what`. A damaged
// recording is written up to its damage and gets no end-of-session marker.
RecordingSummary write_recording(itch::RecordingReader& recording,
                                 const std::filesystem::path& output, const std::string& what);

// A time that a recording counts from its first midnight, as a person reads it:
// "09:30:00.000000000". From the second day on it names the day: "... of day 2".
std::string recorded_time_text(std::uint64_t ns);

// Prints count and share of each type to stdout, most frequent first.
void print_summary(const RecordingSummary& summary, const std::filesystem::path& output);

// One line a type, most frequent first: "  A  Add Order      1,234   48.00 %".
std::string types_text(const std::array<std::uint64_t, 256>& by_type, std::uint64_t messages,
                       std::string_view (*type_name)(char type) noexcept);

}  // namespace tickpath::cli
