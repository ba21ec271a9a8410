// The small exchange of TestBenchOptions::simulated_venue: decides what answers a request, one at a
// time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "strategy/test_bench/exchange.hpp"
#include "strategy/test_bench/market.hpp"

namespace tickpath::test_bench {

class SimulatedVenue {
 public:
  SimulatedVenue(const Market& market, Exchange& exchange) : market_(market), exchange_(exchange) {}

  // The listing's book has changed: all that it shows can be taken again.
  void on_book(const Listing& listing) { taken_.erase(&listing); }
  void on_trade(const Listing& listing, std::uint32_t price);
  // The next report at this moment; none: the exchange rests.
  std::optional<Answer> next();

 private:
  std::optional<Answer> answer(const TestRequest& request);
  std::optional<Answer> work(const OrderRecord& order);
  std::optional<Answer> trade(const OrderRecord& order);
  // The best level of the other side with something left that the order may trade at.
  std::optional<TestLevel> meets(const OrderRecord& order) const;
  std::uint64_t meets_in_all(const OrderRecord& order) const;
  std::string refusal(const OrderRecord& order) const;
  template <class Visit>
  void each_level(const OrderRecord& order, Visit&& visit) const;

  const Market& market_;
  Exchange& exchange_;
  // Shares of each level that orders have taken since the last update of the book.
  std::map<const Listing*, std::map<std::uint32_t, std::uint32_t>> taken_;
  std::map<const Listing*, std::uint32_t> trades_;  // the newest price, until stops have seen it
  std::set<std::uint64_t> resting_;                 // ids of orders that are makers from now on
  std::size_t looked_at_ = 0;                       // requests before this one have their answers
};

}  // namespace tickpath::test_bench
