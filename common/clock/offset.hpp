// What a peer's clock shows when ours shows something else, with a bound on the error.
//
// Every message that carries a reading gives one bound, whatever the network did to it: a message
// cannot arrive before it was sent. So nothing is assumed about the two ways being equally long, as
// NTP's offset does (RFC 5905, section 8): the true value lies inside the interval, and `error` is
// half of its width, which comes to half of the shortest round trip seen lately.
#pragma once

#include <cstdint>

#include "common/base/units.hpp"

namespace tickpath::clock {

// One entry of a trace: when our counter showed `local`, the peer's showed `peer` +- error_ns.
struct PeerTime {
  std::uint64_t host = 0;    // whose clock, see host_id()
  std::uint32_t stream = 0;  // entries of one stream come from one estimator
  TscTicks local;
  TscTicks peer;
  std::uint64_t error_ns = 0;
};

// Receives the times that were measured. The polling thread calls it, about once a second.
class OffsetSink {
 public:
  virtual void on_peer_time(const PeerTime& time) noexcept = 0;

 protected:
  ~OffsetSink() = default;
};

struct OffsetOptions {
  // How far the rate of either oscillator may be from its nominal one (and from what was measured
  // of it in 20 ms at start). PC crystals are specified to 50 ppm or better; measuring adds 20.
  double rate_error_ppm = 200;
  // How far a rate moves while we look at it, by temperature. Crystals: below 0.1 ppm a kelvin.
  double wander_ppm = 0.2;
  double anchor_s = 5;  // the rate is judged over one to two of these
};

// The interval that holds the difference, moved along as time passes and cut by each new bound.
// Between bounds it widens by what the rates may differ, which is itself learnt from how the
// interval moved since an earlier one. One thread; noexcept, no allocation.
class OffsetEstimator {
 public:
  explicit OffsetEstimator(const OffsetOptions& options = {}) noexcept : options_(options) {}

  // A peer whose counter makes peer_hz ticks a second while ours makes local_hz.
  void restart(double local_hz, double peer_hz) noexcept;

  // A reading of the peer, `peer`, had reached us when our counter showed `local`.
  void at_least(TscTicks local, TscTicks peer) noexcept;
  // A reading of ours, `local`, had reached the peer when its counter showed `peer`.
  void at_most(TscTicks local, TscTicks peer) noexcept;

  // Both kinds of bound have been seen.
  bool ready() const noexcept { return has_low_ && has_high_; }
  struct Estimate {
    TscTicks peer;
    std::uint64_t error_ns;
  };
  // The middle of the interval and half of its width, when our counter shows `local`. ready() only.
  Estimate at(TscTicks local) const noexcept;

  // Times that a bound contradicted what was known (a clock that stepped, a host that slept): all
  // was forgotten and learnt anew.
  std::uint64_t contradictions() const noexcept { return contradictions_; }
  // The drift of the peer's clock against ours, beyond the nominal rates, as far as known: the
  // middle, ppm.
  double drift_ppm() const noexcept;

 private:
  // Differences are kept as x = (peer - peer0) - nominal * (local - local0), in the peer's ticks:
  // small numbers, so that a double keeps fractions of a tick however long the host is up.
  struct Anchor {
    double at = 0;
    double low = 0;
    double high = 0;
    bool set = false;
  };
  double local_since_start(TscTicks local) const noexcept;
  double difference(TscTicks local, TscTicks peer) noexcept;
  void advance(double at) noexcept;
  void learn_rate() noexcept;
  void forget() noexcept;
  void check() noexcept;

  OffsetOptions options_;
  double local_hz_ = 1;
  double peer_hz_ = 1;
  double nominal_ = 1;     // peer ticks a local tick
  double rate_limit_ = 0;  // of rate_low_ and rate_high_, peer ticks a local tick
  double wander_ = 0;
  std::uint64_t local0_ = 0;
  std::uint64_t peer0_ = 0;
  bool started_ = false;

  double at_ = 0;  // local ticks since local0_: where low_ and high_ hold
  double low_ = 0;
  double high_ = 0;
  bool has_low_ = false;
  bool has_high_ = false;
  double rate_low_ = 0;  // of x, a local tick
  double rate_high_ = 0;
  Anchor old_;
  Anchor young_;
  std::uint64_t contradictions_ = 0;
};

}  // namespace tickpath::clock
