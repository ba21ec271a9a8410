// One decision of the router on some books, and what else could have been done with these: all of
// it calculated otherwise than the router does.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "strategy/route_record.hpp"

namespace tickpath::cli {

inline constexpr std::int64_t kFeeOfAPrice = 100;  // 1/10,000 in 1/1,000,000, as fees are

// Ascending is better: what a buyer pays, less what a seller gets.
inline std::int64_t cost_of(Side side, std::uint32_t price) {
  return side == Side::kBuy ? std::int64_t{price} : -std::int64_t{price};
}
// limit 0: any price is.
inline bool within(Side side, std::uint32_t limit, std::uint32_t price) {
  return limit == 0 || cost_of(side, price) <= cost_of(side, limit);
}

// So many shares for so much each; a list of them is in the order in which they are taken.
struct Piece {
  std::int64_t cost;  // 1/10,000 a share
  std::int64_t fee;   // 1/1,000,000 a share
  std::uint64_t shares;
};
using Pieces = std::vector<Piece>;

std::uint64_t shares_of(const Pieces& pieces);
// The value of the first `shares`, in 1/1,000,000.
std::int64_t value_of(const Pieces& pieces, std::uint64_t shares, bool with_fees);
// What an order meets in one book.
Pieces walk(std::span<const strategy::RoutedLevel> levels, Side side, std::uint32_t limit,
            std::uint64_t shares, std::int64_t fee);

// The side of each venue that an order would meet; by place in the record.
using RoutedBooks = std::array<std::span<const strategy::RoutedLevel>, TICKPATH_VENUES_MAX>;

// What a venue gets, by its place in the record. No entry: nothing.
struct Due {
  std::uint32_t shares = 0;
  std::uint32_t price = 0;  // 0: any
  bool rests = false;
  std::uint8_t place = 0;  // in the order of sending
  friend bool operator==(const Due&, const Due&) = default;
};
using Dues = std::map<std::size_t, Due>;

std::string symbol_of(const strategy::RouteHead& head);

// record: outlives it.
class Decision {
 public:
  explicit Decision(const strategy::RouteRecord& record) : record_(record) {}

  const strategy::RouteHead& head() const { return record_.head; }
  std::span<const strategy::RouteVenue> venues() const {
    return std::span(record_.venues).first(head().venue_count);
  }
  Side side() const { return static_cast<Side>(head().side); }
  bool whole() const { return head().time_in_force == TICKPATH_FOK; }
  bool post_only() const { return head().post_only != 0; }
  // What does not trade at once.
  bool rests() const {
    return head().type == TICKPATH_LIMIT && head().time_in_force != TICKPATH_IOC && !whole();
  }
  // Else the plugin had no room for so many orders.
  bool carried_out() const { return head().status != TICKPATH_CAPACITY; }
  std::string symbol() const { return symbol_of(head()); }
  std::string name() const;  // "route 7 of strategy 1, buy 300 AAPL"

  RoutedBooks seen() const;
  // What its parts would have traded on these books at once, the cheapest first.
  Pieces planned(const RoutedBooks& books, bool with_fees) const;
  // And what the whole order would have at one venue; nothing where it could not be sent.
  Pieces alone(const RoutedBooks& books, std::size_t at) const;

  Dues chosen() const;
  // What docs/STRATEGIES.md promises.
  Dues due() const;
  std::string text_of(const Dues& dues) const;

 private:
  struct Offer;
  std::vector<Offer> offers(const RoutedBooks& books) const;
  Dues swept(const RoutedBooks& books) const;
  Dues at_one(const RoutedBooks& books) const;

  const strategy::RouteRecord& record_;
};

// How much worse a decision is than the best single venue's, on the same books; 0: not worse.
struct Against {
  std::uint64_t fewer = 0;       // shares
  std::int64_t dearer = 0;       // 1/1,000,000, for as many shares as that venue shows
  std::int64_t dearer_fees = 0;  // the same with taker fees
  std::uint64_t of_shares = 0;   // those that `dearer_fees` is about
  std::int64_t saved = 0;        // less than at the venue that shows most, then is cheapest
  std::uint8_t fewer_than = 0;   // venue number
  std::uint8_t dearer_than = 0;
};
Against compare(const Decision& decision, const RoutedBooks& books);

// A value of 1/1,000,000: "0.0031".
std::string money_text(std::int64_t millionths);

}  // namespace tickpath::cli
