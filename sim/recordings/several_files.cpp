#include "sim/recordings/several_files.hpp"

#include <algorithm>

#include "common/itch/stock_messages.hpp"

namespace tickpath::itch {
namespace {

constexpr std::uint64_t kWholeDayNs = 86'400'000'000'000;

bool starts_messages(std::span<const std::byte> message) noexcept {
  return message.size() == SystemEvent::kLength &&
         static_cast<char>(message.front()) == SystemEvent::kType &&
         static_cast<char>(message.back()) == SystemEvent::kStartOfMessages;
}

}  // namespace

std::vector<std::string> split_files(const std::filesystem::path& path) {
  const std::string text = path.string();
  std::error_code none;
  if (text.find(',') == std::string::npos || std::filesystem::exists(path, none)) return {text};
  std::vector<std::string> files;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    files.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return files;
}

SeveralFiles::SeveralFiles(const std::vector<std::string>& paths, const OpenOptions& options) {
  for (const std::string& path : paths) files_.push_back({path, open_recording(path, options)});
}

ReadStatus SeveralFiles::damaged(std::string why) {
  damage_ = std::move(why);
  return ReadStatus::kDamaged;
}

ReadStatus SeveralFiles::next(RecordedMessage& message) {
  for (;;) {
    RecordingReader& reader = *files_[at_].reader;
    const ReadStatus status = reader.next(message);
    if (status == ReadStatus::kDamaged) return damaged(reader.damage());
    if (status == ReadStatus::kEnd) {
      if (at_ + 1 == files_.size()) return status;
      ++at_;
      begun_ = false;
      continue;
    }
    if (!begun_ && !place(message))
      return damaged(files_[at_].name + ": begins before " + files_[at_ - 1].name +
                     " ends, and not with a day's start of messages: give the files in the order "
                     "of their times");
    begun_ = true;
    message.timestamp_ns += offset_ns_;
    last_ns_ = std::max(last_ns_, message.timestamp_ns);
    return status;
  }
}

bool SeveralFiles::place(RecordedMessage& first) {
  const std::uint64_t midnight = files_[at_].reader->midnight_ns();
  if (midnight != 0 && midnight_ns() != 0) {
    offset_ns_ = midnight - midnight_ns();
    return midnight >= midnight_ns() && first.timestamp_ns + offset_ns_ >= last_ns_;
  }
  if (first.timestamp_ns + offset_ns_ >= last_ns_) return true;  // the same day goes on
  first.begins_day = true;
  offset_ns_ = (last_ns_ / kWholeDayNs + 1) * kWholeDayNs;
  return starts_messages(first.bytes);
}

std::uint64_t SeveralFiles::file_bytes_read() const {
  std::uint64_t sum = 0;
  for (const File& file : files_) sum += file.reader->file_bytes_read();
  return sum;
}

std::uint64_t SeveralFiles::file_bytes_total() const {
  std::uint64_t sum = 0;
  for (const File& file : files_) sum += file.reader->file_bytes_total();
  return sum;
}

std::vector<std::pair<std::string, std::string>> SeveralFiles::names() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const File& file : files_)
    for (auto& pair : file.reader->names())
      if (std::ranges::find(all, pair) == all.end()) all.push_back(std::move(pair));
  return all;
}

std::string SeveralFiles::remarks() const {
  std::string all;
  for (const File& file : files_)
    if (const std::string text = file.reader->remarks(); !text.empty())
      all += (all.empty() ? "" : "; ") + file.name + ": " + text;
  return all;
}

}  // namespace tickpath::itch
