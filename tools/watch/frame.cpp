#include "tools/watch/frame.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "common/base/format.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/watch/view.hpp"

namespace tickpath::watch {
namespace {

using control::Json;

constexpr std::size_t kTwoColumnsFrom = 140;

// A titled part of the screen. `least`: lines that it gets before others get more.
struct Block {
  std::vector<Line> lines;
  std::size_t least = 0;
};

std::string text_of_key(const Json& row, const char* key) { return row.value(key, std::string()); }

// "left" padded to the width, or cut.
std::string left(const std::string& text, std::size_t columns) {
  std::string cell = cut(text, columns);
  return cell + std::string(columns - width_of(cell), ' ');
}
std::string right(const std::string& text, std::size_t columns) {
  std::string cell = cut(text, columns);
  return std::string(columns - width_of(cell), ' ') + cell;
}

// The first column takes what the others leave of the width.
std::size_t rest_of(std::size_t columns, std::size_t others, std::size_t most) {
  return std::clamp<std::size_t>(columns > others ? columns - others : 0, 8, most);
}

std::string money_text(double money) {
  if (std::fabs(money) >= 1e12) return formatted("%.4g", money);
  const auto cents = static_cast<std::uint64_t>(std::llround(std::fabs(money) * 100));
  return (money < 0 && cents != 0 ? "-" : "") + cli::grouped(cents / 100) +
         formatted(".%02d", static_cast<int>(cents % 100));
}

std::string count_text(double count) {
  return (count < 0 ? "-" : "") + cli::grouped(static_cast<std::uint64_t>(std::fabs(count)));
}

std::string uptime_text(std::int64_t ms) {
  const std::int64_t s = ms / 1000;
  if (s < 3600) return formatted("%d:%02d", static_cast<int>(s / 60), static_cast<int>(s % 60));
  return formatted("%d:%02d h", static_cast<int>(s / 3600), static_cast<int>(s / 60 % 60));
}

Style style_of_state(const std::string& state) {
  if (state == "ready" || state == "running" || state == "good") return Style::kGood;
  if (state == "starting" || state == "stopping" || state == "away" || state == "ended")
    return Style::kWarning;
  return Style::kAlarm;
}

Style style_of_money(double money) { return money < 0 ? Style::kAlarm : Style::kPlain; }

// ---- parts

Line head_line(const Json& view, const FrameOptions& options) {
  const std::string utc = text_of_key(view, "utc");  // 2027-02-19T10:00:00Z
  const std::size_t time = utc.find('T');
  std::string text = options.paused ? " PAUSED" : "";
  text += " tickpath  " + text_of_key(view, "run_dir") + "  " +
          (time == std::string::npos ? utc : utc.substr(time + 1));
  if (!object_at(view, "total").empty())
    text += "  P&L " + money_text(object_at(view, "total").value("pnl", 0.0));
  for (const Json& rate : list_at(view, "rates"))
    if (const std::string name = text_of_key(rate, "name"); name != "refused")
      text += "  " + name + " " + rate_text(rate.value("per_second", 0.0)) + "/s";
  return {{left(text, options.columns), Style::kTitle}};
}

Block alarms_block(const Json& view, std::size_t columns) {
  Block block;
  for (const Json& each : list_at(view, "alarms")) {
    const bool alarm = text_of_key(each, "level") == "alarm";
    const std::string name = text_of_key(each, "name");
    block.lines.push_back({{cut((alarm ? " ALARM    " : " warning  ") +
                                    (name.empty() ? "" : name + ": ") + text_of_key(each, "text"),
                                columns),
                            alarm ? Style::kAlarm : Style::kWarning}});
  }
  if (block.lines.empty()) block.lines.push_back({{" no alarms", Style::kGood}});
  block.least = std::min<std::size_t>(block.lines.size(), 3);
  return block;
}

Block programs_block(const Json& view, std::size_t columns) {
  const std::size_t name = rest_of(columns, 63, 16);
  Block block;
  block.lines.push_back({{left(" PROGRAM", name + 1) + " STATE      " + right("RATE", 20) +
                              right("BUSY", 6) + right("UPTIME", 9) + "  WAIT   ROLE",
                          Style::kTitle}});
  for (const Json& row : list_at(view, "programs")) {
    const std::string state = text_of_key(row, "state");
    const double busy = row.value("busy", -1.0);
    std::string more = text_of_key(row, "role");
    if (row.contains("host"))
      more += (more.empty() ? "" : ", ") + ("on " + text_of_key(row, "host"));
    if (more.empty()) more = text_of_key(row, "text");
    const std::string rate = row.contains("unit") ? rate_text(row.value("rate", 0.0)) + " " +
                                                        text_of_key(row, "unit") + "/s"
                                                  : "";
    block.lines.push_back(
        {{" " + left(text_of_key(row, "name"), name) + " "},
         {left(state, 11), style_of_state(state)},
         {right(rate, 20) + right(busy < 0 ? "-" : formatted("%.0f %%", busy * 100), 6) +
          right(uptime_text(row.value("uptime_ms", std::int64_t{0})), 9) + "  " +
          left(text_of_key(row, "wait"), 6) + " " + more}});
  }
  block.least = block.lines.size();
  return block;
}

// Feeds, replays, sessions and pairs: a word each, as many as fit a line.
Block links_block(const Json& view, std::size_t columns) {
  std::vector<std::string> words;
  for (const Json& feed : list_at(view, "feeds"))
    words.push_back(text_of_key(feed, "name") + ": feed " + text_of_key(feed, "state"));
  for (const Json& replay : list_at(view, "replays")) {
    const double total = replay.value("messages_total", 0.0);
    words.push_back(text_of_key(replay, "name") + ": " + text_of_key(replay, "state") + " " +
                    text_of_key(replay, "position") +
                    (total > 0
                         ? formatted(", %.0f %%", 100 * replay.value("messages_sent", 0.0) / total)
                         : ""));
  }
  for (const Json& session : list_at(view, "sessions"))
    words.push_back(text_of_key(session, "name") + "/" + text_of_key(session, "with") +
                    (session.value("logged_on", false) ? ": logged on" : ": LOGGED OFF"));
  for (const Json& pair : list_at(view, "pairs"))
    words.push_back(text_of_key(pair, "name") + ": " + text_of_key(pair, "role") + ", epoch " +
                    std::to_string(pair.value("epoch", std::uint64_t{0})) +
                    (text_of_key(pair, "text").empty() ? "" : ", " + text_of_key(pair, "text")));
  Block block;
  const std::string text = cli::wrapped(words, columns, 1, 3);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    block.lines.push_back({{cut(text.substr(at, end - at), columns), Style::kDim}});
    at = end + 1;
  }
  block.least = std::min<std::size_t>(block.lines.size(), 2);
  return block;
}

Block hops_block(const Json& view, std::size_t columns) {
  const std::size_t name = rest_of(columns, 44, 44);
  Block block;
  const std::string title = formatted(" LATENCY, LAST %.0f s", view.value("window_s", 0.0));
  block.lines.push_back({{left(title, name + 1) + right("COUNT", 10) + right("P50", 11) +
                              right("P99", 11) + right("MAX", 11),
                          Style::kTitle}});
  for (const Json& row : list_at(view, "hops")) {
    const bool headline = row.value("headline", false);
    const std::string text =
        headline ? "tick-to-order" : text_of_key(row, "from") + " -> " + text_of_key(row, "to");
    block.lines.push_back({{" " + left(text, name), headline ? Style::kGood : Style::kPlain},
                           {right(count_text(row.value("count", 0.0)), 10) +
                            right(latency_text(row.value("p50_ns", std::uint64_t{0})), 11) +
                            right(latency_text(row.value("p99_ns", std::uint64_t{0})), 11) +
                            right(latency_text(row.value("max_ns", std::uint64_t{0})), 11)}});
  }
  if (block.lines.size() == 1)
    block.lines.push_back({{" " + cut(text_of_key(view, "no_hops"), columns - 1), Style::kDim}});
  block.least = 3;
  return block;
}

Block queues_block(const Json& view, std::size_t columns) {
  std::vector<std::string> words;
  for (const Json& queue : list_at(view, "queues")) {
    const auto depth = queue.value("depth", std::uint64_t{0});
    if (depth == 0) continue;
    const auto room = queue.value("room", std::uint64_t{0});
    words.push_back(text_of_key(queue, "name") + " " + cli::grouped(depth) +
                    (room == 0 ? "" : " of " + cli::grouped(room)));
  }
  const std::string text =
      words.empty() ? "" : cli::wrapped(words, columns > 10 ? columns - 9 : 1, 0, 3);
  Block block;
  block.lines.push_back(
      {{" QUEUES  ", Style::kTitle},
       {words.empty() ? "empty"
                      : cut(text.substr(0, text.find('\n')), columns > 9 ? columns - 9 : 0)}});
  for (std::size_t at = text.find('\n'); at + 1 < text.size() && at != std::string::npos;) {
    const std::size_t end = text.find('\n', at + 1);
    block.lines.push_back({{std::string(9, ' ') + text.substr(at + 1, end - at - 1)}});
    at = end;
  }
  block.least = 1;
  return block;
}

void sort_rows(std::vector<Json>& rows, const FrameOptions& options) {
  const std::string key(kSortKeys[options.sort % kSortKeys.size()]);
  const auto magnitude = [&](const Json& row) {
    if (!row.contains(key) || !row[key].is_number()) return 0.0;
    return key == "strategy" ? -row[key].get<double>() : std::fabs(row[key].get<double>());
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Json& a, const Json& b) {
    if (key == "symbol") return text_of_key(a, "symbol") < text_of_key(b, "symbol");
    if (key == "pnl") return a.value(key, 0.0) > b.value(key, 0.0);
    return magnitude(a) > magnitude(b);
  });
  if (options.reverse) std::reverse(rows.begin(), rows.end());
}

