// A progress bar for a person who waits at a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tickpath::cli {

// The width of the terminal behind stderr or stdout: COLUMNS, else what it says of itself, else 80;
// never less than 20.
std::size_t terminal_columns();

// "what [#####.....]  50 %, 8 s left", or what fits of it.
std::string progress_line(const std::string& what, double share, double seconds_left,
                          std::size_t columns);

// Draws on stderr, ten times a second at most, and only when stderr is a terminal: scripts and
// logs stay clean. One thread.
class ProgressBar {
 public:
  // `what` is printed before the bar: "generating".
  explicit ProgressBar(std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Cheap enough to be called for each message. A total of 0 is unknown: only `done` is shown.
  void update(std::uint64_t done, std::uint64_t total) {
    if (enabled_ && ++calls_ % kCallsBetweenLooks == 0) draw(done, total);
  }
  // For what happens a few times a second.
  void show(std::uint64_t done, std::uint64_t total) {
    if (enabled_) draw(done, total);
  }

 private:
  // The clock is looked at after so many calls.
  static constexpr std::uint32_t kCallsBetweenLooks = 4096;

  void draw(std::uint64_t done, std::uint64_t total);

  std::string what_;
  bool enabled_;
  bool drawn_ = false;
  std::uint32_t calls_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_draw_{};
};

// "09:30:00", "9:30" or "09:30:00.004241176" as nanoseconds since midnight. Throws Error.
std::uint64_t parse_time_of_day(const std::string& text);
// "09:30:00.004241176"
std::string time_of_day_text(std::uint64_t ns);
// 1234567 as "1,234,567"
std::string grouped(std::uint64_t value);

// Words one after the other, `gap` blanks between them, in lines of at most `columns` that begin
// with `indent` blanks; a longer word has a line of its own.
std::string wrapped(const std::vector<std::string>& words, std::size_t columns, std::size_t indent,
                    std::size_t gap);

}  // namespace tickpath::cli
