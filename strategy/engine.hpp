// The strategy engine: what happens between a book update and an order, independent of the fabric.
//
//   updates, reports, states  ->  Engine  ->  callbacks of the plugins that want them
//   host functions of plugins ->  Engine  ->  OrderPort
//
// The engine trades on one venue or several. Each has an mdh and an oeg of its own, or a pair of
// them for each shard of its symbols (wire::Shard). Such a pair is a stack; to plugins all stacks
// of a venue are one venue. Inside the engine and for plugins an instrument is a listing: a symbol
// at a venue. Its number is stack x instruments_max + the id that this stack's mdh gave. What comes
// in and goes out has the stack's ids; `stack` is its place in the list given to the constructor.
//
// Set-up (add, start) belongs to the control thread; everything below "datapath" to the datapath
// thread, which may also be the only thread of a test. Nothing there allocates, blocks or throws,
// provided that the plugins do not.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/cpu.hpp"
#include "common/base/foreign_code.hpp"
#include "common/base/log_budget.hpp"
#include "common/config/values.hpp"
#include "common/control/long_names.hpp"
#include "common/market/symbols.hpp"
#include "common/trace/stamp.hpp"
#include "common/wire/book_image.hpp"
#include "common/wire/book_update.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/order_messages.hpp"
#include "common/wire/shard.hpp"
#include "strategy/counters.hpp"
#include "strategy/instance.hpp"
#include "strategy/market_clock.hpp"
#include "strategy/plugin.h"
#include "strategy/plugin_log.hpp"
#include "strategy/ports.hpp"
#include "strategy/route_record.hpp"
#include "strategy/router.hpp"
#include "strategy/timers.hpp"

namespace tickpath::strategy {

struct EngineOptions {
  std::uint32_t instruments_max = 16'384;
  std::uint32_t orders_max = 4'096;  // open at once, per strategy
  std::uint32_t timers_max = 256;    // set at once, each strategy, by either clock
  // Cancels every open order when mdh or its feed is lost, and those in one instrument when its
  // book alone is.
  bool cancel_when_feed_stale = true;
};

// One [[plugin]] of the configuration.
struct PluginSpec {
  std::uint8_t id = 0;  // strategy id, 0-255, unique in the pipeline
  std::string name;     // for logs; empty: the plugin's own
  config::Parameters parameters;
  std::string place;  // of its [[plugin]], for errors: "config/demo/strategy.toml:40:1"
  std::uint16_t incarnation = 0;
};

// Bits of a subscriber mask.
inline constexpr std::size_t kInstancesMax = 64;

class Engine {
 public:
  // stacks: one at least, TICKPATH_VENUES_MAX at most; the shards of a venue one behind the other,
  // from its first to its last.
  Engine(const EngineOptions& options, const std::vector<StackPorts>& stacks,
         trace::TraceWriter& trace, LogRing& log);
  Engine(const EngineOptions& options, OrderPort& orders, ImageSource& images,
         trace::TraceWriter& trace, LogRing& log)
      : Engine(options, {StackPorts{&orders, &images}}, trace, log) {}
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- set-up

  // Creates an instance. Throws PluginError (strategy id used twice, create failed), naming the
  // plugin and its own words; the engine is then as it was before.
  Instance& add(const tickpath_plugin& plugin, PluginSpec spec);
  // Calls `start`. Throws PluginError when it fails or leaves parameters unknown; the instance is
  // then failed and stays silent, others are not touched.
  void start(Instance& instance);

  // Control thread, before the first plugin is added; it outlives the engine. Without one plugins
  // are told that there is no history.
  void set_history(HistorySource& history) noexcept { history_ = &history; }
  // The same of shared values: without them every request fails.
  void set_values(ValueSource& values) noexcept { values_ = &values; }
  // Where decisions of the router go: without one they are counted as not recorded.
  void set_routes(RouteRing& routes) noexcept { routes_ = &routes; }

  // ---- datapath: the market

