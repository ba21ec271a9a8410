// Requests of strategies: each is checked and sent, or refused. Datapath thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/trace/stamp.hpp"
#include "common/wire/order_event.hpp"
#include "common/wire/order_messages.hpp"
#include "oeg/books.hpp"
#include "oeg/order_checks.hpp"
#include "oeg/order_sender.hpp"
#include "oeg/ports.hpp"
#include "oeg/recorder.hpp"
#include "oeg/report_queues.hpp"

namespace tickpath::oeg {

class OrderEntry {
 public:
  OrderEntry(const GatewayOptions& options, Books& books, OrderChecks& checks, Recorder& recorder,
             ReportQueues& queues, OrderSender& sender, const VenuePort& venue,
             const JournalPort& journal, trace::TraceWriter& trace) noexcept
      : options_(options),
        instruments_(books.instruments),
        ledger_(books.ledger),
        counters_(books.counters),
        checks_(checks),
        recorder_(recorder),
        queues_(queues),
        sender_(sender),
        venue_(venue),
        journal_(journal),
        trace_(trace) {}

  void on_request(StrategySlot& slot, const wire::OrderRequest& request) noexcept;
  // How many requests to take from a strategy's channel now; the rest waits there, and its credits
  // with it.
  std::size_t requests_taken(const StrategySlot& slot) const noexcept;

 private:
  void new_order(StrategySlot& slot, const wire::OrderRequest& request) noexcept;
  void change_order(StrategySlot& slot, const wire::OrderRequest& request) noexcept;
  wire::OrderEvent refuse(StrategySlot& slot, const wire::OrderRequest& request,
                          trading::RejectReason reason, const Order* order) noexcept;
  void journal_refusal(const wire::OrderRequest& request, const wire::OrderEvent& event) noexcept;
  void stamp_sent(std::uint64_t order_id, TscTicks seen, TscTicks passed,
                  const fix::SendTimes& times) noexcept;

  const GatewayOptions& options_;
  const Instruments& instruments_;
  Ledger& ledger_;
  GatewayCounters& counters_;
  OrderChecks& checks_;
  Recorder& recorder_;
  ReportQueues& queues_;
  OrderSender& sender_;
  const VenuePort& venue_;
  const JournalPort& journal_;
  trace::TraceWriter& trace_;
  std::uint64_t refusals_journaled_ = 0;
};

}  // namespace tickpath::oeg
