#include "common/feeds/recordings/several_files.hpp"

#include <algorithm>

#include "common/base/utc.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/recordings/dbn_orders.hpp"

namespace tickpath::itch {
namespace {

// The code of a system event. 0: the message is none.
char event_of(std::span<const std::byte> message) noexcept {
  const bool is_event =
      message.size() == SystemEvent::kLength && message_type(message.data()) == SystemEvent::kType;
  return is_event ? static_cast<char>(message.back()) : '\0';
}

bool is_databento(const RecordingReader& reader) noexcept {
  return reader.format() == RecordingFormat::kDatabento ||
         reader.format() == RecordingFormat::kDatabentoCsv;
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

SeveralFiles::SeveralFiles(const std::vector<std::string>& paths, const OpenOptions& options)
    : databento_(std::make_shared<DbnOrders>()) {
  OpenOptions each = options;
  each.databento = databento_;
  for (const std::string& path : paths) {
    files_.push_back({path, open_recording(path, each)});
    if (is_databento(*files_.back().reader) != is_databento(*files_.front().reader))
      throw RecordingError(path + ": cannot be played behind " + paths.front() +
                           ": one of them is Databento's, whose order numbers and locates are not "
                           "those of a feed; convert each by itself, or play them apart");
    dated_ = dated_ && files_.back().reader->midnight_ns() != 0;
  }
  if (dated_) check_dates();
}

void SeveralFiles::check_dates() const {
  const auto date = [](const File& file) {
    return utc_day_text(static_cast<std::int64_t>(file.reader->midnight_ns() / 1'000'000'000));
  };
  for (std::size_t at = 1; at < files_.size(); ++at) {
    const File& before = files_[at - 1];
    const File& file = files_[at];
    if (file.reader->midnight_ns() <= before.reader->midnight_ns())
      throw RecordingError(file.name + ": is of " + date(file) + ", and " + before.name +
                           " before it of " + date(before) +
                           ": give a file a day, in the order of their dates");
  }
}

std::uint64_t SeveralFiles::midnight_ns() const {
  const RecordingReader& first = *files_.front().reader;
  return dated_ || is_databento(first) ? first.midnight_ns() : 0;
}

ReadStatus SeveralFiles::damaged(std::string why) {
  damage_ = std::move(why);
  return ReadStatus::kDamaged;
}

// The next message of the files, as its file has it.
ReadStatus SeveralFiles::read(RecordedMessage& message) {
  for (;;) {
    RecordingReader& reader = *files_[at_].reader;
    const ReadStatus status = reader.next(message);
    if (status == ReadStatus::kDamaged) return damaged(reader.damage());
    if (status == ReadStatus::kMessage || at_ + 1 == files_.size()) return status;
    ++at_;
    begun_ = false;
  }
}

ReadStatus SeveralFiles::next(RecordedMessage& message) {
  if (held_) {
    if (midnights_ != 0) return between_days(message);
    message = *std::exchange(held_, std::nullopt);
    return deliver(message);
  }
  if (const ReadStatus status = read(message); status != ReadStatus::kMessage) return status;
  if (begun_) return deliver(message);
  if (message.timestamp_ns == 0 && event_of(message.bytes) != SystemEvent::kStartOfMessages) {
    // Without a time. The next message tells where the file begins.
    message.timestamp_ns = last_ns_ - offset_ns_;
    return deliver(message);
  }
  begun_ = true;
  switch (place(message)) {
    case Place::kGoesOn:
      break;
    case Place::kBeginsDay:
      message.begins_day = true;
      midnights_ = offset_ns_ / TradingDay::kDayNs - last_ns_ / TradingDay::kDayNs - 1;
      if (day_.over() && midnights_ == 0) break;
      held_ = message;
      return between_days(message);
    case Place::kWrongOrder:
      return damaged(files_[at_].name + ": begins before " + files_[at_ - 1].name +
                     " ends, and not with a day's start of messages: give the files in the order "
                     "of their times");
  }
  return deliver(message);
}

ReadStatus SeveralFiles::deliver(RecordedMessage& message) {
  const char event = event_of(message.bytes);
  const bool another_day = event != '\0' && day_.on_event(event) == DayBreak::kDay;
  if (another_day && !std::exchange(message.begins_day, true))
    offset_ns_ += TradingDay::kDayNs;  // the file does not know that the one before ended a day
  message.timestamp_ns += offset_ns_;
  last_ns_ = std::max(last_ns_, message.timestamp_ns);
  return ReadStatus::kMessage;
}

// An end of messages at the last time of the day before, where it lacks one. Then the midnights.
ReadStatus SeveralFiles::between_days(RecordedMessage& message) {
  message = {};
  if (!day_.over()) {
    message.timestamp_ns = last_ns_;
    (void)day_.on_event(SystemEvent::kEndOfMessages);
    return make(SystemEvent::kEndOfMessages, message);
  }
  message.timestamp_ns = offset_ns_ - midnights_-- * TradingDay::kDayNs;
  message.begins_day = true;
  return make(SystemEvent::kMidnight, message);
}

ReadStatus SeveralFiles::make(char code, RecordedMessage& message) {
  (void)encode(SystemEvent{.header = {.timestamp = message.timestamp_ns % TradingDay::kDayNs},
                           .event_code = code},
               made_.data());
  message.bytes = made_;
  return ReadStatus::kMessage;
}

SeveralFiles::Place SeveralFiles::place(const RecordedMessage& first) {
  const RecordingReader& reader = *files_[at_].reader;
  if (is_databento(reader)) return databento_->goes_back() ? Place::kWrongOrder : Place::kGoesOn;
  if (dated_) {
    offset_ns_ = reader.midnight_ns() - files_.front().reader->midnight_ns();
    return Place::kBeginsDay;
  }
  if (first.timestamp_ns + offset_ns_ >= last_ns_) return Place::kGoesOn;
  offset_ns_ = (last_ns_ / TradingDay::kDayNs + 1) * TradingDay::kDayNs;
  return event_of(first.bytes) == SystemEvent::kStartOfMessages ? Place::kBeginsDay
                                                                : Place::kWrongOrder;
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

// Files of Databento have the same ones, all of them.
std::vector<std::pair<std::string, std::string>> SeveralFiles::names() const {
  std::vector<std::pair<std::string, std::string>> all = databento_->names();
  for (const File& file : files_) {
    if (is_databento(*file.reader)) continue;
    for (auto& pair : file.reader->names())
      if (std::ranges::find(all, pair) == all.end()) all.push_back(std::move(pair));
  }
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
