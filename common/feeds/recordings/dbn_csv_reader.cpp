#include "common/feeds/recordings/dbn_csv_reader.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>

#include "common/feeds/recordings/dbn_remarks.hpp"
#include "common/feeds/recordings/detail/remarks.hpp"

namespace tickpath::itch {
namespace {

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
constexpr std::string_view kEventColumn = "ts_event";
constexpr std::size_t kDecimals = 9;  // of prices, and of seconds

// Digits behind a point, as many as there are up to nine, as if there were nine.
bool parse_decimals(std::string_view text, std::int64_t& value) {
  if (text.size() > kDecimals) return false;
  value = 0;
  for (std::size_t i = 0; i < kDecimals; ++i) {
    const char digit = i < text.size() ? text[i] : '0';
    if (digit < '0' || digit > '9') return false;
    value = value * 10 + (digit - '0');
  }
  return true;
}

// x 1e9. "5156.25" or 5156250000000; nothing: there is none.
bool parse_price(std::string_view text, std::int64_t& price) {
  constexpr std::int64_t kWholeMax = std::numeric_limits<std::int64_t>::max() / 1'000'000'000 - 1;
  price = dbn::kNoPrice;
  if (text.empty()) return true;
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return detail::parse_integer(text, price);
  std::int64_t whole = 0;
  std::int64_t decimals = 0;
  if (!detail::parse_integer(text.substr(0, point), whole) ||
      !parse_decimals(text.substr(point + 1), decimals) || whole > kWholeMax || whole < -kWholeMax)
    return false;
  price = whole * 1'000'000'000 + (text.starts_with('-') ? -decimals : decimals);
  return true;
}

// "2024-05-08T13:30:00.123456789Z": the parts stand where they stand.
bool parse_iso_time(std::string_view text, std::uint64_t& time_ns) {
  using std::chrono::sys_days;
  constexpr std::size_t kSecondsEnd = 19;
  if (text.ends_with('Z')) text.remove_suffix(1);
  if (text.ends_with("+00:00")) text.remove_suffix(6);
  unsigned year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (text.size() < kSecondsEnd || !detail::parse_integer(text.substr(0, 4), year) ||
      !detail::parse_integer(text.substr(5, 2), month) ||
      !detail::parse_integer(text.substr(8, 2), day) ||
      !detail::parse_integer(text.substr(11, 2), hour) ||
      !detail::parse_integer(text.substr(14, 2), minute) ||
      !detail::parse_integer(text.substr(17, 2), second))
    return false;
  std::int64_t decimals = 0;
  if (text.size() > kSecondsEnd &&
      (text[kSecondsEnd] != '.' || !parse_decimals(text.substr(kSecondsEnd + 1), decimals)))
    return false;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok() || year < 1970 || year > 2261 || hour > 23 || minute > 59 || second > 59)
    return false;
  const auto days = static_cast<std::uint64_t>(sys_days(date).time_since_epoch().count());
  time_ns = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1'000'000'000 +
            static_cast<std::uint64_t>(decimals);
  return true;
}

bool parse_time_utc(std::string_view text, std::uint64_t& time_ns) {
  time_ns = dbn::kNoTime;
  return text.empty() || detail::parse_integer(text, time_ns) || parse_iso_time(text, time_ns);
}

template <class Integer>
bool parse_optional(std::string_view text, Integer& value) {
  return text.empty() || detail::parse_integer(text, value);
}

}  // namespace

bool is_databento_csv(std::string_view start) noexcept {
  const std::string_view header = start.substr(0, start.find('\n'));
  return header.find(kEventColumn) != std::string_view::npos;
}

DbnCsvReader::DbnCsvReader(std::unique_ptr<files::ByteSource> source,
                           std::shared_ptr<DbnOrders> orders)
    : source_(std::move(source)),
      lines_(*source_, "Databento's CSV"),
      orders_(orders == nullptr ? std::make_shared<DbnOrders>() : std::move(orders)) {
  read_header();
  file_ = orders_->add_file();
  if (at_[kSymbol] != kNowhere) read_symbols();
}

