#include "tools/cli/recording_writer.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <system_error>
#include <vector>

#include "common/base/format.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "tools/cli/progress_bar.hpp"

namespace tickpath::cli {

RecordingSummary write_recording(itch::RecordingReader& recording,
                                 const std::filesystem::path& output, const std::string& what) {
  if (output.has_parent_path()) {
    std::error_code error;  // where it cannot be made, the writer says so
    if (std::filesystem::create_directories(output.parent_path(), error))
      std::fprintf(stderr, "made the directory %s\n", output.parent_path().c_str());
  }
  itch::BinaryFileWriter writer(output);
  ProgressBar progress(what);
  RecordingSummary summary;
  itch::RecordedMessage message;
  itch::ReadStatus status;
  while ((status = recording.next(message)) == itch::ReadStatus::kMessage) {
    writer.write(message.bytes);
    if (summary.messages++ == 0) summary.first_ns = message.timestamp_ns;
    summary.last_ns = message.timestamp_ns;
    ++summary.by_type[static_cast<std::uint8_t>(message.bytes[0])];
    progress.update(recording.file_bytes_read(), recording.file_bytes_total());
  }
  summary.damaged = status == itch::ReadStatus::kDamaged;
  if (!summary.damaged) writer.finish();
  summary.bytes = writer.bytes();
  return summary;
}

std::string types_text(const std::array<std::uint64_t, 256>& by_type, std::uint64_t messages,
                       std::string_view (*type_name)(char type) noexcept) {
  std::vector<std::size_t> types;
  for (std::size_t type = 0; type < by_type.size(); ++type)
    if (by_type[type] > 0) types.push_back(type);
  std::ranges::stable_sort(types, std::ranges::greater{},
                           [&](std::size_t type) { return by_type[type]; });
  std::string text;
  for (const std::size_t type : types) {
    const char letter = static_cast<char>(type);
    text += formatted("  %c  %-32s %13s  %6.2f %%\n", letter >= ' ' && letter <= '~' ? letter : '?',
                      std::string(type_name(letter)).c_str(), grouped(by_type[type]).c_str(),
                      100.0 * static_cast<double>(by_type[type]) / static_cast<double>(messages));
  }
  return text;
}

std::string recorded_time_text(std::uint64_t ns) {
  constexpr std::uint64_t kDayNs = itch::TradingDay::kDayNs;
  const std::string time = time_of_day_text(ns % kDayNs);
  return ns < kDayNs ? time : time + " of day " + std::to_string(ns / kDayNs + 1);
}

void print_summary(const RecordingSummary& summary, const std::filesystem::path& output) {
  std::error_code error;
  const std::uint64_t on_disk = std::filesystem::file_size(output, error);
  std::printf("%s: %s messages, %s to %s, %s bytes", output.c_str(),
              grouped(summary.messages).c_str(), recorded_time_text(summary.first_ns).c_str(),
              recorded_time_text(summary.last_ns).c_str(), grouped(summary.bytes).c_str());
  if (!error && on_disk != summary.bytes) std::printf(", %s on disk", grouped(on_disk).c_str());
  std::printf("\n");
  std::fputs(types_text(summary.by_type, summary.messages, itch::name_of).c_str(), stdout);
}

}  // namespace tickpath::cli