std::vector<Json> sorted(const Json& list, const FrameOptions& options) {
  std::vector<Json> rows(list.begin(), list.end());
  sort_rows(rows, options);
  return rows;
}

// The title of a column, marked where rows are sorted by it.
std::string marked(const std::string& title, std::string_view key, const FrameOptions& options) {
  if (kSortKeys[options.sort % kSortKeys.size()] != key) return title;
  return (options.reverse ? "<" : ">") + title;
}

Line strategy_line(const Json& row, const std::string& name, std::size_t width) {
  const std::string state = row.value("killed", false) ? "killed" : text_of_key(row, "state");
  const double pnl = row.value("pnl", 0.0);
  return {{" " + left(name, width)},
          {left(state, 9), state.empty() ? Style::kPlain : style_of_state(state)},
          {right(money_text(pnl), 15), style_of_money(pnl)},
          {right(money_text(row.value("gross_notional", 0.0)), 16) +
           right(count_text(row.value("open_orders", 0.0)), 7) +
           right(rate_text(row.value("requests_per_second", 0.0)), 9) +
           right(count_text(row.value("fills", 0.0)), 8)}};
}

Block strategies_block(const Json& view, const FrameOptions& options, std::size_t columns) {
  const std::size_t name = rest_of(columns, 66, 24);
  Block block;
  block.lines.push_back(
      {{left(" STRATEGY", name + 1) + left("STATE", 9) + right(marked("P&L", "pnl", options), 15) +
            right("GROSS", 16) + right("OPEN", 7) + right("REQ/s", 9) + right("FILLS", 8),
        Style::kTitle}});
  for (const Json& row : sorted(list_at(view, "strategies"), options)) {
    std::string text = std::to_string(row.value("strategy", 0)) + " " + text_of_key(row, "name");
    block.lines.push_back(strategy_line(row, text, name));
  }
  if (block.lines.size() == 1)
    block.lines.push_back({{" none is known to risk yet", Style::kDim}});
  else
    block.lines.push_back(strategy_line(object_at(view, "total"), "total", name));
  block.least = std::min<std::size_t>(block.lines.size(), 4);
  return block;
}

