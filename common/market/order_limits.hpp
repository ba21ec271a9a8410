// Order limits (common/trading/order_limits.hpp) in configurations and in the control block.
#pragma once

#include "common/config/config.hpp"
#include "common/trading/order_limits.hpp"
#include "common/wire/control_block.hpp"

namespace tickpath::market {

using trading::OrderLimits;

// most: the largest counts that a configuration may have; money goes up to config::kMoneyMax.
config::Schema<OrderLimits> order_limits_schema(
    const OrderLimits& most = trading::kOrderLimitsMost);

// No order is refused by any of them.
bool are_all_off(const OrderLimits& limits) noexcept;

// The smaller of two limits each; where one side has none (0), the other's.
OrderLimits stricter(OrderLimits ours, const wire::ControlBlock& block) noexcept;
// risk's, into the block that it writes.
void write_to(wire::ControlBlock& block, const OrderLimits& limits) noexcept;

}  // namespace tickpath::market
