// The matching rules of sim/DESIGN.md, written to be obviously right and nothing else: one list of
// every order, searched from end to end for each question.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "report_log.hpp"

namespace tickpath::sim {

class ReferenceMarket {
 public:
  std::vector<LoggedReport> log;

  // ------------------------------------------------------------------ recorded events
  void add(unsigned locate, std::uint64_t ref, Side side, std::uint32_t shares,
           std::uint32_t price) {
    if (shares == 0 || price == 0) {
      ++arrivals_;
      return;
    }
    ++arrivals_;
    if (recorded(ref)) return;
    orders_.push_back({.recorded = true,
                       .id = ref,
                       .locate = locate,
                       .side = side,
                       .price = price,
                       .shares = shares,
                       .arrival = arrivals_});
    meet(orders_.size() - 1);
  }
  void execute(std::uint64_t ref, std::uint32_t shares, std::uint32_t price, bool printable) {
    const auto at = recorded(ref);
    if (!at) return;
    const Order hit = orders_[*at];
    if (printable) {
      std::uint32_t budget = std::min(shares, hit.shares);
      const std::uint32_t floor = price == 0 ? hit.price : price;
      while (const auto live = best_live(hit.locate, hit.side)) {
        const Order& o = orders_[*live];
        if (budget == 0 || !trading(hit.locate) || !before(o, hit) || worse_for_aggressor(o, floor))
          break;
        fill_one(*live, budget, FillSource::kExecution);
      }
    }
    shrink(*recorded(ref), shares);
  }
  void reduce(std::uint64_t ref, std::uint32_t shares) {
    if (const auto at = recorded(ref)) shrink(*at, shares);
  }
  void remove(std::uint64_t ref) {
    if (const auto at = recorded(ref)) shrink(*at, orders_[*at].shares);
  }
  void replace(std::uint64_t ref, std::uint64_t new_ref, std::uint32_t shares,
               std::uint32_t price) {
    const auto at = recorded(ref);
    if (!at) return;
    const Order old = orders_[*at];
    erase(*at);
    if (recorded(new_ref) || shares == 0 || price == 0) return;
    Order fresh = old;
    fresh.id = new_ref;
    fresh.shares = shares;
    fresh.price = price;
    fresh.taken = std::min(old.taken, shares);
    fresh.arrival = ++arrivals_;
    orders_.push_back(fresh);
    meet(orders_.size() - 1);
  }
  void hidden_trade(unsigned locate, std::uint32_t shares, std::uint32_t price) {
    if (price == 0 || !trading(locate)) return;
    for (const Side side : {Side::kBuy, Side::kSell}) {
      while (const auto live = best_live(locate, side)) {
        const Order& o = orders_[*live];
        const bool through = side == Side::kBuy ? o.price > price : o.price < price;
        if (shares == 0 || !through) break;
        fill_one(*live, shares, FillSource::kTradeThrough);
      }
    }
  }
  void trading_state(unsigned locate, wire::TradingState state) {
    const bool was = trading(locate);
    states_[locate] = state;
    if (was || !trading(locate)) return;
    std::vector<Order> waiting;
    for (const Order& o : orders_)
      if (!o.recorded && o.locate == locate) waiting.push_back(o);
    std::erase_if(orders_, [&](const Order& o) { return !o.recorded && o.locate == locate; });
    std::ranges::sort(waiting, {}, &Order::arrival);
    for (const Order& o : waiting) work(o);
  }
  void close() {
    closed_ = true;
    std::vector<Order> open;
    for (const Order& o : orders_)
      if (!o.recorded) open.push_back(o);
    std::ranges::sort(open, [](const Order& a, const Order& b) {
      return std::pair(a.locate, a.arrival) < std::pair(b.locate, b.arrival);
    });
    std::erase_if(orders_, [](const Order& o) { return !o.recorded; });
    for (const Order& o : open) end(o, ReportKind::kExpired, Reason::kSessionEnd);
  }

