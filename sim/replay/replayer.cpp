#include "sim/replay/replayer.hpp"

#include <algorithm>

#include "common/base/cpu.hpp"

namespace tickpath::sim {

const char* name(ReplayState state) noexcept {
  switch (state) {
    case ReplayState::kWaiting:
      return "waiting";
    case ReplayState::kRunning:
      return "running";
    case ReplayState::kEnded:
      return "ended";
    case ReplayState::kHalted:
      return "halted";
  }
  return "unknown";
}

Replayer::Replayer(const ReplayerOptions& options, MessageQueue& queue, FeedSender& feed,
                   Market& market)
    : heartbeat_ticks_(converter_.from_ns(options.heartbeat_ns)),
      queue_(queue),
      feed_(feed),
      market_(market),
      pace_(options.pace),
      has_schedule_(options.pace.mode == PaceMode::kRecorded || options.pace.rate != 0) {}

void Replayer::enter(ReplayState state) noexcept {
  state_ = state;
  progress_.state.set(static_cast<std::uint64_t>(state));
}

void Replayer::start() noexcept {
  if (state_ != ReplayState::kWaiting) return;
  started_ = tsc_now();
  enter(ReplayState::kRunning);
}

void Replayer::halt() noexcept {
  if (state_ == ReplayState::kWaiting || state_ == ReplayState::kRunning)
    enter(ReplayState::kHalted);
}

void Replayer::end() noexcept {
  if (state_ == ReplayState::kEnded) return;
  enter(ReplayState::kEnded);
  if (!packet_blocked_) feed_.send_end_of_session();
}

bool Replayer::turn() noexcept {
  const TscTicks now = tsc_now();
  const bool worked = feed_.turn(now);
  if (packet_blocked_) return transmit() || worked;
  if (state_ == ReplayState::kRunning && run(now)) return true;
  return keep_alive(now) || worked;
}

// Silence is told from loss by heartbeats (MoldUDP64 1.00, "Heartbeats"); after the end every one
// of them says so again, for receivers that missed it or came late.
bool Replayer::keep_alive(TscTicks now) noexcept {
  if (now - feed_.last_sent() < heartbeat_ticks_) return false;
  if (state_ == ReplayState::kEnded)
    feed_.send_end_of_session();
  else
    feed_.send_heartbeat();
  return true;
}

bool Replayer::run(TscTicks now) noexcept {
  const std::uint64_t elapsed_ns = converter_.to_ns(now - started_);
  progress_.elapsed_ns.set(elapsed_ns);
  if (!fetch()) {
    if (!exhausted_) return false;
    end();
    return true;
  }
  if (next_due_ns_ > elapsed_ns) return false;
  fill_packet(elapsed_ns);
  if (feed_.pending() == 0) return true;  // only messages that fit no packet
  note_lag(elapsed_ns);
  return transmit();
}

bool Replayer::transmit() noexcept {
  packet_blocked_ = !feed_.send();
  if (packet_blocked_) return false;
  apply_packet();
  return true;
}

// True when there is a next message.
bool Replayer::fetch() noexcept {
  if (have_next_) return true;
  switch (queue_.front(next_)) {
    case MessageQueue::Status::kMessage:
      next_due_ns_ = pace_.due(next_.timestamp_ns);
      have_next_ = true;
      return true;
    case MessageQueue::Status::kEmpty:
      progress_.starved.add();
      return false;
    case MessageQueue::Status::kEnd:
      exhausted_ = true;
      return false;
  }
  return false;
}

void Replayer::fill_packet(std::uint64_t elapsed_ns) noexcept {
  while (fetch() && next_due_ns_ <= elapsed_ns && feed_.pending() < kPacketMessagesMax) {
    const std::uint16_t at = feed_.pending();
    const FeedSender::Append appended = feed_.append(next_.bytes);
    if (appended == FeedSender::Append::kFull) return;
    if (appended == FeedSender::Append::kOk) {
      packet_due_ns_[at] = next_due_ns_;
      progress_.position_ns.set(next_.timestamp_ns);
    }
    queue_.pop();
    have_next_ = false;
  }
}

void Replayer::note_lag(std::uint64_t elapsed_ns) noexcept {
  if (!has_schedule_) return;
  for (std::uint16_t i = 0; i < feed_.pending(); ++i)
    progress_.lag.add(elapsed_ns - packet_due_ns_[i]);
}

// After the packet has gone: subscribers do not wait for our matching. No order comes between, for
// this thread takes them.
void Replayer::apply_packet() noexcept {
  itch::mold::PacketCursor packet(feed_.packet());
  for (std::span<const std::byte> message; packet.next(message);) market_.apply(message);
}

TscTicks Replayer::next_due() const noexcept {
  const TscTicks alive =
      std::min(feed_.next_due(), TscTicks{feed_.last_sent().value + heartbeat_ticks_.value});
  if (state_ != ReplayState::kRunning) return alive;
  // Without a next message in hand one must be fetched: at once.
  const TscTicks due{have_next_ ? started_.value + converter_.from_ns(next_due_ns_).value : 0};
  return due < alive ? due : alive;
}

}  // namespace tickpath::sim
