#include "sim/replay/feed_sender.hpp"

#include <algorithm>
#include <thread>

#include "common/base/cpu.hpp"

namespace tickpath::sim {

FeedSender::FeedSender(const FeedOptions& options, trace::TraceWriter& trace)
    : trace_(trace),
      packet_messages_(std::min(options.packet_messages, kMessagesMax)),
      longest_message_(FeedFraming::longest_message(options.transport, options.packet_bytes)),
      builder_(options.transport,
               std::span(buffer_).first(std::min(options.packet_bytes, buffer_.size())),
               options.session, options.iex_session) {
  builder_.begin(next_sequence_);
  lines_.push_back(std::make_unique<FeedLine>(options.socket, options.impairment, options.seed));
  if (options.socket_b)
    lines_.push_back(
        std::make_unique<FeedLine>(*options.socket_b, options.impairment_b, options.seed + 1));
  if (options.retransmission)
    retransmission_ =
        std::make_unique<RetransmissionServer>(*options.retransmission, options.session);
  if (options.snapshot)
    snapshot_ = std::make_unique<SnapshotServer>(*options.snapshot, options.session);
}

// False: a line is full. The others have the packet; the next call goes on with those that have
// not. from: when the lines get it.
bool FeedSender::transmit(std::span<const std::byte> packet, TscTicks from) noexcept {
  if (unsent_ == 0) {
    unsent_ = (1u << lines_.size()) - 1;
    released_ = from;
  }
  for (std::size_t line = 0; line < lines_.size(); ++line) {
    const unsigned bit = 1u << line;
    if ((unsent_ & bit) != 0 && lines_[line]->send(packet, released_)) unsent_ &= ~bit;
  }
  std::uint64_t failed = 0;
  for (const auto& line : lines_) failed += line->counters().failed.get();
  counters_.failed.set(failed);
  if (unsent_ != 0) return false;
  counters_.bytes.add(packet.size());
  return true;
}

bool FeedSender::turn(TscTicks now) noexcept {
  bool worked = false;
  if (hold_) [[unlikely]]
    while (!hold_->empty() && hold_->front().due <= now && release_first()) worked = true;
  for (const auto& line : lines_) worked |= line->turn(now);
  if (retransmission_) worked |= retransmission_->turn(now);
  if (snapshot_) snapshot_->turn();
  return worked;
}

TscTicks FeedSender::next_due() const noexcept {
  TscTicks due{~std::uint64_t{0}};
  if (hold_ && !hold_->empty()) due = hold_->front().due;
  for (const auto& line : lines_) due = std::min(due, line->next_due());
  return due;
}

// ---------------------------------------------------------------------- held packets

// False: there is no room, and the first could not leave.
bool FeedSender::hold(std::span<const std::byte> packet, bool numbered) noexcept {
  if (hold_->full()) {
    if (!release_first()) return false;
    counters_.crowded.add();
  }
  hold_->put(packet, tsc_now(), numbered);
  return true;
}

// False: a line or the snapshots are behind.
bool FeedSender::release_first() noexcept {
  const PacketHold::Packet& first = hold_->front();
  const std::span<const std::byte> packet = hold_->front_bytes();
  if (first.numbered && snapshot_ && !follow(packet)) return false;
  if (!transmit(packet, first.due)) {
    counters_.blocked.add();
    return false;
  }
  if (first.numbered) keep(packet);
  hold_->pop();
  return true;
}

// ---------------------------------------------------------------------- packets as they are made

// The packet goes into the snapshots before it leaves: one that were left out would make every
// later snapshot wrong, so the feed waits when their thread is behind.
bool FeedSender::follow(std::span<const std::byte> packet) noexcept {
  itch::mold::PacketCursor cursor(packet);
  std::uint16_t at = 0;
  for (std::span<const std::byte> message; cursor.next(message); ++at) {
    if (at < followed_) continue;
    if (!snapshot_->follow(message)) return false;
    ++followed_;
  }
  return true;
}

bool FeedSender::send() noexcept {
  blocked_ = !try_send();
  return !blocked_;
}

void FeedSender::publish(std::span<const std::byte> message) noexcept {
  while (blocked_ || append(message) == Append::kFull) {
    if (send()) continue;
    counters_.waits.add();
    // Whoever empties the socket's buffer or the snapshots' queue may need this core.
    std::this_thread::yield();
    (void)turn(tsc_now());
  }
}

void FeedSender::stamp_sent(TscTicks now) noexcept {
  for (std::uint64_t i = 0; i < builder_.message_count(); ++i)
    trace_.stamp_at(trace::Hop::kSimSent, next_sequence_ + i, now);
}

// For those who ask for it again.
void FeedSender::keep(std::span<const std::byte> packet) noexcept {
  followed_ = 0;
  if (!retransmission_) return;
  itch::mold::PacketCursor sent(packet);
  for (std::span<const std::byte> message; sent.next(message);) retransmission_->append(message);
}

bool FeedSender::publish_now(std::span<const std::byte> packet) noexcept {
  if (snapshot_ && !follow(packet)) [[unlikely]]
    return false;
  // Stamped before the call: on loopback the receiver has the packet before send() returns.
  const TscTicks now = tsc_now();
  stamp_sent(now);
  if (!transmit(packet, now)) [[unlikely]] {
    counters_.blocked.add();
    return false;
  }
  keep(packet);
  return true;
}

bool FeedSender::try_send() noexcept {
  const std::span<const std::byte> packet = builder_.finish();
  if (hold_) [[unlikely]] {
    if (!hold(packet, true)) return false;
    stamp_sent(tsc_now());
  } else if (!publish_now(packet)) {
    return false;
  }
  last_sent_ = tsc_now();
  // A packet that the kernel refused is lost like one that a switch drops: its numbers are used.
  const std::uint16_t count = builder_.message_count();
  sent_ = count;
  counters_.packets.add();
  counters_.messages.add(count);
  next_sequence_ += count;
  builder_.begin(next_sequence_);
  return true;
}

// What cannot leave now comes again soon.
void FeedSender::send_unnumbered(std::span<const std::byte> packet) noexcept {
  if (hold_) [[unlikely]] {
    (void)hold(packet, false);
  } else {
    (void)transmit(packet, tsc_now());
    unsent_ = 0;
  }
  last_sent_ = tsc_now();
}

void FeedSender::send_heartbeat() noexcept {
  builder_.begin(next_sequence_);
  counters_.heartbeats.add();
  send_unnumbered(builder_.finish());
}

void FeedSender::send_end_of_session() noexcept {
  builder_.begin(next_sequence_);
  counters_.ends_of_session.add();
  send_unnumbered(builder_.finish_session());
  builder_.begin(next_sequence_);  // its count of messages is none
}

}  // namespace tickpath::sim
