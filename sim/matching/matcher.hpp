// The exchange's rule book: our orders against a replayed market, by price and time.
//
// A library without sockets, clocks or threads: recorded events and requests go in, in the order in
// which they happened; reports come out at once. sim/DESIGN.md tells every rule and why.
//
// One thread owns a Matcher; counters may be read from any. Nothing allocates, throws or makes a
// system call after the constructor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "common/book/book.hpp"
#include "common/wire/book_update.hpp"
#include "sim/matching/call_auction.hpp"
#include "sim/matching/feed_sink.hpp"
#include "sim/matching/id_table.hpp"
#include "sim/matching/live_orders.hpp"
#include "sim/matching/types.hpp"

namespace tickpath::sim {

// What the recorded market as a whole has gained from us, in one instrument.
struct RecordedAccount {
  std::int64_t position_shares = 0;  // bought from us less sold to us
  std::int64_t cash = 0;             // 1/10,000
};

// An auction as it would be now, for those who are told in advance.
struct Imbalance {
  AuctionOutcome at_reference;   // at the near price (else the last), kept within the market
  std::uint32_t near_price = 0;  // of the auction with the whole book; 0: nothing would trade
  std::uint32_t far_price = 0;   // of the on-cross orders alone
};

class Matcher {
 public:
  // sink: outlives the matcher. Throws Error when the options make no sense or memory is short.
  Matcher(const MatcherOptions& options, ReportSink& sink);
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // Before anything else. From then on `feed` hears what subscribers must; it outlives the matcher.
  void publish_to(FeedSink& feed) noexcept { feed_ = &feed; }

  // ------------------------------------------------------------------ the recorded market
  // Shares and prices as the feed carries them; anything that the book refuses is counted.

  void on_add(Locate locate, std::uint64_t reference, Side side, std::uint32_t shares,
              std::uint32_t price) noexcept;
  // At the resting order's own price.
  void on_execute(std::uint64_t reference, std::uint32_t shares) noexcept;
  // At another price. Not printable: part of a cross, which is none of our orders' business.
  void on_execute_at(std::uint64_t reference, std::uint32_t shares, std::uint32_t price,
                     bool printable) noexcept;
  void on_reduce(std::uint64_t reference, std::uint32_t shares) noexcept;
  void on_delete(std::uint64_t reference) noexcept;
  void on_replace(std::uint64_t reference, std::uint64_t new_reference, std::uint32_t shares,
                  std::uint32_t price) noexcept;
  // A trade with an order that was not displayed.
  void on_hidden_trade(Locate locate, std::uint32_t shares, std::uint32_t price) noexcept;
  void on_trading_state(Locate locate, wire::TradingState state) noexcept;
  // The recording's imbalance message and cross: on-open and on-close orders take part in it,
  // unless crosses are ours (MatcherOptions::crosses). Price 0: there was none. Of another kind
  // than opening and closing they concern no order.
  void on_imbalance(Locate locate, CrossKind kind, Side side, std::uint64_t shares) noexcept;
  void on_cross(Locate locate, CrossKind kind, std::uint32_t price) noexcept;
  // The end of the day: every working day order expires, new ones are refused. Idempotent.
  void close() noexcept;
  // The recording goes on with another day: the recorded book, trading states and last prices start
  // anew. Orders good till cancelled are there still, and wait until their instrument is listed.
  // Does nothing unless the day is over.
  void begin_day() noexcept;
  // The day has the instrument: its orders are in the market again. On the first day all are.
  void list(Locate locate) noexcept;

  // ------------------------------------------------------------------ crosses of our own
  // An auction, now: the orders for it, and the whole book, at one price; orders that are for it
  // alone end. Time grows with the orders of the instrument.
  CrossResult cross(Locate locate, CrossKind kind) noexcept;
  // For every instrument with orders for it, if crosses are ours; it is then over for the day.
  void cross_all(CrossKind kind) noexcept;
  bool awaits_cross(Locate locate, CrossKind kind) const noexcept;
  // What cross() would do.
  Imbalance imbalance(Locate locate, CrossKind kind) noexcept;
  // One above the highest locate that ever had an order of ours.
  std::uint32_t locates() const noexcept { return locates_; }

