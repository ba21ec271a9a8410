// A taker: when the mid-price has moved away from its recent average and the displayed sizes lean
// the same way, it crosses the spread with an immediate-or-cancel order. One position limit an
// instrument, a pause after each order, and flat at the end as far as the book allows.
//
// An example to read and to change, not advice: it pays the spread and mostly loses it.
#include <cmath>
#include <cstdint>
#include <vector>

#include "strategy/plugin.hpp"

namespace {

class Momentum final : public tickpath::Strategy {
  void start() override {
    shares_ = parameter<std::uint32_t>("order_shares");
    position_max_ = parameter<std::uint32_t>("position_max_shares");
    average_updates_ = parameter<double>("average_updates");
    move_min_ = parameter<double>("move_min_spreads");
    imbalance_min_ = parameter<double>("imbalance_min");
    spread_max_ = parameter<double>("spread_max_basis_points");
    cooldown_ns_ = duration_ns("cooldown");
    if (shares_ == 0) wrong_parameter("order_shares", "at least 1");
    if (average_updates_ < 1) wrong_parameter("average_updates", "at least 1");
    books_.resize(instruments_max());
    const std::vector<std::string> symbols = texts("symbols");
    if (symbols.front() == "*") {
      subscribe_all();
    } else {
      for (const std::string& symbol : symbols) subscribe(symbol);
    }
  }

  void book_change(const BookChange& change) override {
    Book& book = books_[change.instrument];
    if (change.best_bid == 0 || change.best_ask <= change.best_bid) return;
    const double mid = (static_cast<double>(change.best_bid) + change.best_ask) / 2;
    if (book.average == 0 || change.kind == TICKPATH_UPDATE_RESYNCED) book.average = mid;
    const double move = mid - book.average;
    book.average += move / average_updates_;
    if (change.feed_state != TICKPATH_FEED_GOOD || !tradable(change.trading_state)) return;
    if (book.pause.holds(change.exchange_time_ns)) return;

    const double spread = static_cast<double>(change.best_ask - change.best_bid);
    if (spread * 10'000 > spread_max_ * mid || std::abs(move) < move_min_ * spread) return;
    const double bids = change.best_bid_shares;
    const double asks = change.best_ask_shares;
    const double imbalance = (bids - asks) / (bids + asks);
    if (move > 0 && imbalance >= imbalance_min_) {
      take(change, kBuy, change.best_ask);
    } else if (move < 0 && imbalance <= -imbalance_min_) {
      take(change, kSell, change.best_bid);
    }
  }

  // Takes back what is left; what the book does not give now stays as a position.
  void stop() override {
    for (Instrument instrument = 0; instrument < instruments_max(); ++instrument) {
      const Position held = position(instrument);
      Quote quote{};
      if (held.shares == 0 || !this->quote(instrument, quote)) continue;
      if (quote.feed_state != TICKPATH_FEED_GOOD) continue;  // the day is over, or the feed gone
      const auto size = static_cast<std::uint32_t>(std::abs(held.shares));
      if (held.shares > 0 && quote.best_bid != 0)
        (void)sell(instrument, size, quote.best_bid, kImmediateOrCancel);
      if (held.shares < 0 && quote.best_ask != 0)
        (void)buy(instrument, size, quote.best_ask, kImmediateOrCancel);
    }
  }

  void take(const BookChange& change, Side side, std::uint32_t price) {
    const Position held = position(change.instrument);
    const std::int64_t after = side == kBuy ? held.shares + held.open_buy_shares + shares_
                                            : -held.shares + held.open_sell_shares + shares_;
    if (after > position_max_) return;
    if (limit(change.instrument, side, shares_, price, kImmediateOrCancel))
      books_[change.instrument].pause.begin(change.exchange_time_ns, cooldown_ns_);
  }

  // A recording that starts in the middle of a day does not say that trading is open.
  static bool tradable(std::uint8_t state) {
    return state == TICKPATH_TRADING_OPEN || state == TICKPATH_TRADING_UNKNOWN;
  }

  struct Book {
    double average = 0;           // of the mid-price, exponential, 1/10,000
    tickpath::MarketPause pause;  // after an order
  };
  std::vector<Book> books_;
  std::uint32_t shares_ = 0;
  std::int64_t position_max_ = 0;
  double average_updates_ = 0;
  double move_min_ = 0;
  double imbalance_min_ = 0;
  double spread_max_ = 0;
  std::uint64_t cooldown_ns_ = 0;
};

}  // namespace

TICKPATH_STRATEGY(Momentum, "momentum", "1.0")
