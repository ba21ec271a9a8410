#include "tools/cli/replay_view.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/base/format.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {

std::string replay_line(const control::Json& replay, std::size_t columns) {
  const auto sent = replay.value("messages_sent", std::uint64_t{0});
  const auto total = replay.value("messages_total", std::uint64_t{0});
  const auto position_ns = replay.value("position_ns", std::uint64_t{0});
  const std::uint64_t done = std::min(sent, total);
  std::string line;
  if (total > 0) line += formatted("%3u %%  ", static_cast<unsigned>(done * 100 / total));
  line += grouped(sent) + (total > 0 ? " of " + grouped(total) : "") + " messages";
  if (position_ns > 0) line += "  " + time_of_day_text(position_ns).substr(0, 8);
  if (const auto rate = replay.value("rate", std::uint64_t{0}); rate > 0)
    line += "  " + grouped(rate) + "/s";
  const auto left_ns = replay.value("remaining_ns", std::int64_t{-1});
  if (left_ns > 0)
    line += "  " + grouped((static_cast<std::uint64_t>(left_ns) + 500'000'000) / 1'000'000'000) +
            " s left";
  if (replay.value("state", "") == "paused") line += "  paused (tickpath replay continue)";
  if (columns == 0) return line;
  // The last column stays empty: what is written there makes some terminals begin a new line.
  constexpr std::size_t kBarMax = 30;
  constexpr std::size_t kBarMin = 5;
  const std::size_t room = columns > line.size() + 4 ? columns - line.size() - 4 : 0;
  if (total > 0 && room >= kBarMin) {
    const std::size_t width = std::min(kBarMax, room);
    const auto full = static_cast<std::size_t>(done * width / total);
    line = "[" + std::string(full, '#') + std::string(width - full, '.') + "] " + line;
  }
  if (line.size() >= columns) line.resize(columns - 1);
  return line;
}

ReplayView::ReplayView()
    : terminal_(::isatty(STDERR_FILENO) == 1), last_line_(std::chrono::steady_clock::now()) {}

ReplayView::~ReplayView() { finish(); }

void ReplayView::show(const control::Json& replay) {
  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%s", replay_line(replay, terminal_columns()).c_str());
    std::fflush(stderr);
    drawn_ = true;
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_line_ < kBetweenLines) return;
  last_line_ = now;
  std::fprintf(stderr, "replay: %s\n", replay_line(replay, 0).c_str());
}

void ReplayView::finish() {
  if (drawn_) std::fputc('\n', stderr);
  drawn_ = false;
}

}  // namespace tickpath::cli
