// Streams of random commands in a band of prices so narrow that orders meet all the time.
#pragma once

#include <map>

#include "command_stream.hpp"
#include "common/base/random.hpp"

namespace tickpath::sim {

struct StreamShape {
  std::uint32_t price_low = 100;  // of the band. Around 1.00 (10,000) the tick size matters
  std::uint32_t prices = 9;       // of a side
  std::uint32_t apart = 0;        // from the lowest bid to the lowest offer
  std::size_t orders = 25;        // of either kind; the reference's searches grow with them
  std::uint32_t calm = 1;         // of halts, closes and mass cancels one in so many happens
};

// Knows what it has asked for, not what became of it: it cancels what is long filled, too.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed, const StreamShape& shape = {})
      : random_(seed), shape_(shape) {}

  Stream make(std::size_t commands) {
    Stream stream;
    while (stream.size() < commands) stream.push_back(command());
    return stream;
  }

 private:
  static constexpr std::uint32_t kLocates = 2;

  struct Known {
    std::uint32_t locate = 1;
    Side side = Side::kBuy;
    Party party{};
    OrderType type = OrderType::kLimit;
    std::uint32_t shares = 10;
    Price price;
    Price stop_price;
  };

  std::uint32_t pick(std::uint32_t low, std::uint32_t high) {
    return low + random_.below(high - low + 1);
  }
  bool one_in(std::uint32_t n) { return random_.below(n) == 0; }
  Locate some_locate() { return static_cast<Locate>(pick(1, kLocates)); }
  Side some_side() { return one_in(2) ? Side::kBuy : Side::kSell; }
  std::uint32_t some_price() {
    return pick(shape_.price_low, shape_.price_low + shape_.prices - 1);
  }
  std::uint32_t offset(Side side) const { return side == Side::kSell ? shape_.apart : 0; }
  std::uint32_t some_shares() { return one_in(40) ? 0 : pick(1, 20); }
  Party some_party() {
    return {static_cast<std::uint8_t>(pick(0, 1)), static_cast<std::uint8_t>(pick(1, 2))};
  }
  static std::uint64_t pop(std::vector<std::uint64_t>& from, std::size_t at) {
    const std::uint64_t value = from[at];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
    return value;
  }
  std::uint64_t some_reference() {
    if (references_.empty() || one_in(30)) return pick(1, next_reference_);
    return references_[random_.below(references_.size())];
  }
  std::uint64_t some_order() {
    if (orders_.empty() || one_in(30)) return pick(1, next_order_);
    return orders_[random_.below(orders_.size())];
  }
  std::uint64_t fresh_order_id() { return one_in(40) ? some_order() : ++next_order_; }

  StreamCommand command() {
    if (closed_ && one_in(3)) {
      closed_ = false;
      return BeginDay{};
    }
    if (references_.size() > shape_.orders) return Delete{pop(references_, 0)};
    if (orders_.size() > shape_.orders) return cancel(pop(orders_, 0));
    const std::uint32_t what = pick(0, 999);
    if (what < 450) return recorded_event();
    if (what < 750) return enter();
    if (what < 830) return cancel(some_order());
    if (what < 960) return replace();
    if (shape_.calm > 1 && !one_in(shape_.calm)) return enter();
    if (what < 975)
      return MassCancel{static_cast<std::uint8_t>(pick(0, 1)),
                        static_cast<std::uint8_t>(pick(0, 2)),
                        one_in(3) ? wire::kNoInstrument : some_locate(), !one_in(3), !one_in(3)};
    if (what < 991)
      return State{some_locate(),
                   one_in(3) ? wire::TradingState::kHalted : wire::TradingState::kTrading};
    if (what < 998) return cross();
    closed_ = true;
    return Close{};
  }

  StreamCommand cross() {
    static constexpr CrossKind kKinds[] = {CrossKind::kOpening, CrossKind::kClosing,
                                           CrossKind::kHalt};
    const CrossKind kind = kKinds[random_.below(3)];
    if (one_in(3)) return Cross{some_locate(), kind};
    if (one_in(2)) return RecordedImbalance{some_locate(), kind, some_side(), pick(0, 40)};
    return RecordedCross{some_locate(), kind, one_in(5) ? 0 : some_price()};
  }
  StreamCommand recorded_event() {
    const std::uint32_t what = pick(0, 99);
    const std::uint32_t shares = some_shares();
    const std::uint32_t price = some_price();
    const std::uint64_t reference = some_reference();
    if (what < 45) {
      Add add{some_locate(), new_reference(reference), some_side(), shares, price};
      add.price += offset(add.side);
      return add;
    }
    if (what < 60) return Execute{reference, shares};
    if (what < 67) return ExecuteAt{reference, shares, price, !one_in(3)};
    if (what < 74) return Reduce{reference, shares};
    if (what < 82) return Delete{reference};
    if (what < 92)
      return ReplaceRecorded{reference, new_reference(some_reference()), shares, price};
    return HiddenTrade{some_locate(), shares, price};
  }
  std::uint64_t new_reference(std::uint64_t duplicate) {
    if (one_in(40)) return duplicate;
    references_.push_back(++next_reference_);
    return next_reference_;
  }

