// What oeg cancels by itself: orders of strategies that are gone or killed. A request that the
// venue does not answer must not keep such an order alive. So oeg cancels its last confirmed id
// anyway, then asks the venue for the order, then lists it as an exception. Datapath thread.
#pragma once

#include <cstdint>

#include "oeg/books.hpp"
#include "oeg/order_checks.hpp"
#include "oeg/order_sender.hpp"
#include "oeg/ports.hpp"
#include "oeg/recorder.hpp"

namespace tickpath::oeg {

class OwnCancels {
 public:
  OwnCancels(Books& books, const OrderChecks& checks, Recorder& recorder, OrderSender& sender,
             const JournalPort& journal) noexcept
      : ledger_(books.ledger),
        counters_(books.counters),
        own_ids_(books.own_ids),
        checks_(checks),
        recorder_(recorder),
        sender_(sender),
        journal_(journal) {}

  // Cancels what is to go, so many a turn. True: something was sent.
  bool cancel_orphans(StrategySlot& slot) noexcept;

 private:
  bool cancel_orphan(StrategySlot& slot, Order& order) noexcept;
  bool send_own_cancel(StrategySlot& slot, Order& order, std::uint64_t request_id) noexcept;
  bool press(StrategySlot& slot, Order& order) noexcept;
  bool cancel_again(StrategySlot& slot, Order& order) noexcept;
  bool ask_for(Order& order) noexcept;
  void list_unanswered(Order& order) noexcept;

  Ledger& ledger_;
  GatewayCounters& counters_;
  OwnIds& own_ids_;
  const OrderChecks& checks_;
  Recorder& recorder_;
  OrderSender& sender_;
  const JournalPort& journal_;
};

}  // namespace tickpath::oeg
