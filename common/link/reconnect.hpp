// Keeps trying to connect what is down: the control thread's half of every client.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>

#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// One client: a Subscriber, a ChannelClient, ...
class Reconnect {
 public:
  // Connecting costs the peer's control thread some system calls: ten times a second is quick for a
  // person and nothing for a machine.
  explicit Reconnect(std::uint64_t interval_ns = 100'000'000) : interval_ns_(interval_ns) {}

  // Control thread, each tick. Calls attempt() when the client is down and the interval is over; it
  // throws rdma::SetupError, and may return false: under way, to be called again in the next tick.
  // True: connected just now.
  template <class Attempt>
  bool step(std::uint64_t now_ns, Attempt&& attempt) {
    // Relaxed: the flag only says that it is our turn; the connection itself is handed over by the
    // client's own rings.
    if (!down_.load(std::memory_order_relaxed) || now_ns < next_ns_) return false;
    // Before the attempt: it hands the connection over, and from then on the datapath may lose it
    // and say so. The hand-over orders its store after this one, so that it is the last word.
    down_.store(false, std::memory_order_relaxed);
    try {
      if (is_connected(attempt)) {
        next_ns_ = now_ns + interval_ns_;
        error_.clear();
        return true;
      }
    } catch (const rdma::SetupError& error) {
      next_ns_ = now_ns + interval_ns_;
      error_ = error.what();
    } catch (...) {
      down_.store(true, std::memory_order_relaxed);
      throw;
    }
    down_.store(true, std::memory_order_relaxed);
    return false;
  }

  // Control thread, also within attempt(): the pause behind each attempt from this one on.
  void set_interval(std::uint64_t interval_ns) noexcept { interval_ns_ = interval_ns; }

  // Datapath thread: LinkEvent::kClosed or kLost.
  void mark_down() noexcept { down_.store(true, std::memory_order_relaxed); }
  // Any thread: no connection, and none being handed over.
  bool down() const noexcept { return down_.load(std::memory_order_relaxed); }
  // Control thread: why the last attempt failed; empty after one that worked.
  const std::string& error() const noexcept { return error_; }

 private:
  template <class Attempt>
  static bool is_connected(Attempt& attempt) {
    if constexpr (std::is_void_v<decltype(attempt())>) {
      attempt();
      return true;
    } else {
      return attempt();
    }
  }

  std::uint64_t interval_ns_;
  std::uint64_t next_ns_ = 0;
  std::atomic<bool> down_{true};
  std::string error_;
};

}  // namespace tickpath::link