  // One clock for all that a turn does; first in each turn. Also before a plugin starts, on the
  // control thread: timers that it sets count from then.
  void advance(std::uint64_t now_ns) noexcept { now_ns_ = now_ns; }
  void on_update(const wire::BookUpdate& update, std::size_t stack = 0) noexcept;
  // The imbalance of an auction to come, to instances that have subscribed to the instrument.
  void on_imbalance(const wire::ImbalanceUpdate& update, std::size_t stack = 0) noexcept;
  // The book as it stands after lost updates, or before the first one.
  void on_image(const wire::BookImage& image, std::size_t stack = 0) noexcept;
  // Rows may be among what was lost: they are read behind this turn's updates.
  void on_overrun(std::size_t stack = 0) noexcept {
    counters_.resyncs.add();
    stacks_[stack].directory_behind = true;
  }
  void on_directory(const wire::DirectoryEntry& entry, std::size_t stack = 0) noexcept;
  // Control thread, any number of times: the names that symbols stand for.
  void set_names(std::unique_ptr<const control::LongNames> names);
  // Whether rows of the directory are still being fetched: no symbol is called unknown meanwhile.
  void on_directory_behind(bool behind, std::size_t stack = 0) noexcept {
    stacks_[stack].directory_behind = behind;
  }
  // mdh is connected and beats, or not: while it does not, the feed is stale whatever mdh said
  // last.
  void on_mdh(bool alive, std::size_t stack = 0) noexcept;
  // The state of the whole feed, as updates of kind kFeedState say it.
  void on_market_state(wire::FeedState state, std::size_t stack = 0) noexcept;

  // ---- datapath: oeg

  void on_report(std::uint8_t strategy, const wire::OrderReport& report,
                 std::size_t stack = 0) noexcept;
  // What oeg says that the strategy holds: after a restart, or after reports were lost.
  void on_position(std::uint8_t strategy, const wire::PositionReport& held,
                   std::size_t stack = 0) noexcept;
  // What the venue gave as its reason, in parts: a line of the strategy's log.
  void on_text(std::uint8_t strategy, const wire::TextReport& part, std::size_t stack = 0) noexcept;
  // Up: connected, positions received, and beating. Not up: the connection is gone, with the
  // answers that were on their way.
  void on_gateway(std::uint8_t strategy, bool up, std::size_t stack = 0) noexcept;
  // Connected, but it shows no life: nothing is sent until on_gateway(), and every answer may still
  // come.
  void on_gateway_silent(std::uint8_t strategy, std::size_t stack = 0) noexcept;
  // Why oeg refuses every new order now; kNone: it does not. Its answers say it as well, one by
  // one.
  void on_accepting(std::uint8_t strategy, trading::RejectReason refuses,
                    std::size_t stack = 0) noexcept;

  // Whether oeg refuses new orders in that instrument of its own (wire::ReportKind::kHeld).
  void on_held(std::uint8_t strategy, std::uint32_t instrument, trading::RejectReason refuses,
               std::size_t stack = 0) noexcept;

  // ---- datapath: time

  // Timers that are due, and cancels that the engine itself wants. Each turn. True: it did
  // anything.
  bool on_turn() noexcept;
  // For a thread that wants to sleep, by the wall's clock: the market's moves by its messages
  // alone. Timers::kNever: none.
  std::uint64_t next_timer_ns() const noexcept { return timers_.next_deadline_ns(); }

  // Calls every plugin's `stop`, then cancels what is open. Further orders are refused.
  void begin_stop() noexcept;
  // Every order final and every request answered.
  bool drained() const noexcept;

  // ---- any thread for counters; the rest while no datapath runs

  const EngineCounters& counters() const noexcept { return counters_; }
  const std::vector<std::unique_ptr<Instance>>& instances() const noexcept { return instances_; }
  std::uint32_t symbols_known(std::size_t stack = 0) const noexcept {
    return stacks_[stack].symbols.size();
  }
  // The symbol of what is held under a listing: as oeg knows it, if oeg holds anything there.
  std::string_view position_symbol(std::uint32_t listing) const noexcept {
    return held_symbols_[listing] != 0 ? wire::symbol_text(held_symbols_[listing])
                                       : symbol_of(listing);
  }

 private:
  friend struct HostFunctions;  // the C functions that plugins call

