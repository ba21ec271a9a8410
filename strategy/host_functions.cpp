// The C functions that a plugin calls. Each finds its instance in `context`.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "common/wire/names.hpp"
#include "strategy/engine.hpp"
#include "strategy/history_entries.hpp"
#include "strategy/instance.hpp"

namespace tickpath::strategy {

struct HostFunctions {
  static Instance& of(void* context) noexcept { return *static_cast<Instance*>(context); }

  // Runs a parameter getter; they allocate, so they work during set-up only, and nothing they throw
  // may cross the C boundary.
  template <class Get>
  static std::int32_t parameter(void* context, Get&& get) noexcept {
    Instance& instance = of(context);
    if (!instance.setting_up) return TICKPATH_NOT_NOW;
    try {
      return get(instance.parameters);
    } catch (...) {
      return TICKPATH_ERROR;
    }
  }

  static std::int32_t has_parameter(void* context, const char* key) noexcept {
    bool has = false;
    (void)parameter(context, [&](ParameterReader& reader) {
      has = reader.has(key);
      return TICKPATH_OK;
    });
    return has ? 1 : 0;
  }
  static std::int32_t get_integer(void* context, const char* key, std::int64_t* value) noexcept {
    return parameter(context, [&](ParameterReader& reader) { return reader.integer(key, *value); });
  }
  static std::int32_t get_number(void* context, const char* key, double* value) noexcept {
    return parameter(context, [&](ParameterReader& reader) { return reader.number(key, *value); });
  }
  static std::int32_t get_boolean(void* context, const char* key, std::int32_t* value) noexcept {
    return parameter(context, [&](ParameterReader& reader) {
      bool flag = false;
      const int status = reader.boolean(key, flag);
      *value = flag ? 1 : 0;
      return status;
    });
  }
  static std::int32_t get_duration_ns(void* context, const char* key,
                                      std::uint64_t* value) noexcept {
    return parameter(context,
                     [&](ParameterReader& reader) { return reader.duration_ns(key, *value); });
  }
  static std::int32_t get_text(void* context, const char* key, const char** value) noexcept {
    return parameter(context, [&](ParameterReader& reader) { return reader.text(key, *value); });
  }
  static std::int32_t get_text_at(void* context, const char* key, std::size_t index,
                                  const char** value) noexcept {
    return parameter(context,
                     [&](ParameterReader& reader) { return reader.text_at(key, index, *value); });
  }

  static std::int32_t wrong_parameter(void* context, const char* key, const char* wanted) noexcept {
    return parameter(context, [&](ParameterReader& reader) { return reader.reject(key, wanted); });
  }

  static std::int32_t subscribe(void* context, const char* symbol,
                                std::uint32_t* instrument) noexcept {
    const std::size_t venues = of(context).engine.venues_.size();
    std::uint32_t first = wire::kNoInstrument;
    std::int32_t status = TICKPATH_OK;
    for (std::size_t venue = 0; venue < venues; ++venue) {
      status = subscribe_at(of(context), venue, symbol, venues > 1, *instrument);
      if (status != TICKPATH_OK && status != TICKPATH_SYMBOL_PENDING) return status;
      if (first == wire::kNoInstrument) first = *instrument;
    }
    *instrument = first;
    return first == wire::kNoInstrument ? status : std::int32_t{TICKPATH_OK};
  }
  static std::int32_t subscribe_at(void* context, std::uint32_t venue, const char* symbol,
                                   std::uint32_t* instrument) noexcept {
    return subscribe_at(of(context), venue, symbol, false, *instrument);
  }
  static std::int32_t subscribe_all(void* context) noexcept {
    Instance& instance = of(context);
    if (!instance.setting_up) return TICKPATH_NOT_NOW;
    Engine& engine = instance.engine;
    // Also those that nothing has named yet: a row of the directory is read some time after the
    // first updates of its instrument.
    for (std::uint32_t i = 0; i < engine.instruments_.size(); ++i) engine.subscribe(instance, i);
    return TICKPATH_OK;
  }
  static std::int32_t find_symbol(void* context, const char* symbol,
                                  std::uint32_t* instrument) noexcept {
    const Engine& engine = of(context).engine;
    *instrument = wire::kNoInstrument;
    for (std::size_t venue = 0; venue < engine.venues_.size(); ++venue)
      if (*instrument = engine.id_of(venue, symbol); *instrument != wire::kNoInstrument)
        return TICKPATH_OK;
    return TICKPATH_UNKNOWN_SYMBOL;
  }
  static std::int32_t symbol_of(void* context, std::uint32_t instrument, char name[17]) noexcept {
    const std::string_view symbol = of(context).engine.symbol_of(instrument);
    std::memset(name, 0, 17);
    if (symbol.empty()) return TICKPATH_UNKNOWN_INSTRUMENT;
    std::memcpy(name, symbol.data(), symbol.size());
    return TICKPATH_OK;
  }

