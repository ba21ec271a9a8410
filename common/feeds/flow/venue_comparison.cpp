#include "common/feeds/flow/venue_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/error.hpp"
#include "common/book/book.hpp"
#include "common/feeds/itch/codec.hpp"

namespace tickpath::flow {
namespace {

// Times that go back by more are another day's.
constexpr std::uint64_t kWindowNs = kLagEdgesNs.back();
// A compressed message takes some eight bytes; no venue has more orders resting than the last.
constexpr std::uint64_t kBytesAnOrder = 8, kOrdersMin = 1u << 16, kOrdersMax = 1u << 22;
constexpr std::uint32_t kNowhere = UINT32_MAX;

book::Options room_for(const itch::RecordingReader& recording) {
  const auto orders = static_cast<std::uint32_t>(
      std::clamp(recording.file_bytes_total() / kBytesAnOrder, kOrdersMin, kOrdersMax));
  return {.orders_max = orders, .levels_max = std::max(orders / 4, 1u << 16)};
}

// One recording and its books; a handler for itch::decode().
class Venue {
 public:
  explicit Venue(itch::RecordingReader& recording)
      : recording_(recording), books_(room_for(recording)), trades_(book::kLocatesMax, true) {
    read();
  }

  // Or another day begins.
  bool ended() const noexcept { return !message_; }
  std::uint64_t time_ns() const noexcept { return message_->timestamp_ns; }
  // Applies the message that is next; returns its locate.
  book::Locate step() {
    touched_ = 0;
    (void)itch::decode(message_->bytes, *this);
    read();
    return touched_;
  }

  bool is_quoted(book::Locate locate) const noexcept {
    return open_ && trades_[locate] && bid(locate) != 0 && ask(locate) != 0;
  }
  std::uint32_t bid(book::Locate locate) const noexcept {
    return books_.best(locate, Side::kBuy).price;
  }
  std::uint32_t ask(book::Locate locate) const noexcept {
    return books_.best(locate, Side::kSell).price;
  }
  const std::map<std::string, book::Locate, std::less<>>& directory() const { return directory_; }
  // Since the last call: hours began or ended, which concerns every symbol; symbols were listed;
  // an order was added.
  bool take_hours_changed() noexcept { return std::exchange(hours_changed_, false); }
  bool take_listed() noexcept { return std::exchange(listed_, false); }
  bool take_added() noexcept { return std::exchange(added_, false); }
  std::uint64_t unseen() const {
    return books_.count(book::Status::kOrdersFull) + books_.count(book::Status::kLevelsFull);
  }

  void operator()(const itch::SystemEvent& m) {
    // A recording that tells nothing of its hours, as one of an hour's middle, is open throughout.
    open_ = m.event_code == itch::SystemEvent::kStartOfMarketHours;
    hours_changed_ = true;
  }
  void operator()(const itch::StockDirectory& m) {
    directory_.insert_or_assign(std::string(m.stock.view()), m.header.stock_locate);
    listed_ = true;
  }
  void operator()(const itch::StockTradingAction& m) {
    trades_[m.header.stock_locate] = m.trading_state == itch::StockTradingAction::kTrading;
    touched_ = m.header.stock_locate;
  }
  void operator()(const itch::AddOrder& m) { add(m); }
  void operator()(const itch::AddOrderMpid& m) { add(m); }
  void operator()(const itch::OrderExecuted& m) {
    touch(m, books_.execute(m.order_reference_number, m.executed_shares));
  }
  void operator()(const itch::OrderExecutedWithPrice& m) {
    touch(m, books_.execute(m.order_reference_number, m.executed_shares));
  }
  void operator()(const itch::OrderCancel& m) {
    touch(m, books_.reduce(m.order_reference_number, m.cancelled_shares));
  }
  void operator()(const itch::OrderDelete& m) { touch(m, books_.remove(m.order_reference_number)); }
  void operator()(const itch::OrderReplace& m) {
    touch(m, books_.replace(m.original_order_reference_number, m.new_order_reference_number,
                            m.shares, m.price));
  }
  void operator()(const auto&) noexcept {}

 private:
  void add(const auto& m) {
    added_ = true;
    touch(m, books_.add(m.header.stock_locate, m.order_reference_number,
                        itch::side_of(m.buy_sell_indicator), m.shares, m.price));
  }
  void touch(const auto& m, const book::Change&) noexcept { touched_ = m.header.stock_locate; }
  void read() {
    const std::uint64_t last_ns = message_ ? message_->timestamp_ns : 0;
    itch::RecordedMessage next;
    message_.reset();
    if (recording_.next(next) != itch::ReadStatus::kMessage) return;
    if (next.begins_day) return;
    next.timestamp_ns = std::max(next.timestamp_ns, last_ns);
    message_ = next;
  }

