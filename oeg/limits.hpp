// The limits in effect: oeg's own, each replaced by risk's where its control block has one.
#pragma once

#include <cstdint>

#include "common/wire/control_block.hpp"

namespace tickpath::oeg {

// Every limit is inclusive; 0: no such limit. Units as in wire::ControlBlock.
struct Limits {
  std::uint64_t order_value_max = 0;
  std::uint64_t position_value_max = 0;
  std::uint32_t order_shares_max = 0;
  std::uint32_t position_shares_max = 0;
  std::uint32_t open_orders_max = 0;
  std::uint32_t messages_per_second_max = 0;
  std::uint32_t collar_basis_points = 0;

  // A 0 in the block says that risk has no such limit; oeg's own stays.
  Limits overridden_by(const wire::ControlBlock& block) const noexcept {
    const auto pick = [](auto own, auto given) {
      return given > 0 ? static_cast<decltype(own)>(given) : own;
    };
    Limits result;
    result.order_value_max = pick(order_value_max, block.order_value_max);
    result.position_value_max = pick(position_value_max, block.position_value_max);
    result.order_shares_max = pick(order_shares_max, block.order_shares_max);
    result.position_shares_max = pick(position_shares_max, block.position_shares_max);
    result.open_orders_max = pick(open_orders_max, block.open_orders_max);
    result.messages_per_second_max = pick(messages_per_second_max, block.messages_per_second_max);
    result.collar_basis_points = pick(collar_basis_points, block.collar_basis_points);
    return result;
  }
};

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
