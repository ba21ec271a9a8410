// The feed of a test bench: listings, their books, and the updates and images that mdh would make.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/book_image.hpp"
#include "common/wire/book_update.hpp"
#include "strategy/ports.hpp"
#include "strategy/test_bench.hpp"

namespace tickpath::test_bench {

struct Listing {
  std::string name;    // "ZAAA", of several venues "ZAAA@VENUE"
  std::string symbol;  // "ZAAA"
  std::size_t venue = 0;
  std::uint32_t id = 0;           // as this venue's mdh numbers it
  std::vector<TestLevel> bids{};  // best first
  std::vector<TestLevel> asks{};
  wire::FeedState feed = wire::FeedState::kGood;
  bool own_stale = false;  // on its own account: also when the venue's feed is good
  wire::TradingState trading = wire::TradingState::kTrading;
  std::uint64_t trace_id = 0;  // of the newest message; 0: none
  std::uint64_t exchange_time_ns = 0;
  std::uint32_t last_trade_price = 0;
  std::uint32_t last_trade_shares = 0;

  std::vector<TestLevel>& side(Side which) { return which == Side::kBuy ? bids : asks; }
  const std::vector<TestLevel>& side(Side which) const { return which == Side::kBuy ? bids : asks; }
};

// What an update is about.
struct BookEvent {
  wire::UpdateKind kind = wire::UpdateKind::kAdd;
  Side side{};
  std::uint32_t price = 0;
  std::uint32_t shares = 0;
};

class Market {
 public:
  Market(const std::vector<TestVenue>& venues, std::uint32_t instruments_max,
         std::chrono::nanoseconds time_of_day);

  std::size_t venues() const noexcept { return names_.size(); }
  // Throws TestBenchError for a name that no venue has; "" is the only one.
  std::size_t venue(std::string_view name) const;
  const std::string& venue_name(std::size_t venue) const { return names_[venue]; }

  // A name without '@' is listed at each venue. Throws TestBenchError for a symbol that is listed
  // already, or cannot be one.
  std::vector<const Listing*> list(std::string_view name);
  // Throws TestBenchError for one that nobody listed.
  Listing& find(std::string_view name);
  const Listing& find(std::string_view name) const;
  // By the number that the venue's mdh gave; nullptr: none has it.
  const Listing* by_id(std::size_t venue, std::uint32_t id) const noexcept;
  const std::deque<Listing>& listings() const noexcept { return listings_; }

  // Each is a message of the feed, for the engine.
  wire::BookUpdate update(Listing& listing, const BookEvent& event);
  wire::BookUpdate message(std::size_t venue);
  wire::ImbalanceUpdate imbalance(Listing& listing, const TestImbalance& imbalance);
  // The state of a listing; of no message.
  static wire::BookUpdate state(const Listing& listing);
  static wire::BookImage image(const Listing& listing);
  // What the step from the listing's book to this one is about: the first level that differs.
  static BookEvent difference(const Listing& listing, const std::vector<TestLevel>& bids,
                              const std::vector<TestLevel>& asks);
  // Throw TestBenchError where that cannot be.
  static void check_side(const std::vector<TestLevel>& levels, Side side);
  static void add(Listing& listing, Side side, std::uint32_t price, std::uint32_t shares);
  // True: the level is gone.
  static bool remove(Listing& listing, Side side, std::uint32_t price, std::uint32_t shares);

  // The state of a venue's feed, or of one listing.
  void set_feed(std::size_t venue, wire::FeedState feed);
  void set_feed(Listing& listing, wire::FeedState feed);
  // An empty book, whole again.
  void clear(Listing& listing);

  // Past midnight another day begins.
  void advance(std::uint64_t ns) noexcept;
  void begin_day(std::chrono::nanoseconds time_of_day);
  std::uint64_t time_of_day_ns() const noexcept { return time_of_day_ns_; }

 private:
  std::uint64_t next_message(std::size_t venue) noexcept { return ++sequences_[venue]; }
  const Listing* look_up(std::string_view name) const noexcept;

  std::vector<std::string> names_;
  std::vector<std::uint64_t> sequences_;  // by venue: of the feed's newest message
  std::vector<std::uint32_t> listed_;     // by venue: how many
  std::vector<wire::FeedState> feeds_;    // by venue
  std::uint32_t instruments_max_;
  std::deque<Listing> listings_;
  std::uint64_t time_of_day_ns_;
  std::uint8_t day_ = 0;
};

// "buy" or "sell"; throws TestBenchError for what is neither.
Side checked(std::uint8_t side);

}  // namespace tickpath::test_bench