Block limits_block(const Json& view, std::size_t columns) {
  std::vector<Json> rows(list_at(view, "limits").begin(), list_at(view, "limits").end());
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return a.value("used", 0.0) > b.value("used", 0.0);
  });
  const std::size_t name = rest_of(columns, 43, 48);
  Block block;
  block.lines.push_back(
      {{left(" LIMIT", name + 1) + right("VALUE", 16) + right("AT MOST", 18) + right("USED", 8),
        Style::kTitle}});
  const auto amount = [](const Json& row, const char* key) {
    const double value = row.value(key, 0.0);
    const std::string limit = text_of_key(row, "limit");
    const bool money = limit.ends_with("loss_max") || limit.ends_with("notional_max");
    return money ? money_text(value) : count_text(value);
  };
  for (const Json& row : rows) {
    const double used = row.value("used", 0.0);
    block.lines.push_back(
        {{" " + left(text_of_key(row, "whose") + " " + text_of_key(row, "limit"), name) +
          right(amount(row, "value"), 16) + right(amount(row, "max"), 18)},
         {right(formatted("%.1f %%", used * 100), 8), used >= 1     ? Style::kAlarm
                                                      : used >= 0.8 ? Style::kWarning
                                                                    : Style::kPlain}});
  }
  if (block.lines.size() == 1) block.lines.push_back({{" none is set", Style::kDim}});
  block.least = 2;
  return block;
}

