#include "tools/cli/progress_bar.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/format.hpp"

namespace tickpath::cli {

namespace {
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr std::size_t kBarCells = 40;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

[[noreturn]] void refuse_time(const std::string& text) {
  throw Error("\"" + text + "\" is not a time of day: write it as 09:30:00 or 09:30:00.004241176");
}

std::uint64_t digits(std::string_view text, std::size_t max_length, const std::string& whole) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good =
      error == std::errc{} && end == text.data() + text.size() && text.size() <= max_length;
  if (!good) refuse_time(whole);
  return value;
}
}  // namespace

std::size_t terminal_columns() {
  constexpr std::size_t kUsual = 80;
  constexpr std::size_t kLeast = 20;
  if (const char* const told = std::getenv("COLUMNS"); told != nullptr) {
    const long columns = std::strtol(told, nullptr, 10);
    if (columns > 0) return std::max(kLeast, static_cast<std::size_t>(columns));
  }
  for (const int file : {STDERR_FILENO, STDOUT_FILENO}) {
    winsize size{};
    if (::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col != 0)
      return std::max(kLeast, std::size_t{size.ws_col});
  }
  return kUsual;
}

std::string progress_line(const std::string& what, double share, double seconds_left,
                          std::size_t columns) {
  const std::string numbers = formatted("%3.0f %%, %.0f s left", share * 100, seconds_left);
  // The last column stays empty: what is written there makes some terminals begin a new line.
  const std::size_t taken = what.size() + numbers.size() + 4 + 1;
  std::string line = what + " ";
  if (taken + 4 <= columns) {
    const std::size_t cells = std::min(kBarCells, columns - taken);
    const std::size_t full =
        std::min(cells, static_cast<std::size_t>(share * static_cast<double>(cells)));
    line += "[" + std::string(full, '#') + std::string(cells - full, '.') + "] ";
  }
  line += numbers;
  if (line.size() >= columns) line.resize(columns - 1);
  return line;
}

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), enabled_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  // Leaves the line empty for what is printed next.
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::draw(std::uint64_t done, std::uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_draw_ < kRedraw) return;
  last_draw_ = now;
  drawn_ = true;
  if (total == 0) {
    std::fprintf(stderr, "\r%s %s\033[K", what_.c_str(), grouped(done).c_str());
    return;
  }
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double left = share > 0 ? elapsed / share - elapsed : 0;
  std::fprintf(stderr, "\r%s\033[K", progress_line(what_, share, left, terminal_columns()).c_str());
}

std::uint64_t parse_time_of_day(const std::string& text) {
  const std::string_view all = text;
  const std::size_t colon = all.find(':');
  if (colon == std::string_view::npos) refuse_time(text);
  const std::uint64_t hours = digits(all.substr(0, colon), 2, text);
  std::string_view rest = all.substr(colon + 1);
  const std::size_t second_colon = rest.find(':');
  const std::uint64_t minutes = digits(rest.substr(0, second_colon), 2, text);
  std::uint64_t seconds = 0;
  std::uint64_t fraction_ns = 0;
  if (second_colon != std::string_view::npos) {
    rest.remove_prefix(second_colon + 1);
    const std::size_t point = rest.find('.');
    seconds = digits(rest.substr(0, point), 2, text);
    if (point != std::string_view::npos) {
      const std::string_view decimals = rest.substr(point + 1);
      fraction_ns = digits(decimals, 9, text);
      for (std::size_t i = decimals.size(); i < 9; ++i) fraction_ns *= 10;
    }
  }
  if (hours > 23 || minutes > 59 || seconds > 59) refuse_time(text);
  return ((hours * 60 + minutes) * 60 + seconds) * kSecondNs + fraction_ns;
}

std::string time_of_day_text(std::uint64_t ns) {
  const std::uint64_t seconds = ns / kSecondNs;
  return formatted("%02u:%02u:%02u.%09u", static_cast<unsigned>(seconds / 3600),
                   static_cast<unsigned>(seconds / 60 % 60), static_cast<unsigned>(seconds % 60),
                   static_cast<unsigned>(ns % kSecondNs));
}

std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string wrapped(const std::vector<std::string>& words, std::size_t columns, std::size_t indent,
                    std::size_t gap) {
  std::string text;
  std::size_t line = columns + 1;  // as long as it is by now; here: full
  for (const std::string& word : words) {
    const bool fits = line + gap + word.size() <= columns;
    if (!fits) line = indent;
    text += fits ? std::string(gap, ' ') : (text.empty() ? "" : "\n") + std::string(indent, ' ');
    text += word;
    line += (fits ? gap : 0) + word.size();
  }
  return text + "\n";
}

}  // namespace tickpath::cli