  // ------------------------------------------------------------------ our orders

  void enter(const NewOrder& request) noexcept;
  // Rejects a request for a reason of the caller's own. Id 0: it has none, and is not remembered.
  void refuse(const NewOrder& request, Reason reason) noexcept;
  void refuse(const CancelOrder& request, Reason reason) noexcept;
  void refuse(const ReplaceOrder& request, Reason reason) noexcept;
  void cancel(const CancelOrder& request) noexcept;
  void replace(const ReplaceOrder& request) noexcept;
  // Cancels in order of arrival, instrument after instrument; each is reported under its own id.
  // Returns how many.
  std::uint32_t cancel_all(const MassCancel& request) noexcept;
  // visit(Report) with the state of each order that a mass cancel would end, instrument after
  // instrument. Returns how many. visit asks the core for nothing.
  template <class Visit>
  std::uint32_t for_each_open(const MassCancel& which, Visit&& visit) noexcept {
    std::uint32_t count = 0;
    for_each_locate(which, [&](std::uint32_t locate) {
      for (const Side side : {Side::kBuy, Side::kSell})
        for (const Place place : kPlaces)
          for (std::uint32_t node = live_.front(locate, side, place); node != LiveOrders::kNone;
               node = live_[node].next)
            if (is_of(which, live_[node])) {
              ++count;
              visit(report_of(live_[node], ReportKind::kAccepted));
            }
    });
    return count;
  }
  // A session's day is over: its day orders expire. How many.
  std::uint32_t end_day_of(std::uint8_t session) noexcept;

  // ------------------------------------------------------------------ questions (owning thread)

  const book::BookSet& book() const noexcept { return book_; }
  const LiveOrder* find_live(std::uint64_t order_id) noexcept;
  // Our orders in the book, best first; null behind the last one.
  const LiveOrder* first_live(Locate locate, Side side) const noexcept {
    return live_.find(live_.front(locate, side));
  }
  const LiveOrder* next_live(const LiveOrder& order) const noexcept {
    return live_.find(order.next);
  }
  // Some request had this id, whatever became of it.
  bool knows(std::uint64_t order_id) noexcept { return ids_.find(order_id) != nullptr; }
  // What is known of an order, as a report of nothing that happened: of one that is done only how
  // it ended. Unknown, or another session's: kRejected, for kUnknownOrder or kMismatch.
  Report status(const StatusQuery& query) noexcept;
  std::uint32_t live_orders() const noexcept { return live_.size(); }
  wire::TradingState trading_state(Locate locate) const noexcept {
    return instruments_[locate].state;
  }
  // 0: nothing has traded yet.
  std::uint32_t last_price(Locate locate) const noexcept { return instruments_[locate].last; }
  const RecordedAccount& recorded_account(Locate locate) const noexcept {
    return accounts_[locate];
  }
  // Recorded shares still in the book that already traded with us. Walks the whole book.
  std::uint64_t taken_in_book() const noexcept;
  static std::uint32_t taken_of(std::uint64_t user) noexcept {
    return static_cast<std::uint32_t>(user);
  }
  const MatcherCounters& counters() const noexcept { return counters_; }

 private:
  // A recorded order's user word: its place in time, and how much of it we have taken.
  static std::uint64_t user_word(std::uint32_t arrival, std::uint32_t taken) noexcept {
    return std::uint64_t{arrival} << 32 | taken;
  }
  static std::uint32_t arrival_of(std::uint64_t user) noexcept {
    return static_cast<std::uint32_t>(user >> 32);
  }

