// What oeg knows: open orders by id, and what each strategy holds in each instrument. The same code
// books live events and replays the journal, so that both end in the same state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/base/id_map.hpp"
#include "common/market/order_pool.hpp"
#include "common/wire/order_messages.hpp"
#include "common/wire/order_state.hpp"
#include "common/wire/order_terms.hpp"
#include "common/wire/position.hpp"

namespace tickpath::oeg {

// What a checkpoint keeps of an order, byte for byte; the rest is known otherwise.
struct SavedOrder {
  std::uint64_t id = 0;          // the live one; a replacement changes it
  std::uint64_t pending_id = 0;  // the cancel or replace on its way; 0: none
  std::uint64_t trace_id = 0;    // of the request that made the live id
  std::uint64_t pending_trace_id = 0;
  std::uint32_t row = 0;     // in positions
  std::uint32_t price = 0;   // Price(4), 0: market
  std::uint32_t shares = 0;  // ordered in all
  std::uint32_t leaves = 0;
  std::uint32_t cumulative = 0;
  std::uint32_t pending_price = 0;    // replace
  std::uint32_t pending_shares = 0;   // replace: the new total
  std::uint32_t reserved_shares = 0;  // what a pending replacement may add, held against limits
  Side side = Side::kBuy;
  trading::OrderType type = trading::OrderType::kLimit;
  trading::TimeInForce time_in_force = trading::TimeInForce::kDay;
  trading::OrderState state = trading::OrderState::kPendingNew;
  wire::RequestKind pending_kind = wire::RequestKind::kCancel;
  std::uint8_t pending_own = 0;  // 1: the pending cancel is oeg's own
  std::uint8_t former_day = 0;   // 1: of a session day that is over: reports about it may not come
  std::uint8_t reserved[1] = {};
};
static_assert(std::is_trivially_copyable_v<SavedOrder> && sizeof(SavedOrder) == 72);

// How far oeg has gone to end an order whose request the venue does not answer.
enum class Overdue : std::uint8_t {
  kNot,
  kCanceledAgain,  // the second cancel was sent
  kAskedFor,       // and a status request
  kListed,         // and a person was told
};

struct alignas(64) Order : SavedOrder {
  // A cancel that was sent although the pending request has no answer; 0: none. A checkpoint keeps
  // it in a section of its own.
  std::uint64_t second_cancel_id = 0;
  std::uint64_t asked_tsc = 0;  // when the newest of its requests was sent
  std::uint32_t instrument = 0;
  std::uint32_t older = IdMap::kNone;  // of the same strategy
  std::uint32_t newer = IdMap::kNone;
  // Terms that a replacement repeats: a venue may drop those that it lacks.
  std::uint32_t display_shares = 0;
  std::uint32_t minimum_shares = 0;
  std::uint32_t stop_price = 0;
  std::uint32_t pending_stop_price = 0;  // replace
  std::uint8_t instructions = 0;
  std::uint8_t strategy = 0;
  bool orphan = false;             // its strategy is gone, or its day over: to be cancelled
  bool second_cancel_own = false;  // it is oeg's own
  // The second cancel names an id that the order has no more: its rejection says nothing of the
  // order.
  bool second_cancel_stale = false;
  // The venue does not know the live id: it may have taken the pending replacement without a word.
  bool id_unknown = false;
  Overdue overdue = Overdue::kNot;
};
static_assert(sizeof(Order) == 128);

// A new request of the order has to wait for an answer.
inline bool waits_for_answer(const Order& order) noexcept {
  return order.pending_id != 0 || (order.second_cancel_id != 0 && !order.second_cancel_stale);
}
// The venue's day is over, and so is the order. One that the venue has said nothing about may never
// have come there.
inline bool ends_with_day(const Order& order) noexcept {
  return !trading::outlives_day(order.time_in_force) ||
         order.state == trading::OrderState::kPendingNew;
}
// The request is on its way and is oeg's own.
inline bool is_own(const Order& order, std::uint64_t request_id) noexcept {
  return request_id != 0 && ((order.pending_own != 0 && request_id == order.pending_id) ||
                             (order.second_cancel_own && request_id == order.second_cancel_id));
}

// Position of one strategy in one instrument, with what only oeg needs.
struct Position {
  wire::PositionRow row{};
  std::uint32_t reserved_buy = 0;  // pending replacements
  std::uint32_t reserved_sell = 0;
  std::uint32_t price = 0;     // that its exposure is valued at, Price(4); 0: unknown
  bool unpriced = false;       // it holds something, or may, and has no price
  std::uint64_t exposure = 0;  // 1/10,000: most_shares() x price

