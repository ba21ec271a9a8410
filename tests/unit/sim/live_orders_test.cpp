// Our orders' queues against lists that are sorted by the plain rule.
#include "sim/matching/live_orders.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/random.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath::sim {
namespace {

constexpr Place kQueues[] = {Place::kBook, Place::kStop, Place::kParked, Place::kAuction};

// The rule, once more: which of two orders of a queue stands in front.
bool in_front(const LiveOrder& a, const LiveOrder& b, Place place) {
  const auto price = [place](const LiveOrder& o) {
    if (place == Place::kStop) return o.stop_price;
    if (place == Place::kAuction && o.type == OrderType::kMarket && o.side == Side::kBuy)
      return 0xffff'ffffu;
    return o.price;
  };
  if (price(a) == price(b)) return a.arrival < b.arrival;
  const bool high_first = (a.side == Side::kBuy) != (place == Place::kStop);
  return high_first ? price(a) > price(b) : price(a) < price(b);
}

// Both: the queues, and a list for each.
class Queues {
 public:
  explicit Queues(std::uint32_t orders_max) : live_(orders_max) {}

  LiveOrder& make(std::uint32_t locate, Side side) {
    node_ = live_.allocate();
    LiveOrder& order = live_[node_];
    order.locate = static_cast<Locate>(locate);
    order.side = side;
    order.arrival = ++arrivals_;
    return order;
  }
  void enter(Place place) {
    std::vector<std::uint32_t>& list = list_of(live_[node_], place);
    const auto at = std::ranges::find_if(
        list, [&](std::uint32_t other) { return in_front(live_[node_], live_[other], place); });
    list.insert(at, node_);
    live_.enqueue(node_, place);
    all_.push_back(node_);
  }
  // A random order leaves; it comes back with its arrival, or not at all.
  void remove_one(Random& random, bool comes_back) {
    if (all_.empty()) return;
    std::swap(all_[random.below(all_.size())], all_.back());
    node_ = all_.back();
    all_.pop_back();
    const Place place = live_[node_].place;
    std::erase(list_of(live_[node_], place), node_);
    live_.dequeue(node_);
    if (comes_back)
      enter(place);
    else
      live_.free(node_);
  }
  void check() const {
    for (const auto& [key, list] : lists_) {
      const auto [locate, side, place] = key;
      std::vector<std::uint32_t> queue;
      for (std::uint32_t node = live_.front(locate, side, place); node != LiveOrders::kNone;
           node = live_[node].next)
        queue.push_back(node);
      ASSERT_EQ(queue, list) << "locate " << locate << " place " << int(place);
    }
  }
  std::size_t size() const { return all_.size(); }

 private:
  std::vector<std::uint32_t>& list_of(const LiveOrder& order, Place place) {
    return lists_[{order.locate, order.side, place}];
  }

  LiveOrders live_;
  std::map<std::tuple<std::uint32_t, Side, Place>, std::vector<std::uint32_t>> lists_;
  std::vector<std::uint32_t> all_;
  std::uint32_t node_ = 0;
  std::uint32_t arrivals_ = 0;
};

// Few prices make long queues of one price, many prices long ladders.
TEST(LiveOrders, StandAsInASortedListWhateverComesAndGoes) {
  for (std::uint64_t seed = 1; seed <= test_support::seeds(24, 4); ++seed) {
    Random random(seed);
    const std::uint32_t prices = seed % 3 == 0 ? 4 : seed % 3 == 1 ? 60 : 5'000;
    const std::size_t most = seed % 2 == 0 ? 40 : 1'500;
    Queues queues(2'048);
    for (int i = 0; i < 6'000; ++i) {
      if (queues.size() == most || random.chance(0.4)) {
        queues.remove_one(random, random.chance(0.3));
      } else {
        LiveOrder& order =
            queues.make(1 + random.below(2), random.chance(0.5) ? Side::kBuy : Side::kSell);
        const Place place = kQueues[random.below(4)];
        order.price = place == Place::kParked ? 0 : 1 + random.below(prices);
        if (place == Place::kStop) order.stop_price = 1 + random.below(prices);
        if (place == Place::kAuction && random.chance(0.2)) {
          order.type = OrderType::kMarket;
          order.price = 0;
        }
        queues.enter(place);
      }
      if (i % 50 == 0) queues.check();
      if (HasFatalFailure()) FAIL() << "seed " << seed << " step " << i;
    }
    while (queues.size() != 0) queues.remove_one(random, false);
    queues.check();
  }
}

// More long queues than there is room to index, and a longer one among those that have an index.
TEST(LiveOrders, StandRightWhereNoIndexHasRoom) {
  constexpr std::uint32_t kQueuesOfTen = test_support::kSanitized ? 2'000 : 26'000;
  constexpr std::uint32_t kOrders = kQueuesOfTen * 10;
  Queues queues(kOrders + 1'000);
  Random random(5);
  const auto enter = [&](std::uint32_t queue, std::uint32_t from_front) {
    LiveOrder& order = queues.make(queue / 2, queue % 2 == 0 ? Side::kBuy : Side::kSell);
    order.price = order.side == Side::kBuy ? 5'000 - from_front : 5'000 + from_front;
    queues.enter(Place::kBook);
  };
  // Each behind the others of its queue, so that the last one makes an index.
  for (std::uint32_t i = 0; i < kOrders; ++i) enter(i / 10, i % 10 * 100);
  for (int i = 0; i < 900; ++i) enter(i % 3, random.below(1'000));
  queues.check();
  for (std::uint32_t i = 0; i < kOrders / 2; ++i) queues.remove_one(random, random.chance(0.5));
  queues.check();
}

TEST(LiveOrders, RefusesASizeOfZero) { EXPECT_THROW(LiveOrders(0), std::exception); }

}  // namespace
}  // namespace tickpath::sim
