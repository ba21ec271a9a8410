// The matching rules of sim/DESIGN.md, written to be obviously right and nothing else: one list of
// every order, searched from end to end for each question, copied to try something out.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "reference_order.hpp"
#include "report_log.hpp"

namespace tickpath::sim {

class ReferenceMarket {
 public:
  ReferenceMarket(HaltRule halt_rule, SelfMatchRule self_match, std::uint32_t band,
                  CrossRule crosses = CrossRule::kRecorded)
      : halt_rule_(halt_rule), self_match_(self_match), band_(band), crosses_(crosses) {}

  std::vector<LoggedReport> log;

  // ------------------------------------------------------------------ recorded events
  void on_add(unsigned locate, std::uint64_t ref, Side side, std::uint32_t shares,
              std::uint32_t price) {
    ++arrivals_;
    if (shares == 0 || price == 0 || recorded(ref)) return;
    orders_.push_back({.recorded = true,
                       .id = ref,
                       .locate = locate,
                       .side = side,
                       .price = price,
                       .shares = shares,
                       .arrival = arrivals_});
    meet(orders_.size() - 1);
    settle(locate);
  }
  void on_execute(std::uint64_t ref, std::uint32_t shares) { execute(ref, shares, 0, true); }
  void on_execute_at(std::uint64_t ref, std::uint32_t shares, std::uint32_t price, bool printable) {
    execute(ref, shares, price, printable);
  }
  void on_reduce(std::uint64_t ref, std::uint32_t shares) {
    if (const auto at = recorded(ref)) {
      const unsigned locate = orders_[*at].locate;
      shrink(*at, shares);
      settle(locate);
    }
  }
  void on_delete(std::uint64_t ref) { on_reduce(ref, UINT32_MAX); }
  void on_replace(std::uint64_t ref, std::uint64_t new_ref, std::uint32_t shares,
                  std::uint32_t price) {
    const auto at = recorded(ref);
    if (!at) return;
    const Order old = orders_[*at];
    erase(*at);
    if (!recorded(new_ref) && shares != 0 && price != 0) {
      Order fresh = old;
      fresh.id = new_ref;
      fresh.shares = shares;
      fresh.price = price;
      fresh.taken = std::min(old.taken, shares);
      fresh.arrival = ++arrivals_;
      orders_.push_back(fresh);
      meet(orders_.size() - 1);
    }
    settle(old.locate);
  }
  void on_hidden_trade(unsigned locate, std::uint32_t shares, std::uint32_t price) {
    if (price == 0 || !trading(locate)) return;
    std::uint32_t budget = shares;
    for (const Side side : {Side::kBuy, Side::kSell}) {
      while (const auto live = best_live(locate, side)) {
        const Order& o = orders_[*live];
        const bool through = side == Side::kBuy ? o.price > price : o.price < price;
        if (budget == 0 || !through) break;
        fill_one(*live, budget, FillSource::kTradeThrough);
      }
    }
    if (shares != 0) print(locate, price);
    settle(locate);
  }
  void on_trading_state(unsigned locate, wire::TradingState state) {
    const bool was = trading(locate);
    states_[locate] = state;
    if (was || !trading(locate)) return;
    const bool ours = std::ranges::any_of(
        orders_, [&](const Order& o) { return !o.recorded && o.in_book && o.locate == locate; });
    if (crosses_ == CrossRule::kOwn && ours) cross(static_cast<Locate>(locate), CrossKind::kHalt);
    uncross(locate);
    settle(locate);
  }
  void close() {
    if (closed_) return;
    closed_ = true;
    const auto of_the_day = [](const Order& o) {
      return !o.recorded && o.time_in_force != TimeInForce::kGoodTillCancel;
    };
    for (const Order& o : take_out(of_the_day)) end(o, ReportKind::kExpired, Reason::kSessionEnd);
  }
  void begin_day() {
    if (!closed_) return;
    closed_ = false;
    std::erase_if(orders_, [](const Order& o) { return o.recorded; });
    states_.clear();
    tapes_.clear();
    crossed_.clear();
    imbalances_.clear();
    for (unsigned locate = 0; locate < 8; ++locate) {
      uncross(locate);
      settle(locate);
    }
  }

