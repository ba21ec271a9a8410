#include "common/itch/detail/lobster_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>

namespace tickpath::itch::detail {

namespace {

constexpr std::size_t kFields = 6;
// A line has about 45 characters. One that does not end within a buffer of this size is no event.
constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr std::uint64_t kDaySeconds = 24 * 60 * 60;

bool parse_integer(std::string_view text, auto& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

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

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text.substr(0, 40)) result += c < ' ' || c > '~' ? '?' : c;
  return result + (text.size() > 40 ? "...\"" : "\"");
}

bool split(std::string_view line, std::array<std::string_view, kFields>& fields) {
  for (std::size_t i = 0; i < kFields; ++i) {
    const std::size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == kFields)) return false;
    fields[i] = line.substr(0, comma);
    if (comma != std::string_view::npos) line.remove_prefix(comma + 1);
  }
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
  if (!split(line, fields)) return "not 6 fields separated by commas: " + quoted(line);
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

LobsterLines::LobsterLines(files::ByteSource& source) : source_(source), buffer_(kBufferBytes) {}

void LobsterLines::rewind() {
  source_.rewind();
  begin_ = end_ = 0;
  line_number_ = 0;
  error_.clear();
}

bool LobsterLines::next(LobsterEvent& event) {
  if (!error_.empty()) return false;
  std::string_view line;
  if (!next_line(line)) return false;
  ++line_number_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::string wrong = parse_lobster_line(line, event);
  return wrong.empty() || fail(wrong);
}

bool LobsterLines::next_line(std::string_view& line) {
  for (bool more = true;;) {
    const char* from = buffer_.data() + begin_;
    const void* found = std::memchr(from, '\n', end_ - begin_);
    if (found != nullptr) {
      const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - from);
      line = {from, length};
      begin_ += length + 1;
      return true;
    }
    if (!more) break;
    std::memmove(buffer_.data(), from, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const std::size_t added =
        source_.read(std::as_writable_bytes(std::span(buffer_)).subspan(end_));
    end_ += added;
    more = added > 0;
  }
  ++line_number_;
  if (!source_.error().empty()) return fail(source_.error());
  if (end_ == buffer_.size()) return fail("no end of line within 64 KiB: not a LOBSTER file");
  --line_number_;
  if (begin_ == end_) return false;
  line = {buffer_.data() + begin_, end_ - begin_};  // the last line may lack its end
  begin_ = end_;
  return true;
}

bool LobsterLines::fail(const std::string& what) {
  error_ = source_.name() + ": line " + std::to_string(line_number_) + ": " + what;
  return false;
}

}  // namespace tickpath::itch::detail
