// Packet captures of an ITCH feed as recordings: the MoldUDP64 datagrams of a pcap or pcapng file,
// put in order by their sequence numbers.
//
// The first session that begins with an ITCH 5.0 message is read. It is over when it has ended, or
// has been silent for kSessionSilenceNs. Then a session that begins at 1 is read, as another day.
// If the feed does not part the two days, S 'C' and 'O' are put between them. Redundant channels (A
// and B) of a session in one capture are arbitrated: each message is delivered once, from whichever
// packet came first, in order. A packet from the future waits until the missing ones have come, or
// kHeldPacketsMax packets wait: then it is a gap, counted, and the replay goes on behind it. So is
// what is missing at either end: a heartbeat or an end of session names the next number (MoldUDP64
// 1.00, "Heartbeats", "End of Session").
//
// Messages are due as the capture's clock says. The first that has an ITCH time is due at that
// time, the others as much later as their packets came later. Each further day begins anew in the
// same way, 24 hours after the day before (TradingDay). The capture's clock does not say when: a
// weekend may lie between, and daylight-saving time moves the open of a clock in another zone.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/feeds/itch/moldudp64.hpp"
#include "common/feeds/itch/stock_messages.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "common/feeds/recordings/recording.hpp"
#include "common/files/packet_capture.hpp"

namespace tickpath::itch {

struct CaptureRecordingCounts {
  std::uint64_t packets = 0;          // MoldUDP64, of the session
  std::uint64_t heartbeats = 0;       // among them
  std::uint64_t messages = 0;         // delivered
  std::uint64_t repeated = 0;         // messages that had come before: the other channel's
  std::uint64_t gaps = 0;             // holes in the sequence
  std::uint64_t missing = 0;          // messages in them
  std::uint64_t empty_messages = 0;   // blocks of length 0: passed over
  std::uint64_t damaged_packets = 0;  // blocks that disagree with the packet's length
  std::uint64_t later_sessions = 0;   // that were read behind the first one
  std::uint64_t other_sessions = 0;   // datagrams of sessions that were left out
  std::uint64_t other_datagrams = 0;  // not MoldUDP64
};

class CaptureRecording final : public RecordingReader {
 public:
  static constexpr std::size_t kHeldPacketsMax = 256;
  // A sender that has nothing to say sends a heartbeat each second (MoldUDP64 1.00, "Heartbeats").
  static constexpr std::uint64_t kSessionSilenceNs = 10'000'000'000;

  // Looks for the first ITCH message. Throws RecordingError: no capture, or none in it.
  explicit CaptureRecording(std::unique_ptr<files::ByteSource> source);

  ReadStatus next(RecordedMessage& message) override;
  std::uint64_t file_bytes_read() const override { return capture_.file_bytes_read(); }
  std::uint64_t file_bytes_total() const override { return capture_.file_bytes_total(); }
  RecordingFormat format() const noexcept override { return RecordingFormat::kPacketCapture; }
  std::string remarks() const override;

  const CaptureRecordingCounts& counts() const noexcept { return counts_; }
  // Destinations ("239.255.7.1:7701") with their packets.
  const std::map<std::string, std::uint64_t>& channels() const noexcept { return channels_; }

 private:
  struct Packet {
    std::vector<std::byte> bytes;
    std::uint64_t time_ns;  // captured
  };

  // A system event that parts two days.
  struct Made {
    std::array<std::byte, SystemEvent::kLength> bytes;
    std::uint64_t captured_ns;  // 0: with the message before
  };

  void find_session();
  bool read_packet();
  void deliver(std::span<const std::byte> bytes, std::uint64_t captured_ns,
               RecordedMessage& message);
  bool begins_session(const mold::PacketHeader& header, std::span<const std::byte> first,
                      std::uint64_t time_ns) const noexcept;
  void begin_session();
  void make_event(char code, std::uint64_t time_of_day_ns, std::uint64_t captured_ns);
  void begin_times(std::uint64_t captured_ns);
  std::uint64_t due_of(std::uint64_t captured_ns) const noexcept;
  bool take(const files::Datagram& datagram);
  void hear_announced(const mold::PacketHeader& header);
  bool open_next();
  void miss_before(std::uint64_t sequence);

  std::string name_;
  files::PacketCapture capture_;
  mold::Session session_{};
  std::string first_session_;        // its name
  std::uint16_t iex_protocol_ = 0;   // of a datagram of IEX's; 0: none was seen
  std::uint64_t cme_datagrams_ = 0;  // before the first of ours
  bool started_ = false;             // a first message was found
  bool ended_ = false;               // of the file, or damaged
  std::uint64_t expected_ = 0;       // sequence number
  // The numbers that packets without messages gave first, by session, until it has started; and the
  // last one of ours.
  std::map<std::string, std::uint64_t> announced_first_;
  std::uint64_t announced_ = 0;
  bool times_known_ = false;  // of the day at hand
  std::uint64_t first_captured_ns_ = 0;
  std::uint64_t first_due_ns_ = 0;  // at first_captured_ns_
  std::uint64_t last_due_ns_ = 0;
  TradingDay day_;
  Packet next_session_{};       // its first one, until the session at hand is delivered
  std::uint64_t heard_ns_ = 0;  // when the last packet of the session at hand was captured
  bool session_ended_ = false;  // says its sender
  std::deque<Made> made_;       // to be delivered first
  Made current_made_{};
  std::multimap<std::uint64_t, Packet> held_;  // by their first sequence number, not opened yet
  Packet current_{};
  mold::PacketCursor cursor_{{}};
  std::uint64_t cursor_sequence_ = 0;
  CaptureRecordingCounts counts_;
  std::map<std::string, std::uint64_t> channels_;
};

}  // namespace tickpath::itch
