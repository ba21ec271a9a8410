// The limits that an order is checked against, and the bound on a strategy's messages.
#pragma once

#include <cstdint>

#include "common/trading/order_limits.hpp"

namespace tickpath::oeg {

using Limits = trading::OrderLimits;

// `rate` messages a second in the long run, and never more than one second's worth at once: the
// generic cell rate algorithm (ITU-T I.371, annex A). One comparison a message.
class RateLimiter {
 public:
  // Clock in ticks of `hz`. rate 0: no limit.
  bool allow(std::uint64_t now, std::uint32_t rate, std::uint64_t hz) noexcept {
    if (rate == 0) return true;
    const std::uint64_t interval = hz / rate;
    const std::uint64_t at = arrival_ > now ? arrival_ : now;
    if (at - now > hz - interval) return false;
    arrival_ = at + interval;
    return true;
  }

 private:
  std::uint64_t arrival_ = 0;  // when the bucket will be empty again
};

}  // namespace tickpath::oeg