  // ------------------------------------------------------------------ crosses
  void on_imbalance(Locate locate, CrossKind kind, Side side, std::uint64_t shares) {
    imbalances_[locate] = {kind, side, shares};
  }
  void cross(Locate locate, CrossKind kind);
  void on_cross(Locate locate, CrossKind kind, std::uint32_t price);

  // ------------------------------------------------------------------ our requests
  void enter(const NewOrder& r) {
    const Reason no = refusal(r);
    known_.try_emplace(r.order_id, true);
    if (no != Reason::kNone) {
      log.push_back({.kind = ReportKind::kRejected, .order_id = r.order_id, .reason = no});
      return;
    }
    Order o{.recorded = false,
            .id = r.order_id,
            .locate = r.locate,
            .side = r.side,
            .price = static_cast<std::uint32_t>(r.price.value),
            .shares = r.shares,
            .arrival = ++arrivals_,
            .party = r.party,
            .type = r.type,
            .time_in_force = r.time_in_force,
            .stop_price = static_cast<std::uint32_t>(r.stop_price.value),
            .limit = static_cast<std::uint32_t>(r.price.value),
            .display = r.display_shares < r.shares ? r.display_shares : 0,
            .post_only = r.post_only,
            .entry = ++entries_};
    if (r.type == OrderType::kPegged) o.price = 0;
    log.push_back({.kind = ReportKind::kAccepted, .order_id = o.id, .leaves_shares = o.shares});
    if (joins_cross(r.time_in_force)) {
      o.in_book = false;
      o.on_cross = cross_of(r.time_in_force);
      orders_.push_back(o);
      settle(r.locate);
      return;
    }
    std::uint32_t minimum = r.minimum_shares;
    if (r.time_in_force == TimeInForce::kFillOrKill) minimum = r.shares;
    if (o.waits())
      wait(o);
    else
      work(o, minimum);
    settle(r.locate);
  }
  void cancel(const CancelOrder& r) {
    const auto at = live(r.target_order_id);
    const Reason no = change_refusal(r.order_id, r.target_order_id, r.party, r.locate, r.side);
    known_.try_emplace(r.order_id, false);
    if (no != Reason::kNone) {
      refuse(ReportKind::kCancelRejected, r.order_id, r.target_order_id, no);
      return;
    }
    log.push_back({.kind = ReportKind::kCanceled,
                   .order_id = r.order_id,
                   .target_order_id = r.target_order_id,
                   .cumulative_shares = orders_[*at].filled});
    erase(*at);
  }
  void cancel_all(const MassCancel& r) {
    const auto wanted = [&r](const Order& o) {
      return !o.recorded && o.party.session == r.session &&
             (r.strategy == 0 || o.party.strategy == r.strategy) &&
             (r.locate == wire::kNoInstrument || o.locate == r.locate) &&
             (o.side == Side::kBuy ? r.buys : r.sells);
    };
    for (const Order& o : take_out(wanted)) end(o, ReportKind::kCanceled, Reason::kNone);
  }
  void replace(const ReplaceOrder& r) {
    const Reason no = replace_refusal(r);
    known_.try_emplace(r.order_id, false);
    if (no != Reason::kNone) {
      refuse(ReportKind::kReplaceRejected, r.order_id, r.target_order_id, no);
      return;
    }
    const std::size_t at = *live(r.target_order_id);
    Order o = orders_[at];
    const bool keeps = replaced_in_place(o, r);
    o.id = r.order_id;
    if (o.type == OrderType::kPegged)
      o.limit = static_cast<std::uint32_t>(r.price.value);
    else
      o.price = static_cast<std::uint32_t>(r.price.value);
    o.stop_price = static_cast<std::uint32_t>(r.stop_price.value);
    o.shares = r.shares - o.filled;
    o.slice = std::min(o.slice, o.shares);
    log.push_back({.kind = ReportKind::kReplaced,
                   .order_id = r.order_id,
                   .target_order_id = r.target_order_id,
                   .leaves_shares = o.shares,
                   .cumulative_shares = o.filled});
    orders_[at] = o;
    if (o.shares == 0) erase(at);
    if (o.shares != 0 && !keeps) {
      erase(at);
      o.arrival = ++arrivals_;
      o.entry = ++entries_;
      if (o.waits())
        wait(o);
      else if (o.on_cross)
        orders_.push_back(o);
      else
        o.slice = 0, work(o, 0);
    }
    settle(r.locate);
  }

