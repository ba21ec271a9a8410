// One venue against another: where one bids more for a symbol than another asks, it buys here and
// sells there, immediate or cancel on both legs. When a leg falls short, what is left over is a
// position that nobody wanted: it is counted, and given to the router to take back wherever that is
// cheapest.
//
// An example to read and to change, not advice: who is slower than others meets the legs that are
// left.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "strategy/plugin.hpp"

namespace {

class Arbitrage final : public tickpath::Strategy {
  void start() override {
    shares_max_ = parameter<std::uint32_t>("order_shares_max");
    edge_min_ = parameter<std::int64_t>("edge_min");
    legged_max_ = parameter<std::int64_t>("legged_max_shares");
    pause_ns_ = duration_ns("pause");
    if (shares_max_ == 0) wrong_parameter("order_shares_max", "at least 1");
    if (legged_max_ < 1) wrong_parameter("legged_max_shares", "at least 1");
    if (pause_ns_ == 0) wrong_parameter("pause", "longer than 0");
    if (venues() < 2) throw std::runtime_error("it needs two venues: [[venue]], twice at least");
    symbols_.resize(instruments_max());
    const std::vector<std::string> symbols = texts("symbols");
    if (symbols.front() == "*") {
      subscribe_all();
    } else {
      for (const std::string& symbol : symbols) subscribe(symbol);
    }
  }

  void book_change(const BookChange& change) override {
    const Instrument root = root_of(change.instrument);
    Symbol& symbol = symbols_[root];
    if (symbol.open != 0 || symbol.waits || now_ns() < symbol.quiet_until_ns) return;
    // Also what a former life of this program left.
    if (position(change.instrument).shares != 0 && net(root) != 0) return wait(root);
    Quote here{};
    if (!good(change.instrument, here)) return;
    for (std::uint32_t venue = 0; venue < venues(); ++venue) {
      const Instrument other = listing(venue, change.instrument);
      Quote there{};
      if (other == change.instrument || other == kNoInstrument || !good(other, there)) continue;
      if (take_both(root, change.instrument, here, other, there) ||
          take_both(root, other, there, change.instrument, here))
        return;
    }
  }

  // Buys at `cheap` what `dear` bids more for, if there is something to be had. True: it tried.
  bool take_both(Instrument root, Instrument cheap, const Quote& asks, Instrument dear,
                 const Quote& bids) {
    if (asks.best_ask == 0 || bids.best_bid <= asks.best_ask) return false;
    constexpr std::int64_t kFeesToAPrice = 100;  // 1/1,000,000 to 1/10,000
    const std::int64_t edge = std::int64_t{bids.best_bid} - asks.best_ask;
    const std::int64_t fees = taker_fee(venue_of(cheap)) + taker_fee(venue_of(dear));
    if ((edge - edge_min_) * kFeesToAPrice < fees) return false;
    const std::uint32_t shares =
        std::min({shares_max_, asks.best_ask_shares, bids.best_bid_shares});
    if (shares == 0 || std::abs(net(root)) + shares > legged_max_) return false;
    Symbol& symbol = symbols_[root];
    symbol.quiet_until_ns = now_ns() + pause_ns_;
    if (!buy(cheap, shares, asks.best_ask, kImmediateOrCancel)) return true;
    symbol.open += 1;
    ++pairs_;
    if (sell(dear, shares, bids.best_bid, kImmediateOrCancel)) symbol.open += 1;
    return true;
  }

  void report(const Report& report) override {
    const bool closed =
        report.state >= TICKPATH_STATE_FILLED || report.kind == TICKPATH_REPORT_LOST;
    const bool of_an_order = report.kind != TICKPATH_REPORT_CANCEL_REJECTED &&
                             report.kind != TICKPATH_REPORT_FILL_CANCELED &&
                             report.kind != TICKPATH_REPORT_FILL_CORRECTED;
    if (!closed || !of_an_order || report.instrument >= instruments_max()) return;
    const Instrument root = root_of(report.instrument);
    Symbol& symbol = symbols_[root];
    if (symbol.open == 0) return;
    symbol.open -= 1;
    if (symbol.open != 0) return;
    const bool flat = net(root) == 0;
    if (symbol.legged && flat) {
      ++unwound_;
      symbol = {};
    } else if (!flat) {
      wait(root);
    }
  }

