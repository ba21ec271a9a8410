// The open orders of one strategy, oldest first, found by any id that oeg may name them by.
#pragma once

#include <cstdint>

#include "common/market/order_pool.hpp"
#include "common/wire/order_messages.hpp"
#include "common/wire/order_state.hpp"
#include "strategy/plugin.h"

namespace tickpath::strategy {

// What a plugin asks for, as oeg is asked for it. A value outside its enumeration stays what it is:
// wire::terms_agree() refuses it.
inline wire::OrderRequest request_of(const tickpath_new_order& order) noexcept {
  wire::OrderRequest request{};
  request.kind = wire::RequestKind::kNew;
  request.price = Price{order.price};
  request.shares = order.shares;
  request.side = static_cast<Side>(order.side);
  request.type = static_cast<trading::OrderType>(order.type);
  request.time_in_force = static_cast<trading::TimeInForce>(order.time_in_force);
  request.instructions = order.instructions;
  request.stop_price = order.stop_price;
  request.display_shares = order.display_shares;
  request.minimum_shares = order.minimum_shares;
  return request;
}

struct Order {
  std::uint64_t id = 0;                // the live one; a replacement changes it
  std::uint64_t pending_id = 0;        // the cancel or replace on its way; 0: none
  std::uint64_t second_cancel_id = 0;  // sent although the pending request has no answer; 0: none
  std::uint64_t asked_ns = 0;          // when the newest of them was sent
  std::uint32_t instrument = 0;
  std::uint32_t price = 0;  // limit in effect, 0: market
  std::uint32_t shares = 0;
  std::uint32_t leaves = 0;
  std::uint32_t cumulative = 0;
  Side side = Side::kBuy;
  trading::OrderType type = trading::OrderType::kLimit;
  trading::TimeInForce time_in_force = trading::TimeInForce::kDay;
  trading::OrderState state = trading::OrderState::kPendingNew;
  std::uint8_t stack = 0;
  bool cancel_wanted = false;  // by the engine: on failure, stop, stale feed, recovery
  bool uncertain = false;      // oeg went away while it was open: only a cancel settles it

  std::uint32_t older = IdMap::kNone;
  std::uint32_t newer = IdMap::kNone;
};

// Final orders leave at once, so its size is the open orders.
using OrderTable = market::OrderPool<Order>;

}  // namespace tickpath::strategy
