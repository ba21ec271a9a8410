// Has the router place orders of every kind that it takes, on whichever symbol moves: buys and
// sells in turn, of a few shares and of more than a venue shows.
#include <cstdint>
#include <vector>

#include "strategy/plugin.hpp"

namespace {

class Routing final : public tickpath::Strategy {
  void start() override {
    pause_ns_ = duration_ns("pause");
    after_ns_ = duration_ns("after");
    orders_max_ = parameter<std::uint64_t>("orders_max");
    once_ = parameter<bool>("once_a_symbol");
    quiet_until_ns_.resize(instruments_max());
    subscribe_all();
  }

  void book_change(const BookChange& change) override {
    if (begin_ns_ == 0) begin_ns_ = now_ns();
    if (now_ns() < begin_ns_ + after_ns_ || routed_ == orders_max_ || change.best_bid == 0 ||
        change.best_ask == 0)
      return;
    Instrument root = kNoInstrument;
    for (std::uint32_t venue = venues(); venue-- > 0;)
      if (const Instrument listed = listing(venue, change.instrument); listed != kNoInstrument)
        root = listed;
    if (root == kNoInstrument || now_ns() < quiet_until_ns_[root]) return;
    if (once_ && !all_show(root)) return;
    quiet_until_ns_[root] = once_ ? UINT64_MAX : now_ns() + pause_ns_;
    (void)route(order_of(root, change));
    ++routed_;
  }

  // Every venue has a book of it, and its oeg is there and accepts orders.
  bool all_show(Instrument root) const {
    for (std::uint32_t venue = 0; venue < venues(); ++venue) {
      tickpath_venue_state state{};
      Quote shown{};
      if (!venue_state(venue, state) || state.accepting == 0 ||
          !quote(listing(venue, root), shown) || shown.best_bid == 0 || shown.best_ask == 0)
        return false;
    }
    return true;
  }

  NewOrder order_of(Instrument root, const BookChange& change) const {
    const bool buys = routed_ % 2 == 0;
    constexpr std::uint32_t kReach = 300;  // three ticks beyond the best price of a venue
    NewOrder order{};
    order.instrument = root;
    order.side = buys ? TICKPATH_BUY : TICKPATH_SELL;
    order.type = TICKPATH_LIMIT;
    order.time_in_force = TICKPATH_IOC;
    order.shares = static_cast<std::uint32_t>(50 + routed_ * 37 % 900);
    order.price = buys ? change.best_ask + kReach : change.best_bid - kReach;
    if (once_) return order;
    switch (routed_ % 16) {
      case 5:
        order.time_in_force = TICKPATH_FOK;
        break;
      case 8:
        order.type = TICKPATH_MARKET;
        order.price = 0;
        break;
      case 11:
        order.time_in_force = TICKPATH_DAY;  // what is left of it rests
        break;
      case 14:
        order.time_in_force = TICKPATH_DAY;
        order.instructions = TICKPATH_POST_ONLY;
        order.price = buys ? change.best_bid - 5 * kReach : change.best_ask + 5 * kReach;
        break;
      default:
        break;
    }
    return order;
  }

  std::vector<std::uint64_t> quiet_until_ns_;  // by root
  std::uint64_t pause_ns_ = 0;
  std::uint64_t after_ns_ = 0;  // since the first book change
  std::uint64_t begin_ns_ = 0;
  std::uint64_t orders_max_ = 0;
  std::uint64_t routed_ = 0;
  bool once_ = false;
};

}  // namespace

TICKPATH_STRATEGY(Routing, "routing", "1.0")