  std::uint64_t taken_in_book() const {
    std::uint64_t sum = 0;
    for (const Order& o : orders_) sum += o.taken;
    return sum;
  }
  std::size_t live_orders() const {
    return static_cast<std::size_t>(std::ranges::count(orders_, false, &Order::recorded));
  }

 private:
  using Order = ReferenceOrder;
  struct Tape {
    std::vector<std::uint32_t> prints;  // since the stop orders were last looked at
    std::uint32_t last = 0;
  };

  // ------------------------------------------------------------------ reference_crosses.hpp
  using Joins = std::function<bool(const Order&)>;
  static bool joins_cross(TimeInForce time) {
    return time == TimeInForce::kAtTheOpening || time == TimeInForce::kAtTheClose;
  }
  static CrossKind cross_of(TimeInForce time) {
    return time == TimeInForce::kAtTheOpening ? CrossKind::kOpening : CrossKind::kClosing;
  }
  std::uint64_t interest(const Joins& joins, Side side, std::uint32_t price) const;
  std::uint32_t reference(unsigned locate);
  std::pair<std::uint32_t, std::uint64_t> auction_price(const Joins& joins,
                                                        std::uint32_t reference) const;
  void trade_at(const Joins& joins, std::uint32_t price, std::uint64_t buys, std::uint64_t sells);
  std::uint64_t fill_side(const Joins& joins, Side side, std::uint32_t price, std::uint64_t budget);
  void end_cross(unsigned locate, CrossKind kind);

  static bool sub_penny(Price price) { return price.value > 10'000 && price.value % 100 != 0; }
  static bool worse_for_aggressor(const Order& resting, std::uint32_t price) {
    return resting.side == Side::kBuy ? resting.price < price : resting.price > price;
  }
  bool trading(unsigned locate) const {
    if (closed_) return false;
    const auto at = states_.find(locate);
    return at == states_.end() || at->second == wire::TradingState::kTrading ||
           at->second == wire::TradingState::kUnknown;
  }
  std::optional<std::size_t> find(bool is_recorded, std::uint64_t id) const {
    for (std::size_t i = 0; i < orders_.size(); ++i)
      if (orders_[i].recorded == is_recorded && orders_[i].id == id) return i;
    return {};
  }
  std::optional<std::size_t> recorded(std::uint64_t ref) const { return find(true, ref); }
  std::optional<std::size_t> live(std::uint64_t id) const { return find(false, id); }
  template <class Wanted>
  std::optional<std::size_t> best_of(const Wanted& wanted) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < orders_.size(); ++i)
      if (wanted(orders_[i]) && (!best || before(orders_[i], orders_[*best]))) best = i;
    return best;
  }
  std::optional<std::size_t> best_live(unsigned locate, Side side) const {
    return best_of([&](const Order& o) {
      return !o.recorded && o.in_book && o.locate == locate && o.side == side;
    });
  }
  std::optional<std::size_t> best_counterparty(const Order& taker) const {
    return best_of([&](const Order& o) {
      return o.in_book && o.locate == taker.locate && o.side != taker.side && o.shown() != 0 &&
             taker.accepts(o.price);
    });
  }
  // By instrument, then in order of arrival.
  template <class Wanted>
  std::vector<Order> take_out(const Wanted& wanted) {
    std::vector<Order> out;
    std::ranges::copy_if(orders_, std::back_inserter(out), wanted);
    std::erase_if(orders_, wanted);
    std::ranges::sort(out, [](const Order& a, const Order& b) {
      return std::pair(a.locate, a.arrival) < std::pair(b.locate, b.arrival);
    });
    return out;
  }
  void erase(std::size_t at) { orders_.erase(orders_.begin() + static_cast<std::ptrdiff_t>(at)); }

