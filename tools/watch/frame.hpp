// A view of a pipeline as lines for a terminal of any size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/control/json.hpp"

namespace tickpath::watch {

enum class Style : std::uint8_t { kPlain, kDim, kTitle, kGood, kWarning, kAlarm };
struct Span {
  std::string text;
  Style style = Style::kPlain;
};
using Line = std::vector<Span>;

// Keys by which strategies and positions are sorted; the names are those of the view.
inline constexpr std::array<std::string_view, 6> kSortKeys{"shares", "symbol", "strategy",
                                                           "cash",   "fills",  "pnl"};

struct FrameOptions {
  std::size_t columns = 80;
  std::size_t rows = 0;  // 0: as many as it takes
  std::size_t sort = 0;  // of kSortKeys
  bool reverse = false;
  std::size_t skip = 0;  // positions that were scrolled past
  bool paused = false;
  std::string footer;  // the last line: keys, a question, an answer
};

// At most `rows` lines, none wider than `columns`. What does not fit is left out from each part,
// and the part's title says how much.
std::vector<Line> frame_of(const control::Json& view, const FrameOptions& options);

std::string plain_text(const std::vector<Line>& lines);
// Drawn over what stands on a terminal, from its upper left corner. colours: with SGR sequences
// (ECMA-48, 8.3.117).
std::string terminal_text(const std::vector<Line>& lines, bool colours);

// "3893 ns", "26.3 us", "4.59 ms", "1.2 s".
std::string latency_text(std::uint64_t ns);
// "0", "3.5", "1,234".
std::string rate_text(double per_second);
// Columns on a terminal: a character of UTF-8 each.
std::size_t width_of(std::string_view text);
// Cut to that width.
std::string cut(std::string_view text, std::size_t columns);

}  // namespace tickpath::watch
