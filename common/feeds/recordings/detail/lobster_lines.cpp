#include "common/feeds/recordings/detail/lobster_lines.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace tickpath::itch::detail {

namespace {

constexpr std::size_t kFields = 6;
constexpr std::uint64_t kDaySeconds = 24 * 60 * 60;

// "34200.00426064": whole seconds and up to nine decimals, read exactly.
bool parse_time(std::string_view text, std::uint64_t& time_ns) {
  const std::size_t point = text.find('.');
  std::uint64_t seconds = 0;
  if (!parse_integer(text.substr(0, point), seconds) || seconds >= kDaySeconds) return false;
  std::uint64_t fraction_ns = 0;
  if (point != std::string_view::npos) {
    std::string_view decimals = text.substr(point + 1);
    // Files written through a double carry digits beyond the nanosecond; they mean nothing.
    if (decimals.size() > 9) decimals = decimals.substr(0, 9);
    if (!parse_integer(decimals, fraction_ns)) return false;
    for (std::size_t digits = decimals.size(); digits < 9; ++digits) fraction_ns *= 10;
  }
  time_ns = seconds * 1'000'000'000 + fraction_ns;
  return true;
}

// What each type needs of its other fields, beyond being numbers.
std::string check_ranges(const LobsterEvent& event) {
  if (event.type == LobsterType::kHalt) {
    if (event.price < -1 || event.price > 1) return "the price of a halt is not -1, 0 or 1";
    return {};
  }
  if (event.size == 0) return "the size is 0";
  if (event.price <= 0 || event.price > std::numeric_limits<std::uint32_t>::max()) {
    return "the price " + std::to_string(event.price) + " does not fit ITCH's Price(4)";
  }
  return {};
}

}  // namespace

std::string parse_lobster_line(std::string_view line, LobsterEvent& event) {
  std::array<std::string_view, kFields> fields;
  if (!split_fields(line, fields)) return "not 6 fields separated by commas: " + quoted(line);
  if (!parse_time(fields[0], event.time_ns)) return "not a time of day: " + quoted(fields[0]);
  unsigned type = 0;
  if (!parse_integer(fields[1], type) || type < 1 || type > 7) {
    return "not an event type from 1 to 7: " + quoted(fields[1]);
  }
  event.type = static_cast<LobsterType>(type);
  // Crosses carry the id -1.
  std::int64_t id = 0;
  if (!parse_integer(fields[2], id) || id < -1) return "not an order id: " + quoted(fields[2]);
  if (type <= 4 && id <= 0) return "an order event without an order id: " + quoted(fields[2]);
  event.order_id = id < 0 ? 0 : static_cast<std::uint64_t>(id);
  if (!parse_integer(fields[3], event.size)) return "not a size: " + quoted(fields[3]);
  if (!parse_integer(fields[4], event.price)) return "not a price: " + quoted(fields[4]);
  if (fields[5] != "1" && fields[5] != "-1") return "not a direction: " + quoted(fields[5]);
  event.side = fields[5] == "1" ? Side::kBuy : Side::kSell;
  return check_ranges(event);
}

namespace {

// One side's level of a row. An empty one has size 0, and a price that means nothing.
std::string parse_level(std::string_view price, std::string_view size, LobsterLevel& level) {
  std::int64_t wide = 0;
  if (!parse_integer(size, level.shares)) return "not a size: " + quoted(size);
  if (!parse_integer(price, wide)) return "not a price: " + quoted(price);
  if (level.shares == 0) return {};
  if (wide <= 0 || wide > std::numeric_limits<std::uint32_t>::max())
    return "the price " + std::to_string(wide) + " does not fit ITCH's Price(4)";
  level.price = static_cast<std::uint32_t>(wide);
  return {};
}

// Appends a level that shows shares, which must be worse than the one before.
std::string append_level(std::vector<LobsterLevel>& side, const LobsterLevel& level, bool buy) {
  if (level.shares == 0) return {};
  if (!side.empty() && (buy ? level.price >= side.back().price : level.price <= side.back().price))
    return "the levels are not in order of price";
  side.push_back(level);
  return {};
}

}  // namespace

std::string parse_lobster_row(std::string_view line, LobsterRow& row) {
  row.asks.clear();
  row.bids.clear();
  row.levels = (static_cast<std::size_t>(std::ranges::count(line, ',')) + 1) / 4;
  for (std::size_t i = 0; i < row.levels; ++i) {
    std::array<std::string_view, 4> fields;
    for (std::string_view& field : fields) {
      const std::size_t comma = line.find(',');
      field = line.substr(0, comma);
      line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
    }
    for (const bool buy : {false, true}) {
      LobsterLevel level;
      std::string wrong = parse_level(fields[buy ? 2 : 0], fields[buy ? 3 : 1], level);
      if (wrong.empty()) wrong = append_level(buy ? row.bids : row.asks, level, buy);
      if (!wrong.empty()) return wrong;
    }
  }
  if (row.levels == 0 || !line.empty()) return "not 4 fields for each level: " + quoted(line);
  return {};
}

bool LobsterLines::next(LobsterEvent& event) {
  std::string_view line;
  if (!lines_.next(line)) return false;
  const std::string wrong = parse_lobster_line(line, event);
  return wrong.empty() || lines_.fail(wrong);
}

bool LobsterRows::next(LobsterRow& row) {
  std::string_view line;
  if (!lines_.next(line)) return false;
  const std::string wrong = parse_lobster_row(line, row);
  return wrong.empty() || lines_.fail(wrong);
}

}  // namespace tickpath::itch::detail
