// What a recording holds, for `tickpath inspect`.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/feeds/recordings/iex_capture_reader.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "tools/cli/book_audit.hpp"

namespace tickpath::cli {

// One of the days that a recording reaches over. Times count from the first day's midnight.
struct DayContents {
  std::uint64_t messages = 0;
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  // How far these are ahead of the day's date, where two days have one date (iex::CaptureDays).
  std::uint64_t ahead_ns = 0;
};

struct RecordingContents {
  std::string format;  // for people
  std::string_view (*type_name)(char type) noexcept = nullptr;
  std::array<std::uint64_t, 256> by_type{};  // index: the type byte
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;           // of the messages, without framing
  std::uint64_t undecodable = 0;     // of no type or length that the format has
  std::uint64_t time_reversals = 0;  // messages earlier than the one before
  std::uint64_t first_ns = 0;        // since the first midnight
  std::uint64_t last_ns = 0;
  std::uint64_t days = 1;  // that it reaches over
  // Days that have messages, by number from 1. A mark of a midnight (S 'D') makes no day.
  std::map<std::uint64_t, DayContents> each_day;
  std::uint64_t midnight_ns = 0;  // that these count from, since the Unix epoch; 0: unknown
  std::vector<std::pair<std::string, std::string>> names;  // listed symbol, what it stands for
  std::uint64_t busiest_millisecond = 0;  // messages in it, by the recording's time
  std::uint64_t busiest_second = 0;
  std::set<std::string> symbols;  // that its directory names
  std::uint64_t crossed = 0;      // times that a book was crossed while it traded
  std::uint64_t crossed_ns = 0, crossed_longest_ns = 0;
  std::vector<CrossedSymbol> crossed_symbols;  // the most often crossed first
  std::uint64_t unseen_orders = 0;             // that found no room in these books
  std::string remarks;                         // the reader's
  std::string damage;                          // empty: whole
  std::uint64_t file_bytes = 0;
};

// Reads it to its end or damage, with a progress bar called `what`.
RecordingContents read_contents(itch::RecordingReader& recording, const std::string& what);
RecordingContents read_contents(iex::CaptureReader& capture, const std::string& what);

// For people, and as one JSON object (one line): file, format, messages, by_type, ...
std::string contents_text(const RecordingContents& contents, const std::string& file);
std::string contents_json(const RecordingContents& contents, const std::string& file);

}  // namespace tickpath::cli
