// One multicast line of the feed, with the faults of a real network: loss in bursts, delay, jitter
// that reorders. Seeded: the same packets are lost in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/random.hpp"
#include "common/base/units.hpp"
#include "common/clock/clock.hpp"
#include "common/net/multicast.hpp"

namespace tickpath::sim {

struct Impairment {
  double loss = 0;        // share of packets, 0 to below 1
  double loss_burst = 1;  // packets lost in a row, on average; 1 or more
  std::uint64_t delay_ns = 0;
  std::uint64_t jitter_ns = 0;  // added, uniform from 0; above the packets' distance it reorders

  bool delays() const noexcept { return delay_ns != 0 || jitter_ns != 0; }
  bool any() const noexcept { return loss > 0 || delays(); }
};

// Two states (E. N. Gilbert, "Capacity of a Burst-Noise Channel", 1960): in the bad one every
// packet is lost, and it lasts loss_burst packets on average.
class LossModel {
 public:
  LossModel(double loss, double burst, std::uint64_t seed) noexcept
      : leave_(1 / burst), enter_(loss > 0 ? loss / (burst * (1 - loss)) : 0), random_(seed) {}
  bool lost() noexcept {
    if (enter_ == 0) return false;
    bad_ = bad_ ? !random_.chance(leave_) : random_.chance(enter_);
    return bad_;
  }
  Random& random() noexcept { return random_; }

 private:
  double leave_, enter_;
  Random random_;
  bool bad_ = false;
};

// Written by the datapath thread; any thread reads.
struct LineCounters {
  TICKPATH_COUNTERS(packets,   // handed to the kernel
                    lost,      // on purpose
                    failed,    // refused by the kernel: receivers see a gap
                    crowded);  // sent early: more were delayed than there is room for
};

// Constructor on the control thread (throws net::NetError), the rest on the datapath.
class FeedLine {
 public:
  FeedLine(const net::SenderOptions& socket, const Impairment& impairment, std::uint64_t seed);

  // False: the socket is full, call again later. A packet that is lost or delayed counts as sent.
  // from: when the line gets it; its own delay begins then.
  [[nodiscard]] bool send(std::span<const std::byte> packet, TscTicks from) noexcept;
  // Sends what is due. True if it did anything.
  bool turn(TscTicks now) noexcept;
  // The next delayed packet; the far future: none.
  TscTicks next_due() const noexcept {
    return delayed_.empty() ? TscTicks{~std::uint64_t{0}} : delayed_.front().due;
  }
  bool idle() const noexcept { return delayed_.empty(); }

  int last_errno() const noexcept { return socket_.last_errno(); }
  const LineCounters& counters() const noexcept { return counters_; }

 private:
  static constexpr std::size_t kDelayedMax = 4'096;

  struct Delayed {
    TscTicks due;
    std::uint64_t order;  // those due together keep it
    std::uint32_t buffer;
    std::uint32_t bytes;
    bool operator<(const Delayed& other) const noexcept {  // for a heap: the earliest on top
      return due != other.due ? due > other.due : order > other.order;
    }
  };

  net::IoStatus transmit(std::span<const std::byte> packet) noexcept;
  bool send_first() noexcept;
  void delay(std::span<const std::byte> packet, TscTicks from) noexcept;

  net::UdpMulticastSender socket_;
  Impairment impairment_;
  LossModel loss_;
  TscTicks delay_;
  std::uint64_t jitter_ticks_;
  std::vector<std::byte> buffers_;
  std::vector<std::uint32_t> free_;
  std::vector<Delayed> delayed_;  // a heap
  std::uint64_t order_ = 0;
  LineCounters counters_;
};

}  // namespace tickpath::sim