  StreamCommand enter() {
    NewOrder order;
    order.order_id = fresh_order_id();
    order.locate = one_in(40) ? wire::kNoInstrument : some_locate();
    order.side = some_side();
    order.party = some_party();
    order.shares = one_in(60) ? kOrderSharesMax + 1 : some_shares();
    static constexpr OrderType kTypes[] = {
        OrderType::kLimit, OrderType::kLimit,     OrderType::kLimit,  OrderType::kMarket,
        OrderType::kStop,  OrderType::kStopLimit, OrderType::kPegged, OrderType::kLimit};
    order.type = kTypes[random_.below(8)];
    set_prices(order);
    if (one_in(3)) set_time_in_force(order);
    if (one_in(6)) order.post_only = true;
    if (one_in(4)) order.display_shares = pick(1, 8);
    if (one_in(order.time_in_force == TimeInForce::kImmediateOrCancel ? 2 : 40))
      order.minimum_shares = pick(1, 20);
    known_[order.order_id] = {order.locate, order.side,  order.party,     order.type,
                              order.shares, order.price, order.stop_price};
    orders_.push_back(order.order_id);
    return order;
  }
  void set_time_in_force(NewOrder& order) {
    static constexpr TimeInForce kTimes[] = {TimeInForce::kImmediateOrCancel,
                                             TimeInForce::kFillOrKill, TimeInForce::kGoodTillCancel,
                                             TimeInForce::kAtTheOpening, TimeInForce::kAtTheClose};
    order.time_in_force = kTimes[random_.below(5)];
  }
  template <class Request>
  void set_prices(Request& request) {
    const auto price = [&] { return Price{one_in(40) ? 0 : some_price() + offset(request.side)}; };
    if (request.type == OrderType::kLimit || request.type == OrderType::kStopLimit)
      request.price = price();
    if (request.type == OrderType::kPegged && one_in(2)) request.price = price();
    if (request.type == OrderType::kStop || request.type == OrderType::kStopLimit)
      request.stop_price = price();
  }
  StreamCommand cancel(std::uint64_t target) {
    CancelOrder request;
    request.target_order_id = target;
    request.order_id = fresh_order_id();
    describe_target(request);
    return request;
  }
  StreamCommand replace() {
    ReplaceOrder request;
    request.target_order_id = some_order();
    request.order_id = fresh_order_id();
    Known& known = describe_target(request);
    // A stop limit order may have been triggered.
    request.type =
        known.type == OrderType::kStopLimit && one_in(2) ? OrderType::kLimit : known.type;
    if (one_in(40)) request.type = OrderType::kMarket;
    if (one_in(2)) {
      set_prices(request);
      request.shares = some_shares();
    } else {
      request.price = known.price;
      request.stop_price = known.stop_price;
      request.shares = known.shares > 1 ? known.shares - 1 : 1;
    }
    Known fresh = known;
    fresh.shares = request.shares;
    fresh.price = request.price;
    fresh.stop_price = request.stop_price;
    known_.try_emplace(request.order_id, fresh);
    orders_.push_back(request.order_id);
    return request;
  }
  // Mostly what the target is, sometimes something else.
  template <class Request>
  Known& describe_target(Request& request) {
    Known& known = known_[request.target_order_id];
    const bool wrong = one_in(20);
    request.locate = wrong ? some_locate() : known.locate;
    request.side = wrong ? some_side() : known.side;
    request.party = wrong ? some_party() : known.party;
    return known;
  }

  Random random_;
  StreamShape shape_;
  std::map<std::uint64_t, Known> known_;
  std::vector<std::uint64_t> references_;  // perhaps in the book
  std::vector<std::uint64_t> orders_;      // perhaps working
  std::uint32_t next_reference_ = 1;
  std::uint32_t next_order_ = 1;
  bool closed_ = false;
};

}  // namespace tickpath::sim