Block positions_block(const Json& view, const FrameOptions& options, std::size_t columns) {
  const std::size_t name = rest_of(columns, 67, 24);
  const std::size_t count = list_at(view, "positions").size();
  Block block;
  block.lines.push_back(
      {{left(" POSITION, " + marked("SYMBOL", "symbol", options), name + 1) +
            right(marked("STRATEGY", "strategy", options), 11) +
            right(marked("SHARES", "shares", options), 12) +
            right(marked("CASH", "cash", options), 17) +
            right(marked("FILLS", "fills", options), 8) + right("TO BUY", 9) + right("TO SELL", 9),
        Style::kTitle}});
  const std::vector<Json> rows = sorted(list_at(view, "positions"), options);
  for (std::size_t i = std::min(options.skip, count); i < count; ++i) {
    const Json& row = rows[i];
    block.lines.push_back({{" " + left(text_of_key(row, "symbol"), name) +
                            right(std::to_string(row.value("strategy", 0)), 11) +
                            right(count_text(row.value("shares", 0.0)), 12) +
                            right(money_text(row.value("cash", 0.0)), 17) +
                            right(count_text(row.value("fills", 0.0)), 8) +
                            right(count_text(row.value("open_buy", 0.0)), 9) +
                            right(count_text(row.value("open_sell", 0.0)), 9)}});
  }
  if (count == 0) block.lines.push_back({{" none", Style::kDim}});
  block.least = 3;
  return block;
}

// ---- layout

// Gives each block its least, then what is left, line by line, to the first that want more.
void share_rows(std::vector<Block>& blocks, std::size_t rows) {
  std::vector<std::size_t> given(blocks.size(), 0);
  std::size_t left_over = rows;
  const auto give = [&](std::size_t i, std::size_t up_to) {
    const std::size_t wanted = std::min(up_to, blocks[i].lines.size());
    const std::size_t more = std::min(wanted - std::min(wanted, given[i]), left_over);
    given[i] += more;
    left_over -= more;
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) give(i, blocks[i].least);
  while (left_over > 0) {
    const std::size_t before = left_over;
    for (std::size_t i = 0; i < blocks.size(); ++i) give(i, given[i] + 1);
    if (left_over == before) break;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t hidden = blocks[i].lines.size() - given[i];
    blocks[i].lines.resize(given[i]);
    // The last line that is shown gives way to the number of those that are not, if others stay.
    if (hidden != 0 && given[i] > 3)
      blocks[i].lines.back() = {{formatted(" ... %zu more", hidden + 1), Style::kDim}};
  }
}

std::vector<Line> joined(const std::vector<Block>& blocks) {
  std::vector<Line> lines;
  for (const Block& block : blocks)
    lines.insert(lines.end(), block.lines.begin(), block.lines.end());
  return lines;
}

std::size_t line_width(const Line& line) {
  return std::accumulate(
      line.begin(), line.end(), std::size_t{0},
      [](std::size_t sum, const Span& span) { return sum + width_of(span.text); });
}

Line cut_line(Line line, std::size_t columns) {
  std::size_t used = 0;
  for (Span& span : line) {
    span.text = cut(span.text, columns - std::min(columns, used));
    used += width_of(span.text);
  }
  return line;
}

