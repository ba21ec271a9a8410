// The way between an order session and its socket, with a latency each way: bytes wait, message by
// message, in their order, as on a TCP connection that takes its time. The session itself does not
// notice. Also where a rate limit makes messages wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/counter.hpp"
#include "common/net/file_descriptor.hpp"
#include "sim/latency/latency_model.hpp"
#include "sim/latency/rate_window.hpp"

namespace tickpath::sim {

// One direction. Datapath thread; the constructor allocates.
class DelayPipe {
 public:
  DelayPipe(const LatencyOptions& latency, std::uint64_t seed, const RateLimit& rate);

  void reset() noexcept;
  // Takes in what the socket has, while there is room. True if there was anything.
  bool pull(int socket, TscTicks now) noexcept;
  // Hands on what is due. True if there was anything.
  bool push(int socket, TscTicks now) noexcept;
  // When the next message is due; the far future: none.
  TscTicks next_due() const noexcept;
  // The sender has closed, and everything it said has gone on.
  bool finished() const noexcept { return ended_ && first_ == last_; }
  bool broken() const noexcept { return broken_; }

  const LatencyCounters& latency() const noexcept { return latency_.counters(); }
  const Counter& rate_delayed() const noexcept { return rate_delayed_; }

 private:
  struct Entry {
    TscTicks due;
    std::uint32_t bytes;
  };
  void divide(TscTicks now) noexcept;
  // goes_on: a further piece of a message that counted with its first one.
  void add(std::size_t bytes, TscTicks now, bool goes_on) noexcept;
  void make_room() noexcept;

  LatencyStage latency_;
  RateWindow rate_;
  TscTicks last_due_{};
  std::vector<char> bytes_;  // [begin_, divided_) are entries, [divided_, end_) half a message
  std::size_t begin_ = 0;
  std::size_t divided_ = 0;
  std::size_t end_ = 0;
  std::size_t long_left_ = 0;   // of a message longer than the session reads: handed on in pieces
  std::vector<Entry> entries_;  // a ring; a power of two
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  bool ended_ = false;
  bool broken_ = false;
  Counter rate_delayed_;
};

struct SessionDelayOptions {
  LatencyOptions order_entry;
  LatencyOptions reports;
  RateLimit rate;  // of order messages (not of session messages); rule kDelay only
  std::uint64_t seed = 1;
  bool any() const noexcept {
    return order_entry.kind != LatencyKind::kNone || reports.kind != LatencyKind::kNone ||
           (rate.messages != 0 && rate.rule == RateRule::kDelay);
  }
};

// Both directions of one session. Constructor on the control thread, the rest on the datapath.
class SessionDelay {
 public:
  explicit SessionDelay(const SessionDelayOptions& options);

  // Takes over a connected socket and returns the one for the session; -1 with errno where the
  // kernel has none (the socket is closed).
  int attach(int socket) noexcept;
  // Call it before the session is polled and after it has sent. True if it did anything.
  bool turn(TscTicks now) noexcept;
  TscTicks next_due() const noexcept;
  // The socket to the outside, for a thread that sleeps; -1: none.
  int descriptor() const noexcept { return outside_.get(); }

  const DelayPipe& orders() const noexcept { return orders_; }
  const DelayPipe& reports() const noexcept { return reports_; }

 private:
  DelayPipe orders_;
  DelayPipe reports_;
  net::FileDescriptor outside_;
  net::FileDescriptor inside_;
};

}  // namespace tickpath::sim