  static const char* long_name_of(void* context, std::uint32_t instrument) noexcept {
    const Engine& engine = of(context).engine;
    const control::LongNames* const names = engine.names_.load(std::memory_order_acquire);
    if (names == nullptr) return nullptr;
    const std::string_view symbol = engine.symbol_of(instrument);
    const std::string_view name = names->name_of(symbol);
    return name.data() == symbol.data() ? nullptr : name.data();  // those of the table end in a NUL
  }

  static std::int32_t quote(void* context, std::uint32_t instrument,
                            tickpath_quote* value) noexcept {
    const Engine& engine = of(context).engine;
    if (instrument >= engine.instruments_.size()) return TICKPATH_UNKNOWN_INSTRUMENT;
    if (engine.instruments_[instrument].trace_id == 0) return TICKPATH_NO_DATA;
    *value = engine.instruments_[instrument].quote;
    return TICKPATH_OK;
  }
  static std::int32_t depth(void* context, std::uint32_t instrument,
                            tickpath_depth* value) noexcept {
    Engine& engine = of(context).engine;
    if (instrument >= engine.instruments_.size()) return TICKPATH_UNKNOWN_INSTRUMENT;
    wire::BookImage image;
    const Engine::Stack& stack = engine.home(instrument);
    if (!stack.images->image(stack.id(instrument), image)) return TICKPATH_NO_DATA;
    value->trace_id = image.trace_id;
    value->exchange_time_ns = image.exchange_time_ns;
    value->instrument = instrument;
    value->last_trade_price = image.last_trade_price;
    value->last_trade_shares = image.last_trade_shares;
    value->feed_state = static_cast<std::uint8_t>(image.feed_state());
    value->trading_state = static_cast<std::uint8_t>(image.trading_state());
    static_assert(sizeof(value->bids) == sizeof(image.bids) &&
                  sizeof(tickpath_level) == sizeof(wire::ImageLevel));
    std::memcpy(value->bids, image.bids, sizeof(image.bids));
    std::memcpy(value->asks, image.asks, sizeof(image.asks));
    return TICKPATH_OK;
  }

  static std::int32_t history(void* context, const char* symbol,
                              const tickpath_history_request* request,
                              tickpath_history_entry* entries, std::size_t capacity,
                              tickpath_history* answer) noexcept {
    Instance& instance = of(context);
    *answer = {};
    if (instance.engine.history_ == nullptr) return TICKPATH_NO_DATA;
    if (request->kind > TICKPATH_HISTORY_BARS_1M || capacity == 0) return TICKPATH_INVALID;
    std::string_view name(symbol);
    if (const control::LongNames* const names =
            instance.engine.names_.load(std::memory_order_acquire))
      name = names->symbol_of(name);
    if (name.empty() || name.size() > sizeof(std::uint64_t)) return TICKPATH_UNKNOWN_SYMBOL;
    const prices::RangeRequest range = history_range(*request, capacity);
    HistorySource& source = *instance.engine.history_;
    const std::uint64_t word = wire::symbol_word(name);
    return take_history(instance.setting_up ? source.wait_for(word, range)
                                            : source.ask(instance.index, word, range),
                        range.kind, capacity, entries, *answer);
  }

