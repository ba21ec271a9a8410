// Redundant lines of one feed: each message once, in order, from whichever line has it first; what
// is missing is waited for, then asked for again, then bridged by a snapshot, and only then a gap.
// Nobody else in mdh looks at sessions and sequence numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/counter.hpp"
#include "common/base/units.hpp"
#include "common/clock/clock.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/log/hot_log.hpp"
#include "mdh/burst.hpp"
#include "mdh/feed.hpp"
#include "mdh/held_packets.hpp"
#include "mdh/packet.hpp"
#include "mdh/recent_packets.hpp"
#include "mdh/restart_watch.hpp"

namespace tickpath::mdh {

// Where lost messages are asked for. Datapath thread.
class RetransmitPort {
 public:
  virtual ~RetransmitPort() = default;
  // At most `count` messages from `from` on; the answer comes as packets, or not at all. False: it
  // could not be sent now.
  virtual bool request(const itch::mold::Session& session, std::uint64_t from,
                       std::uint16_t count) noexcept = 0;
};

struct ArbiterOptions {
  std::size_t held_packets = 16'384;  // that wait for what comes before them; beyond: a gap
  std::size_t datagram_bytes = 2'048;
  std::uint64_t gap_wait_ns = 1'000'000;          // for the other line; 0: none
  std::uint64_t request_timeout_ns = 20'000'000;  // until a request is repeated
  std::uint32_t requests_max = 50;  // without an answer, until retransmission is given up
  // Where there are snapshots: a longer gap is bridged by one at once.
  std::uint64_t snapshot_gap_messages = 100'000;
  std::uint64_t snapshot_retry_ns = 1'000'000'000;  // after an attempt that failed
  std::uint32_t snapshot_attempts_max = 10;         // until the gap is given up
  // A session that was heard so shortly before another began may live still: senders beat every
  // second, and a beat may be lost.
  std::uint64_t session_silence_ns = 2'500'000'000;
  // A numbering of IEX-TP may begin anew within its session; see RestartWatch. Only where the
  // sender is configured: else whoever sends first could begin it.
  bool restarts = false;
};

// One writer, the datapath thread; any thread reads.
struct LineCounters {
  TICKPATH_COUNTERS(packets,
                    first,          // packets that brought something new
                    repeated,       // packets that brought nothing
                    missing,        // messages that this line alone did not bring in time
                    out_of_order);  // packets that came after later ones of this line
};
struct ArbiterCounters {
  std::array<LineCounters, kLines> lines;
  TICKPATH_COUNTERS(
      held,              // packets that waited
      filled,            // gaps that the other line or reordering closed
      requests,          // for retransmission
      recovered,         // gaps that a retransmission closed
      given_up,          // gaps that stayed
      held_full,         // gaps given up early, or left to a snapshot: no room to hold more
      snapshots,         // gaps that a snapshot bridged
      snapshots_failed,  // attempts
      dropped,           // packets that waited for a snapshot and found no room: it stands for them
      old_session,       // packets of the session before
      restarts,          // of the numbering within a session
      old_session_alive);  // of those, so late that somebody must be sending it still
};

// All members belong to the datapath thread; none allocates after construction.
class Arbiter {
 public:
  // Everything given outlives the arbiter; port and snapshots may be nullptr: nobody to ask. Throws
  // Error.
  Arbiter(const ArbiterOptions& options, Feed& feed, RetransmitPort* port, SnapshotPort* snapshots,
          log::HotLog& log);

  // Takes in a packet; its bytes stay valid until process().
  void collect(Line line, std::span<const std::byte> datagram, const Arrival& arrival) noexcept;
  // After each burst, and on each turn without one: hands on what may be, asks, gives up.
  void process(TscTicks now) noexcept;

  // Hands on everything that is held, gaps and all: nothing more will come.
  void flush() noexcept;
  // Something is missing, and may still come.
  bool waiting() const noexcept { return !held_.empty(); }
  // An answer to a request may come.
  bool asking() const noexcept { return asking_; }
  bool awaiting_snapshot() const noexcept { return snapshotting_; }
  // Two sessions, or numberings of one, have been heard at once, and the one before may live: books
  // of neither are good.
  bool contested(TscTicks now) const noexcept {
    return (has_rival_ && now - rival_heard_ <= session_silence_) ||
           (restarts_ != nullptr && restarts_->suspects(now));
  }
  const ArbiterCounters& counters() const noexcept { return counters_; }

 private:
  // Messages asked for at once: what the sender answers in one go.
  static constexpr std::uint64_t kAskedMax = 1'024;

  // Packets in.
  void sort_in(const Packet& packet) noexcept;
  void hand_on(const Packet& packet) noexcept;
  void hold(const Packet& packet) noexcept;
  void note_line(const Packet& packet) noexcept;
  LineCounters& line_of(const Packet& packet) noexcept {
    return counters_.lines[static_cast<std::size_t>(packet.line)];
  }
  // Sessions and numberings.
  bool on_other_session(const Packet& packet) noexcept;
  bool old_session_lives(const Packet& packet) noexcept;
  void begin_session(const Packet& packet) noexcept;
  bool in_numbering(const Packet& packet) noexcept;
  void begin_numbering(Line line) noexcept;
  // Packets out.
  void work() noexcept;
  void handle_burst() noexcept;
  void compare_repeated(const OrderedPacket& packet) noexcept;
  void release_ready() noexcept;
  void give_up() noexcept;
  void next_gap() noexcept;
  void open_gap(TscTicks since) noexcept;
  void seek(TscTicks now) noexcept;
  void ask(TscTicks now) noexcept;
  void begin_snapshot() noexcept;
  void pursue_snapshot(TscTicks now) noexcept;
  bool take_snapshot(TscTicks now) noexcept;
  void snapshot_failed(TscTicks now) noexcept;
  bool held_is_whole() noexcept;
  void catch_up(TscTicks now) noexcept;
  // Messages between what was handed on and what waits, while anything does.
  std::uint64_t missing() const noexcept {
    return held_.front().header.sequence_number - expected_;
  }
  bool next_is_held() const noexcept {
    return !held_.empty() && held_.front().header.sequence_number <= expected_;
  }

  ArbiterOptions options_;
  Feed& feed_;
  RetransmitPort* port_;
  SnapshotPort* snapshots_;
  log::HotLog& log_;
  TscTicks gap_wait_, request_timeout_, snapshot_retry_, session_silence_;

  itch::mold::Session session_{};
  itch::mold::Session previous_session_{};
  bool has_session_ = false;
  bool has_previous_ = false;
  bool has_rival_ = false;   // the session before had not ended when this one began
  TscTicks rival_heard_{0};  // its last packet
  TscTicks session_since_{0}, session_heard_{0};
  std::unique_ptr<RestartWatch> restarts_;             // nullptr: numberings do not begin anew
  std::uint64_t expected_ = 1;                         // sequence number
  std::array<std::uint64_t, kLines> line_expected_{};  // 0: nothing of this session yet

  HeldPackets held_;
  Burst burst_;
  feeds::Transport transport_;
  RecentPackets recent_;

  // The gap before the first held packet.
  bool gap_open_ = false;
  bool asking_ = false;
  TscTicks gap_since_{0};
  TscTicks asked_at_{0};
  std::uint64_t asked_from_ = 0, asked_until_ = 0;
  std::uint32_t unanswered_ = 0;
  bool snapshotting_ = false;
  std::uint32_t snapshot_attempts_ = 0;
  TscTicks snapshot_due_{0};  // the next attempt
  ArbiterCounters counters_;
};

}  // namespace tickpath::mdh
