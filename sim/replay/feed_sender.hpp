// The exchange's market data: numbered messages in MoldUDP64 packets, or IEX-TP segments, on UDP
// multicast, the same on one or two lines, and (ITCH) again to those who ask.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/counter.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/net/multicast.hpp"
#include "common/trace/stamp.hpp"
#include "sim/market/published_feed.hpp"
#include "sim/replay/feed_framing.hpp"
#include "sim/replay/feed_line.hpp"
#include "sim/replay/packet_hold.hpp"
#include "sim/replay/retransmission_server.hpp"
#include "sim/snapshot/snapshot_server.hpp"

namespace tickpath::sim {

struct FeedOptions {
  net::SenderOptions socket;  // line A
  Impairment impairment;
  std::optional<net::SenderOptions> socket_b;  // the redundant line
  Impairment impairment_b;
  std::uint64_t seed = 1;  // of what impairments draw
  std::optional<RetransmissionOptions> retransmission;
  std::optional<SnapshotOptions> snapshot;
  feeds::Transport transport = feeds::Transport::kMoldUdp64;
  itch::mold::Session session{};
  std::uint32_t iex_session = 1;  // of kIexTp; retransmission and snapshot are for kMoldUdp64
  std::size_t packet_bytes = itch::mold::kMaxPacketBytes;
  std::uint16_t packet_messages = 64;  // more than the 47 or so that 1,472 bytes hold
};

// Written by the datapath thread; any thread reads.
struct FeedCounters {
  TICKPATH_COUNTERS(
      messages, packets, heartbeats, ends_of_session, bytes,
      blocked,    // a socket's buffer was full: sent again later
      failed,     // packets that the kernel refused, all lines: receivers see a gap
      waits,      // turns of a wait for room, with more to publish than a packet holds
      oversized,  // messages longer than a packet: not sent, without a sequence number
      crowded);   // published before latency.market_data was over: too many waited
};

// Constructor on the control thread (throws net::NetError), everything else on the datapath.
class FeedSender final : public FeedOutlet {
 public:
  FeedSender(const FeedOptions& options, trace::TraceWriter& trace);
  // Control thread, before the datapath runs: what a packet takes until it is published. Until then
  // neither lines nor retransmission nor snapshots know of it.
  void add_latency(const LatencyOptions& options, std::uint64_t seed) {
    hold_ = std::make_unique<PacketHold>(options, seed);
  }

  static constexpr std::uint16_t kMessagesMax = 256;  // of a packet

  // Builds the next packet.
  enum class Append : std::uint8_t { kOk, kFull, kOversized };
  Append append(std::span<const std::byte> message) noexcept {
    if (message.size() > longest_message_) [[unlikely]] {
      counters_.oversized.add();
      return Append::kOversized;
    }
    const std::uint16_t at = builder_.message_count();
    if (at == packet_messages_ || !builder_.append(message)) return Append::kFull;
    messages_[at] = builder_.last_message(message.size());
    return Append::kOk;
  }
  std::uint16_t pending() const noexcept { return builder_.message_count(); }
  // The messages that send() has just sent, until the next append(). Of ITCH alone.
  std::span<const std::span<const std::byte>> sent() const noexcept {
    return std::span(messages_).first(sent_);
  }

  // Sends what was appended, or lets it wait for its time. sim.sent is stamped for each message
  // right before the kernel, or that wait, gets it.
  // False: the socket is full, call again later; the packet is kept.
  [[nodiscard]] bool send() noexcept;
  // When the messages from `first` to before `end` were due, for the trace: sequence numbers.
  void stamp_due(std::uint64_t first, std::uint64_t end, TscTicks due) noexcept {
    for (; first < end; ++first) trace_.stamp_at(trace::Hop::kTickDue, first, due);
  }
  // False: DEEP.
  bool carries_itch() const noexcept { return builder_.carries_itch(); }
  void send_heartbeat() noexcept;
  void send_end_of_session() noexcept;

  // Appends, and sends what is full. Waits while that cannot leave: with part of an event told
  // there is no other place for the rest of it.
  void publish(std::span<const std::byte> message) noexcept override;
  // A packet could not leave yet.
  bool blocked() const noexcept { return blocked_; }

  // Each turn: packets whose time has come, requests for what was lost. True: any work.
  bool turn(TscTicks now) noexcept;

  std::uint64_t next_sequence() const noexcept { return next_sequence_; }
  // When the last packet of any kind left.
  TscTicks last_sent() const noexcept { return last_sent_; }
  // When turn() has a packet to send.
  TscTicks next_due() const noexcept;
  // Line A, and B where there is one.
  const std::vector<std::unique_ptr<FeedLine>>& lines() const noexcept { return lines_; }
  // nullptr: none.
  const RetransmissionServer* retransmission() const noexcept { return retransmission_.get(); }
  const SnapshotServer* snapshot() const noexcept { return snapshot_.get(); }
  const FeedCounters& counters() const noexcept { return counters_; }
  // nullptr: none.
  const LatencyCounters* latency() const noexcept { return hold_ ? &hold_->counters() : nullptr; }

 private:
  bool try_send() noexcept;
  bool publish_now(std::span<const std::byte> packet) noexcept;
  bool hold(std::span<const std::byte> packet, bool numbered) noexcept;
  bool release_first() noexcept;
  void send_unnumbered(std::span<const std::byte> packet) noexcept;
  void stamp_sent(TscTicks now) noexcept;
  bool transmit(std::span<const std::byte> packet, TscTicks from) noexcept;
  bool follow(std::span<const std::byte> packet) noexcept;
  void keep(std::span<const std::byte> packet) noexcept;

  std::vector<std::unique_ptr<FeedLine>> lines_;
  std::unique_ptr<RetransmissionServer> retransmission_;
  std::unique_ptr<SnapshotServer> snapshot_;
  std::uint16_t followed_ = 0;  // messages of the packet at hand that the snapshots have
  bool blocked_ = false;        // send() must come before the next append()
  unsigned unsent_ = 0;         // lines that have not taken the packet at hand, a bit each
  std::unique_ptr<PacketHold> hold_;
  TscTicks released_{};  // when the lines get the packet at hand
  trace::TraceWriter& trace_;
  std::uint16_t packet_messages_;
  std::size_t longest_message_;
  std::array<std::byte, itch::mold::kMaxPacketBytes> buffer_;
  FeedFraming builder_;
  std::array<std::span<const std::byte>, kMessagesMax> messages_;  // of the packet at hand
  std::size_t sent_ = 0;                                           // of them, with the last packet
  std::uint64_t next_sequence_ = 1;
  TscTicks last_sent_{};
  FeedCounters counters_;
};

}  // namespace tickpath::sim