  void timer(std::uint64_t /*timer_id*/, std::uint64_t cookie) override {
    const auto root = static_cast<Instrument>(cookie);
    symbols_[root].waits = false;
    if (symbols_[root].open == 0) take_back(root);
  }

  // The last word: flat, as far as the books allow.
  void stop() override {
    std::int64_t left = 0;
    for (Instrument root = 0; root < instruments_max(); ++root) {
      if (symbol_of_none(root) || root_of(root) != root) continue;
      const std::int64_t held = net(root);
      if (held != 0) {
        (void)route(root, held > 0 ? kSell : kBuy, static_cast<std::uint32_t>(std::abs(held)), 0);
        left += std::abs(held);
      }
    }
    char text[160];
    const int size = std::snprintf(
        text, sizeof(text),
        "%llu pairs, %llu times one leg fell short, %llu of these taken back before the end, %lld "
        "shares left to take back then",
        static_cast<unsigned long long>(pairs_), static_cast<unsigned long long>(legged_),
        static_cast<unsigned long long>(unwound_), static_cast<long long>(left));
    log({text, static_cast<std::size_t>(size)});
  }

  // ------------------------------------------------------------------------- what is left over

  // The venue is given a moment: what the venue that fell short reports may still be on its way,
  // and its book.
  void wait(Instrument root) {
    Symbol& symbol = symbols_[root];
    if (!symbol.legged) ++legged_;
    symbol.legged = true;
    constexpr unsigned kDoublingsMax = 8;
    const std::uint64_t delay = pause_ns_ << std::min(symbol.attempts, kDoublingsMax);
    symbol.waits = set_timer(delay, root);
    if (!symbol.waits) symbol.quiet_until_ns = now_ns() + delay;  // the next change tries again
    ++symbol.attempts;
  }

  void take_back(Instrument root) {
    Symbol& symbol = symbols_[root];
    // An oeg that is away may have filled more than it could tell.
    const std::int64_t held = all_gateways_up() ? net(root) : 0;
    if (held == 0) {
      if (!all_gateways_up()) return wait(root);
      ++unwound_;
      symbol = {};
      return;
    }
    const Routed routed =
        route(root, held > 0 ? kSell : kBuy, static_cast<std::uint32_t>(std::abs(held)), 0);
    for (const tickpath_child& child : routed)
      if (child.status == TICKPATH_OK) symbol.open += 1;
    if (symbol.open == 0) wait(root);
  }

  // -------------------------------------------------------------------------------- small words

  // One listing stands for the symbol: that of the first venue that has it.
  Instrument root_of(Instrument instrument) const {
    for (std::uint32_t venue = 0; venue < venues(); ++venue)
      if (const Instrument listed = listing(venue, instrument); listed != kNoInstrument)
        return listed;
    return instrument;
  }
  std::int64_t net(Instrument root) const { return position_everywhere(root).shares; }
  bool symbol_of_none(Instrument instrument) const {
    return listing(venue_of(instrument), instrument) == kNoInstrument;
  }
  bool good(Instrument instrument, Quote& value) const {
    return quote(instrument, value) && value.feed_state == TICKPATH_FEED_GOOD &&
           (value.trading_state == TICKPATH_TRADING_OPEN ||
            value.trading_state == TICKPATH_TRADING_UNKNOWN) &&
           can_send(instrument);
  }
  std::int64_t taker_fee(std::uint32_t venue) const {
    tickpath_venue_state state{};
    (void)venue_state(venue, state);
    return state.taker_fee;
  }
  bool all_gateways_up() const {
    for (std::uint32_t venue = 0; venue < venues(); ++venue)
      if (tickpath_venue_state state{}; !venue_state(venue, state) || state.gateway_up == 0)
        return false;
    return true;
  }

  struct Symbol {
    std::uint64_t quiet_until_ns = 0;
    std::uint32_t open = 0;  // orders without their last report
    unsigned attempts = 0;   // to take back what one leg left over
    bool legged = false;     // something is to be taken back
    bool waits = false;      // for its timer
  };
  std::vector<Symbol> symbols_;  // by root
  std::uint32_t shares_max_ = 0;
  std::int64_t edge_min_ = 0;  // 1/10,000 a share
  std::int64_t legged_max_ = 0;
  std::uint64_t pause_ns_ = 0;
  std::uint64_t pairs_ = 0;
  std::uint64_t legged_ = 0;
  std::uint64_t unwound_ = 0;
};

}  // namespace

TICKPATH_STRATEGY(Arbitrage, "arbitrage", "1.0")