std::vector<Line> side_by_side(const std::vector<Line>& one, const std::vector<Line>& other,
                               std::size_t column) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    Line line = i < one.size() ? cut_line(one[i], column) : Line{};
    if (i < other.size()) {
      line.push_back({std::string(column + 2 - line_width(line), ' ')});
      line.insert(line.end(), other[i].begin(), other[i].end());
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

constexpr std::size_t kUnbounded = 1u << 20;

std::vector<Line> body_of(const Json& view, const FrameOptions& options, std::size_t rows) {
  const bool wide = options.columns >= kTwoColumnsFrom;
  const std::size_t column = wide ? (options.columns - 2) / 2 : options.columns;
  std::vector<Block> top{alarms_block(view, options.columns)};
  std::vector<Block> first{programs_block(view, column), links_block(view, column),
                           hops_block(view, column), queues_block(view, column)};
  std::vector<Block> second{strategies_block(view, options, column), limits_block(view, column),
                            positions_block(view, options, column)};
  if (!wide) {
    top.insert(top.end(), first.begin(), first.end());
    top.insert(top.end(), second.begin(), second.end());
    share_rows(top, rows);
    return joined(top);
  }
  share_rows(top, std::min<std::size_t>(rows, std::max<std::size_t>(rows / 4, 1)));
  std::vector<Line> lines = joined(top);
  share_rows(first, rows - lines.size());
  share_rows(second, rows - lines.size());
  const std::vector<Line> below = side_by_side(joined(first), joined(second), column);
  lines.insert(lines.end(), below.begin(), below.end());
  return lines;
}

const char* sgr_of(Style style) {
  switch (style) {
    case Style::kDim:
      return "\x1b[2m";
    case Style::kTitle:
      return "\x1b[1m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kWarning:
      return "\x1b[33m";
    case Style::kAlarm:
      return "\x1b[1;31m";
    case Style::kPlain:
      break;
  }
  return "";
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char each) { return (static_cast<unsigned char>(each) & 0xc0) != 0x80; }));
}

std::string cut(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t width = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (begins && width++ == columns) break;
  }
  return std::string(text.substr(0, at));
}

std::string latency_text(std::uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < 10'000) return std::to_string(ns) + " ns";
  if (ns < 1'000'000) return formatted("%.1f us", value / 1e3);
  if (ns < 1'000'000'000) return formatted("%.2f ms", value / 1e6);
  return formatted("%.2f s", value / 1e9);
}

std::string rate_text(double per_second) {
  if (per_second <= 0) return "0";
  if (per_second < 9.95) return formatted("%.1f", per_second);
  return cli::grouped(static_cast<std::uint64_t>(std::llround(per_second)));
}

std::vector<Line> frame_of(const Json& view, const FrameOptions& options) {
  std::vector<Line> lines{head_line(view, options)};
  const std::size_t others = options.footer.empty() ? 1 : 2;
  const std::size_t rows =
      options.rows == 0 ? kUnbounded : options.rows - std::min(options.rows, others);
  std::vector<Line> body;
  if (const std::string text = text_of_key(view, "nothing_runs"); !text.empty())
    body.push_back({{" " + text, Style::kWarning}});
  else
    body = body_of(view, options, rows);
  lines.insert(lines.end(), body.begin(), body.end());
  if (options.rows != 0) lines.resize(std::max<std::size_t>(options.rows, others) - (others - 1));
  if (!options.footer.empty()) lines.push_back({{" " + options.footer, Style::kTitle}});
  if (options.rows != 0) lines.resize(options.rows);
  for (Line& line : lines) line = cut_line(std::move(line), options.columns);
  return lines;
}

std::string plain_text(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    std::string row;
    for (const Span& span : line) row += span.text;
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string terminal_text(const std::vector<Line>& lines, bool colours) {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += "\x1b[K";  // ahead of the text: behind a full line it would take the last character
    for (const Span& span : lines[i]) {
      const std::string sgr = colours ? sgr_of(span.style) : "";
      text += sgr + span.text + (sgr.empty() ? "" : "\x1b[0m");
    }
    if (i + 1 < lines.size()) text += "\r\n";
  }
  return text;
}

}  // namespace tickpath::watch
