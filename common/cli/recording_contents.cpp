#include "common/cli/recording_contents.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/cli/progress_bar.hpp"
#include "common/itch/codec.hpp"

namespace tickpath::cli {
namespace {

constexpr std::uint64_t kNsPerMillisecond = 1'000'000;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kSymbolsShown = 12;

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

const char* format_text(itch::RecordingFormat format) {
  switch (format) {
    case itch::RecordingFormat::kBinaryFile:
      return "ITCH 5.0, BinaryFILE";
    case itch::RecordingFormat::kLobster:
      return "LOBSTER message file, read as ITCH 5.0";
    case itch::RecordingFormat::kGenerated:
      return "generated ITCH 5.0";
    case itch::RecordingFormat::kPacketCapture:
      return "packet capture, ITCH 5.0 over MoldUDP64";
  }
  return "?";
}

}  // namespace

RecordingContents read_contents(itch::RecordingReader& recording, const std::string& what) {
  RecordingContents contents;
  contents.format = recording.format();
  contents.file_bytes = recording.file_bytes_total();
  ProgressBar progress(what);
  Busiest millisecond(kNsPerMillisecond), second(kNsPerSecond);
  SymbolCollector symbols{contents.symbols};
  itch::RecordedMessage message;
  while (recording.next(message) == itch::ReadStatus::kMessage) {
    const std::uint64_t time_ns = message.timestamp_ns;
    if (contents.messages++ == 0) contents.first_ns = contents.last_ns = time_ns;
    if (time_ns < contents.last_ns) ++contents.time_reversals;
    contents.last_ns = std::max(contents.last_ns, time_ns);
    contents.bytes += message.bytes.size();
    ++contents.by_type[static_cast<std::uint8_t>(message.bytes[0])];
    if (itch::decode(message.bytes, symbols) != itch::DecodeStatus::kOk) ++contents.undecodable;
    millisecond.add(time_ns);
    second.add(time_ns);
    progress.update(recording.file_bytes_read(), recording.file_bytes_total());
  }
  contents.busiest_millisecond = millisecond.most();
  contents.busiest_second = second.most();
  contents.remarks = recording.remarks();
  contents.damage = recording.damage();
  return contents;
}

std::string types_text(const std::array<std::uint64_t, 256>& by_type, std::uint64_t messages) {
  std::vector<std::size_t> types;
  for (std::size_t type = 0; type < by_type.size(); ++type)
    if (by_type[type] > 0) types.push_back(type);
  std::ranges::stable_sort(types, std::ranges::greater{},
                           [&](std::size_t type) { return by_type[type]; });
  std::string text;
  for (const std::size_t type : types) {
    const char letter = static_cast<char>(type);
    char line[128];
    std::snprintf(line, sizeof(line), "  %c  %-32s %13s  %6.2f %%\n",
                  letter >= ' ' && letter <= '~' ? letter : '?',
                  std::string(itch::name_of(letter)).c_str(), grouped(by_type[type]).c_str(),
                  100.0 * static_cast<double>(by_type[type]) / static_cast<double>(messages));
    text += line;
  }
  return text;
}

std::string contents_text(const RecordingContents& contents, const std::string& file) {
  std::string text = file + "\n";
  const auto row = [&text](const char* what, const std::string& value) {
    text +=
        std::string("  ") + what + std::string(14 - std::string(what).size(), ' ') + value + "\n";
  };
  row("format", format_text(contents.format));
  row("messages", grouped(contents.messages) + ", " + grouped(contents.bytes) + " bytes");
  row("time", time_of_day_text(contents.first_ns) + " to " + time_of_day_text(contents.last_ns));
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
  if (!contents.remarks.empty()) row("remarks", contents.remarks);
  if (contents.undecodable != 0)
    row("undecodable", grouped(contents.undecodable) + " messages are none of ITCH 5.0");
  if (contents.time_reversals != 0) row("time reversals", grouped(contents.time_reversals));
  row("damage", contents.damage.empty() ? "none" : contents.damage);
  return text + types_text(contents.by_type, contents.messages);
}

std::string contents_json(const RecordingContents& contents, const std::string& file) {
  nlohmann::ordered_json types = nlohmann::ordered_json::object();
  for (std::size_t type = 0; type < contents.by_type.size(); ++type) {
    if (contents.by_type[type] == 0) continue;
    char key[8];
    std::snprintf(key, sizeof(key), type >= ' ' && type <= '~' ? "%c" : "\\x%02x",
                  static_cast<unsigned>(type));
    types[key] = contents.by_type[type];
  }
  const nlohmann::ordered_json all = {{"file", file},
                                      {"format", format_text(contents.format)},
                                      {"file_bytes", contents.file_bytes},
                                      {"messages", contents.messages},
                                      {"message_bytes", contents.bytes},
                                      {"first_ns", contents.first_ns},
                                      {"last_ns", contents.last_ns},
                                      {"busiest_second", contents.busiest_second},
                                      {"busiest_millisecond", contents.busiest_millisecond},
                                      {"symbols", contents.symbols},
                                      {"undecodable", contents.undecodable},
                                      {"time_reversals", contents.time_reversals},
                                      {"remarks", contents.remarks},
                                      {"damage", contents.damage},
                                      {"by_type", types}};
  return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tickpath::cli
