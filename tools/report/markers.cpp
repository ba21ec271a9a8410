#include "tools/report/markers.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "common/base/error.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::report {
namespace {

struct Words {
  std::string_view program;
  std::string_view text;  // part of the line
  std::string_view kind;
};
// By the programs' own words; the integration test of the page makes them say the first ones.
constexpr auto kWords = std::to_array<Words>({
    {"sim", "replay paused:", "pause"},
    {"sim", "replay running:", "continue"},
    {"risk", "is killed", "kill"},
    {"risk", "are killed", "kill"},
    {"risk", "may trade again", "lifted"},
    {"risk", "the kill switch for all is lifted", "lifted"},
    {"mdh", "feed: gap:", "gap"},
    {"mdh", "messages are missing", "gap"},
    {"mdh", "feed: whole again", "whole"},
    {"mdh", "feed: books rebuilt", "whole"},
    {"mdh", "feed: no packet for", "silent"},
    {"mdh", "feed: resumed", "whole"},
    {"oeg", "this oeg leads", "leader"},
    {"strategy", "leads now, in epoch", "leader"},
});

// "2026-11-29T15:07:39.470057" at the head of the line; 0: something else is there.
std::int64_t time_of_line(std::string_view line) {
  constexpr std::size_t kMicrosAt = 20;
  constexpr std::size_t kLength = 26;
  if (line.size() < kLength || line[10] != 'T' || line[19] != '.') return 0;
  std::tm parts{};
  const std::string seconds(line.substr(0, kMicrosAt - 1));
  if (::strptime(seconds.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return 0;
  parts.tm_isdst = -1;
  const std::string micros(line.substr(kMicrosAt, kLength - kMicrosAt));
  return std::int64_t{std::mktime(&parts)} * 1'000'000'000 +
         std::int64_t{std::atoi(micros.c_str())} * 1'000;
}

void read_log(const std::filesystem::path& path, std::int64_t begin_ns, std::int64_t end_ns,
              std::vector<Marker>& markers) {
  const std::string name = path.stem();
  const std::string program = cli::program_of(name);
  if (std::ranges::find(kWords, program, &Words::program) == kWords.end()) return;
  std::ifstream log(path);
  bool paused = false;  // what begins a replay is no mark
  for (std::string line; std::getline(log, line);) {
    Marker marker;
    if (!parse_marker(line, program, marker)) continue;
    if (marker.realtime_ns < begin_ns || marker.realtime_ns > end_ns) continue;
    if (marker.kind == "continue" && !std::exchange(paused, false)) continue;
    paused |= marker.kind == "pause";
    marker.program = name;
    markers.push_back(std::move(marker));
  }
}

}  // namespace

bool parse_marker(std::string_view line, std::string_view program, Marker& marker) {
  const auto found = std::ranges::find_if(kWords, [&](const Words& words) {
    return words.program == program && line.find(words.text) != std::string_view::npos;
  });
  if (found == kWords.end()) return false;
  marker.realtime_ns = time_of_line(line);
  const std::size_t text = line.find(": ");
  if (marker.realtime_ns == 0 || text == std::string_view::npos) return false;
  marker.kind = found->kind;
  marker.text = line.substr(text + 2);
  return true;
}

std::vector<Marker> markers_in(const std::vector<std::string>& run_dirs, std::int64_t begin_ns,
                               std::int64_t end_ns) {
  std::vector<Marker> markers;
  for (const std::string& run_dir : run_dirs) {
    if (!std::filesystem::is_directory(run_dir)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(run_dir))
      if (entry.path().extension() == ".log") read_log(entry.path(), begin_ns, end_ns, markers);
  }
  std::ranges::stable_sort(markers, {}, &Marker::realtime_ns);
  return markers;
}

}  // namespace tickpath::report