  static std::int32_t ask_value(void* context, const tickpath_value_request* request) noexcept {
    Instance& instance = of(context);
    ValueSource* const source = instance.engine.values_;
    if (source == nullptr) return TICKPATH_NO_DATA;
    const std::string_view key(request->key == nullptr ? "" : request->key);
    const bool changes =
        request->operation == TICKPATH_VALUE_PUT || request->operation == TICKPATH_VALUE_SWAP;
    if (request->operation > TICKPATH_VALUE_REMOVE || !values::is_key(key) ||
        request->length > (changes ? wire::kValueBytes : 0) ||
        (request->length != 0 && request->bytes == nullptr))
      return TICKPATH_INVALID;
    values::ValueRequest wanted;
    wanted.operation = static_cast<values::ValueOperation>(request->operation);
    wanted.key = key;
    wanted.bytes = {static_cast<const std::byte*>(request->bytes), request->length};
    wanted.expected = request->expected_version;
    if (!instance.setting_up)
      return source->ask(instance.index, wanted) ? TICKPATH_OK : TICKPATH_NOT_YET;
    source->ask_and_wait(instance.index, wanted);
    return TICKPATH_OK;
  }
  static std::int32_t value_answer(void* context, tickpath_value* answer) noexcept {
    Instance& instance = of(context);
    answer->version = answer->written_realtime_ns = 0;
    answer->result = answer->length = 0;
    const ValueSource* const source = instance.engine.values_;
    const ValueSource::Answer* const found =
        source == nullptr ? nullptr : source->answer(instance.index);
    if (found == nullptr) return TICKPATH_NO_DATA;
    if (found->status == values::ValueStatus::kPending) return TICKPATH_NOT_YET;
    answer->result = value_result(found->status);
    answer->version = found->value.version;
    answer->written_realtime_ns = found->value.written_realtime_ns;
    answer->length = static_cast<std::uint32_t>(found->value.bytes.size());
    std::ranges::copy(found->value.bytes, reinterpret_cast<std::byte*>(answer->bytes));
    return TICKPATH_OK;
  }
  static std::uint32_t value_result(values::ValueStatus status) noexcept {
    static_assert(static_cast<int>(values::ValueStatus::kOk) == TICKPATH_VALUE_DONE + 1 &&
                  static_cast<int>(values::ValueStatus::kUnknown) == TICKPATH_VALUE_UNKNOWN + 1);
    return static_cast<std::uint32_t>(status) - 1;
  }

  static const char* status_text(std::int32_t status) noexcept {
    switch (status) {
      case TICKPATH_OK:
        return "ok";
      case TICKPATH_ERROR:
        return "failed";
      case TICKPATH_UNKNOWN_SYMBOL:
        return "the feed's directory has no such symbol";
      case TICKPATH_UNKNOWN_INSTRUMENT:
        return "no such instrument";
      case TICKPATH_UNKNOWN_ORDER:
        return "not an open order of this strategy";
      case TICKPATH_PENDING_REQUEST:
        return "the order's last cancel or replace is not answered yet";
      case TICKPATH_INVALID:
        return "outside its range, or terms that do not go together";
      case TICKPATH_NO_CREDIT:
        return "the order channel is full";
      case TICKPATH_GATEWAY_DOWN:
        return "no connection to oeg";
      case TICKPATH_NO_DATA:
        return "no image of this instrument";
      case TICKPATH_CAPACITY:
        return "a table is full";
      case TICKPATH_STOPPING:
        return "the engine is stopping";
      case TICKPATH_NOT_NOW:
        return "not in this callback";
      case TICKPATH_MISSING_PARAMETER:
        return "the parameter is missing";
      case TICKPATH_WRONG_TYPE:
        return "the parameter is of another type";
      case TICKPATH_NOT_YET:
        return "asked for: the same call later brings it";
      case TICKPATH_SYMBOL_PENDING:
        return "waits for the feed's directory";
      case TICKPATH_NO_ROUTE:
        return "no venue can take it now";
      default:
        return "?";
    }
  }
  // Names are literals: they end in a NUL, and stay.
  static const char* report_text(std::uint8_t kind) noexcept {
    if (kind == TICKPATH_REPORT_LOST) return "lost";
    return wire::name(static_cast<wire::ReportKind>(kind)).data();
  }
  static const char* reason_text(std::uint8_t reason) noexcept {
    return trading::name(static_cast<trading::RejectReason>(reason)).data();
  }