  // What the engine keeps of an instrument: one line, one miss an update.
  struct alignas(kCacheLineBytes) InstrumentState {
    tickpath_quote quote{};
    std::uint64_t subscribers = 0;  // bit per instance
    bool stale = false;             // on its own account: stays so when the whole feed is good
    // What oeg holds under this id is of another symbol than the directory has there: no position
    // in this instrument, and no order goes out under the id.
    bool other_symbol = false;
    std::uint8_t stack = 0;
    std::uint64_t trace_id = 0;  // of the newest update or image
  };
  // What the engine keeps of a venue, or of a shard of one.
  struct Stack {
    Stack(const StackPorts& ports, std::uint8_t index, std::uint8_t venue,
          std::uint32_t instruments_max);
    VenueSpec spec;
    wire::Shard shard;
    OrderPort* orders;
    ImageSource* images;
    std::uint8_t index;
    std::uint8_t venue;           // as plugins count them
    std::uint32_t first;          // its first listing
    std::uint32_t room;           // and how many it has
    market::Symbols symbols;      // by the ids of its mdh
    bool symbols_untold = false;  // some are not known, and their plugins do not know it yet
    bool directory_behind = false;
    wire::FeedState market = wire::FeedState::kUnknown;       // in effect
    wire::FeedState market_told = wire::FeedState::kUnknown;  // by mdh, while it lives

    // kNoInstrument: an id beyond the room.
    std::uint32_t listing(std::uint32_t id) const noexcept {
      return id < room ? first + id : wire::kNoInstrument;
    }
    std::uint32_t id(std::uint32_t listing) const noexcept { return listing - first; }
    std::uint64_t tick(std::uint64_t trace_id) const noexcept {
      return trace::tick_id(spec.number, trace_id);
    }
  };
  // From `first` on, `count` of them.
  struct Listings {
    std::uint32_t first;
    std::uint32_t count;
    bool has(std::uint32_t listing) const noexcept { return listing - first < count; }
  };
  Listings all_listings() const noexcept {
    return {0, static_cast<std::uint32_t>(instruments_.size())};
  }
  const Stack& home(std::uint32_t listing) const noexcept {
    return stacks_[instruments_[listing].stack];
  }
  // The stacks of a venue.
  struct Venue {
    std::uint8_t first = 0;
    std::uint8_t count = 0;
  };
  std::span<const Stack> stacks_of(std::size_t venue) const noexcept {
    return std::span(stacks_).subspan(venues_[venue].first, venues_[venue].count);
  }
  // Where a symbol is traded, of these: in its shard.
  const Stack& stack_of(std::size_t venue, std::string_view symbol) const noexcept {
    const Venue& of = venues_[venue];
    return stacks_[of.first + std::size_t{wire::Shard::of(symbol, of.count).number} - 1];
  }
  // Empty: no such listing, or nothing has named it yet.
  std::string_view symbol_of(std::uint32_t listing) const noexcept {
    if (listing >= instruments_.size()) return {};
    const Stack& stack = home(listing);
    return stack.symbols.name(stack.id(listing));
  }
  // The listing of the same symbol at another venue; kNoInstrument: not listed there.
  std::uint32_t listing_at(std::size_t venue, std::uint32_t listing) const noexcept;

  // Ids of timers by the market's clock have this bit.
  static constexpr std::uint64_t kMarketTimer = std::uint64_t{1} << 63;
  // Calls back for timers that are due, a bounded number. True: there was one.
  bool fire(Timers& timers, std::uint64_t now_ns, std::uint64_t id_bit) noexcept;
  // The feed of a stack has a message of this time. Before its callbacks.
  void move_market(const Stack& stack, std::uint64_t exchange_time_ns,
                   std::uint8_t marks) noexcept {
    if (stack.index != 0) return;
    market_clock_.take(exchange_time_ns, wire::day_of(marks));
    if (market_timers_.next_deadline_ns() <= market_clock_.elapsed_ns()) [[unlikely]]
      fire(market_timers_, market_clock_.elapsed_ns(), kMarketTimer);
  }

  // ---- callbacks (engine_dispatch.cpp)