  // The shares that would be held, long or short, if everything open on its worse side were filled.
  std::uint64_t most_shares() const noexcept {
    constexpr std::int64_t kFarthest = std::int64_t{1} << 62;
    const std::int64_t held = std::clamp(row.position_shares, -kFarthest, kFarthest);
    const std::int64_t bought = held + row.open_buy_shares + reserved_buy;
    const std::int64_t sold = std::int64_t{row.open_sell_shares} + reserved_sell - held;
    return static_cast<std::uint64_t>(std::max({bought, sold, std::int64_t{0}}));
  }
};

// Sums of exposures: 64 bits times rows.
__extension__ using Exposure = unsigned __int128;  // a GNU type

// What a report changes, in the ledger's own terms.
struct LedgerReport {
  wire::ReportKind kind = wire::ReportKind::kAccepted;
  std::uint64_t request_id = 0;   // the request answered; the live id for a fill
  std::uint32_t last_shares = 0;  // of a fill, or of one that is taken back
  ExecutedPrice last_price;
  std::uint32_t leaves = 0;
  std::uint32_t cumulative = 0;
};

// Datapath thread (the control thread before it starts). Allocates in the constructor alone.
class Ledger {
 public:
  Ledger(std::uint32_t orders_max, std::uint32_t positions_max);

  // ---- orders

  // By its live id or by that of a request on its way; nullptr: not open.
  Order* find(std::uint64_t id) noexcept {
    Order* const order = orders_.find(id);
    if (order != nullptr || second_cancels_.size() == 0) [[likely]]
      return order;
    const std::uint32_t at = second_cancels_.find(id);
    return at == IdMap::kNone ? nullptr : &orders_.at(at);
  }
  bool full() const noexcept { return orders_.full(); }
  // Rows in use: the open orders, and those that are final and wait for an answer.
  std::size_t orders() const noexcept { return orders_.size(); }
  std::size_t orders_max() const noexcept { return orders_.capacity(); }
  std::size_t open_orders() const noexcept { return open_; }
  std::uint32_t open_orders(std::uint8_t strategy) const noexcept { return open_of_[strategy]; }

  // Requests on their way: orders that the venue has said nothing about, cancels, replacements.
  std::uint32_t unanswered(std::uint8_t strategy) const noexcept {
    return unanswered_of_[strategy];
  }

  // A new order, PendingNew. Its row is from position_row(); there is room (full()).
  Order& add(const Order& order) noexcept;
  // A cancel or replacement is on its way. The order has no other.
  void set_pending(Order& order, wire::RequestKind kind, std::uint64_t request_id,
                   std::uint64_t trace_id, std::uint32_t price, std::uint32_t shares,
                   bool own) noexcept;
  // A cancel is on its way although the pending request has no answer. False: the order has one
  // already, or there is no room.
  [[nodiscard]] bool set_second_cancel(Order& order, std::uint64_t request_id, bool own) noexcept;
  // The request never left: as if it had not been made.
  void undo_add(Order& order) noexcept;
  void undo_request(Order& order, std::uint64_t request_id) noexcept {
    request_id == order.second_cancel_id ? clear_second_cancel(order) : clear_pending(order);
  }

  // An order as it was, of a checkpoint; its row was restored before it. The oldest of a strategy
  // comes first. False: no room, or its id is there already.
  [[nodiscard]] bool restore(const Order& order) noexcept;

  // Everything of another ledger, which stays as it is, into this one, which is new. Its orders
  // keep their rows: so this takes a fraction of the time of restore(), order by order. False: no
  // room.
  [[nodiscard]] bool take(const Ledger& other) noexcept;

  // Books a report. False: it cannot follow the order's state; nothing changed. An order that is
  // final leaves the table at once, or with the answer to its pending request: `order` is then
  // gone. `state` is the state after.
  bool apply(Order& order, const LedgerReport& report, trading::OrderState& state) noexcept;