void DbnCsvReader::read_header() {
  std::string_view line;
  if (!lines_.next(line))
    throw RecordingError(lines_.error().empty() ? source_->name() + ": the file is empty"
                                                : lines_.error());
  fields_.resize(static_cast<std::size_t>(std::ranges::count(line, ',')) + 1);
  (void)split(line);
  for (std::size_t column = 0; column < kColumns; ++column) {
    const auto found = std::ranges::find(fields_, kNames[column]);
    at_[column] =
        found == fields_.end() ? kNowhere : static_cast<std::size_t>(found - fields_.begin());
    if (column < kRequired && at_[column] == kNowhere)
      throw RecordingError(source_->name() + ": is Databento's CSV without the column " +
                           std::string(kNames[column]) +
                           "; books of single orders are wanted: ask for the schema mbo");
  }
}

// Finds the first name of every instrument, and which names several have: these come back to one
// that had them before. read_line() reports damage when it comes to it.
void DbnCsvReader::read_symbols() {
  struct Bearers {
    std::uint32_t now = 0;
    std::set<std::uint32_t> before;
  };
  std::string_view line;
  DbnNames::Names names;
  std::map<std::string, Bearers, std::less<>> by_name;
  std::set<std::string> shared;
  while (lines_.next(line) && split(line)) {
    std::uint32_t instrument = 0;
    const std::string_view name = field(kSymbol);
    if (!detail::parse_integer(field(kInstrument), instrument) || name.empty()) continue;
    names.try_emplace(instrument, name);
    const auto bearers = by_name.find(name);
    if (bearers == by_name.end()) {
      by_name.emplace(name, Bearers{instrument, {}});
    } else if (bearers->second.now != instrument) {
      bearers->second.before.insert(std::exchange(bearers->second.now, instrument));
      if (bearers->second.before.contains(instrument)) shared.emplace(name);
    }
  }
  orders_->expect(names, shared);
  lines_.rewind();
  (void)lines_.next(line);  // the header
}

bool DbnCsvReader::split(std::string_view line) { return detail::split_fields(line, fields_); }

std::string_view DbnCsvReader::field(Column column) const {
  return at_[column] == kNowhere ? std::string_view() : fields_[at_[column]];
}

// What is wrong with the line; empty: nothing.
std::string DbnCsvReader::parse(dbn::MboMessage& record) const {
  const auto wrong = [this](Column column) {
    return std::string(kNames[column]) + " is " + detail::quoted(field(column));
  };
  const auto letter = [this](Column column) {
    return field(column).size() == 1 ? field(column)[0] : '\0';
  };
  if (!parse_time_utc(field(kEvent), record.event_time_ns)) return wrong(kEvent);
  if (!parse_time_utc(field(kReceived), record.receive_time_ns)) return wrong(kReceived);
  if (!detail::parse_integer(field(kInstrument), record.instrument)) return wrong(kInstrument);
  if (!parse_optional(field(kPublisher), record.publisher)) return wrong(kPublisher);
  if (!parse_optional(field(kFlags), record.flags)) return wrong(kFlags);
  if (!detail::parse_integer(field(kOrder), record.order_id)) return wrong(kOrder);
  if (!parse_price(field(kPrice), record.price)) return wrong(kPrice);
  if (!parse_optional(field(kSize), record.size)) return wrong(kSize);
  record.action = letter(kAction);
  record.side = letter(kSide);
  if (record.action == '\0') return wrong(kAction);
  if (record.side == '\0') return wrong(kSide);
  return {};
}

// False: the end, or damage.
bool DbnCsvReader::read_line() {
  std::string_view line;
  if (!lines_.next(line)) return false;
  if (!split(line))
    return lines_.fail("not " + std::to_string(fields_.size()) +
                       " fields separated by commas: " + detail::quoted(line));
  dbn::MboMessage record;
  if (const std::string wrong = parse(record); !wrong.empty()) return lines_.fail(wrong);
  orders_->take(record, std::string(field(kSymbol)));
  return true;
}

ReadStatus DbnCsvReader::next(RecordedMessage& message) {
  while (!orders_->next(message)) {
    if (!ended_ && read_line()) continue;
    ended_ = true;
    if (orders_->end_file(file_, !lines_.error().empty())) continue;
    damage_ = lines_.error();
    return damage_.empty() ? ReadStatus::kEnd : ReadStatus::kDamaged;
  }
  return ReadStatus::kMessage;
}

std::string DbnCsvReader::remarks() const {
  std::string text = "Databento CSV, " + remarks_of(*orders_, file_);
  detail::add_remark(text, source_->trailing_bytes(), detail::kTrailingBytes);
  return text;
}

}  // namespace tickpath::itch
