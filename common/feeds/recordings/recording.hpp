// Recordings of an ITCH feed, whatever file they come from: BinaryFILE, LOBSTER message files,
// which are turned into ITCH while they are read, packet captures (pcap, pcapng) of a MoldUDP64
// feed, and Databento DBN, turned into ITCH likewise; each plain, gzip or Zstandard.
//
//   auto recording = itch::open_recording("20200130.itch50.gz");
//   for (itch::RecordedMessage m;;) {
//     const itch::ReadStatus status = recording->next(m);
//     if (status == itch::ReadStatus::kMessage) { use(m.bytes, m.timestamp_ns); continue; }
//     if (status == itch::ReadStatus::kDamaged) report(recording->damage());
//     break;
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/files/byte_source.hpp"

namespace tickpath::itch {

using files::RecordingError;

struct RecordedMessage {
  std::span<const std::byte> bytes;  // valid until the next call of next()
  // Since the midnight before the first message. Each further day of the recording, and each
  // midnight within one, adds 24 hours (itch::TradingDay). From the message, whose own time starts
  // anew; of a capture, from its packet.
  std::uint64_t timestamp_ns = 0;
  // Another trading day, or a midnight (S 'D') before it: a replay goes on without a night.
  bool begins_day = false;
};

enum class ReadStatus : std::uint8_t {
  kMessage = 0,
  kEnd = 1,      // everything was delivered
  kDamaged = 2,  // everything before the damage was delivered; damage() says what and where
};

enum class RecordingFormat : std::uint8_t {
  kBinaryFile = 1,
  kLobster = 2,
  kGenerated = 3,
  kPacketCapture = 4,
  kIexDeep = 5,    // not ITCH: DEEP 1.0 as captured (common/feeds/iex)
  kDatabento = 6,  // DBN, market by order
  kDatabentoCsv = 7,
};

// Not for the datapath: next() reads files and may allocate. One thread at a time.
class RecordingReader {
 public:
  RecordingReader() = default;
  RecordingReader(const RecordingReader&) = delete;
  RecordingReader& operator=(const RecordingReader&) = delete;
  virtual ~RecordingReader() = default;

  // Messages of unknown type or length are delivered as they are, timestamp 0 if they are too short
  // to have one. Memory use does not grow with the file, but for the order ids of a LOBSTER file.
  [[nodiscard]] virtual ReadStatus next(RecordedMessage& message) = 0;

  // One line, "file: message 1234 at byte 5678: truncated: 3 of 36 bytes"; empty when undamaged.
  const std::string& damage() const noexcept { return damage_; }

  // For a progress bar: how much of the file (compressed, if it is) was read, and its size.
  virtual std::uint64_t file_bytes_read() const = 0;
  virtual std::uint64_t file_bytes_total() const = 0;

  virtual RecordingFormat format() const noexcept = 0;

  // Midnight before the first message, from which timestamp_ns counts, since the Unix epoch. By the
  // feed's own clock: LOBSTER's is New York's, the others' is UTC. 0: the recording does not say of
  // which day it is. Known once the first message was read.
  virtual std::uint64_t midnight_ns() const { return 0; }

  // Symbols as listed, and what they stand for, where the file's names do not fit ITCH's eight
  // characters. Complete after kEnd.
  virtual std::vector<std::pair<std::string, std::string>> names() const { return {}; }

  // What a person should know about how the file was read, one line; empty for nothing. Complete
  // after kEnd. LOBSTER: events that were corrected or dropped, with counts.
  virtual std::string remarks() const { return {}; }

 protected:
  std::string damage_;
};

class DbnOrders;

struct OpenOptions {
  std::string stock;  // LOBSTER: symbol in place of the one in the file name
  // Databento: of the recording that the file is a part of; nullptr: the file is all of it.
  std::shared_ptr<DbnOrders> databento{};
};

// Recognises the format: a name ending in .csv, .csv.gz or .csv.zst is LOBSTER, unless its first
// line is the header of Databento's CSV; anything else by content. Several files with commas in
// between are played one after the other (several_files.hpp). Throws RecordingError if a file is
// missing, unreadable, empty or of no known format.
std::unique_ptr<RecordingReader> open_recording(const std::filesystem::path& path,
                                                const OpenOptions& options = {});

}  // namespace tickpath::itch
