// From a decoded ITCH message to the book, and to what happened in terms of wire::BookUpdate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "common/book/book.hpp"
#include "common/itch/codec.hpp"
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
};

// A handler for itch::decode(): messages about orders change the book, all others only leave their
// locate and time. The book's thread only.
class BookHandler {
 public:
  explicit BookHandler(book::BookSet& books) noexcept : books_(books) {}

  const Event& event() const noexcept { return event_; }

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
    event_.kind = wire::UpdateKind::kTrade;
    event_.price = m.cross_price;
    // A cross counts in eight bytes; what exceeds an update's four is told as their largest.
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    event_.shares = static_cast<std::uint32_t>(m.shares < most ? m.shares : most);
  }
  void operator()(const auto& m) noexcept { information(m.header); }

  // What is known of any message, and all that is told of most.
  void information(const itch::Header& header) noexcept {
    event_ = {};
    event_.exchange_time_ns = header.timestamp;
    event_.locate = header.stock_locate;
  }

 protected:
  void set_kind(wire::UpdateKind kind) noexcept { event_.kind = kind; }

 private:
  void add(const auto& m) noexcept {
    const book::Change change = books_.add(m.header.stock_locate, m.order_reference_number,
                                           itch::side_of(m.buy_sell_indicator), m.shares, m.price);
    report(m.header, wire::UpdateKind::kAdd, change, m.price);
  }
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
    if (event_.status == book::Status::kSharesExceeded) return;  // the order is gone, as told
    const bool old_order_gone = event_.kind == wire::UpdateKind::kReplace &&
                                event_.status != book::Status::kUnknownReference;
    event_.kind = old_order_gone ? wire::UpdateKind::kDelete : wire::UpdateKind::kInformation;
    event_.price = 0;
    event_.shares = 0;
    if (!old_order_gone) event_.side = Side{0};
  }

  book::BookSet& books_;
  Event event_;
};

// Hints the book about messages to come, stage after stage. The distances cover a miss to memory
// (about 150 ns) with the work of some messages (20 to 40 ns each).
class Lookahead {
 public:
  explicit Lookahead(const book::BookSet& books) noexcept : books_(books) {}

  // Before the first of `messages` is handled.
  void begin(std::span<const std::span<const std::byte>> messages) noexcept {
    const std::size_t count = messages.size();
    if (count < 2) return;  // nothing to overlap with
    for (std::size_t i = 0; i < kFirst && i < count; ++i) first(messages[i], i);
    for (std::size_t i = 0; i < kSecond && i < count; ++i) second(i);
    for (std::size_t i = 0; i < kThird && i < count; ++i) third(i);
    for (std::size_t i = 0; i < kFourth && i < count; ++i) fourth(i);
  }
  // Before message `at` is handled.
  [[gnu::always_inline]] void step(std::span<const std::span<const std::byte>> messages,
                                   std::size_t at) noexcept {
    if (at + kFirst < messages.size()) first(messages[at + kFirst], at + kFirst);
    if (at + kSecond < messages.size()) second(at + kSecond);
    if (at + kThird < messages.size()) third(at + kThird);
    if (at + kFourth < messages.size()) fourth(at + kFourth);
  }

 private:
  static constexpr std::size_t kFirst = 16;
  static constexpr std::size_t kSecond = 11;
  static constexpr std::size_t kThird = 7;
  static constexpr std::size_t kFourth = 3;

  // What the hints need of one message. Of another type than those of ITCH 5.0, 1.3 and 1.4, the
  // bytes mean something else, and the hint is a wrong one.
  struct Coming {
    std::uint64_t reference;
    std::uint32_t price;
    book::Handle order;
    std::uint32_t level;
    book::Locate locate;
    Side side;
  };
  Coming& coming(std::size_t at) noexcept { return coming_[at % coming_.size()]; }

  void first(std::span<const std::byte> message, std::size_t at) noexcept {
    // Behind every order's reference, which follows the header, only an added order has more that
    // matters here. Selects, not branches: types come in no order that could be predicted.
    constexpr std::size_t kReferenceEnd = itch::kHeaderBytes + 8;
    const bool whole = message.size() >= kReferenceEnd;
    const std::byte* const bytes = whole ? message.data() : kNothing.data();
    const bool adds = message.size() >= itch::AddOrder::kLength;
    const std::byte* const added = adds ? bytes : kNothing.data();
    coming(at) = {itch::detail::load_big_endian<std::uint64_t>(bytes + itch::kHeaderBytes),
                  itch::detail::load_big_endian<std::uint32_t>(added + kAddPriceOffset),
                  book::kNoOrder,
                  0,
                  itch::stock_locate(bytes),
                  added[kAddSideOffset] == std::byte{'B'} ? Side::kBuy : Side::kSell};
    books_.prefetch_reference(coming(at).reference);
    books_.prefetch_symbol(coming(at).locate);
  }
  void second(std::size_t at) noexcept {
    coming(at).order = books_.prefetch_order(coming(at).reference);
    books_.prefetch_ladders(coming(at).locate);
  }
  void third(std::size_t at) noexcept {
    Coming& next = coming(at);
    books_.prefetch_neighbours(next.order);
    next.level = books_.prefetch_level(next.locate, next.side, next.price);
  }
  void fourth(std::size_t at) noexcept { books_.prefetch_last(coming(at).level); }

  // Offsets in an Add Order message, ITCH 5.0, 1.3.1 and 1.3.2.
  static constexpr std::size_t kAddSideOffset = 19;
  static constexpr std::size_t kAddPriceOffset = 32;
  static constexpr std::array<std::byte, itch::AddOrder::kLength> kNothing{};

  const book::BookSet& books_;
  std::array<Coming, kFirst> coming_{};
};

}  // namespace tickpath::mdh
