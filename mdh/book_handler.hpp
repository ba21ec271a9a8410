// From a decoded ITCH message to the book, and to what happened in terms of wire::BookUpdate.
#pragma once

#include <cstdint>
#include <limits>

#include "common/book/book.hpp"
#include "common/book/lookahead.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/wire/book_update.hpp"

namespace tickpath::mdh {

// What one message did. 24 bytes.
struct Event {
  std::uint64_t exchange_time_ns = 0;
  std::uint32_t price = 0;
  std::uint32_t shares = 0;
  book::Locate locate = 0;
  wire::UpdateKind kind = wire::UpdateKind::kInformation;
  Side side{0};  // 0 where no resting order is concerned
  book::Status status = book::Status::kOk;
  bool printed = true;  // kExecute: false where another message tells it as a trade
};

// A handler for itch::decode(): messages about orders change the book, all others only leave their
// locate and time. The book's thread only.
class BookHandler {
 public:
  explicit BookHandler(book::LevelBookSet& books) noexcept : books_(books) {}

  Event& event() noexcept { return event_; }  // what the last message did

  void operator()(const itch::AddOrder& m) noexcept { add(m); }
  void operator()(const itch::AddOrderMpid& m) noexcept { add(m); }
  void operator()(const itch::OrderExecuted& m) noexcept {
    const book::Change change = books_.execute(m.order_reference_number, m.executed_shares);
    report(m.header, wire::UpdateKind::kExecute, change, change.price);
  }
  // 1.4.2: "the price of the execution differs from the order's": the event carries the former.
  void operator()(const itch::OrderExecutedWithPrice& m) noexcept {
    const book::Change change = books_.execute(m.order_reference_number, m.executed_shares);
    report(m.header, wire::UpdateKind::kExecute, change, m.execution_price);
    event_.printed = m.printable != 'N';
  }
  void operator()(const itch::OrderCancel& m) noexcept {
    const book::Change change = books_.reduce(m.order_reference_number, m.cancelled_shares);
    report(m.header, wire::UpdateKind::kCancel, change, change.price);
  }
  void operator()(const itch::OrderDelete& m) noexcept {
    const book::Change change = books_.remove(m.order_reference_number);
    report(m.header, wire::UpdateKind::kDelete, change, change.price);
  }
  void operator()(const itch::OrderReplace& m) noexcept {
    const book::Change change = books_.replace(m.original_order_reference_number,
                                               m.new_order_reference_number, m.shares, m.price);
    report(m.header, wire::UpdateKind::kReplace, change, change.price);
  }
  void operator()(const itch::NonCrossTrade& m) noexcept {
    information(m.header);
    event_.kind = wire::UpdateKind::kTrade;
    event_.price = m.price;
    event_.shares = m.shares;
  }
  void operator()(const itch::CrossTrade& m) noexcept {
    information(m.header);
    if (m.shares == 0) return;  // 1.5.2: sent for a cross in which nothing traded, too
    event_.kind = wire::UpdateKind::kTrade;
    event_.price = m.cross_price;
    // A cross counts in eight bytes; what exceeds an update's four is published as their largest.
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    event_.shares = static_cast<std::uint32_t>(m.shares < most ? m.shares : most);
  }
  void operator()(const auto& m) noexcept { information(m.header); }

  // What is known of any message, and all that is published of most.
  void information(const itch::Header& header) noexcept {
    event_ = {};
    event_.exchange_time_ns = header.timestamp;
    event_.locate = header.stock_locate;
  }

 protected:
  void set_kind(wire::UpdateKind kind) noexcept { event_.kind = kind; }
  void add(const auto& m) noexcept {
    const book::Change change = books_.add(m.header.stock_locate, m.order_reference_number,
                                           itch::side_of(m.buy_sell_indicator), m.shares, m.price);
    report(m.header, wire::UpdateKind::kAdd, change, m.price);
  }

 private:
  void report(const itch::Header& header, wire::UpdateKind kind, const book::Change& change,
              std::uint32_t price) noexcept {
    // What rests is of the order's own symbol, whatever locate the message claims.
    const bool known = change.status != book::Status::kUnknownReference;
    event_ = {header.timestamp,
              price,
              change.shares,
              known ? change.locate : header.stock_locate,
              kind,
              change.side,
              change.status};
    if (!change.ok()) [[unlikely]]
      refused();
  }
  // Tells what is left of an event that the book took in part or not at all.
  void refused() noexcept {
    if (event_.status == book::Status::kSharesExceeded) return;  // the order is gone, as published
    const bool old_order_gone = event_.kind == wire::UpdateKind::kReplace &&
                                event_.status != book::Status::kUnknownReference;
    event_.kind = old_order_gone ? wire::UpdateKind::kDelete : wire::UpdateKind::kInformation;
    event_.price = 0;
    event_.shares = 0;
    if (!old_order_gone) event_.side = Side{0};
  }

  book::LevelBookSet& books_;
  Event event_;
};

using Lookahead = book::Lookahead<book::LevelBookSet>;

}  // namespace tickpath::mdh