  static std::int32_t new_order(void* context, const tickpath_new_order* order,
                                std::uint64_t* order_id) noexcept {
    Instance& instance = of(context);
    return counted(instance, instance.engine.send_new(instance, *order, *order_id));
  }
  static std::int32_t cancel(void* context, std::uint64_t order_id,
                             std::uint64_t* request_id) noexcept {
    Instance& instance = of(context);
    if (instance.setting_up) return TICKPATH_NOT_NOW;
    Order* order = instance.orders.find(order_id);
    if (order == nullptr ? !any_gateway_is_up(instance) : !instance.gateways[order->stack].up)
      return counted(instance, TICKPATH_GATEWAY_DOWN);
    if (order == nullptr) return counted(instance, TICKPATH_UNKNOWN_ORDER);
    return counted(instance, instance.engine.send_cancel(instance, *order, *request_id));
  }
  static std::int32_t replace(void* context, std::uint64_t order_id, std::uint32_t price,
                              std::uint32_t shares, std::uint64_t* request_id) noexcept {
    return replace_stop(context, order_id, 0, price, shares, request_id);
  }
  static std::int32_t replace_stop(void* context, std::uint64_t order_id, std::uint32_t stop_price,
                                   std::uint32_t price, std::uint32_t shares,
                                   std::uint64_t* request_id) noexcept {
    Instance& instance = of(context);
    Order* order = instance.orders.find(order_id);
    if (order == nullptr) return counted(instance, TICKPATH_UNKNOWN_ORDER);
    return counted(instance, instance.engine.send_replace(instance, *order, stop_price, price,
                                                          shares, *request_id));
  }
  static std::uint32_t venues(void* context) noexcept {
    return static_cast<std::uint32_t>(of(context).engine.venues_.size());
  }
  static const char* venue_name(void* context, std::uint32_t venue) noexcept {
    const Engine& engine = of(context).engine;
    return venue < engine.venues_.size() ? engine.stacks_of(venue).front().spec.name.c_str()
                                         : nullptr;
  }
  static std::uint32_t venue_of(void* context, std::uint32_t instrument) noexcept {
    const Engine& engine = of(context).engine;
    return instrument < engine.instruments_.size() ? engine.home(instrument).venue
                                                   : TICKPATH_NO_VENUE;
  }
  static std::uint32_t event_venue(void* context) noexcept {
    return of(context).setting_up ? TICKPATH_NO_VENUE : of(context).engine.event_venue_;
  }
  static std::int32_t venue_state(void* context, std::uint32_t venue,
                                  tickpath_venue_state* state) noexcept {
    const Instance& instance = of(context);
    const Engine& engine = instance.engine;
    if (venue >= engine.venues_.size()) return TICKPATH_INVALID;
    const VenueSpec& spec = engine.stacks_of(venue).front().spec;
    *state = {spec.maker_fee,
              spec.taker_fee,
              static_cast<std::uint8_t>(engine.market_of(venue)),
              static_cast<std::uint8_t>(engine.gateway_is_up(instance, venue) ? 1 : 0),
              static_cast<std::uint8_t>(engine.gateway_accepts(instance, venue) ? 1 : 0),
              {}};
    return TICKPATH_OK;
  }
  static std::int32_t can_send(void* context, std::uint32_t instrument) noexcept {
    const Instance& instance = of(context);
    const Engine& engine = instance.engine;
    return instrument < engine.instruments_.size() &&
                   instance.gateways[engine.home(instrument).index].accepts()
               ? 1
               : 0;
  }
  static std::int32_t listing(void* context, std::uint32_t venue, const char* symbol,
                              std::uint32_t* instrument) noexcept {
    const Engine& engine = of(context).engine;
    *instrument = wire::kNoInstrument;
    if (venue >= engine.venues_.size()) return TICKPATH_INVALID;
    *instrument = engine.id_of(venue, symbol);
    return *instrument == wire::kNoInstrument ? TICKPATH_UNKNOWN_SYMBOL : TICKPATH_OK;
  }
  static std::int32_t listing_of(void* context, std::uint32_t venue, std::uint32_t instrument,
                                 std::uint32_t* listed) noexcept {
    const Engine& engine = of(context).engine;
    *listed = wire::kNoInstrument;
    if (venue >= engine.venues_.size()) return TICKPATH_INVALID;
    if (instrument >= engine.instruments_.size()) return TICKPATH_UNKNOWN_INSTRUMENT;
    *listed = engine.listing_at(venue, instrument);
    return *listed == wire::kNoInstrument ? TICKPATH_UNKNOWN_SYMBOL : TICKPATH_OK;
  }
  static std::int32_t route(void* context, const tickpath_new_order* order,
                            tickpath_child* children, std::size_t capacity,
                            std::size_t* count) noexcept {
    Instance& instance = of(context);
    *count = 0;
    if (capacity < instance.engine.venues_.size()) return counted(instance, TICKPATH_CAPACITY);
    return counted(instance, instance.engine.route(instance, *order, children, *count));
  }