  // Each living instance of the mask.
  template <class Call>
  void call_each(std::uint64_t mask, Call&& call) noexcept {
    for (mask &= alive_; mask != 0; mask &= mask - 1)
      call(*instances_[static_cast<std::size_t>(std::countr_zero(mask))]);
  }
  // Runs one callback and judges it. The wrapper lets no exception out; this holds for a plugin
  // that breaks the contract. It costs nothing until it is needed.
  template <class Call>
  void guard(Instance& instance, Callback callback, Call&& call) noexcept {
    std::int32_t status = TICKPATH_ERROR;
    try {
      const InForeignCode here(instance.text_of(callback));
      status = call();
    } catch (const std::exception& error) {
      instance.set_failure(error.what());
    } catch (...) {
      instance.set_failure("an exception left the C function");
    }
    check(instance, name(callback), status);
  }
  void check(Instance& instance, std::string_view callback, std::int32_t status) noexcept {
    if (status != TICKPATH_OK) [[unlikely]]
      on_failed_call(instance, callback, status);
  }
  void on_failed_call(Instance& instance, std::string_view callback, std::int32_t status) noexcept;
  void contain(Instance& instance, std::string_view callback, std::string_view why) noexcept;
  void dispatch_book(const InstrumentState& state, std::uint32_t listing,
                     const wire::BookUpdate& update) noexcept;
  void dispatch_trade(const InstrumentState& state, std::uint32_t listing,
                      const wire::BookUpdate& update, bool displayed) noexcept;
  void dispatch_feed_state(std::uint64_t mask, std::uint32_t instrument,
                           wire::FeedState feed) noexcept;
  void on_feed_state(Stack& stack, const wire::BookUpdate& update) noexcept;
  void tell_market_state(const Stack& stack) noexcept;
  wire::FeedState market_of(std::size_t venue) const noexcept;
  void settle_known_symbols(Instance& instance) noexcept;
  void tell_missing_symbols(Stack& stack) noexcept;
  void tell_missing(Instance& instance, PendingSymbol& pending) noexcept;
  void tell_instrument(Instance& instance, const PendingSymbol& pending,
                       std::uint32_t instrument) noexcept;
  void settle(Instance& instance, PendingSymbol& pending, std::uint32_t instrument) noexcept;
  void subscribe(Instance& instance, std::uint32_t instrument) noexcept;
  // The symbol that a name stands for, as far as it is known: else the name itself.
  std::string_view symbol_for(std::string_view symbol_or_name) const noexcept;
  // The listing of a symbol or name at a venue.
  std::uint32_t id_of(std::size_t venue, std::string_view symbol_or_name) const noexcept;
  void take_names() noexcept;

  // ---- the router (engine_routing.cpp)
  // Room for TICKPATH_VENUES_MAX children, or as many as there are venues.
  std::int32_t route(Instance& instance, const tickpath_new_order& order, tickpath_child* children,
                     std::size_t& count) noexcept;
  // What an order on `side` would meet in a listing, and what that was made of.
  LeftOut routed_book(const Instance& instance, std::uint32_t listing, Side side, RoutedBook& book,
                      RouteVenue& seen) noexcept;
  // Looks at every venue; those that can be chosen are in `books`. How many they are.
  std::size_t routed_books(const Instance& instance, const tickpath_new_order& order,
                           std::span<RoutedBook> books) noexcept;
  // The orders of the parts, into `children`. Throughout TICKPATH_OK if one at least was sent.
  std::int32_t send_parts(Instance& instance, const tickpath_new_order& order,
                          std::span<const RoutedBook> books, std::span<const RoutedPart> parts,
                          tickpath_child* children, std::size_t& count) noexcept;
  void begin_route(const Instance& instance, const tickpath_new_order& order) noexcept;
  void record_route(std::int32_t status) noexcept;