  // ------------------------------------------------------------------ trades
  void print(unsigned locate, std::uint32_t price) {
    tapes_[locate].prints.push_back(price);
    tapes_[locate].last = price;
  }
  void record_fill(Order& o, std::uint32_t shares, std::uint32_t price, FillSource source) {
    o.shares -= shares;
    o.filled += shares;
    print(o.locate, price);
    log.push_back({.kind = ReportKind::kFill,
                   .order_id = o.id,
                   .last_shares = shares,
                   .last_price = price,
                   .leaves_shares = o.shares,
                   .cumulative_shares = o.filled,
                   .source = source});
  }
  // A resting live order trades from its slice.
  void fill_slice(std::size_t at, std::uint32_t shares, FillSource source) {
    Order& o = orders_[at];
    if (o.display != 0) o.slice -= shares;
    record_fill(o, shares, o.price, source);
  }
  void show_next_slice(std::size_t at) {
    Order& o = orders_[at];
    if (o.shares == 0) return erase(at);
    if (o.display == 0 || o.slice != 0) return;
    o.slice = std::min(o.display, o.shares);
    o.arrival = ++arrivals_;
  }
  // A resting live order against a recorded aggressor, whose budget it uses up.
  void fill_one(std::size_t at, std::uint32_t& budget, FillSource source) {
    const std::uint32_t shares = std::min(budget, orders_[at].shown());
    budget -= shares;
    fill_slice(at, shares, source);
    show_next_slice(at);
  }
  void execute(std::uint64_t ref, std::uint32_t shares, std::uint32_t price, bool printable) {
    const auto at = recorded(ref);
    if (!at) return;
    const Order hit = orders_[*at];
    const std::uint32_t at_price = price == 0 ? hit.price : price;
    const std::uint32_t executed = std::min(shares, hit.shares);
    if (printable && trading(hit.locate)) {
      std::uint32_t budget = executed;
      while (const auto live = best_live(hit.locate, hit.side)) {
        const Order& o = orders_[*live];
        if (budget == 0 || !before(o, hit) || worse_for_aggressor(o, at_price)) break;
        fill_one(*live, budget, FillSource::kExecution);
      }
    }
    shrink(*recorded(ref), shares);
    if (printable && executed != 0 && trading(hit.locate)) print(hit.locate, at_price);
    settle(hit.locate);
  }
  void meet(std::size_t index) {
    const Order arrived = orders_[index];
    if (!trading(arrived.locate)) return;
    std::uint32_t budget = arrived.shown();
    while (const auto at = best_live(arrived.locate, opposite(arrived.side))) {
      if (budget == 0 || worse_for_aggressor(orders_[*at], arrived.price)) break;
      fill_one(*at, budget, FillSource::kCrossingAdd);
    }
    orders_[*recorded(arrived.id)].taken += arrived.shown() - budget;
  }
  // A recorded order loses shares: what is not ours first.
  void shrink(std::size_t at, std::uint32_t shares) {
    Order& o = orders_[at];
    o.shares -= std::min(shares, o.shares);
    o.taken = std::min(o.taken, o.shares);
    if (o.shares == 0) erase(at);
  }