  static std::int32_t position(void* context, std::uint32_t instrument,
                               tickpath_position* value) noexcept {
    const Instance& instance = of(context);
    if (instrument >= instance.positions.size()) return TICKPATH_UNKNOWN_INSTRUMENT;
    *value = instance.engine.instruments_[instrument].other_symbol ? tickpath_position{}
                                                                   : instance.positions[instrument];
    return TICKPATH_OK;
  }
  static std::int32_t open_order(void* context, std::uint64_t order_id,
                                 tickpath_open_order* value) noexcept {
    Order* order = of(context).orders.find(order_id);
    if (order == nullptr) return TICKPATH_UNKNOWN_ORDER;
    *value = shown(*order);
    return TICKPATH_OK;
  }
  static std::size_t open_orders(void* context, std::uint32_t instrument,
                                 tickpath_open_order* values, std::size_t capacity) noexcept {
    std::size_t found = 0;
    of(context).orders.for_each([&](Order& order) {
      if (instrument != TICKPATH_NO_INSTRUMENT && order.instrument != instrument) return;
      if (found < capacity) values[found] = shown(order);
      ++found;
    });
    return found;
  }

  static std::uint64_t now_ns(void* context) noexcept { return of(context).engine.now_ns_; }
  static std::int32_t set_timer(void* context, std::uint64_t delay_ns, std::uint64_t cookie,
                                std::uint64_t* timer_id) noexcept {
    Instance& instance = of(context);
    if (instance.in_create()) return TICKPATH_NOT_NOW;
    *timer_id =
        instance.engine.timers_.set(instance.engine.now_ns_ + delay_ns, cookie, instance.index);
    return *timer_id == 0 ? TICKPATH_CAPACITY : TICKPATH_OK;
  }
  static std::uint64_t market_ns(void* context) noexcept {
    return of(context).engine.market_clock_.time_of_day_ns();
  }
  static std::int32_t set_market_timer(void* context, std::uint64_t delay_ns, std::uint64_t cookie,
                                       std::uint64_t* timer_id) noexcept {
    Instance& instance = of(context);
    Engine& engine = instance.engine;
    if (instance.in_create()) return TICKPATH_NOT_NOW;
    *timer_id = engine.market_timers_.set(engine.market_clock_.elapsed_ns() + delay_ns, cookie,
                                          instance.index);
    if (*timer_id == 0) return TICKPATH_CAPACITY;
    *timer_id |= Engine::kMarketTimer;
    return TICKPATH_OK;
  }
  static std::int32_t cancel_timer(void* context, std::uint64_t timer_id) noexcept {
    Instance& instance = of(context);
    Timers& timers = (timer_id & Engine::kMarketTimer) == 0 ? instance.engine.timers_
                                                            : instance.engine.market_timers_;
    return timers.cancel(timer_id & ~Engine::kMarketTimer, instance.index) ? TICKPATH_OK
                                                                           : TICKPATH_INVALID;
  }