  // ---- orders (engine_orders.cpp)
  std::int32_t send_new(Instance& instance, const tickpath_new_order& order,
                        std::uint64_t& order_id) noexcept;
  bool may_cancel(const Order& order) const noexcept;
  std::int32_t send_cancel(Instance& instance, Order& order, std::uint64_t& request_id) noexcept;
  // stop_price: of stop orders; else 0.
  std::int32_t send_replace(Instance& instance, Order& order, std::uint32_t stop_price,
                            std::uint32_t price, std::uint32_t shares,
                            std::uint64_t& request_id) noexcept;
  std::int32_t may_request(Instance& instance, std::size_t stack) noexcept;
  // request: of this listing.
  bool post(Instance& instance, std::uint32_t listing, wire::OrderRequest& request) noexcept;
  void take_report(Instance& instance, Gateway& gateway, const wire::OrderReport& report) noexcept;
  void apply_report(Instance& instance, Order& order, const wire::OrderReport& report) noexcept;
  void settle_request(Instance& instance, Order& order, const wire::OrderReport& report) noexcept;
  void book_fill(Instance& instance, const wire::OrderReport& report) noexcept;
  void finish(Instance& instance, Order& order) noexcept;
  void lose(Instance& instance, Order& order) noexcept;
  void settle_outage(Instance& instance, std::uint8_t stack) noexcept;
  void lose_answers(Instance& instance, Gateway& gateway, std::size_t stack) noexcept;
  void deliver(Instance& instance, const wire::OrderReport& report, std::uint8_t kind,
               trading::OrderState state) noexcept;
  void tell_gateway(Instance& instance, std::size_t stack) noexcept;
  // Whether any oeg of the venue is: of several shards the others go on.
  bool gateway_is_up(const Instance& instance, std::size_t venue) const noexcept;
  // Whether any oeg of the venue is up and accepts new orders.
  bool gateway_accepts(const Instance& instance, std::size_t venue) const noexcept;
  void want_cancels(Instance& instance, bool spare_immediate, Listings of) noexcept;
  // These books cannot be trusted any more.
  void on_stale(Listings of) noexcept;
  bool sweep(Instance& instance) noexcept;
  void put_off_sweep(Gateway& gateway) noexcept;
  void compare_symbols(std::uint32_t instrument) noexcept;
  void log_text(const Instance& instance, std::uint64_t order, std::string_view text) noexcept;
  void note(const Instance& instance, tickpath_log_level level, bool from_engine,
            std::string_view text) noexcept;

  EngineOptions options_;
  std::vector<Stack> stacks_;
  std::vector<Venue> venues_;  // as plugins count them
  HistorySource* history_ = nullptr;
  ValueSource* values_ = nullptr;
  RouteRing* routes_ = nullptr;
  RouteRecord route_;  // of the decision at hand
  trace::TraceWriter& trace_;
  LogRing& log_;
  // Lines of what the venue says: each IOC order that expires may bring one, and the plugins' own
  // lines must not be lost among them.
  LogBudget text_lines_{20, std::chrono::seconds(1)};

  std::vector<std::unique_ptr<Instance>> instances_;
  std::array<Instance*, 256> by_strategy_{};
  std::vector<InstrumentState> instruments_;  // by listing
  std::uint64_t alive_ = 0;                   // bit per instance that may be called
  std::uint64_t sweeping_ = 0;                // bit per instance with cancels to send
  std::vector<std::uint64_t> held_symbols_;   // by listing: what oeg knows the id as; 0: unknown
  Timers timers_;                             // by the wall's clock
  MarketClock market_clock_;
  Timers market_timers_;
  bool symbols_unsettled_ = false;  // some are waited for
  // Control thread: every table that there ever was, as plugins keep texts of them.
  std::vector<std::unique_ptr<const control::LongNames>> all_names_;
  // The newest. Released by set_names(), acquired by whoever looks into it: its texts must be
  // whole.
  std::atomic<const control::LongNames*> names_{nullptr};
  const control::LongNames* names_taken_ = nullptr;  // datapath: subscriptions were settled by it
  std::uint64_t now_ns_ = 0;
  std::uint64_t trace_id_ = 0;  // of the tick whose callbacks run, its venue in it; 0: none
  std::uint32_t event_venue_ = TICKPATH_NO_VENUE;  // that the callback which runs is about
  EngineCounters counters_;
};

}  // namespace tickpath::strategy