  // Calls visit(Order&) for each open order of a strategy, oldest first; visit may take that one
  // off the table, and none else. Orders that are final and wait for an answer are among them.
  template <class Visit>
  void for_each(std::uint8_t strategy, Visit&& visit) noexcept {
    orders_.for_each(strategy, visit);
  }
  template <class Visit>
  void for_each(std::uint8_t strategy, Visit&& visit) const noexcept {
    orders_.for_each(strategy, visit);
  }

  // ---- positions

  // Books an execution into a row. apply() does it for an order that is open; this is for one that
  // is done.
  void trade(std::uint32_t row, const trading::Fill& fill) noexcept;
  // What the venue wants for an execution, in 1/1,000,000.
  void charge(std::uint32_t row, std::int64_t fee) noexcept;
  // The row of (strategy, instrument), made at the first call; IdMap::kNone: no room.
  std::uint32_t position_row(std::uint8_t strategy, std::uint32_t instrument) noexcept;
  // A row as it was but for what is open in it, which restore() of the orders brings back; rows
  // come in their order. False: no room.
  [[nodiscard]] bool restore(const wire::PositionRow& row) noexcept;
  Position& position(std::uint32_t row) noexcept { return positions_[row]; }
  const Position& position(std::uint32_t row) const noexcept { return positions_[row]; }
  std::uint32_t position_count() const noexcept { return position_count_; }

  // ---- exposure: what positions and open orders may come to, valued row by row

  // An order of this row was valued at `price`: its exposure is valued at least as high.
  void price_at_least(std::uint32_t row, std::uint32_t price) noexcept {
    if (price > positions_[row].price) set_price(row, price);
  }
  // Values the next `count` rows anew, by price_of(instrument); 0 leaves a row's price. So every
  // row follows its market.
  template <class PriceOf>
  void revalue(std::uint32_t count, PriceOf&& price_of) noexcept {
    for (count = std::min(count, position_count_); count != 0; --count) {
      next_valued_ = next_valued_ + 1 < position_count_ ? next_valued_ + 1 : 0;
      const std::uint32_t price = price_of(positions_[next_valued_].row.instrument_id);
      if (price != 0 && price != positions_[next_valued_].price) set_price(next_valued_, price);
    }
  }
  Exposure exposure(std::uint8_t strategy) const noexcept { return exposure_of_[strategy]; }
  Exposure exposure() const noexcept { return exposure_; }
  // Rows that hold something, or may, at an unknown price: the sums are without them.
  std::uint32_t unpriced(std::uint8_t strategy) const noexcept { return unpriced_of_[strategy]; }
  std::uint32_t unpriced() const noexcept { return unpriced_; }

  std::size_t positions_max() const noexcept { return positions_.size(); }

 private:
  void set_leaves(Order& order, std::uint32_t leaves) noexcept;
  void set_price(std::uint32_t row, std::uint32_t price) noexcept {
    positions_[row].price = price;
    value(positions_[row]);
  }
  void value(Position& position) noexcept;
  void restate(Order& order, std::uint32_t leaves) noexcept;
  void reserve(Order& order) noexcept;
  void release_pending(Order& order) noexcept;
  void clear_pending(Order& order) noexcept;
  void clear_second_cancel(Order& order) noexcept;
  void answer_request(Order& order, const LedgerReport& report) noexcept;
  void release_if_done(Order& order) noexcept;
  bool take_second_cancels() noexcept;

  market::OrderPool<Order> orders_;  // a list for each strategy
  IdMap second_cancels_;             // their ids, and the orders' rows in the pool
  std::vector<Position> positions_;
  IdMap rows_;
  std::uint32_t position_count_ = 0;
  std::size_t open_ = 0;
  std::vector<std::uint32_t> open_of_;
  std::vector<std::uint32_t> unanswered_of_;
  std::vector<Exposure> exposure_of_;
  std::vector<std::uint32_t> unpriced_of_;
  Exposure exposure_ = 0;
  std::uint32_t unpriced_ = 0;
  std::uint32_t next_valued_ = 0;
};

}  // namespace tickpath::oeg
