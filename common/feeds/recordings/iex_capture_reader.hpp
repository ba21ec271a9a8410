// Packet captures of an IEX feed (DEEP 1.0 or TOPS 1.6 over IEX-TP), message by message, in order
// of their sequence numbers. Segments that came before (the venue's second line in one capture) are
// passed over. A segment from the future waits until what is missing has come. When
// kHeldSegmentsMax segments wait, it is a gap, counted, and the reader goes on behind it. A
// heartbeat names the next number, so that what is missing at the end is a gap, too.
//
// A sender that was started again counts from the beginning: a number that was there before, with
// other bytes and a later send time than any before, or another session of the same channel that
// begins at 1. Where the session at hand has been silent for kSessionSilenceNs, another one may
// begin anywhere: what came before its first message is missing. The reader goes on with the new
// numbering, and tells where it begins: what the messages before it built is void.
//
// Several files are read as one capture, in the order of their times. A session that is another
// one's in the next file may begin anywhere, and nothing is missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/feeds/iex/iex_tp.hpp"
#include "common/files/packet_capture.hpp"

namespace tickpath::iex {

struct CaptureCounts {
  std::uint64_t segments = 0;  // of the feed's session, heartbeats and repetitions among them
  std::uint64_t heartbeats = 0;
  std::uint64_t messages = 0;         // delivered
  std::uint64_t repeated = 0;         // messages that had come before
  std::uint64_t gaps = 0;             // holes in the sequence
  std::uint64_t missing = 0;          // messages in them
  std::uint64_t restarts = 0;         // of the numbering
  std::uint64_t damaged = 0;          // segments whose content disagrees with their header
  std::uint64_t other_datagrams = 0;  // no IEX-TP, or of another session, channel, protocol
  // Known at the end; see files::CaptureCounts.
  std::uint64_t cut = 0, fragments = 0, trailing_bytes = 0;
};

// "150000 segments, 2696 of them heartbeats; 0 gaps with 0 messages missing; ...": one line.
std::string remarks_of(const CaptureCounts& counts);

struct CapturedMessage {
  std::span<const std::byte> bytes;  // valid until the next call
  std::uint64_t sequence = 0;        // from 1
  std::uint64_t send_time_ns = 0;    // of its segment, since the Unix epoch
  bool restart = false;              // the first of a numbering that began anew
};

// One thread at a time; may allocate and block.
class CaptureReader {
 public:
  static constexpr std::size_t kHeldSegmentsMax = 256;
  // A sender that has nothing to say sends a heartbeat each second (IEX-TP 1.25, "Heartbeats").
  static constexpr std::uint64_t kSessionSilenceNs = 10'000'000'000;

  // A reader of the first session of a known protocol. nullptr: no capture, or no such segment
  // among its first 1,000 datagrams. Throws files::RecordingError as files::open_file() does. path:
  // one file, or several with commas in between (itch::split_files()); the first one decides, and
  // the others must be captures, else it throws.
  static std::unique_ptr<CaptureReader> open(const std::filesystem::path& path);
  static std::unique_ptr<CaptureReader> open(std::unique_ptr<files::ByteSource> source);

  // False: the end, or damage.
  [[nodiscard]] bool next(CapturedMessage& message);
  std::uint16_t protocol() const noexcept { return protocol_; }
  const CaptureCounts& counts() const noexcept { return counts_; }
  // One line; empty when undamaged.
  const std::string& damage() const noexcept {
    return damage_.empty() ? files_[at_].capture->damage() : damage_;
  }
  std::uint64_t file_bytes_read() const;
  std::uint64_t file_bytes_total() const;

 private:
  struct File {
    std::string name;
    std::unique_ptr<files::PacketCapture> capture;
  };
  CaptureReader() = default;
  void add(std::unique_ptr<files::ByteSource> source);
  bool find_feed();
  bool next_of_segment(CapturedMessage& message);
  void read_segment();
  void take(const SegmentCursor& segment, std::span<const std::byte> payload);
  void open(const SegmentCursor& segment);
  bool open_held();
  void miss_before(std::uint64_t sequence);
  void begin_numbering();
  bool restarts_with(const SegmentCursor& segment) const;
  bool goes_back(const SegmentHeader& header) const noexcept;
  bool next_datagram(files::Datagram& datagram);
  bool begins_session(const SegmentHeader& header) const noexcept;
  void remember(const SegmentCursor& segment);

  std::vector<File> files_;
  std::size_t at_ = 0;
  bool file_begins_ = false;  // another than the first: nothing of the feed came of it yet
  std::string damage_;        // of the order of the files
  SegmentCursor segment_{std::span<const std::byte>()};
  bool in_segment_ = false;
  std::multimap<std::uint64_t, std::vector<std::byte>> held_;  // by their first sequence number
  std::vector<std::byte> opened_;   // of those, the one that segment_ walks
  std::vector<std::byte> restart_;  // the segment of a new numbering, until the former is delivered
  bool restart_begins_file_ = false;
  bool ended_ = false;
  std::uint16_t protocol_ = 0;
  std::uint32_t channel_ = 0;
  std::uint32_t session_ = 0;
  std::uint64_t sequence_ = 0;        // of the segment's next message
  std::uint64_t expected_ = 0;        // of the feed's next message; 0: nothing came yet
  std::uint64_t announced_ = 0;       // by heartbeats: the most
  std::uint64_t seen_until_ = 0;      // behind everything that was delivered or waits
  std::uint64_t first_sequence_ = 0;  // of the numbering at hand
  std::uint64_t last_send_time_ns_ = 0;
  std::uint64_t restart_time_ns_ = 0;
  bool restarted_ = false;  // no message of the new numbering was delivered yet
  // FNV-1a of the first message of a segment, by its number: those that a sender repeats or a new
  // one replaces. A new one begins at the beginning, so that the first segments are enough.
  std::unordered_map<std::uint64_t, std::uint64_t> known_;
  CaptureCounts counts_;
};

}  // namespace tickpath::iex
