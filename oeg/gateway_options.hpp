// What of a gateway can be configured: the keys of orders.*, strategies.*, venue.* and limits.*.
#pragma once

#include <cstdint>

#include "oeg/limits.hpp"

namespace tickpath::oeg {

struct GatewayOptions {
  std::uint32_t strategies_max = 16;
  std::uint32_t orders_max = 1u << 16;  // open at once, over all strategies
  std::uint32_t positions_max = 1u << 12;
  std::uint32_t instruments_max = 1u << 14;
  std::uint32_t executions_max = 1u << 18;  // remembered: against repetitions, for cancellations
  bool stop_on_exception = true;            // no new order in a symbol that has an exception
  // Orders and replacements that are older are not sent again.
  std::int64_t resend_age_max_ns = 1'000'000'000;
  // Reports kept for a strategy that is out of credits. At half of it, with what its requests on
  // their way will bring, its further requests wait; at all of it, the venue does. As much again is
  // there for what cannot be held back: messages that QuickFIX had queued behind a gap.
  std::uint32_t report_queue = 4096;
  // The venue waits so long for a strategy that takes no report; then it is cut off.
  std::int64_t unread_max_ns = 1'000'000'000;
  // A request without an answer for so long does not keep an order alive that is to go.
  std::int64_t answer_max_ns = 1'000'000'000;
  bool market_order_protection = true;  // a market order is sent as a limit at the collar
  bool cancel_orphans = true;           // cancel the open orders of a strategy that is gone
  // New orders that the checks refuse are journaled for people, up to so many. Further ones are
  // only counted, so that a strategy gone wild cannot fill the disk.
  std::uint64_t refusals_journaled_max = 1u << 16;
  Limits limits;
};

}  // namespace tickpath::oeg
