// Replays a recording: each message leaves when it is due, and then happens in our own market.
#pragma once

#include <array>
#include <cstdint>

#include "common/base/counter.hpp"
#include "common/clock/clock.hpp"
#include "sim/market/market.hpp"
#include "sim/replay/feed_sender.hpp"
#include "sim/replay/lag_histogram.hpp"
#include "sim/replay/message_queue.hpp"
#include "sim/replay/pace.hpp"

namespace tickpath::sim {

enum class ReplayState : std::uint8_t {
  kWaiting = 0,  // for the command to start; heartbeats
  kRunning = 1,
  kEnded = 2,   // everything was sent; end-of-session packets in place of heartbeats
  kHalted = 3,  // ended early by a person: heartbeats, books stay
  kPaused = 4,  // by a person: heartbeats and matching go on, the recording stands still
};
const char* name(ReplayState state) noexcept;

// Written by the datapath thread; any thread reads.
struct ReplayProgress {
  Counter state;             // ReplayState
  Counter position_ns;       // recorded time of the last message sent
  Counter elapsed_ns;        // since the start, while running, pauses left out
  Counter seek_to_ns;        // where the last seek leads to; 0: there was none
  Counter speed_millionths;  // as changed last; 0: it was not
  Counter starved;           // turns on which a message was due and the reading thread had none
  LagHistogram lag;          // send time less due time, each message
};

struct ReplayerOptions {
  PaceOptions pace;
  std::uint64_t heartbeat_ns = 100'000'000;
};

// Constructor on the control thread, progress() anywhere, everything else on the datapath thread.
class Replayer {
 public:
  Replayer(const ReplayerOptions& options, MessageQueue& queue, FeedSender& feed, Market& market);

  void start() noexcept;   // does nothing unless waiting
  void halt() noexcept;    // does nothing unless waiting, running or paused
  void pause() noexcept;   // does nothing unless running
  void resume() noexcept;  // does nothing unless paused
  // Goes on at `timestamp_ns` of the recording: what lies between is sent at the pace's rate, so
  // that books are complete. A paused replay stays paused, and does so when it is resumed. Times
  // that are past change nothing.
  void seek(std::uint64_t timestamp_ns) noexcept;

  // Goes on at so many times the recorded pace.
  void set_speed(double speed) noexcept;

  void end() noexcept;  // as the end of the recording, now
  // When the exchange has closed, and nothing more can be published: the feed's session ends. That
  // of a feed without our orders has ended with the recording.
  void finish_session() noexcept;

  // Sends at most one packet. True if it did anything.
  bool turn() noexcept;

  ReplayState state() const noexcept { return state_; }
  // When turn() has something to do next.
  TscTicks next_due() const noexcept;
  // Readable when somebody asks for lost messages; -1: nobody can.
  int wake_descriptor() const noexcept {
    return feed_.retransmission() != nullptr ? feed_.retransmission()->descriptor() : -1;
  }
  Market& market() noexcept { return market_; }
  const ReplayProgress& progress() const noexcept { return progress_; }

 private:
  bool run(TscTicks now) noexcept;
  bool transmit() noexcept;
  bool keep_alive(TscTicks now) noexcept;
  // True when there is a next message.
  bool fetch() noexcept { return have_next_ || look_for_next(); }
  bool look_for_next() noexcept;
  TscTicks due_of_next() const noexcept {
    return {started_.value + converter_.from_ns(next_due_ns_).value};
  }
  void take_next() noexcept {
    queue_.pop();
    have_next_ = false;
  }
  void fill_packet(std::uint64_t elapsed_ns) noexcept;
  void publish_due(std::uint64_t elapsed_ns) noexcept;
  void note_lag(std::uint64_t elapsed_ns) noexcept;
  void apply_packet() noexcept;
  void enter(ReplayState state) noexcept;

  clock::TickConverter converter_;
  TscTicks heartbeat_ticks_;
  MessageQueue& queue_;
  FeedSender& feed_;
  Market& market_;
  Pace pace_;
  bool has_schedule_;  // without a rate limit everything is due at once, and nothing is late
  ReplayState state_ = ReplayState::kWaiting;
  TscTicks started_{};  // later by as much as it was paused
  TscTicks paused_at_{};
  QueuedMessage next_{};
  std::uint64_t next_due_ns_ = 0;
  bool have_next_ = false;
  bool exhausted_ = false;
  bool session_over_ = false;
  std::array<std::uint64_t, FeedSender::kMessagesMax> packet_due_ns_{};  // for the lag
  ReplayProgress progress_;
};

}  // namespace tickpath::sim
