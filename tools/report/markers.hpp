// What happened to a run beside its orders: pauses, kills, gaps of the feed, changes of leader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tickpath::report {

struct Marker {
  std::int64_t realtime_ns = 0;  // CLOCK_REALTIME
  std::string kind;              // "pause", "kill", "gap", "leader"
  std::string program;           // instance that said so
  std::string text;              // its words
};

// Reads NAME.log of each program there, by the words of programs' own log lines; those from begin
// to end. Times of logs are local: the zone is this process's. In the order of time. A directory
// without logs gives none.
std::vector<Marker> markers_in(const std::vector<std::string>& run_dirs, std::int64_t begin_ns,
                               std::int64_t end_ns);

// "2026-11-29T15:07:39.470057 sim info: replay paused: ..." of a program "sim"; false: the line
// says nothing that a page marks.
bool parse_marker(std::string_view line, std::string_view program, Marker& marker);

}  // namespace tickpath::report