  // Which live orders an aggressor meets: those ahead of (price, arrival) whose price it accepts.
  struct Reach {
    std::uint32_t price;
    std::uint32_t arrival;     // at `price`, only earlier ones are ahead; 0: none, max: all
    std::uint32_t acceptable;  // the worst price for a resting order's owner... see reaches()
  };
  // Walks recorded orders, best first, that have shares left for us.
  struct Cursor;
  // What is known of an instrument besides its orders.
  struct Instrument {
    wire::TradingState state = wire::TradingState::kUnknown;
    std::uint8_t crosses = 0;   // that are over, a bit each
    bool listed = true;         // else it is halted until it is
    std::uint32_t watched = 0;  // stop orders that wait, and pegged ones
    std::uint32_t last = 0;     // trade; 0: none yet
    std::uint32_t high = 0;     // since stop orders were last looked at
    std::uint32_t low = 0;
  };

  struct RecordedImbalance {
    std::uint64_t shares = 0;
    CrossKind kind = CrossKind::kOpening;
    Side side = Side::kBuy;
  };

  std::uint32_t next_arrival() noexcept;
  // The worst price that an order of this side may take or ask for: `price`, or the band if that is
  // nearer to the market. Without a last trade there is none.
  std::uint32_t within_band(std::uint32_t locate, Side side, std::uint32_t price) const noexcept {
    const std::uint64_t last = instruments_[locate].last;
    if (band_basis_points_ == 0 || last == 0) return price;
    const std::uint64_t distance = last * band_basis_points_ / 10'000;
    const std::uint64_t band = side == Side::kBuy ? last + distance : last - distance;
    return static_cast<std::uint32_t>(side == Side::kBuy ? std::min<std::uint64_t>(price, band)
                                                         : std::max<std::uint64_t>(price, band));
  }
  std::uint32_t worst_price_of(const LiveOrder& order) const noexcept {
    return order.type == OrderType::kMarket
               ? within_band(order.locate, order.side, order.worst_price())
               : order.price;
  }
  template <class Request>
  bool outside_band(const Request& request) const noexcept {
    const auto price = static_cast<std::uint32_t>(request.price.value);
    return (request.type == OrderType::kLimit || request.type == OrderType::kStopLimit) &&
           within_band(request.locate, request.side, price) != price;
  }
  bool trading(std::uint32_t locate) const noexcept {
    const wire::TradingState state = instruments_[locate].state;
    return !closed_ &&
           (state == wire::TradingState::kTrading || state == wire::TradingState::kUnknown);
  }
  // A trade at this price, between whomever.
  void print(std::uint32_t locate, std::uint32_t price) noexcept {
    Instrument& instrument = instruments_[locate];
    if (price > instrument.high || instrument.last == 0) instrument.high = price;
    if (price < instrument.low || instrument.last == 0) instrument.low = price;
    instrument.last = price;
  }
  // Last of every event: the recorded best or the last price may have moved.
  void settle(std::uint32_t locate) noexcept {
    if (instruments_[locate].watched != 0) [[unlikely]]
      settle_watched(locate);
  }

  // matcher_feed.cpp: the feed, when our orders are published.
  // The recorded event's own message, before what follows from it.
  void tell(const RecordedChange& change) noexcept {
    if (feed_ != nullptr) [[unlikely]]
      feed_->on_recorded(change);
  }
  void show(const LiveOrder& order) noexcept {
    if (feed_ != nullptr) [[unlikely]]
      update_feed(order);
  }
  void hide(const LiveOrder& order) noexcept {
    if (feed_ != nullptr) [[unlikely]]
      remove_from_feed(order);
  }
  void update_feed(const LiveOrder& order) noexcept;
  void remove_from_feed(const LiveOrder& order) noexcept;
  void trade_on_feed(const LiveOrder& order, std::uint32_t shares, std::uint32_t price,
                     bool in_cross) noexcept;
  void take_on_feed(const book::OrderView& order, std::uint32_t shares, std::uint32_t price,
                    bool in_cross) noexcept;
  void hide_all(std::uint32_t locate) noexcept;