  static void log(void* context, std::int32_t level, const char* text, std::size_t size) noexcept {
    const Instance& instance = of(context);
    instance.engine.note(instance, static_cast<tickpath_log_level>(level), false, {text, size});
  }
  static void fail(void* context, const char* text, std::size_t size) noexcept {
    of(context).set_failure({text, size});
  }

 private:
  static std::int32_t subscribe_at(Instance& instance, std::size_t venue, const char* symbol,
                                   bool anywhere, std::uint32_t& instrument) noexcept {
    Engine& engine = instance.engine;
    if (!instance.setting_up) return TICKPATH_NOT_NOW;
    const std::string_view name(symbol);
    if (name.empty() || name.size() > control::kLongNameMax || venue >= engine.venues_.size())
      return TICKPATH_INVALID;
    try {
      // Settled after start: `instrument` is called for every symbol, known already or not.
      instance.symbols.push_back({.symbol = std::string(name),
                                  .venue = static_cast<std::uint8_t>(venue),
                                  .anywhere = anywhere});
    } catch (...) {
      return TICKPATH_CAPACITY;
    }
    engine.symbols_unsettled_ = true;
    // At each shard: what a long name stands for may not be known yet, and so whose it is.
    const Engine::Venue& of = engine.venues_[venue];
    for (std::size_t at = of.first; at < std::size_t{of.first} + of.count; ++at)
      engine.stacks_[at].symbols_untold = true;
    instrument = engine.id_of(venue, name);
    return instrument == wire::kNoInstrument ? TICKPATH_SYMBOL_PENDING : TICKPATH_OK;
  }
  static bool any_gateway_is_up(const Instance& instance) noexcept {
    return std::ranges::any_of(instance.gateways, [](const Gateway& each) { return each.up; });
  }
  static std::int32_t counted(Instance& instance, std::int32_t status) noexcept {
    if (status != TICKPATH_OK && status != TICKPATH_NO_CREDIT) instance.counters.refused.add();
    if (status == TICKPATH_INVALID) instance.counters.malformed.add();
    return status;
  }
  static tickpath_open_order shown(const Order& order) noexcept {
    return {order.id,
            order.instrument,
            order.price,
            order.shares,
            order.leaves,
            static_cast<std::uint8_t>(order.side),
            static_cast<std::uint8_t>(order.state),
            static_cast<std::uint8_t>(order.pending_id != 0 ? 1 : 0),
            {}};
  }
};

void fill_host(Instance& instance, std::uint32_t listings) noexcept {
  using F = HostFunctions;
  instance.host = {TICKPATH_PLUGIN_ABI_VERSION,
                   sizeof(tickpath_host),
                   &instance,
                   listings,
                   instance.id,
                   {},
                   F::has_parameter,
                   F::get_integer,
                   F::get_number,
                   F::get_boolean,
                   F::get_duration_ns,
                   F::get_text,
                   F::get_text_at,
                   F::subscribe,
                   F::subscribe_all,
                   F::find_symbol,
                   F::symbol_of,
                   F::quote,
                   F::depth,
                   F::new_order,
                   F::cancel,
                   F::replace,
                   F::position,
                   F::open_order,
                   F::open_orders,
                   F::now_ns,
                   F::set_timer,
                   F::cancel_timer,
                   F::log,
                   F::fail,
                   F::status_text,
                   F::report_text,
                   F::reason_text,
                   F::wrong_parameter,
                   F::replace_stop,
                   F::long_name_of,
                   F::venues,
                   F::venue_name,
                   F::venue_of,
                   F::event_venue,
                   F::venue_state,
                   F::subscribe_at,
                   F::listing,
                   F::listing_of,
                   F::route,
                   F::history,
                   F::ask_value,
                   F::value_answer,
                   F::can_send,
                   F::market_ns,
                   F::set_market_timer};
}

}  // namespace tickpath::strategy