  itch::RecordingReader& recording_;
  std::optional<itch::RecordedMessage> message_;  // the next one
  book::LevelBookSet books_;
  std::vector<bool> trades_;
  std::map<std::string, book::Locate, std::less<>> directory_;
  book::Locate touched_ = 0;
  bool open_ = true;
  bool hours_changed_ = false, listed_ = false, added_ = false;
};

enum class QuoteState : std::uint8_t { kNotCompared, kOpen, kLocked, kCrossed };

struct MidChange {
  std::uint64_t time_ns;
  double change;  // of the mid price, relative
};

struct Symbol {
  ComparedSymbol summary;
  std::vector<book::Locate> locates;  // by venue
  QuoteState state = QuoteState::kNotCompared;
  std::uint64_t since_ns = 0;                  // of the state
  std::uint64_t checked_ns = 0;                // last
  std::vector<double> mids;                    // by venue; 0: none
  std::vector<std::deque<MidChange>> changes;  // by venue, those within the window
};

class Comparison {
 public:
  explicit Comparison(std::span<itch::RecordingReader* const> recordings) {
    for (itch::RecordingReader* recording : recordings)
      venues_.push_back(std::make_unique<Venue>(*recording));
    by_locate_.assign(venues_.size(), std::vector<std::uint32_t>(book::kLocatesMax, kNowhere));
    leads_.assign(venues_.size(), 0);
    squares_.assign(venues_.size(), 0);
  }

  VenueComparison run() {
    while (step()) {
    }
    for (Symbol& symbol : symbols_) enter(symbol, QuoteState::kNotCompared, now_ns_);
    return result();
  }

 private:
  // Everything that happens at the earliest instant; false at the end. Where one recording ends,
  // there is nothing left to compare.
  bool step() {
    for (const auto& venue : venues_)
      if (venue->ended()) return false;
    now_ns_ = UINT64_MAX;
    for (const auto& venue : venues_) now_ns_ = std::min(now_ns_, venue->time_ns());
    touched_.clear();
    bool all = false;
    for (std::size_t v = 0; v < venues_.size(); ++v) {
      while (!venues_[v]->ended() && venues_[v]->time_ns() == now_ns_) {
        note_touched(v, venues_[v]->step());
        all |= venues_[v]->take_hours_changed();
      }
    }
    if (all)
      for (Symbol& symbol : symbols_) look(symbol);
    for (const std::uint32_t symbol : touched_) look(symbols_[symbol]);
    return true;
  }

  void note_touched(std::size_t v, book::Locate locate) {
    unlisted_ |= venues_[v]->take_listed();
    // Directories are complete when orders come.
    if (venues_[v]->take_added() && std::exchange(unlisted_, false)) list();
    const std::uint32_t symbol = by_locate_[v][locate];
    if (symbol != kNowhere && (touched_.empty() || touched_.back() != symbol))
      touched_.push_back(symbol);
  }

  // The symbols that all have listed so far.
  void list() {
    for (const auto& [name, locate] : venues_[0]->directory()) {
      if (by_locate_[0][locate] != kNowhere) continue;
      Symbol symbol;
      symbol.summary.symbol = name;
      for (const auto& venue : venues_) {
        const auto at = venue->directory().find(name);
        if (at != venue->directory().end()) symbol.locates.push_back(at->second);
      }
      if (symbol.locates.size() < venues_.size()) continue;
      symbol.mids.assign(venues_.size(), 0);
      symbol.changes.resize(venues_.size());
      for (std::size_t v = 0; v < venues_.size(); ++v)
        by_locate_[v][symbol.locates[v]] = static_cast<std::uint32_t>(symbols_.size());
      symbols_.push_back(std::move(symbol));
    }
  }

  void look(Symbol& symbol) {
    std::uint32_t bid = 0, ask = UINT32_MAX;
    bool compared = true;
    for (std::size_t v = 0; v < venues_.size(); ++v) {
      const Venue& venue = *venues_[v];
      const book::Locate locate = symbol.locates[v];
      compared &= venue.is_quoted(locate);
      bid = std::max(bid, venue.bid(locate));
      if (venue.ask(locate) != 0) ask = std::min(ask, venue.ask(locate));
    }
    const QuoteState state = !compared    ? QuoteState::kNotCompared
                             : bid > ask  ? QuoteState::kCrossed
                             : bid == ask ? QuoteState::kLocked
                                          : QuoteState::kOpen;
    if (state != symbol.state) enter(symbol, state, now_ns_);
    for (std::size_t v = 0; v < venues_.size(); ++v) follow(symbol, v);
  }

