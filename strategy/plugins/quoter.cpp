// A two-sided quoter: keeps one bid and one ask a little away from the inside, leans against its
// inventory, moves a quote by replacing it, and no more often than its throttle allows.
//
// An example to read and to change, not advice: it quotes whatever the last trade did.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "strategy/plugin.hpp"

namespace {

class Quoter final : public tickpath::Strategy {
  void start() override {
    shares_ = parameter<std::uint32_t>("order_shares");
    position_max_ = parameter<std::uint32_t>("position_max_shares");
    tick_ = parameter<std::uint32_t>("tick", 100);  // 1/10,000: one cent
    edge_ticks_ = parameter<std::int64_t>("edge_ticks");
    skew_ticks_ = parameter<std::int64_t>("skew_ticks");
    move_ticks_ = parameter<std::int64_t>("move_ticks");
    spread_min_ticks_ = parameter<std::int64_t>("spread_min_ticks", 1);
    throttle_ns_ = duration_ns("throttle");
    reject_pause_ns_ = duration_ns("reject_pause", 2'000'000'000);
    if (shares_ == 0) wrong_parameter("order_shares", "at least 1");
    if (position_max_ == 0) wrong_parameter("position_max_shares", "at least 1");
    if (tick_ <= 0) wrong_parameter("tick", "at least 1");
    if (move_ticks_ < 1) wrong_parameter("move_ticks", "at least 1");
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
    const bool good = change.feed_state == TICKPATH_FEED_GOOD &&
                      (change.trading_state == TICKPATH_TRADING_OPEN ||
                       change.trading_state == TICKPATH_TRADING_UNKNOWN) &&
                      change.best_bid != 0 && change.best_ask > change.best_bid;
    if (!good) {
      pull(book.bid);
      pull(book.ask);
      return;
    }
    const Position held = position(change.instrument);
    // Long: both quotes lower, so that the ask trades first; short: both higher.
    const std::int64_t skew = -held.shares * skew_ticks_ / position_max_;
    const std::int64_t bid = change.best_bid / tick_ - edge_ticks_ + skew;
    const std::int64_t ask = (change.best_ask + tick_ - 1) / tick_ + edge_ticks_ + skew;
    // Never through the other side: this is a maker.
    const std::int64_t bid_max = (change.best_ask - 1) / tick_;
    const std::int64_t ask_min = change.best_bid / tick_ + 1;
    if (ask - bid < spread_min_ticks_) return;
    keep(change, book.bid, kBuy, std::min(bid, bid_max), held.shares + shares_ <= position_max_);
    keep(change, book.ask, kSell, std::max(ask, ask_min), shares_ - held.shares <= position_max_);
  }

  void report(const Report& report) override {
    Book& book = books_[report.instrument];
    Quoted& quoted = report.side == TICKPATH_BUY ? book.bid : book.ask;
    const bool ours = report.order_id == quoted.id || report.target_order_id == quoted.id;
    if (quoted.id == 0 || !ours) return;
    if (report.kind == TICKPATH_REPORT_REPLACED) quoted.id = report.order_id;
    if (report.state < TICKPATH_STATE_FILLED) return;
    // A refused order is tried again later: a limit, a halt or a kill switch does not pass in a
    // moment.
    const bool rejected = report.kind == TICKPATH_REPORT_REJECTED;
    if (rejected) quoted.pause.extend(reject_pause_ns_);
    quoted = {0, 0, quoted.pause};
  }

  struct Quoted {
    std::uint64_t id = 0;          // of the live order; 0: none
    std::int64_t price_ticks = 0;  // last asked for
    tickpath::MarketPause pause;   // before it is moved or placed again
  };

  void keep(const BookChange& change, Quoted& quoted, Side side, std::int64_t price_ticks,
            bool wanted) {
    if (quoted.pause.holds(change.exchange_time_ns) || price_ticks <= 0) return;
    const auto price = static_cast<std::uint32_t>(price_ticks * tick_);
    bool sent = false;
    if (quoted.id == 0) {
      if (!wanted) return;
      // A maker: rather rejected than taking, where the market has come closer meanwhile.
      const Sent placed = post_only(change.instrument, side, shares_, price);
      if (placed) quoted.id = placed.id;
      sent = static_cast<bool>(placed);
    } else if (std::abs(price_ticks - quoted.price_ticks) >= move_ticks_) {
      OpenOrder order{};
      if (!open_order(quoted.id, order) || order.request_pending != 0) return;
      sent =
          static_cast<bool>(wanted ? replace(quoted.id, price, order.shares) : cancel(quoted.id));
    }
    if (!sent) return;
    quoted.price_ticks = price_ticks;
    quoted.pause.begin(change.exchange_time_ns, throttle_ns_);
  }

  // An answer still on its way refuses it; the next update tries again.
  void pull(const Quoted& quoted) {
    if (quoted.id != 0) (void)cancel(quoted.id);
  }

  struct Book {
    Quoted bid;
    Quoted ask;
  };
  std::vector<Book> books_;
  std::uint32_t shares_ = 0;
  std::int64_t position_max_ = 0;
  std::int64_t tick_ = 0;
  std::int64_t edge_ticks_ = 0;
  std::int64_t skew_ticks_ = 0;
  std::int64_t move_ticks_ = 0;
  std::int64_t spread_min_ticks_ = 0;
  std::uint64_t throttle_ns_ = 0;
  std::uint64_t reject_pause_ns_ = 0;
};

}  // namespace

TICKPATH_STRATEGY(Quoter, "quoter", "1.0")
