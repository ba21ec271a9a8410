#include "tools/cli/recording_contents.hpp"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

#include "common/base/format.hpp"
#include "common/base/names.hpp"
#include "common/base/utc.hpp"
#include "common/feeds/iex/codec.hpp"
#include "common/feeds/itch/codec.hpp"
#include "tools/cli/progress_bar.hpp"
#include "tools/cli/recording_writer.hpp"

namespace tickpath::cli {
namespace {

constexpr std::uint64_t kNsPerMillisecond = 1'000'000;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kNsPerDay = 86'400 * kNsPerSecond;
constexpr std::size_t kSymbolsShown = 12;
constexpr std::size_t kDaysShown = 31;

// The most messages in one of the periods that follow each other from midnight on.
class Busiest {
 public:
  explicit Busiest(std::uint64_t period_ns) : period_ns_(period_ns) {}
  void add(std::uint64_t time_ns) noexcept {
    const std::uint64_t period = time_ns / period_ns_;
    count_ = period == current_ ? count_ + 1 : 1;
    current_ = period;
    most_ = std::max(most_, count_);
  }
  std::uint64_t most() const noexcept { return most_; }

 private:
  std::uint64_t period_ns_;
  std::uint64_t current_ = UINT64_MAX;
  std::uint64_t count_ = 0;
  std::uint64_t most_ = 0;
};

struct SymbolCollector {
  std::set<std::string>& symbols;
  void operator()(const itch::StockDirectory& entry) {
    symbols.insert(std::string(entry.stock.view()));
  }
  void operator()(const auto&) noexcept {}
};

// DEEP names symbols in every message; its directory has the venue's own listings only.
struct IexCollector {
  std::set<std::string>& symbols;
  itch::TradingDay& day;
  bool& begins_day;
  void operator()(const iex::SystemEvent& message) {
    begins_day = begins_day || day.on_event(message.event) == itch::DayBreak::kDay;
  }
  void operator()(const auto& message) {
    if constexpr (requires { message.symbol; }) symbols.insert(std::string(message.symbol.view()));
  }
};

// Adds up what every format has: bytes, types, times.
class Tally {
 public:
  explicit Tally(RecordingContents& contents) : contents_(contents) {}
  ~Tally() {
    contents_.busiest_millisecond = millisecond_.most();
    contents_.busiest_second = second_.most();
  }
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  // time_ns: since the first midnight. is_mark: the message marks a midnight.
  void add(std::span<const std::byte> bytes, std::uint64_t time_ns, bool is_mark = false) {
    RecordingContents& c = contents_;
    if (c.messages++ == 0) c.first_ns = c.last_ns = time_ns;
    if (time_ns < c.last_ns) ++c.time_reversals;
    c.last_ns = std::max(c.last_ns, time_ns);
    c.days = c.last_ns / kNsPerDay + 1;
    if (!is_mark) add_to_day(time_ns);
    c.bytes += bytes.size();
    ++c.by_type[static_cast<std::uint8_t>(bytes[0])];
    millisecond_.add(time_ns);
    second_.add(time_ns);
  }

 private:
  void add_to_day(std::uint64_t time_ns) {
    const std::uint64_t number = time_ns / kNsPerDay + 1;
    if (day_ == nullptr || number != day_number_) {
      day_ = &contents_.each_day[number];
      day_number_ = number;
    }
    if (day_->messages++ == 0) day_->first_ns = day_->last_ns = time_ns;
    day_->first_ns = std::min(day_->first_ns, time_ns);
    day_->last_ns = std::max(day_->last_ns, time_ns);
  }

