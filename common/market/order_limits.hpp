// What oeg checks of every order: limits of its own and those of risk's control block, of which the
// smaller counts. One table says what there is.
#pragma once

#include <cstdint>

#include "common/config/config.hpp"
#include "common/wire/control_block.hpp"

namespace tickpath::market {

// Every limit is inclusive; 0: no such limit. Money in 1/10,000.
struct OrderLimits {
  std::uint64_t order_value_max = 0;
  std::uint64_t position_value_max = 0;
  std::uint32_t order_shares_max = 0;
  std::uint32_t position_shares_max = 0;
  std::uint32_t open_orders_max = 0;
  std::uint32_t messages_per_second_max = 0;
  std::uint32_t collar_basis_points = 0;
};

// visit(key, member, member of the control block, unit, help) for each; money has no unit.
template <class Visit>
void for_each_limit(Visit&& visit) {
  using L = OrderLimits;
  using B = wire::ControlBlock;
  visit("order_shares_max", &L::order_shares_max, &B::order_shares_max, "shares",
        "Largest order; 0 here and below: no such limit");
  visit("order_value_max", &L::order_value_max, &B::order_value_max, "",
        "Largest value of an order: shares times its limit; of a sell times the best bid if that "
        "is higher, of a market order times the worst price that the collar allows. Without a good "
        "market a sell has no value and is refused");
  visit("collar_basis_points", &L::collar_basis_points, &B::collar_basis_points, "1/100 %",
        "How much worse than the opposite best price a limit may be");
  visit("open_orders_max", &L::open_orders_max, &B::open_orders_max, "orders",
        "Open orders of a strategy");
  visit("position_shares_max", &L::position_shares_max, &B::position_shares_max, "shares",
        "Position of a strategy in an instrument if all that is open were filled");
  visit("position_value_max", &L::position_value_max, &B::position_value_max, "",
        "The same position at the order's price");
  visit("messages_per_second_max", &L::messages_per_second_max, &B::messages_per_second_max,
        "messages/s", "New orders and replacements of a strategy; cancels always pass");
}

// The largest that the fields hold; a collar beyond 10,000 % is none.
inline constexpr OrderLimits kOrderLimitsMost{.order_shares_max = 0xffff'ffff,
                                              .position_shares_max = 0xffff'ffff,
                                              .open_orders_max = 0xffff'ffff,
                                              .messages_per_second_max = 0xffff'ffff,
                                              .collar_basis_points = 1'000'000};

// most: the largest counts that a configuration may have; money goes up to config::kMoneyMax.
config::Schema<OrderLimits> order_limits_schema(const OrderLimits& most = kOrderLimitsMost);

// No order is refused by any of them.
bool are_all_off(const OrderLimits& limits) noexcept;

// The smaller of two limits each; where one side has none (0), the other's.
OrderLimits stricter(OrderLimits ours, const wire::ControlBlock& block) noexcept;
// risk's, into the block that it writes.
void write_to(wire::ControlBlock& block, const OrderLimits& limits) noexcept;

}  // namespace tickpath::market
