// What goes to strategies. Reports wait for credits, in order. Beside them goes whether orders are
// accepted at all, which symbols are held, and after a connect what the strategy holds. Datapath
// thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/wire/order_messages.hpp"
#include "oeg/books.hpp"
#include "oeg/held_symbols.hpp"
#include "oeg/order_checks.hpp"
#include "oeg/ports.hpp"

namespace tickpath::oeg {

class ReportQueues {
 public:
  ReportQueues(const GatewayOptions& options, Books& books, const HeldSymbols& held,
               const OrderChecks& checks, StrategyPort& strategies);

  // In a pair: the epoch of this leadership, by which strategies know the newest leader.
  void set_epoch(std::uint32_t epoch) noexcept { epoch_ = epoch; }
  std::uint32_t epoch() const noexcept { return epoch_; }

  void connect(StrategySlot& slot) noexcept;
  void disconnect(StrategySlot& slot) noexcept;
  // Tells a connected strategy what it holds, in order with its reports, over the next turns. The
  // end is sent once the orders that it left behind are settled, if oeg cancels them.
  void begin_positions(StrategySlot& slot) noexcept;
  // Sends it, or queues it; a strategy that is gone gets nothing.
  void report_to(StrategySlot& slot, const wire::OrderReport& report) noexcept;
  // Each turn. True: something was sent.
  bool turn(StrategySlot& slot) noexcept;
  void drop_reports(StrategySlot& slot) noexcept;
  // The strategy's open orders are to be cancelled by oeg, if so configured.
  void orphan_orders(StrategySlot& slot) noexcept;

  // A strategy that the venue waits for: nothing more is to be read from it.
  bool has_room() const noexcept { return crowded_ == 0; }
  // A strategy does not have everything yet that it gets from us.
  bool wait() const noexcept;

 private:
  void weigh_queue(StrategySlot& slot) noexcept;
  void cut_off(StrategySlot& slot) noexcept;
  void count_sent(StrategySlot& slot, const wire::OrderReport& report) noexcept;
  bool flush_reports(StrategySlot& slot) noexcept;
  bool tell_leads(StrategySlot& slot) noexcept;
  bool tell_accepting(StrategySlot& slot) noexcept;
  bool tell_held(StrategySlot& slot) noexcept;
  bool tell_positions(StrategySlot& slot) noexcept;

  const GatewayOptions& options_;
  const Instruments& instruments_;
  Ledger& ledger_;
  StrategySlots& slots_;
  GatewayCounters& counters_;
  const HeldSymbols& held_;
  const OrderChecks& checks_;
  StrategyPort& strategies_;
  const std::uint64_t unread_ticks_;
  std::size_t crowded_ = 0;  // strategies for which the venue waits
  std::uint32_t epoch_ = 0;
};

}  // namespace tickpath::oeg