  // ------------------------------------------------------------------ an order arrives
  void work(Order o, std::uint32_t minimum) {
    if (o.type == OrderType::kPegged) {
      const std::uint32_t price = peg_price(o);
      if (price != o.price) o.arrival = ++arrivals_, o.slice = 0;
      o.price = price;
      o.in_book = price != 0;
      if (!o.in_book) {
        orders_.push_back(o);
        return;
      }
    }
    Reason ending = Reason::kNone;
    if (trading(o.locate)) {
      if (!can_trade(o, minimum))
        ending = Reason::kMinimum;
      else if (o.worst = o.price, o.post_only && best_counterparty(o))
        ending = Reason::kPostOnly;
      else
        ending = match(o);
    }
    if (o.shares == 0 && ending == Reason::kNone) return;
    const bool rests =
        o.type != OrderType::kMarket &&
        (o.time_in_force == TimeInForce::kDay || o.time_in_force == TimeInForce::kGoodTillCancel);
    if (ending == Reason::kNone && !rests) ending = Reason::kRemainder;
    if (ending != Reason::kNone) {
      end(o, ReportKind::kExpired, ending);
      return;
    }
    if (o.display != 0 && o.slice == 0) {
      o.slice = std::min(o.display, o.shares);
      o.arrival = ++arrivals_;
    }
    orders_.push_back(o);
  }
  bool can_trade(const Order& o, std::uint32_t minimum) const {
    if (minimum == 0) return true;
    ReferenceMarket trial = *this;
    Order copy = o;
    (void)trial.match(copy);
    return copy.filled >= minimum;
  }
  Reason match(Order& o) {
    o.worst = o.price;
    if (o.type == OrderType::kMarket) o.worst = furthest(o.locate, o.side);
    while (o.shares != 0) {
      const auto at = best_counterparty(o);
      if (!at) break;
      Order& other = orders_[*at];
      const std::uint32_t shares = std::min(o.shares, other.shown());
      if (other.recorded || other.party != o.party) o.slice -= std::min(o.slice, shares);
      if (other.recorded) {
        other.taken += shares;
        record_fill(o, shares, other.price, FillSource::kDisplayed);
      } else if (other.party == o.party) {
        if (!prevent(o, *at)) return Reason::kSelfMatch;
      } else {
        const std::uint32_t price = other.price;
        fill_slice(*at, shares, FillSource::kLive);
        record_fill(o, shares, price, FillSource::kLive);
        show_next_slice(*at);
      }
    }
    return Reason::kNone;
  }
  bool prevent(Order& taker, std::size_t at) {
    const Order resting = orders_[at];
    const auto drop = [&] {
      erase(at);
      end(resting, ReportKind::kExpired, Reason::kSelfMatch);
    };
    const auto decrement = [&](Order& o, std::uint32_t shares) {
      o.shares -= shares;
      o.slice = std::min(o.slice, o.shares);
      log.push_back({.kind = ReportKind::kReplaced,
                     .order_id = o.id,
                     .target_order_id = o.id,
                     .leaves_shares = o.shares,
                     .cumulative_shares = o.filled,
                     .reason = Reason::kSelfMatch});
    };
    if (self_match_ == SelfMatchRule::kCancelNewest) return false;
    if (self_match_ != SelfMatchRule::kDecrement) {
      drop();
      return self_match_ == SelfMatchRule::kCancelOldest;
    }
    if (resting.shares > taker.shares) {
      decrement(orders_[at], taker.shares);
      return false;
    }
    drop();
    if (resting.shares == taker.shares) return false;
    decrement(taker, resting.shares);
    return true;
  }
  void end(const Order& o, ReportKind kind, Reason reason) {
    log.push_back(
        {.kind = kind, .order_id = o.id, .cumulative_shares = o.filled, .reason = reason});
  }

