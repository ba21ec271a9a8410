#include "common/cli/recording_writer.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/cli/progress_bar.hpp"
#include "common/itch/binary_file.hpp"
#include "common/itch/codec.hpp"

namespace tickpath::cli {

RecordingSummary write_recording(itch::RecordingReader& recording,
                                 const std::filesystem::path& output, const std::string& what) {
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

void print_summary(const RecordingSummary& summary, const std::filesystem::path& output) {
  std::error_code error;
  const std::uint64_t on_disk = std::filesystem::file_size(output, error);
  std::printf("%s: %s messages, %s to %s, %s bytes", output.c_str(),
              grouped(summary.messages).c_str(), time_of_day_text(summary.first_ns).c_str(),
              time_of_day_text(summary.last_ns).c_str(), grouped(summary.bytes).c_str());
  if (!error && on_disk != summary.bytes) std::printf(", %s on disk", grouped(on_disk).c_str());
  std::printf("\n");
  std::vector<std::size_t> types;
  for (std::size_t type = 0; type < summary.by_type.size(); ++type) {
    if (summary.by_type[type] > 0) types.push_back(type);
  }
  std::ranges::sort(types, std::ranges::greater{},
                    [&](std::size_t type) { return summary.by_type[type]; });
  for (const std::size_t type : types) {
    const char letter = static_cast<char>(type);
    const std::string name(itch::name_of(letter));
    std::printf(
        "  %c  %-32s %13s  %6.2f %%\n", letter, name.c_str(),
        grouped(summary.by_type[type]).c_str(),
        100.0 * static_cast<double>(summary.by_type[type]) / static_cast<double>(summary.messages));
  }
}

}  // namespace tickpath::cli
