// The exchange of a test bench, with oeg before it: what it was sent, what became of it, and the
// reports that follow. It checks that the test answers only what was asked.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/wire/order_messages.hpp"
#include "common/wire/order_state.hpp"
#include "strategy/test_bench.hpp"
#include "strategy/test_bench/market.hpp"

namespace tickpath::test_bench {

struct OrderRecord {
  wire::OrderRequest request{};  // as it was sent
  std::uint64_t id = 0;          // of today
  std::size_t venue = 0;
  std::string listing;
  std::uint32_t price = 0;
  std::uint32_t stop_price = 0;
  std::uint32_t shares = 0;
  std::uint32_t leaves = 0;
  std::uint32_t filled = 0;
  trading::OrderState state = trading::OrderState::kPendingNew;
  bool triggered = false;

  bool done() const noexcept { return trading::is_final(state); }
};

// A report on its way to the strategy.
struct Answer {
  std::size_t venue = 0;
  wire::OrderReport report{};
  std::string text{};  // the exchange's own, ahead of the report
};

class Exchange {
 public:
  // What the strategy sent to a venue; the listing is the one that it names.
  void take(const wire::OrderRequest& request, std::size_t venue, const Listing& listing);

  // Each throws TestBenchError where that cannot be, and then nothing has changed.
  Answer accept(std::uint64_t request_id);
  Answer reject(std::uint64_t request_id, tickpath_reason reason, std::string_view text);
  Answer fill(std::uint64_t order_id, std::uint32_t shares, std::uint32_t price);
  Answer expire(std::uint64_t order_id, std::string_view text);
  Answer restate(std::uint64_t order_id, std::uint32_t leaves);
  Answer trigger(std::uint64_t order_id);
  Answer bust(std::uint64_t execution_id);
  Answer correct(std::uint64_t execution_id, std::uint32_t shares, std::uint32_t price);

  // The connection to a venue's oeg is gone, and the answers with it.
  void lose_answers(std::size_t venue) noexcept;

  const OrderRecord& order(std::uint64_t id) const;
  const OrderRecord* look_up(std::uint64_t id) const noexcept;
  const std::deque<OrderRecord>& orders() const noexcept { return orders_; }
  const std::vector<TestRequest>& requests() const noexcept { return requests_; }
  // Where the request at this place of requests() went.
  std::size_t venue_of(std::size_t request) const { return states_[request].venue; }
  std::size_t venue_of_execution(std::uint64_t execution_id) const;
  bool unanswered(std::size_t request) const {
    return states_[request].answer == AnswerState::kPending;
  }

 private:
  enum class AnswerState : std::uint8_t { kPending, kGiven, kLost };
  struct RequestState {
    wire::OrderRequest request{};
    std::size_t venue = 0;
    AnswerState answer = AnswerState::kPending;
  };
  struct Execution {
    std::uint64_t order_id = 0;
    std::uint32_t shares = 0;
    std::uint32_t price = 0;
    bool stands = true;
  };

  RequestState& unanswered_request(std::uint64_t id);
  OrderRecord& record(std::uint64_t id);
  OrderRecord& open_record(std::uint64_t id);
  Execution& standing(std::uint64_t execution_id);
  Answer answer_of(const OrderRecord& order, wire::ReportKind kind) const;
  // Applies the state machine that the engine has; throws TestBenchError where it does not allow
  // the report. What an order's first report is, answers its request.
  void apply(OrderRecord& order, const wire::OrderReport& report);
  Answer accept_replace(const RequestState& state, OrderRecord& order);

  std::deque<OrderRecord> orders_;
  std::unordered_map<std::uint64_t, std::size_t> order_of_;  // by any id that it had
  std::vector<TestRequest> requests_;
  std::vector<RequestState> states_;                           // of requests_
  std::unordered_map<std::uint64_t, std::size_t> request_of_;  // by id
  std::unordered_map<std::uint64_t, Execution> executions_;
  std::uint64_t last_execution_ = 0;
};

// "1-7-12": strategy, incarnation, counter.
std::string id_text(std::uint64_t id);
TestOrder shown(const OrderRecord& order);

}  // namespace tickpath::test_bench