  RecordingContents& contents_;
  DayContents* day_ = nullptr;  // of the last message
  std::uint64_t day_number_ = 0;
  Busiest millisecond_{kNsPerMillisecond}, second_{kNsPerSecond};
};

void note_books(BookAudit& books, RecordingContents& contents) {
  books.finish(contents.last_ns);
  contents.crossed = books.crossed().times().get();
  contents.crossed_ns = books.crossed().total_ns().get();
  contents.crossed_longest_ns = books.crossed().longest_ns().get();
  contents.crossed_symbols = books.symbols();
  contents.unseen_orders = books.refused();
}

std::string crossed_text(const RecordingContents& contents) {
  if (contents.crossed == 0) return "never, while they trade";
  std::string text = grouped(contents.crossed) +
                     formatted(" times while they trade, %.3f s in all, %.3f s at most:",
                               static_cast<double>(contents.crossed_ns) / kNsPerSecond,
                               static_cast<double>(contents.crossed_longest_ns) / kNsPerSecond);
  std::size_t shown = 0;
  for (const CrossedSymbol& symbol : contents.crossed_symbols) {
    if (shown++ == kSymbolsShown) return text + " ...";
    text += " " + symbol.symbol + " (" + grouped(symbol.times) +
            (symbol.to_the_end ? ", to the end)" : ")");
  }
  return text;
}

// Empty where the recording has no dates.
std::string date_text(const RecordingContents& contents, std::uint64_t ns) {
  if (contents.midnight_ns == 0) return {};
  const auto day = contents.each_day.find(ns / kNsPerDay + 1);
  const std::uint64_t ahead_ns = day == contents.each_day.end() ? 0 : day->second.ahead_ns;
  return utc_day_text(
      static_cast<std::int64_t>((contents.midnight_ns + ns - ahead_ns) / kNsPerSecond));
}

// The date is part of it where the recording has one.
std::string time_text(const RecordingContents& contents, std::uint64_t ns) {
  if (contents.midnight_ns == 0) return recorded_time_text(ns);
  return date_text(contents, ns) + " " + time_of_day_text((contents.midnight_ns + ns) % kNsPerDay);
}

bool is_mark_of_midnight(std::span<const std::byte> message) noexcept {
  return message.size() == itch::SystemEvent::kLength &&
         itch::message_type(message.data()) == itch::SystemEvent::kType &&
         static_cast<char>(message.back()) == itch::SystemEvent::kMidnight;
}

// The rows above say everything of a recording of one day.
template <class Row>
void add_days(const RecordingContents& contents, const Row& row) {
  if (contents.each_day.size() < 2) return;
  std::size_t shown = 0;
  for (const auto& [number, day] : contents.each_day) {
    if (shown++ == kDaysShown) return row("", "...");
    const std::string date = date_text(contents, day.first_ns);
    row(("day " + std::to_string(number)).c_str(),
        (date.empty() ? date : date + ", ") + time_of_day_text(day.first_ns % kNsPerDay) + " to " +
            time_of_day_text(day.last_ns % kNsPerDay) + ", " + grouped(day.messages) + " messages");
  }
}

nlohmann::ordered_json days_json(const RecordingContents& contents) {
  nlohmann::ordered_json days = nlohmann::ordered_json::array();
  for (const auto& [number, day] : contents.each_day)
    days.push_back({{"day", number},
                    {"date", date_text(contents, day.first_ns)},
                    {"messages", day.messages},
                    {"first_ns", day.first_ns},
                    {"last_ns", day.last_ns}});
  return days;
}

const char* format_text(itch::RecordingFormat format) {
  using enum itch::RecordingFormat;
  return name_in(format,
                 {{kBinaryFile, "ITCH 5.0, BinaryFILE"},
                  {kLobster, "LOBSTER message file, read as ITCH 5.0"},
                  {kGenerated, "generated ITCH 5.0"},
                  {kPacketCapture, "packet capture, ITCH 5.0 over MoldUDP64"},
                  {kIexDeep, "packet capture, IEX DEEP 1.0 over IEX-TP, times UTC"},
                  {kDatabento, "Databento DBN, market by order, read as ITCH 5.0, times UTC"},
                  {kDatabentoCsv, "Databento CSV, market by order, read as ITCH 5.0, times UTC"}});
}

}  // namespace

RecordingContents read_contents(itch::RecordingReader& recording, const std::string& what) {
  RecordingContents contents;
  contents.format = format_text(recording.format());
  contents.type_name = itch::name_of;
  contents.file_bytes = recording.file_bytes_total();
  ProgressBar progress(what);
  SymbolCollector symbols{contents.symbols};
  BookAudit books(contents.file_bytes);
  {
    Tally tally(contents);
    itch::RecordedMessage message;
    while (recording.next(message) == itch::ReadStatus::kMessage) {
      tally.add(message.bytes, message.timestamp_ns, is_mark_of_midnight(message.bytes));
      if (itch::decode(message.bytes, symbols) != itch::DecodeStatus::kOk) ++contents.undecodable;
      books.itch(message.bytes, message.timestamp_ns);
      progress.update(recording.file_bytes_read(), recording.file_bytes_total());
    }
  }
  note_books(books, contents);
  contents.midnight_ns = recording.midnight_ns();
  contents.names = recording.names();
  contents.remarks = recording.remarks();
  contents.damage = recording.damage();
  return contents;
}

RecordingContents read_contents(iex::CaptureReader& capture, const std::string& what) {
  RecordingContents contents;
  contents.format = std::string("packet capture, IEX ") +
                    (capture.protocol() == iex::kDeep10 ? "DEEP 1.0" : "TOPS 1.6") +
                    " over IEX-TP, times UTC";
  contents.type_name = iex::name_of;
  contents.file_bytes = capture.file_bytes_total();
  ProgressBar progress(what);
  iex::CaptureDays days;
  itch::TradingDay day;
  bool begins_day = false;
  IexCollector collector{contents.symbols, day, begins_day};
  BookAudit books(contents.file_bytes);
  {
    Tally tally(contents);
    iex::CapturedMessage message;
    while (capture.next(message)) {
      if (message.restart) books.begin_anew();
      if (message.bytes.empty()) continue;
      // A day that its sender does not begin begins with its numbers.
      begins_day = message.restart && day.over() &&
                   day.on_event(iex::SystemEvent::kStartOfMessages) == itch::DayBreak::kDay;
      if (iex::decode(message.bytes, collector) != iex::DecodeStatus::kOk) ++contents.undecodable;
      // The time of the segment: events of several matching engines are in no order of their own
      // times.
      const std::uint64_t time_ns = days.time_ns(message.send_time_ns, begins_day);
      tally.add(message.bytes, time_ns);
      contents.each_day[time_ns / kNsPerDay + 1].ahead_ns = days.ahead_ns();
      books.iex(message.bytes, time_ns);
      progress.update(capture.file_bytes_read(), capture.file_bytes_total());
    }
  }
  note_books(books, contents);
  contents.midnight_ns = days.midnight_ns();
  contents.remarks = iex::remarks_of(capture.counts());
  contents.damage = capture.damage();
  return contents;
}

std::string contents_text(const RecordingContents& contents, const std::string& file) {
  std::string text = file + "\n";
  const auto row = [&text](const char* what, const std::string& value) {
    text +=
        std::string("  ") + what + std::string(14 - std::string(what).size(), ' ') + value + "\n";
  };
  row("format", contents.format);
  row("messages", grouped(contents.messages) + ", " + grouped(contents.bytes) + " bytes");
  row("time",
      time_text(contents, contents.first_ns) + " to " + time_text(contents, contents.last_ns));
  add_days(contents, row);
  row("busiest", grouped(contents.busiest_second) + " messages in a second, " +
                     grouped(contents.busiest_millisecond) + " in a millisecond");
  std::string symbols = grouped(contents.symbols.size());
  std::size_t shown = 0;
  for (const std::string& symbol : contents.symbols) {
    if (shown == kSymbolsShown) break;
    symbols += (shown++ == 0 ? ": " : " ") + symbol;
  }
  if (contents.symbols.size() > kSymbolsShown) symbols += " ...";
  row("symbols", contents.symbols.empty() ? "no directory" : symbols);
  for (const auto& [symbol, name] : contents.names) row(symbol.c_str(), "is " + name);
  row("crossed books", crossed_text(contents));
  if (contents.unseen_orders != 0)
    row("", grouped(contents.unseen_orders) + " orders found no room in the books looked at");
  if (!contents.remarks.empty()) row("remarks", contents.remarks);
  if (contents.undecodable != 0)
    row("undecodable",
        grouped(contents.undecodable) + " messages are of no type or length that the format has");
  if (contents.time_reversals != 0) row("time reversals", grouped(contents.time_reversals));
  row("damage", contents.damage.empty() ? "none" : contents.damage);
  return text + types_text(contents.by_type, contents.messages, contents.type_name);
}

std::string contents_json(const RecordingContents& contents, const std::string& file) {
  nlohmann::ordered_json types = nlohmann::ordered_json::object();
  for (std::size_t type = 0; type < contents.by_type.size(); ++type) {
    if (contents.by_type[type] == 0) continue;
    types[formatted(type >= ' ' && type <= '~' ? "%c" : "\\x%02x", static_cast<unsigned>(type))] =
        contents.by_type[type];
  }
  nlohmann::ordered_json names = nlohmann::ordered_json::object();
  for (const auto& [symbol, name] : contents.names) names[symbol] = name;
  const nlohmann::ordered_json all = {{"file", file},
                                      {"format", contents.format},
                                      {"file_bytes", contents.file_bytes},
                                      {"messages", contents.messages},
                                      {"message_bytes", contents.bytes},
                                      {"first_ns", contents.first_ns},
                                      {"last_ns", contents.last_ns},
                                      {"days", contents.days},
                                      {"each_day", days_json(contents)},
                                      {"busiest_second", contents.busiest_second},
                                      {"busiest_millisecond", contents.busiest_millisecond},
                                      {"symbols", contents.symbols},
                                      {"names", names},
                                      {"midnight_ns", contents.midnight_ns},
                                      {"undecodable", contents.undecodable},
                                      {"time_reversals", contents.time_reversals},
                                      {"crossed", contents.crossed},
                                      {"crossed_ns", contents.crossed_ns},
                                      {"crossed_longest_ns", contents.crossed_longest_ns},
                                      {"remarks", contents.remarks},
                                      {"damage", contents.damage},
                                      {"by_type", types}};
  return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tickpath::cli
