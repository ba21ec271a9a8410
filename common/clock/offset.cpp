#include "common/clock/offset.hpp"

#include <algorithm>
#include <cmath>

namespace tickpath::clock {

void OffsetEstimator::restart(double local_hz, double peer_hz) noexcept {
  local_hz_ = local_hz;
  peer_hz_ = peer_hz;
  nominal_ = peer_hz / local_hz;
  rate_limit_ = options_.rate_error_ppm * 1e-6 * nominal_;
  wander_ = options_.wander_ppm * 1e-6 * nominal_;
  contradictions_ = 0;
  forget();
}

void OffsetEstimator::forget() noexcept {
  started_ = has_low_ = has_high_ = false;
  at_ = 0;
  rate_low_ = -rate_limit_;
  rate_high_ = rate_limit_;
  old_ = young_ = {};
}

double OffsetEstimator::local_since_start(TscTicks local) const noexcept {
  return static_cast<double>(static_cast<std::int64_t>(local.value - local0_));
}

double OffsetEstimator::difference(TscTicks local, TscTicks peer) noexcept {
  if (!started_) {
    started_ = true;
    local0_ = local.value;
    peer0_ = peer.value;
  }
  return static_cast<double>(static_cast<std::int64_t>(peer.value - peer0_)) -
         nominal_ * local_since_start(local);
}

void OffsetEstimator::advance(double at) noexcept {
  const double passed = at - at_;
  if (passed <= 0) return;
  low_ += rate_low_ * passed;
  high_ += rate_high_ * passed;
  at_ = at;
}

void OffsetEstimator::at_least(TscTicks local, TscTicks peer) noexcept {
  double bound = difference(local, peer);
  const double at = local_since_start(local);
  advance(at);
  bound += rate_low_ * (at_ - at);  // a reading that came late: moved to where we stand
  low_ = has_low_ ? std::max(low_, bound) : bound;
  has_low_ = true;
  check();
}

void OffsetEstimator::at_most(TscTicks local, TscTicks peer) noexcept {
  double bound = difference(local, peer);
  const double at = local_since_start(local);
  advance(at);
  bound += rate_high_ * (at_ - at);
  high_ = has_high_ ? std::min(high_, bound) : bound;
  has_high_ = true;
  check();
}

void OffsetEstimator::check() noexcept {
  if (!ready()) return;
  // Two ticks of slack: both counters are read as whole numbers.
  if (low_ > high_ + 2) {
    const std::uint64_t count = contradictions_ + 1;
    forget();
    contradictions_ = count;
    return;
  }
  learn_rate();
}

// The interval of now and that of an anchor bound how fast the difference can have changed in
// between. Two anchors take turns, so that there always is one between one and two periods old.
void OffsetEstimator::learn_rate() noexcept {
  const double period = options_.anchor_s * local_hz_;
  if (!young_.set) {
    young_ = {at_, low_, high_, true};
    return;
  }
  const Anchor& anchor = old_.set ? old_ : young_;
  const double passed = at_ - anchor.at;
  // Below a tenth of a second the width of the intervals hides every rate.
  if (passed > 0.1 * local_hz_) {
    const double low = (low_ - anchor.high) / passed - wander_;
    const double high = (high_ - anchor.low) / passed + wander_;
    rate_low_ = std::max(-rate_limit_, low);
    rate_high_ = std::min(rate_limit_, high);
    if (rate_low_ > rate_high_) {  // beyond what is allowed: not a clock that drifts
      const std::uint64_t count = contradictions_ + 1;
      forget();
      contradictions_ = count;
      return;
    }
  }
  if (at_ - young_.at < period) return;
  old_ = young_;
  young_ = {at_, low_, high_, true};
}

OffsetEstimator::Estimate OffsetEstimator::at(TscTicks local) const noexcept {
  const double at = local_since_start(local);
  const double passed = at - at_;
  // Forward the interval widens by the rates; backward it does too, the other way round.
  const double low = low_ + (passed >= 0 ? rate_low_ : rate_high_) * passed;
  const double high = high_ + (passed >= 0 ? rate_high_ : rate_low_) * passed;
  const double middle = (low + high) / 2 + nominal_ * at;
  const double half_ns = std::max(0.0, (high - low) / 2) / peer_hz_ * 1e9;
  const auto whole = static_cast<std::int64_t>(std::llround(middle));
  return {{peer0_ + static_cast<std::uint64_t>(whole)},
          static_cast<std::uint64_t>(std::ceil(half_ns)) + 1};
}

double OffsetEstimator::drift_ppm() const noexcept {
  return (rate_low_ + rate_high_) / 2 / nominal_ * 1e6;
}

}  // namespace tickpath::clock
