// Recordings of one feed played one after the other: a day each, or parts of a day.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/feeds/itch/trading_day.hpp"
#include "common/feeds/recordings/recording.hpp"

namespace tickpath::itch {

// "a.itch50,b.itch50" at its commas; a file of the whole name is itself.
std::vector<std::string> split_files(const std::filesystem::path& path);

// Times go on over the files: what begins earlier than the file before ended is of a later day.
// That file may lack the end of its day, as extracts do. Then an end of messages (S 'C') is put
// before the day that begins. Without it readers of the stream would keep the orders and locates of
// the day before.
//
// Where all files have dates (LOBSTER's), a day has the number that its date gives it, and S 'D'
// marks each midnight between two days. ITCH has no dates: its days are numbered one by one.
//
// Files of Databento are one recording of one DbnOrders, which knows the days itself. They do not
// mix with others.
class SeveralFiles final : public RecordingReader {
 public:
  // Opens all, so that none is found missing hours later. Throws RecordingError.
  SeveralFiles(const std::vector<std::string>& paths, const OpenOptions& options);

  [[nodiscard]] ReadStatus next(RecordedMessage& message) override;
  std::uint64_t file_bytes_read() const override;
  std::uint64_t file_bytes_total() const override;
  RecordingFormat format() const noexcept override { return files_.front().reader->format(); }
  std::uint64_t midnight_ns() const override;
  std::vector<std::pair<std::string, std::string>> names() const override;
  std::string remarks() const override;

 private:
  struct File {
    std::string name;
    std::unique_ptr<RecordingReader> reader;
  };
  enum class Place : std::uint8_t { kGoesOn, kBeginsDay, kWrongOrder };
  ReadStatus read(RecordedMessage& message);
  ReadStatus damaged(std::string why);
  ReadStatus deliver(RecordedMessage& message);
  ReadStatus between_days(RecordedMessage& message);
  ReadStatus make(char code, RecordedMessage& message);
  void check_dates() const;
  // The first message of a file behind the first.
  Place place(const RecordedMessage& first);

  std::vector<File> files_;
  std::shared_ptr<DbnOrders> databento_;
  bool dated_ = true;
  std::size_t at_ = 0;
  bool begun_ = true;            // the file at hand: its first message that has a time was read
  std::uint64_t offset_ns_ = 0;  // from its midnight to the first file's
  std::uint64_t last_ns_ = 0;    // the newest time so far
  TradingDay day_;
  std::optional<RecordedMessage> held_;  // begins a day, whose predecessor is ended first
  std::uint64_t midnights_ = 0;          // to be marked before it
  std::array<std::byte, SystemEvent::kLength> made_{};
};

}  // namespace tickpath::itch
