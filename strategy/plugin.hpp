// A strategy in a page of C++: derive from tickpath::Strategy, override the callbacks you need and
// end the file with TICKPATH_STRATEGY(MyStrategy, "my-strategy", "1.0").
//
// Everything here is a thin, header-only layer over the C contract in plugin.h (read its notes on
// threads, failure and units). Exceptions that leave a callback are caught at the boundary and
// disable the plugin with their text; after start none should be thrown, they allocate.
//
//   class Buyer final : public tickpath::Strategy {
//     void start() override { subscribe(parameter<std::string>("symbol")); }
//     void book_change(const BookChange& change) override {
//       const Position held = position(change.instrument);
//       if (held.shares == 0 && held.open_orders == 0 && change.best_ask != 0)
//         (void)buy(change.instrument, 100, change.best_ask, kImmediateOrCancel);
//     }
//   };
//   TICKPATH_STRATEGY(Buyer, "buyer", "1.0")
#pragma once

#if __cplusplus < 202002L
#error "strategy/plugin.hpp needs C++20: compile with -std=c++20, or use the C header plugin.h"
#endif

#include <array>
#include <concepts>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "strategy/plugin.h"

namespace tickpath {

// A host function refused something that the plugin cannot go on without. Set-up only.
class StrategyError : public std::runtime_error {
 public:
  StrategyError(const std::string& what, int status) : std::runtime_error(what), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

// Multiples of 1/10,000 of the currency unit: to_price(10.05) is 100'500. What is no price (not
// above 0, or too large) is 0, which never trades.
constexpr std::uint32_t to_price(double units) noexcept {
  const double scaled = units * 10'000 + 0.5;
  return scaled >= 1 && scaled < 4'294'967'296.0 ? static_cast<std::uint32_t>(scaled) : 0;
}

// "10.0500"
inline std::string price_text(std::uint32_t price) {
  const std::string decimals = std::to_string(price % 10'000);
  return std::to_string(price / 10'000) + "." + std::string(4 - decimals.size(), '0') + decimals;
}

// A pause in the exchange's time, so that a replay decides alike at any speed. Times of day begin
// anew with each day: an end further ahead than the pause is long is one of the day before.
class MarketPause {
 public:
  void begin(std::uint64_t exchange_time_ns, std::uint64_t length_ns) noexcept {
    until_ns_ = exchange_time_ns + length_ns;
    length_ns_ = length_ns;
  }
  void extend(std::uint64_t by_ns) noexcept {
    until_ns_ += by_ns;
    length_ns_ += by_ns;
  }
  bool holds(std::uint64_t exchange_time_ns) const noexcept {
    return exchange_time_ns < until_ns_ && until_ns_ - exchange_time_ns <= length_ns_;
  }

 private:
  std::uint64_t until_ns_ = 0;
  std::uint64_t length_ns_ = 0;
};

class Strategy {
 public:
  using BookChange = tickpath_book_change;
  using Trade = tickpath_trade;
  using Imbalance = tickpath_imbalance;
  using Report = tickpath_report;
  using NewOrder = tickpath_new_order;
  using Quote = tickpath_quote;
  using Depth = tickpath_depth;
  using Position = tickpath_position;
  using OpenOrder = tickpath_open_order;
  using HistoryRequest = tickpath_history_request;
  using HistoryEntry = tickpath_history_entry;
  using History = tickpath_history;
  using Value = tickpath_value;
  using Instrument = std::uint32_t;
  static constexpr Instrument kNoInstrument = TICKPATH_NO_INSTRUMENT;

  enum Side : std::uint8_t { kBuy = TICKPATH_BUY, kSell = TICKPATH_SELL };
  enum TimeInForce : std::uint8_t {
    kDay = TICKPATH_DAY,
    kGoodTillCancel = TICKPATH_GTC,
    kAtTheOpening = TICKPATH_AT_THE_OPENING,
    kImmediateOrCancel = TICKPATH_IOC,
    kFillOrKill = TICKPATH_FOK,
    kAtTheClose = TICKPATH_AT_THE_CLOSE
  };

  static constexpr std::uint32_t kNoVenue = TICKPATH_NO_VENUE;

  // What became of a routed order: those that it was split into. The status of one that was not
  // sent at all.
  struct Routed {
    std::array<tickpath_child, TICKPATH_VENUES_MAX> children{};
    std::size_t count = 0;
    std::int32_t status = TICKPATH_OK;
    explicit operator bool() const noexcept { return status == TICKPATH_OK; }
    const tickpath_child* begin() const noexcept { return children.data(); }
    const tickpath_child* end() const noexcept { return children.data() + count; }
  };

  // What became of a request: its id, or why it was not sent (a tickpath_status).
  struct Sent {
    std::uint64_t id = 0;
    std::int32_t status = TICKPATH_OK;
    explicit operator bool() const noexcept { return status == TICKPATH_OK; }
  };

  Strategy() = default;
  virtual ~Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  // The callbacks; each is described in plugin.h beside its C counterpart.
  virtual void start() {}
  virtual void instrument(std::string_view /*symbol*/, Instrument /*id*/) {}
  virtual void book_change(const BookChange& /*change*/) {}
  virtual void trade(const Trade& /*trade*/) {}
  virtual void report(const Report& /*report*/) {}
  virtual void timer(std::uint64_t /*timer_id*/, std::uint64_t /*cookie*/) {}
  virtual void feed_state(Instrument /*instrument*/, std::uint8_t /*state*/) {}
  virtual void gateway_state(bool /*up*/) {}
  virtual void stop() {}
  virtual void imbalance(const Imbalance& /*imbalance*/) {}

  void attach(const tickpath_host* host) noexcept { host_ = host; }  // the boundary's, not yours

 protected:
  // ------------------------------------------------------------------ parameters, in start() only

  // T: bool, an integer, a floating point type, std::string. Throws StrategyError when the key is
  // missing, of another type, or does not fit T.
  template <class T>
  T parameter(const char* key) const {
    T value{};
    require(get(key, value), key);
    return value;
  }
  // The same with a default for a missing key; a wrong type still throws.
  template <class T>
  T parameter(const char* key, T otherwise) const {
    return host_->has_parameter(host_->context, key) != 0 ? parameter<T>(key) : otherwise;
  }
  // "250us", "5ms", "2s".
  std::uint64_t duration_ns(const char* key) const {
    std::uint64_t value = 0;
    require(host_->get_duration_ns(host_->context, key, &value), key);
    return value;
  }
  std::uint64_t duration_ns(const char* key, std::uint64_t otherwise) const {
    return host_->has_parameter(host_->context, key) != 0 ? duration_ns(key) : otherwise;
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> values;
    for (const char* text = nullptr;; values.emplace_back(text)) {
      const std::int32_t status = host_->get_text_at(host_->context, key, values.size(), &text);
      if (status == TICKPATH_MISSING_PARAMETER && !values.empty()) return values;
      require(status, key);
    }
  }

  // The value will not do: start() fails with file, line, key, what stands there and what is
  // `wanted` ("at least 1").
  [[noreturn]] void wrong_parameter(const char* key, const std::string& wanted) const {
    const std::int32_t status = host_->wrong_parameter(host_->context, key, wanted.c_str());
    throw StrategyError("parameter " + std::string(key) + " must be " + wanted, status);
  }

  // ----------------------------------------------------------------------------------- market

  // The id, or kNoInstrument while the directory does not hold the symbol yet: instrument() tells.
  Instrument subscribe(const std::string& symbol) {
    Instrument id = kNoInstrument;
    const std::int32_t status = host_->subscribe(host_->context, symbol.c_str(), &id);
    if (status != TICKPATH_SYMBOL_PENDING) require(status, symbol.c_str());
    return id;
  }
  void subscribe_all() { require(host_->subscribe_all(host_->context), "subscribe_all"); }
  // The id of a symbol; kNoInstrument: the directory does not hold it (yet). Does not subscribe.
  Instrument find_symbol(const std::string& symbol) const noexcept {
    Instrument id = kNoInstrument;
    (void)host_->find_symbol(host_->context, symbol.c_str(), &id);
    return id;
  }
  // Empty: no such instrument. Symbols of ITCH allocate nothing, being shorter than a std::string's
  // own room; names of other feeds may be longer.
  std::string symbol_of(Instrument instrument) const {
    if (const char* const longer = host_->long_name_of(host_->context, instrument)) return longer;
    char name[17] = {};
    return host_->symbol_of(host_->context, instrument, name) == TICKPATH_OK ? name : "";
  }

  bool quote(Instrument instrument, Quote& value) const noexcept {
    return host_->quote(host_->context, instrument, &value) == TICKPATH_OK;
  }
  // False when there is no image yet, or it changed while it was read: decide without it.
  bool depth(Instrument instrument, Depth& value) const noexcept {
    return host_->depth(host_->context, instrument, &value) == TICKPATH_OK;
  }
  std::uint32_t instruments_max() const noexcept { return host_->instruments_max; }

  // ----------------------------------------------------------------------------------- venues

  std::uint32_t venues() const noexcept { return host_->venues(host_->context); }
  // "": the only venue of a configuration without [[venue]], or no such venue.
  std::string_view venue_name(std::uint32_t venue) const noexcept {
    const char* const name = host_->venue_name(host_->context, venue);
    return name == nullptr ? std::string_view() : name;
  }
  std::uint32_t venue_of(Instrument instrument) const noexcept {
    return host_->venue_of(host_->context, instrument);
  }
  // That the callback which runs is about; kNoVenue in start, timer and stop.
  std::uint32_t event_venue() const noexcept { return host_->event_venue(host_->context); }
  bool venue_state(std::uint32_t venue, tickpath_venue_state& state) const noexcept {
    return host_->venue_state(host_->context, venue, &state) == TICKPATH_OK;
  }
  // Whether the oeg that an order in it goes to is there and accepts orders.
  bool can_send(Instrument instrument) const noexcept {
    return host_->can_send(host_->context, instrument) != 0;
  }
  Instrument subscribe_at(std::uint32_t venue, const std::string& symbol) {
    Instrument id = kNoInstrument;
    const std::int32_t status = host_->subscribe_at(host_->context, venue, symbol.c_str(), &id);
    if (status != TICKPATH_SYMBOL_PENDING) require(status, symbol.c_str());
    return id;
  }
  // The id at a venue; kNoInstrument: not listed there (yet).
  Instrument listing(std::uint32_t venue, const std::string& symbol) const noexcept {
    Instrument id = kNoInstrument;
    (void)host_->listing(host_->context, venue, symbol.c_str(), &id);
    return id;
  }
  // The listing of the symbol of `instrument` there; its own id at its own venue.
  Instrument listing(std::uint32_t venue, Instrument instrument) const noexcept {
    Instrument id = kNoInstrument;
    (void)host_->listing_of(host_->context, venue, instrument, &id);
    return id;
  }
  // Over all venues: what is held of the symbol of `instrument`, and what is open in it.
  tickpath_position position_everywhere(Instrument instrument) const noexcept {
    Position sum{};
    for (std::uint32_t venue = 0; venue < venues(); ++venue) {
      const Position held = position(listing(venue, instrument));
      sum.shares += held.shares;
      sum.cash += held.cash;
      sum.open_buy_shares += held.open_buy_shares;
      sum.open_sell_shares += held.open_sell_shares;
      sum.open_orders += held.open_orders;
      sum.fills += held.fills;
    }
    return sum;
  }

  // ------------------------------------------------------------------------------------ history

  // Recent trades, quotes or bars, the newest that `entries` has room for: in start() it waits for
  // them; later the first call returns TICKPATH_NOT_YET, the same call on a later event
  // TICKPATH_OK, and the first answer.count entries are there. See plugin.h.
  std::int32_t history(const char* symbol, const HistoryRequest& request,
                       std::span<HistoryEntry> entries, History& answer) const noexcept {
    return host_->history(host_->context, symbol, &request, entries.data(), entries.size(),
                          &answer);
  }

  // ----------------------------------------------------------------------------- shared values

  // What strategies of several programs and hosts share: a key of up to 32 bytes, a value of up to
  // 400, and a version that rises with each change. One request at a time: the answer is there when
  // value() returns TICKPATH_OK, on a later event, in start() at once. See plugin.h.
  std::int32_t get_value(const char* key) const noexcept {
    return ask_value(TICKPATH_VALUE_GET, key, {}, TICKPATH_ANY_VERSION);
  }
  std::int32_t put_value(const char* key, std::string_view bytes) const noexcept {
    return ask_value(TICKPATH_VALUE_PUT, key, bytes, TICKPATH_ANY_VERSION);
  }
  // Only if it is still at this version; 0: if there is none.
  std::int32_t swap_value(const char* key, std::uint64_t version,
                          std::string_view bytes) const noexcept {
    return ask_value(TICKPATH_VALUE_SWAP, key, bytes, version);
  }
  std::int32_t remove_value(const char* key,
                            std::uint64_t version = TICKPATH_ANY_VERSION) const noexcept {
    return ask_value(TICKPATH_VALUE_REMOVE, key, {}, version);
  }
  std::int32_t value(Value& answer) const noexcept {
    return host_->value_answer(host_->context, &answer);
  }
  static std::string_view text_of(const Value& answer) noexcept {
    return {reinterpret_cast<const char*>(answer.bytes), answer.length};
  }

  // ----------------------------------------------------------------------------------- prices

  static constexpr std::uint32_t to_price(double units) noexcept {
    return tickpath::to_price(units);
  }
  static constexpr double to_units(std::uint32_t price) noexcept { return price / 10'000.0; }
  // The price grid of US shares (SEC Rule 612): whole cents from 1.00 up, 1/10,000 below.
  static constexpr std::uint32_t tick_of(std::uint32_t price) noexcept {
    return price >= 10'000 ? 100 : 1;
  }
  static constexpr std::uint32_t round_down(std::uint32_t price) noexcept {
    return price - price % tick_of(price);
  }
  static constexpr std::uint32_t round_up(std::uint32_t price) noexcept {
    const std::uint32_t beyond = price % tick_of(price);
    return beyond == 0 ? price : price - beyond + tick_of(price);
  }
  static std::string price_text(std::uint32_t price) { return tickpath::price_text(price); }

  // ----------------------------------------------------------------------------------- orders

  [[nodiscard]] Sent buy(Instrument instrument, std::uint32_t shares, std::uint32_t price,
                         TimeInForce time_in_force = kDay) noexcept {
    return limit(instrument, kBuy, shares, price, time_in_force);
  }
  [[nodiscard]] Sent sell(Instrument instrument, std::uint32_t shares, std::uint32_t price,
                          TimeInForce time_in_force = kDay) noexcept {
    return limit(instrument, kSell, shares, price, time_in_force);
  }
  [[nodiscard]] Sent limit(Instrument instrument, Side side, std::uint32_t shares,
                           std::uint32_t price, TimeInForce time_in_force = kDay) noexcept {
    NewOrder order = terms(instrument, side, shares, TICKPATH_LIMIT);
    order.price = price;
    order.time_in_force = time_in_force;
    return send(order);
  }
  [[nodiscard]] Sent market(Instrument instrument, Side side, std::uint32_t shares,
                            TimeInForce time_in_force = kImmediateOrCancel) noexcept {
    NewOrder order = terms(instrument, side, shares, TICKPATH_MARKET);
    order.time_in_force = time_in_force;
    return send(order);
  }
  // Rejected by the exchange where it would trade on arrival: a maker, whatever came meanwhile.
  [[nodiscard]] Sent post_only(Instrument instrument, Side side, std::uint32_t shares,
                               std::uint32_t price) noexcept {
    NewOrder order = terms(instrument, side, shares, TICKPATH_LIMIT);
    order.price = price;
    order.instructions = TICKPATH_POST_ONLY;
    return send(order);
  }
  // limit_price 0: a market order once the market trades at stop_price or beyond, else a limit
  // order.
  [[nodiscard]] Sent stop_order(Instrument instrument, Side side, std::uint32_t shares,
                                std::uint32_t stop_price, std::uint32_t limit_price = 0) noexcept {
    NewOrder order =
        terms(instrument, side, shares, limit_price == 0 ? TICKPATH_STOP : TICKPATH_STOP_LIMIT);
    order.price = limit_price;
    order.stop_price = stop_price;
    return send(order);
  }
  // Follows the best price of its own side, no further than limit_price; 0: wherever it goes.
  [[nodiscard]] Sent pegged(Instrument instrument, Side side, std::uint32_t shares,
                            std::uint32_t limit_price = 0) noexcept {
    NewOrder order = terms(instrument, side, shares, TICKPATH_PEGGED);
    order.price = limit_price;
    return send(order);
  }
  // Shows so many shares at a time and keeps the rest in reserve.
  [[nodiscard]] Sent reserve(Instrument instrument, Side side, std::uint32_t shares,
                             std::uint32_t display_shares, std::uint32_t price) noexcept {
    NewOrder order = terms(instrument, side, shares, TICKPATH_LIMIT);
    order.price = price;
    order.display_shares = display_shares;
    return send(order);
  }
  // Immediate or cancel, at least so many shares or none.
  [[nodiscard]] Sent at_least(Instrument instrument, Side side, std::uint32_t shares,
                              std::uint32_t minimum_shares, std::uint32_t price) noexcept {
    NewOrder order = terms(instrument, side, shares, TICKPATH_LIMIT);
    order.price = price;
    order.time_in_force = TICKPATH_IOC;
    order.minimum_shares = minimum_shares;
    return send(order);
  }
  // To whatever venue is best, or over several: see tickpath_host.route.
  [[nodiscard]] Routed route(const NewOrder& order) noexcept {
    Routed routed;
    routed.status = host_->route(host_->context, &order, routed.children.data(),
                                 routed.children.size(), &routed.count);
    return routed;
  }
  // price 0: at any price.
  [[nodiscard]] Routed route(Instrument instrument, Side side, std::uint32_t shares,
                             std::uint32_t price,
                             TimeInForce time_in_force = kImmediateOrCancel) noexcept {
    NewOrder order = terms(instrument, side, shares, price == 0 ? TICKPATH_MARKET : TICKPATH_LIMIT);
    order.price = price;
    order.time_in_force = time_in_force;
    return route(order);
  }
  // Any terms that go together.
  [[nodiscard]] Sent send(const NewOrder& order) noexcept {
    Sent sent;
    sent.status = host_->new_order(host_->context, &order, &sent.id);
    return sent;
  }
  [[nodiscard]] Sent cancel(std::uint64_t order_id) noexcept {
    Sent sent;
    sent.status = host_->cancel(host_->context, order_id, &sent.id);
    return sent;
  }
  // shares: the new total, filled ones included.
  [[nodiscard]] Sent replace(std::uint64_t order_id, std::uint32_t price,
                             std::uint32_t shares) noexcept {
    Sent sent;
    sent.status = host_->replace(host_->context, order_id, price, shares, &sent.id);
    return sent;
  }

  // Replaces a stop order that still waits for its price; limit_price as in stop_order().
  [[nodiscard]] Sent replace_stop(std::uint64_t order_id, std::uint32_t stop_price,
                                  std::uint32_t shares, std::uint32_t limit_price = 0) noexcept {
    Sent sent;
    sent.status =
        host_->replace_stop(host_->context, order_id, stop_price, limit_price, shares, &sent.id);
    return sent;
  }

  // After a restart what is held is known from gateway_state(true) on, not in start().
  Position position(Instrument instrument) const noexcept {
    Position value{};
    (void)host_->position(host_->context, instrument, &value);  // unknown: all zero
    return value;
  }
  bool open_order(std::uint64_t order_id, OpenOrder& value) const noexcept {
    return host_->open_order(host_->context, order_id, &value) == TICKPATH_OK;
  }
  std::size_t open_orders(Instrument instrument, OpenOrder* values,
                          std::size_t capacity) const noexcept {
    return host_->open_orders(host_->context, instrument, values, capacity);
  }

  // ------------------------------------------------------------------------------ time and text

  std::uint64_t now_ns() const noexcept { return host_->now_ns(host_->context); }
  // False when the plugin's timers are used up (timers_max of the engine's TOML). Works in start(),
  // where the delay counts from; it may fire before gateway_state(true), with no order possible.
  bool set_timer(std::uint64_t delay_ns, std::uint64_t cookie = 0,
                 std::uint64_t* timer_id = nullptr) noexcept {
    std::uint64_t id = 0;
    const bool set = host_->set_timer(host_->context, delay_ns, cookie, &id) == TICKPATH_OK;
    if (set && timer_id != nullptr) *timer_id = id;
    return set;
  }
  // By the market's clock in place of the wall's: see plugin.h.
  bool set_market_timer(std::uint64_t delay_ns, std::uint64_t cookie = 0,
                        std::uint64_t* timer_id = nullptr) noexcept {
    std::uint64_t id = 0;
    const bool set = host_->set_market_timer(host_->context, delay_ns, cookie, &id) == TICKPATH_OK;
    if (set && timer_id != nullptr) *timer_id = id;
    return set;
  }
  // The exchange's time of day; 0: no message of its feed has come yet.
  std::uint64_t market_ns() const noexcept { return host_->market_ns(host_->context); }
  bool cancel_timer(std::uint64_t timer_id) noexcept {
    return host_->cancel_timer(host_->context, timer_id) == TICKPATH_OK;
  }
  void log(std::string_view text, tickpath_log_level level = TICKPATH_INFO) const noexcept {
    host_->log(host_->context, level, text.data(), text.size());
  }
  std::uint8_t strategy_id() const noexcept { return host_->strategy_id; }
  // Words for people: why a request was not sent, what a report is, why an order was refused.
  const char* text_of(const Sent& sent) const noexcept { return host_->status_text(sent.status); }
  const char* text_of(const Routed& routed) const noexcept {
    return host_->status_text(routed.status);
  }
  const char* text_of(const Report& report) const noexcept {
    return host_->report_text(report.kind);
  }
  const char* reason_of(const Report& report) const noexcept {
    return host_->reason_text(report.reason);
  }

 private:
  std::int32_t ask_value(std::uint32_t operation, const char* key, std::string_view bytes,
                         std::uint64_t version) const noexcept {
    const tickpath_value_request request{operation, static_cast<std::uint32_t>(bytes.size()),
                                         version, key, bytes.data()};
    return host_->ask_value(host_->context, &request);
  }
  static NewOrder terms(Instrument instrument, Side side, std::uint32_t shares,
                        std::uint8_t type) noexcept {
    NewOrder order{};
    order.instrument = instrument;
    order.shares = shares;
    order.side = side;
    order.type = type;
    return order;
  }

  void require(std::int32_t status, const char* what) const {
    if (status == TICKPATH_OK) return;
    throw StrategyError(std::string(what) + ": " + host_->status_text(status), status);
  }

  std::int32_t get(const char* key, bool& value) const {
    std::int32_t number = 0;
    const std::int32_t status = host_->get_boolean(host_->context, key, &number);
    value = number != 0;
    return status;
  }
  template <std::integral T>
  std::int32_t get(const char* key, T& value) const {
    std::int64_t number = 0;
    const std::int32_t status = host_->get_integer(host_->context, key, &number);
    if (status == TICKPATH_OK && !std::in_range<T>(number)) {
      using Limits = std::numeric_limits<T>;
      wrong_parameter(key, "an integer from " + std::to_string(Limits::min()) + " to " +
                               std::to_string(Limits::max()));
    }
    value = static_cast<T>(number);
    return status;
  }
  template <std::floating_point T>
  std::int32_t get(const char* key, T& value) const {
    double number = 0;
    const std::int32_t status = host_->get_number(host_->context, key, &number);
    value = static_cast<T>(number);
    return status;
  }
  std::int32_t get(const char* key, std::string& value) const {
    const char* text = nullptr;
    const std::int32_t status = host_->get_text(host_->context, key, &text);
    if (status == TICKPATH_OK) value = text;
    return status;
  }

  const tickpath_host* host_ = nullptr;
};

}  // namespace tickpath

#include "strategy/plugin_boundary.hpp"

// Exports the C entry. Once in a shared object, at namespace scope.
#define TICKPATH_STRATEGY(Type, name, version)                             \
  extern "C" __attribute__((visibility("default"))) const tickpath_plugin* \
  tickpath_plugin_entry() {                                                \
    static const tickpath_plugin plugin =                                  \
        ::tickpath::plugin_boundary::describe<Type>(name, version);        \
    return &plugin;                                                        \
  }
