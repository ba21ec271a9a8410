// Orders of ours against a recording, by the matching core alone.
#pragma once

#include <vector>

#include "common/feeds/recordings/recording.hpp"
#include "report_log.hpp"
#include "sim/market/market.hpp"

namespace tickpath::sim {

struct TimedOrder {
  std::uint64_t time_ns = 0;  // since the recording's midnight
  NewOrder order;
};

// A limit order of stock 1.
inline NewOrder limit_order(std::uint64_t id, Side side, std::uint32_t shares,
                            std::uint32_t price) {
  return {.order_id = id,
          .price = {price},
          .locate = 1,
          .shares = shares,
          .party = kAlice,
          .side = side};
}

// What they traded. orders: by time, each behind what was recorded by then.
inline std::vector<LoggedReport> fills_of(itch::RecordingReader& recording,
                                          const std::vector<TimedOrder>& orders) {
  ReportLog log;
  Matcher matcher({.book = {.orders_max = 1u << 12, .levels_max = 1u << 12},
                   .live_orders_max = 1u << 10,
                   .order_ids_max = 1u << 12},
                  log);
  Market market(matcher);
  std::size_t next = 0;
  itch::RecordedMessage message;
  while (recording.next(message) == itch::ReadStatus::kMessage) {
    for (; next < orders.size() && orders[next].time_ns < message.timestamp_ns; ++next)
      matcher.enter(orders[next].order);
    market.apply(message.bytes);
  }
  std::erase_if(log.brief,
                [](const LoggedReport& report) { return report.kind != ReportKind::kFill; });
  return log.brief;
}

}  // namespace tickpath::sim