  // matcher_recorded.cpp
  static bool reaches(const Reach& reach, const LiveOrder& order) noexcept;
  std::uint32_t fill_resting(std::uint32_t locate, Side side, const Reach& reach,
                             std::uint32_t budget, FillSource source) noexcept;
  void execute(std::uint64_t reference, std::uint32_t shares, std::uint32_t price,
               bool printable) noexcept;
  void settle_execution(book::Handle handle, const book::OrderView& order, std::uint32_t shares,
                        std::uint32_t displaced) noexcept;
  void release(std::uint32_t shares, Counter& cause) noexcept;
  std::uint32_t meet_arrival(Locate locate, std::uint64_t reference, Side side,
                             std::uint32_t taken) noexcept;
  // 0 when there is no such order.
  std::uint32_t taken_of_reference(std::uint64_t reference) const noexcept {
    const book::Handle handle = book_.find(reference);
    return handle == book::kNoOrder ? 0 : taken_of(book_.user(handle));
  }

  // matcher_states.cpp
  // Where an order of ours can be, other than under way.
  static constexpr Place kPlaces[] = {Place::kBook, Place::kStop, Place::kParked, Place::kAuction};
  static bool is_of(const MassCancel& which, const LiveOrder& order) noexcept {
    return order.party.session == which.session &&
           (order.side == Side::kBuy ? which.buys : which.sells) &&
           (which.strategy == 0 || order.party.strategy == which.strategy);
  }
  template <class Visit>
  static void for_each_locate(const MassCancel& which, Visit&& visit) noexcept {
    if (which.locate < book::kLocatesMax) return visit(which.locate);
    if (which.locate != wire::kNoInstrument) return;
    for (std::uint32_t locate = 0; locate < book::kLocatesMax; ++locate) visit(locate);
  }
  // Takes the wanted orders of an instrument out of their queues, then calls act(node) for each in
  // order of arrival. Returns how many.
  template <class Wanted, class Act>
  std::uint32_t take_out(std::uint32_t locate, const Wanted& wanted, const Act& act) noexcept {
    std::uint32_t chain = LiveOrders::kNone;
    for (const Side side : {Side::kBuy, Side::kSell})
      for (const Place place : kPlaces)
        for (std::uint32_t node = live_.front(locate, side, place); node != LiveOrders::kNone;) {
          const std::uint32_t next = live_[node].next;
          if (wanted(live_[node])) {
            live_.dequeue(node);
            live_[node].next = chain;
            chain = node;
          }
          node = next;
        }
    std::uint32_t count = 0;
    for (std::uint32_t node = live_.sort_by_arrival(chain); node != LiveOrders::kNone; ++count) {
      const std::uint32_t next = live_[node].next;
      act(node);
      node = next;
    }
    return count;
  }
  void uncross(std::uint32_t locate) noexcept;
  void expire_day_orders(std::uint32_t locate) noexcept;
  void settle_watched(std::uint32_t locate) noexcept;
  void reprice_pegs(std::uint32_t locate, Side side) noexcept;
  void trigger_stops(std::uint32_t locate) noexcept;
  std::uint32_t next_triggered(std::uint32_t locate) const noexcept;
  std::uint32_t peg_price(const LiveOrder& order) const noexcept;
  void wait_for_stop(std::uint32_t node) noexcept;

  // matcher_crosses.cpp
  bool live_in_book(std::uint32_t locate) const noexcept {
    return live_.front(locate, Side::kBuy) != LiveOrders::kNone ||
           live_.front(locate, Side::kSell) != LiveOrders::kNone;
  }
  bool cross_is_over(std::uint32_t locate, TimeInForce time) const noexcept;
  std::uint32_t next_for(std::uint32_t node, CrossKind kind) const noexcept;
  void gather(Locate locate, CrossKind kind, bool continuous) noexcept;
  std::uint32_t reference_price(Locate locate) const noexcept;
  std::uint32_t best_displayed(Locate locate, Side side) const noexcept;
  std::uint64_t allot(Locate locate, CrossKind kind, Side side, std::uint32_t price,
                      std::uint64_t budget, bool continuous) noexcept;
  void take_in_cross(Locate locate, Side side, std::uint32_t price, std::uint64_t shares) noexcept;
  void book_cross(Locate locate, std::uint32_t price, std::uint64_t bought,
                  std::uint64_t sold) noexcept;
  void end_cross(Locate locate, CrossKind kind) noexcept;

