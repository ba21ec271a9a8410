#include "sim/replay/replayer.hpp"

#include <algorithm>

#include "common/base/cpu.hpp"
#include "common/clock/virtual_time.hpp"

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
    case ReplayState::kPaused:
      return "paused";
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
  if (state_ != ReplayState::kEnded) enter(ReplayState::kHalted);
}

void Replayer::pause() noexcept {
  if (state_ != ReplayState::kRunning) return;
  paused_at_ = tsc_now();
  enter(ReplayState::kPaused);
}

void Replayer::resume() noexcept {
  if (state_ != ReplayState::kPaused) return;
  started_.value += (tsc_now() - paused_at_).value;
  enter(ReplayState::kRunning);
}

void Replayer::seek(std::uint64_t timestamp_ns) noexcept {
  if (state_ == ReplayState::kEnded || state_ == ReplayState::kHalted ||
      timestamp_ns <= progress_.position_ns.get())
    return;
  const TscTicks now = state_ == ReplayState::kPaused ? paused_at_ : tsc_now();
  const bool started = state_ != ReplayState::kWaiting;
  pace_.seek(timestamp_ns, started ? converter_.to_ns(now - started_) : 0);
  if (have_next_) next_due_ns_ = pace_.due(next_.timestamp_ns, next_.begins_day);
  progress_.seek_to_ns.set(timestamp_ns);
}

void Replayer::set_speed(double speed) noexcept {
  const TscTicks at = state_ == ReplayState::kPaused ? paused_at_ : tsc_now();
  const bool begun = state_ == ReplayState::kPaused || state_ == ReplayState::kRunning;
  const std::uint64_t due_ns = pace_.set_speed(speed, begun ? converter_.to_ns(at - started_) : 0);
  if (have_next_) next_due_ns_ = due_ns;
  progress_.speed_millionths.set(static_cast<std::uint64_t>(speed * 1e6));
}

void Replayer::end() noexcept {
  if (state_ == ReplayState::kEnded) return;
  enter(ReplayState::kEnded);
  if (!market_.publishing()) finish_session();
}

void Replayer::finish_session() noexcept {
  if (session_over_) return;
  session_over_ = true;
  // If the socket is full, in place of the next heartbeat.
  if (feed_.pending() == 0 || transmit()) feed_.send_end_of_session();
}

bool Replayer::turn() noexcept {
  const TscTicks now = tsc_now();
  const bool worked = feed_.turn(now);
  if (feed_.blocked()) return transmit() || worked;
  // What orders have published since: the turn's recorded messages follow in packets of their own.
  if (feed_.pending() != 0 && !transmit()) return worked;
  if (state_ == ReplayState::kRunning && run(now)) return true;
  return keep_alive(now) || worked;
}

// Silence is told from loss by heartbeats (MoldUDP64 1.00, "Heartbeats"); after the end every one
// of them says so again, for receivers that missed it or came late.
bool Replayer::keep_alive(TscTicks now) noexcept {
  if (feed_.blocked() || now - feed_.last_sent() < heartbeat_ticks_) return false;
  if (session_over_)
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
  if (market_.publishing())
    publish_due(elapsed_ns);
  else
    fill_packet(elapsed_ns);
  if (feed_.pending() == 0) return true;  // only messages that fit no packet
  note_lag(elapsed_ns);
  return transmit();
}

bool Replayer::transmit() noexcept {
  if (!feed_.send()) return false;
  if (!market_.publishing()) apply_packet();
  return true;
}

bool Replayer::look_for_next() noexcept {
  MessageQueue::Status status = queue_.front(next_);
  // Virtual time stands still while the reading thread catches up: how fast it reads changes
  // nothing.
  while (status == MessageQueue::Status::kEmpty && clock::is_virtual()) [[unlikely]] {
      clock::let_others_run();
      status = queue_.front(next_);
    }
  if (status == MessageQueue::Status::kMessage) [[likely]] {
    next_due_ns_ = pace_.due(next_.timestamp_ns, next_.begins_day);
    return have_next_ = true;
  }
  if (status == MessageQueue::Status::kEnd)
    exhausted_ = true;
  else
    progress_.starved.add();
  return false;
}

void Replayer::fill_packet(std::uint64_t elapsed_ns) noexcept {
  while (fetch() && next_due_ns_ <= elapsed_ns) {
    const std::uint16_t at = feed_.pending();
    const FeedSender::Append appended = feed_.append(next_.bytes);
    if (appended == FeedSender::Append::kFull) return;
    if (appended == FeedSender::Append::kOk) {
      packet_due_ns_[at] = next_due_ns_;
      const std::uint64_t sequence = feed_.next_sequence() + at;
      if (has_schedule_) feed_.stamp_due(sequence, sequence + 1, due_of_next());
      progress_.position_ns.set(next_.timestamp_ns);
    }
    take_next();
  }
}

// Each message happens first, for what it becomes on the feed depends on what our orders have done.
// About one packet a turn: an event may fill more, which then have left.
void Replayer::publish_due(std::uint64_t elapsed_ns) noexcept {
  const std::uint64_t sequence = feed_.next_sequence();
  while (fetch() && next_due_ns_ <= elapsed_ns && feed_.next_sequence() == sequence &&
         feed_.pending() < FeedSender::kMessagesMax) {
    if (has_schedule_) progress_.lag.add(elapsed_ns - next_due_ns_);
    progress_.position_ns.set(next_.timestamp_ns);
    const std::uint64_t first = feed_.next_sequence() + feed_.pending();
    market_.apply(next_.bytes);
    if (has_schedule_)
      feed_.stamp_due(first, feed_.next_sequence() + feed_.pending(), due_of_next());
    take_next();
  }
}

void Replayer::note_lag(std::uint64_t elapsed_ns) noexcept {
  if (!has_schedule_ || market_.publishing()) return;
  for (std::uint16_t i = 0; i < feed_.pending(); ++i)
    progress_.lag.add(elapsed_ns - packet_due_ns_[i]);
}

// After the packet has gone: subscribers do not wait for our matching. No order comes between, for
// this thread takes them.
void Replayer::apply_packet() noexcept {
  if (!feed_.carries_itch()) return;  // DEEP has no orders to match with
  market_.apply(feed_.sent());
}

TscTicks Replayer::next_due() const noexcept {
  const TscTicks alive =
      std::min(feed_.next_due(), TscTicks{feed_.last_sent().value + heartbeat_ticks_.value});
  if (state_ != ReplayState::kRunning) return alive;
  // Without a next message in hand one must be fetched: at once.
  const TscTicks due = have_next_ ? due_of_next() : TscTicks{0};
  return due < alive ? due : alive;
}

}  // namespace tickpath::sim