  // ------------------------------------------------------------------ our requests
  void enter(const NewOrder& r, HaltRule rule) {
    const Reason no = refusal(r, rule);
    const bool duplicate = known_.contains(r.order_id);
    if (!duplicate) known_[r.order_id] = r.order_id;
    if (no != Reason::kNone) {
      log.push_back({.kind = ReportKind::kRejected, .order_id = r.order_id, .reason = no});
      return;
    }
    Order o{.recorded = false,
            .id = r.order_id,
            .locate = r.locate,
            .side = r.side,
            .price = r.type == OrderType::kMarket ? (r.side == Side::kBuy ? UINT32_MAX : 0)
                                                  : static_cast<std::uint32_t>(r.price.value),
            .shares = r.shares,
            .arrival = ++arrivals_,
            .party = r.party,
            .rests = r.type == OrderType::kLimit && r.time_in_force == TimeInForce::kDay};
    log.push_back({.kind = ReportKind::kAccepted, .order_id = o.id, .leaves_shares = o.shares});
    work(o);
  }
  void cancel(const CancelOrder& r) {
    const auto at = live(r.target_order_id);
    const Reason no = change_refusal(r.order_id, r.target_order_id, r.party, r.locate, r.side);
    known_.try_emplace(r.order_id, 0);
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
  void replace(const ReplaceOrder& r, HaltRule rule) {
    const auto at = live(r.target_order_id);
    Reason no = change_refusal(r.order_id, r.target_order_id, r.party, r.locate, r.side);
    if (no == Reason::kNone && r.type != OrderType::kLimit) no = Reason::kUnsupported;
    if (no == Reason::kNone && (r.shares == 0 || r.shares > kOrderSharesMax))
      no = Reason::kQuantity;
    if (no == Reason::kNone && r.price.value <= 0) no = Reason::kPrice;
    if (no == Reason::kNone && r.shares < orders_[*at].filled) no = Reason::kBelowFilled;
    if (no == Reason::kNone && rule == HaltRule::kReject && !trading(r.locate))
      no = Reason::kNotTrading;
    known_.try_emplace(r.order_id, 0);
    if (no != Reason::kNone) {
      refuse(ReportKind::kReplaceRejected, r.order_id, r.target_order_id, no);
      return;
    }
    Order o = orders_[*at];
    const bool keeps = o.price == r.price.value && r.shares < o.shares + o.filled;
    o.id = r.order_id;
    o.price = static_cast<std::uint32_t>(r.price.value);
    o.shares = r.shares - o.filled;
    log.push_back({.kind = ReportKind::kReplaced,
                   .order_id = r.order_id,
                   .target_order_id = r.target_order_id,
                   .leaves_shares = o.shares,
                   .cumulative_shares = o.filled});
    orders_[*at] = o;
    if (keeps && o.shares != 0) return;
    erase(*at);
    if (o.shares == 0) return;
    o.arrival = ++arrivals_;
    work(o);
  }

  std::uint64_t taken_in_book() const {
    std::uint64_t sum = 0;
    for (const Order& o : orders_) sum += o.taken;
    return sum;
  }

 private:
  struct Order {
    bool recorded;
    std::uint64_t id;
    unsigned locate;
    Side side;
    std::uint32_t price;
    std::uint32_t shares;  // that remain; recorded: of which `taken` are ours already
    std::uint32_t taken = 0;
    std::uint32_t filled = 0;  // live
    std::uint64_t arrival = 0;
    Party party{};
    bool rests = true;
    std::uint32_t available() const { return shares - taken; }
  };

  static bool before(const Order& a, const Order& b) {  // both on one side
    if (a.price != b.price) return a.side == Side::kBuy ? a.price > b.price : a.price < b.price;
    return a.arrival < b.arrival;
  }
  static bool worse_for_aggressor(const Order& resting, std::uint32_t price) {
    return resting.side == Side::kBuy ? resting.price < price : resting.price > price;
  }
  bool trading(unsigned locate) const {
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
  std::optional<std::size_t> best_live(unsigned locate, Side side) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      const Order& o = orders_[i];
      if (o.recorded || o.locate != locate || o.side != side) continue;
      if (!best || before(o, orders_[*best])) best = i;
    }
    return best;
  }
  std::optional<std::size_t> best_counterparty(const Order& taker) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      const Order& o = orders_[i];
      if (o.locate != taker.locate || o.side == taker.side || o.available() == 0) continue;
      if (taker.side == Side::kBuy ? o.price > taker.price : o.price < taker.price) continue;
      if (!best || before(o, orders_[*best])) best = i;
    }
    return best;
  }

  void erase(std::size_t at) { orders_.erase(orders_.begin() + static_cast<std::ptrdiff_t>(at)); }
  void record_fill(Order& o, std::uint32_t shares, std::uint32_t price, FillSource source) {
    o.shares -= shares;
    o.filled += shares;
    log.push_back({.kind = ReportKind::kFill,
                   .order_id = o.id,
                   .last_shares = shares,
                   .last_price = price,
                   .leaves_shares = o.shares,
                   .cumulative_shares = o.filled,
                   .source = source});
  }
  // A resting live order against a recorded aggressor, whose budget it uses up.
  void fill_one(std::size_t at, std::uint32_t& budget, FillSource source) {
    const std::uint32_t shares = std::min(budget, orders_[at].shares);
    budget -= shares;
    record_fill(orders_[at], shares, orders_[at].price, source);
    if (orders_[at].shares == 0) erase(at);
  }
  void meet(std::size_t index) {
    const Order arrived = orders_[index];
    if (!trading(arrived.locate)) return;
    std::uint32_t budget = arrived.available();
    while (const auto at = best_live(arrived.locate, opposite(arrived.side))) {
      if (budget == 0 || worse_for_aggressor(orders_[*at], arrived.price)) break;
      fill_one(*at, budget, FillSource::kCrossingAdd);
    }
    orders_[*recorded(arrived.id)].taken += arrived.available() - budget;
  }
  // A recorded order loses shares: what is not ours first.
  void shrink(std::size_t at, std::uint32_t shares) {
    Order& o = orders_[at];
    o.shares -= std::min(shares, o.shares);
    o.taken = std::min(o.taken, o.shares);
    if (o.shares == 0) erase(at);
  }
  void work(Order o) {
    Reason ending = o.rests ? Reason::kNone : Reason::kRemainder;
    while (o.shares != 0 && trading(o.locate)) {
      const auto at = best_counterparty(o);
      if (!at) break;
      Order& other = orders_[*at];
      if (!other.recorded && other.party == o.party) {
        ending = Reason::kSelfMatch;
        break;
      }
      const std::uint32_t shares = std::min(o.shares, other.available());
      if (other.recorded) {
        other.taken += shares;
        record_fill(o, shares, other.price, FillSource::kDisplayed);
      } else {
        record_fill(other, shares, other.price, FillSource::kLive);
        record_fill(o, shares, other.price, FillSource::kLive);
        if (other.shares == 0) erase(*at);
      }
    }
    if (o.shares == 0) return;
    if (ending == Reason::kNone)
      orders_.push_back(o);
    else
      end(o, ReportKind::kExpired, ending);
  }
  void end(const Order& o, ReportKind kind, Reason reason) {
    log.push_back(
        {.kind = kind, .order_id = o.id, .cumulative_shares = o.filled, .reason = reason});
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
  Reason change_refusal(std::uint64_t id, std::uint64_t target, Party party, unsigned locate,
                        Side side) const {
    if (known_.contains(id)) return Reason::kDuplicateId;
    if (!known_.contains(target)) return Reason::kUnknownOrder;
    const auto at = live(target);
    if (!at) return Reason::kTooLate;
    if (orders_[*at].party.session != party.session) return Reason::kUnknownOrder;
    if (orders_[*at].locate != locate || orders_[*at].side != side) return Reason::kMismatch;
    return Reason::kNone;
  }
  Reason refusal(const NewOrder& r, HaltRule rule) const {
    if (known_.contains(r.order_id)) return Reason::kDuplicateId;
    if (closed_) return Reason::kClosed;
    if (r.locate == wire::kNoInstrument) return Reason::kUnknownSymbol;
    if (r.shares == 0 || r.shares > kOrderSharesMax) return Reason::kQuantity;
    if (r.type == OrderType::kLimit && r.price.value <= 0) return Reason::kPrice;
    if (rule == HaltRule::kReject && !trading(r.locate)) return Reason::kNotTrading;
    return Reason::kNone;
  }

  std::vector<Order> orders_;
  std::map<std::uint64_t, std::uint64_t> known_;
  std::map<unsigned, wire::TradingState> states_;
  std::uint64_t arrivals_ = 0;
  bool closed_ = false;
};

}  // namespace tickpath::sim