  // ------------------------------------------------------------------ prices that move
  void uncross(unsigned locate) {
    const auto resting = [&](const Order& o) {
      return !o.recorded && o.locate == locate && o.in_book;
    };
    for (const Order& o : take_out(resting)) work(o, 0);
  }
  std::uint32_t peg_price(const Order& peg) const {
    std::uint32_t best = 0;
    for (const Order& o : orders_) {
      if (!o.recorded || o.locate != peg.locate || o.side != peg.side) continue;
      if (best == 0 || (o.side == Side::kBuy ? o.price > best : o.price < best)) best = o.price;
    }
    if (best == 0 || peg.limit == 0) return best;
    return peg.side == Side::kBuy ? std::min(best, peg.limit) : std::max(best, peg.limit);
  }
  void wait(Order o) {
    o.in_book = false;
    orders_.push_back(o);
    tapes_[o.locate].prints = {tapes_[o.locate].last};
  }
  void settle(unsigned locate) {
    if (!trading(locate)) return;
    for (const Side side : {Side::kBuy, Side::kSell}) {
      std::vector<Order> pegs;
      for (const Order& o : orders_)
        if (!o.recorded && o.type == OrderType::kPegged && o.locate == locate && o.side == side)
          pegs.push_back(o);
      std::ranges::sort(pegs, {}, &Order::entry);
      for (const Order& peg : pegs) {
        if (peg_price(peg) == peg.price) continue;
        const Order now = orders_[*live(peg.id)];
        erase(*live(peg.id));
        work(now, 0);
      }
    }
    while (const auto at = next_triggered(locate)) {
      Order o = orders_[*at];
      erase(*at);
      o.type = o.type == OrderType::kStop ? OrderType::kMarket : OrderType::kLimit;
      log.push_back({.kind = ReportKind::kTriggered,
                     .order_id = o.id,
                     .leaves_shares = o.shares,
                     .cumulative_shares = o.filled});
      o.arrival = ++arrivals_;
      o.in_book = true;
      work(o, 0);
    }
    tapes_[locate].prints = {tapes_[locate].last};
  }
  // The stop order of each side that is nearest to the market; the earlier one of these two.
  std::optional<std::size_t> next_triggered(unsigned locate) {
    std::optional<std::size_t> chosen;
    for (const Side side : {Side::kBuy, Side::kSell}) {
      std::optional<std::size_t> nearest;
      for (std::size_t i = 0; i < orders_.size(); ++i) {
        const Order& o = orders_[i];
        if (o.recorded || !o.waits() || o.locate != locate || o.side != side) continue;
        if (!nearest || stops_sooner(o, orders_[*nearest])) nearest = i;
      }
      if (!nearest || !reached(orders_[*nearest])) continue;
      if (!chosen || orders_[*nearest].arrival < orders_[*chosen].arrival) chosen = nearest;
    }
    return chosen;
  }
  bool reached(const Order& stop) {
    return std::ranges::any_of(tapes_[stop.locate].prints, [&](std::uint32_t price) {
      if (price == 0) return false;
      return stop.side == Side::kBuy ? price >= stop.stop_price : price <= stop.stop_price;
    });
  }

  // ------------------------------------------------------------------ refusals
  // The far price band, or the furthest price that there is.
  std::uint32_t furthest(unsigned locate, Side side) const {
    const auto tape = tapes_.find(locate);
    const std::uint32_t last = tape == tapes_.end() ? 0 : tape->second.last;
    if (last == 0 || band_ == 0) return side == Side::kBuy ? UINT32_MAX : 0;
    return side == Side::kBuy ? last + last * band_ / 10'000 : last - last * band_ / 10'000;
  }
  template <class Request>
  bool beyond(const Request& r) const {
    if (r.type != OrderType::kLimit && r.type != OrderType::kStopLimit) return false;
    const std::uint32_t band = furthest(r.locate, r.side);
    return r.side == Side::kBuy ? r.price.value > band : r.price.value < band;
  }
  void refuse(ReportKind kind, std::uint64_t id, std::uint64_t target, Reason reason) {
    LoggedReport r{.kind = kind, .order_id = id, .target_order_id = target, .reason = reason};
    const auto at = live(target);
    if (at && reason != Reason::kUnknownOrder) {
      r.leaves_shares = orders_[*at].shares;
      r.cumulative_shares = orders_[*at].filled;
    }
    log.push_back(r);
  }
  // reference_refusals.hpp
  Reason change_refusal(std::uint64_t id, std::uint64_t target, Party party, unsigned locate,
                        Side side) const;
  Reason replace_refusal(const ReplaceOrder& r) const;
  Reason refusal(const NewOrder& r) const;

  HaltRule halt_rule_;
  SelfMatchRule self_match_;
  std::uint32_t band_;
  CrossRule crosses_;
  std::set<std::pair<unsigned, CrossKind>> crossed_;
  std::map<unsigned, std::tuple<CrossKind, Side, std::uint64_t>> imbalances_;
  std::vector<Order> orders_;
  std::map<std::uint64_t, bool> known_;
  std::map<unsigned, wire::TradingState> states_;
  std::map<unsigned, Tape> tapes_;
  std::uint64_t arrivals_ = 0;
  std::uint64_t entries_ = 0;
  bool closed_ = false;
};

}  // namespace tickpath::sim

#include "reference_crosses.hpp"
#include "reference_refusals.hpp"