  // The state before lasted until now.
  void enter(Symbol& symbol, QuoteState state, std::uint64_t now_ns) {
    const std::uint64_t lasted_ns = now_ns - symbol.since_ns;
    if (symbol.state != QuoteState::kNotCompared) symbol.summary.compared_ns += lasted_ns;
    if (symbol.state == QuoteState::kLocked) {
      symbol.summary.locked_ns += lasted_ns;
      locked_ns_.push_back(lasted_ns);
    }
    if (symbol.state == QuoteState::kCrossed) {
      symbol.summary.crossed_ns += lasted_ns;
      crossed_ns_.push_back(lasted_ns);
    }
    symbol.state = state;
    symbol.since_ns = now_ns;
  }

  // Sets a change of a venue's mid price against those of the others before it.
  void follow(Symbol& symbol, std::size_t v) {
    const Venue& venue = *venues_[v];
    const book::Locate locate = symbol.locates[v];
    if (!venue.is_quoted(locate)) {
      symbol.mids[v] = 0;
      return;
    }
    const double mid = (static_cast<double>(venue.bid(locate)) + venue.ask(locate)) / 2;
    const double before = std::exchange(symbol.mids[v], mid);
    if (before == 0 || before == mid) return;
    ++symbol.summary.changes;
    const double change = mid / before - 1;
    squares_[v] += change * change;
    for (std::size_t other = 0; other < venues_.size(); ++other)
      if (other != v) set_against(symbol.changes[other], other, v, change);
    symbol.changes[v].push_back({now_ns_, change});
  }

  void set_against(std::deque<MidChange>& earlier, std::size_t other, std::size_t v,
                   double change) {
    while (!earlier.empty() && earlier.front().time_ns + kWindowNs < now_ns_) earlier.pop_front();
    for (const MidChange& one : earlier) {
      const double product = one.change * change;
      (one.time_ns == now_ns_ ? together_ : leads_[other]) += product;
      const auto lag_ns = static_cast<std::int64_t>(now_ns_ - one.time_ns);
      if (other + v == 1) products_[lag_bin(other == 0 ? lag_ns : -lag_ns)] += product;
    }
  }

  static QuoteEpisodes episodes(std::vector<std::uint64_t>& lasted_ns) {
    QuoteEpisodes all{.times = lasted_ns.size()};
    if (lasted_ns.empty()) return all;
    std::ranges::sort(lasted_ns);
    for (const std::uint64_t one : lasted_ns) all.total_ns += one;
    all.median_ns = lasted_ns[lasted_ns.size() / 2];
    all.longest_ns = lasted_ns.back();
    return all;
  }

  VenueComparison result() {
    VenueComparison all;
    all.symbols = symbols_.size();
    for (const Symbol& symbol : symbols_) {
      all.compared_ns += symbol.summary.compared_ns;
      if (all.busiest.symbol.empty() || symbol.summary.changes > all.busiest.changes)
        all.busiest = symbol.summary;
    }
    all.locked = episodes(locked_ns_);
    all.crossed = episodes(crossed_ns_);
    // Below zero is noise: changes that have nothing to do with each other.
    double sum = together_ = std::max(together_, 0.0);
    for (double& lead : leads_) sum += lead = std::max(lead, 0.0);
    for (const double lead : leads_) all.leads.push_back(sum > 0 ? lead / sum : 0);
    all.together = sum > 0 ? together_ / sum : 0;
    const double norm = std::sqrt(squares_[0] * squares_[1]);
    for (std::size_t i = 0; norm > 0 && i < kLagBins; ++i) all.correlation[i] = products_[i] / norm;
    for (const auto& venue : venues_) all.unseen_orders += venue->unseen();
    return all;
  }

  std::vector<std::unique_ptr<Venue>> venues_;
  std::vector<Symbol> symbols_;
  std::vector<std::vector<std::uint32_t>> by_locate_;  // index of symbols_, by venue
  std::vector<std::uint32_t> touched_;                 // at this instant; may repeat
  bool unlisted_ = false;                              // a directory has grown
  std::uint64_t now_ns_ = 0;
  std::vector<std::uint64_t> locked_ns_, crossed_ns_;
  std::vector<double> leads_, squares_;  // by venue
  double together_ = 0;
  std::array<double, kLagBins> products_{};
};

}  // namespace

std::size_t lag_bin(std::int64_t lag_ns) noexcept {
  constexpr std::size_t kSame = kLagEdgesNs.size();
  if (lag_ns == 0) return kSame;
  const auto size_ns = static_cast<std::uint64_t>(lag_ns < 0 ? -lag_ns : lag_ns);
  const auto edge = static_cast<std::size_t>(std::ranges::lower_bound(kLagEdgesNs, size_ns) -
                                             kLagEdgesNs.begin());
  const std::size_t away = 1 + std::min(edge, kLagEdgesNs.size() - 1);
  return lag_ns < 0 ? kSame - away : kSame + away;
}

VenueComparison compare_venues(std::span<itch::RecordingReader* const> venues) {
  if (venues.size() < 2) throw Error("venues are compared two or more at a time");
  return Comparison(venues).run();
}

}  // namespace tickpath::flow