  // matcher_orders.cpp
  Reason refusal(const NewOrder& request) noexcept;
  Reason refusal_of_terms(const NewOrder& request) const noexcept;
  template <class Request>
  Reason refusal_of_prices(const Request& request) const noexcept;
  Reason refusal_to_change(const IdTable::Entry* target, const Party& party, std::uint32_t locate,
                           Side side) const noexcept;
  Reason refusal(const ReplaceOrder& request, const IdTable::Entry* target) noexcept;
  void reject(const NewOrder& request, Reason reason) noexcept;
  template <class Request>
  void refuse_change(const Request& request, ReportKind kind, Reason reason) noexcept;
  Reason refusal_of_terms(const ReplaceOrder& request, const LiveOrder& order) const noexcept;
  std::uint32_t open(const NewOrder& request) noexcept;
  void amend(std::uint32_t node, const ReplaceOrder& request) noexcept;
  void cancel_unasked(std::uint32_t node) noexcept;

  // matcher_taking.cpp
  void work(std::uint32_t node, std::uint32_t minimum = 0) noexcept;
  void rest(std::uint32_t node) noexcept;
  Reason match(std::uint32_t node) noexcept;
  bool would_trade(std::uint32_t locate, Side side, std::uint32_t worst_price) const noexcept;
  bool can_trade(const LiveOrder& taker, std::uint32_t minimum) const noexcept;
  bool live_is_next(std::uint32_t resting, bool recorded, const Cursor& cursor,
                    std::uint32_t worst_price) const noexcept;
  bool next_available(Cursor& cursor, std::uint32_t worst_price) const noexcept;
  void take(std::uint32_t node, const Cursor& cursor) noexcept;
  void cross(std::uint32_t taker, std::uint32_t resting) noexcept;
  void after_slice(std::uint32_t resting) noexcept;
  bool prevent_self_match(std::uint32_t taker, std::uint32_t resting) noexcept;
  void decrement(std::uint32_t node, std::uint32_t shares) noexcept;
  void drop(std::uint32_t node) noexcept;

  // matcher.cpp
  void finish(std::uint32_t node, OrderState state) noexcept;
  Report report_of(const LiveOrder& order, ReportKind kind) noexcept;
  void emit(const Report& report) noexcept;
  void fill(std::uint32_t node, std::uint32_t shares, std::uint32_t price, FillSource source,
            Liquidity liquidity) noexcept;
  void fill_recorded(std::uint32_t node, std::uint32_t shares, std::uint32_t price,
                     FillSource source) noexcept;
  void expire(std::uint32_t node, Reason reason) noexcept;
  std::uint64_t next_execution_id() noexcept { return incarnation_bits_ | ++executions_; }

  HaltRule halt_rule_;
  SelfMatchRule self_match_;
  std::uint32_t display_shares_min_;
  std::uint32_t band_basis_points_;
  bool own_crosses_;
  TickRule ticks_;
  std::uint8_t crosses_of_day_ = 0;  // that are over for every instrument
  std::uint32_t locates_ = 0;
  std::uint64_t incarnation_bits_;
  ReportSink& sink_;
  FeedSink* feed_ = nullptr;
  book::BookSet book_;
  LiveOrders live_;
  IdTable ids_;
  std::unique_ptr<Instrument[]> instruments_;
  std::unique_ptr<RecordedAccount[]> accounts_;
  std::unique_ptr<RecordedImbalance[]> imbalances_;
  CallAuction auction_;
  std::uint64_t executions_ = 0;
  std::uint64_t references_ = 0;  // that our orders have had on the feed
  std::uint32_t numbers_ = 0;
  std::uint32_t arrivals_ = 0;
  bool closed_ = false;
  MatcherCounters counters_;
};

}  // namespace tickpath::sim
