// sim's datapath thread: replay, order sessions and matching, one after the other, so that what
// the recording does and what our orders do has exactly one order.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/clock/clock.hpp"
#include "common/control/datapath.hpp"
#include "common/net/file_descriptor.hpp"
#include "sim/latency/session_delay.hpp"
#include "sim/matching/matcher.hpp"
#include "sim/orders/order_gateway.hpp"
#include "sim/replay/replayer.hpp"

namespace tickpath::sim {

// From the control thread.
struct Command {
  enum class Kind : std::uint8_t {
    kStart,   // the replay
    kHalt,    // the replay
    kPause,   // the replay
    kResume,  // the replay
    kSeek,    // the replay, to `time_ns`
    kSpeed,   // the replay, at `speed` from now on
    kAttach,  // `socket` to session `session`
    kStop,    // end everything: the feed, day orders, sessions
    kState,   // `symbol` from now on in `trading_state`, by hand
  };
  Kind kind;
  std::uint32_t session = 0;
  int socket = -1;
  itch::Stock symbol{};
  char trading_state = ' ';   // itch::StockTradingAction
  std::uint64_t time_ns = 0;  // of the recording
  double speed = 1.0;         // times the recorded pace
};

class SimDatapath final : public control::Datapath {
 public:
  SimDatapath(Replayer& replayer, Matcher& matcher, OrderGateway& gateway, std::uint64_t settle_ns);
  // Control thread, before the datapath runs: of each order session, or empty.
  void set_delays(std::vector<std::unique_ptr<SessionDelay>> delays) {
    delays_ = std::move(delays);
  }

  bool turn() noexcept override;
  bool may_sleep() noexcept override;
  std::span<const int> wake_descriptors() const noexcept override;
  void woken() noexcept override;

  // Control thread. False: the ring is full, the thread must hang.
  [[nodiscard]] bool post(const Command& command) noexcept;
  // Any thread. After kStop: every report is out of our hands and every session is closed.
  bool settled() const noexcept { return settled_.get() != 0; }
  // Datapath thread. When a turn has something to do of its own accord.
  TscTicks next_due() const noexcept;
  ReplayState replay_state() const noexcept { return replayer_.state(); }
  // Any thread.
  const std::vector<std::unique_ptr<SessionDelay>>& delays() const noexcept { return delays_; }

 private:
  void obey(const Command& command) noexcept;
  void attach(std::uint32_t session, int socket) noexcept;
  bool turn_delays() noexcept;
  bool drain_commands() noexcept;
  void close_when_due() noexcept;
  void close() noexcept;
  void finish_when_stopped() noexcept;

  // A turn obeys at most this many, so that a burst of connections cannot hold up the replay.
  static constexpr int kCommandsPerTurn = 8;

  clock::TickConverter converter_;
  Replayer& replayer_;
  Matcher& matcher_;
  OrderGateway& gateway_;
  TscTicks settle_ticks_;
  std::vector<std::unique_ptr<SessionDelay>> delays_;
  SpscRing<Command> commands_{256};
  TscTicks ended_at_{};
  bool stopping_ = false;
  bool logged_out_ = false;
  Counter settled_;

  // wait = "park" only.
  net::FileDescriptor timer_;
  net::FileDescriptor wake_;
  std::array<int, control::kWakeDescriptorsMax> descriptors_{};
  std::size_t descriptor_count_ = 0;
};

}  // namespace tickpath::sim
