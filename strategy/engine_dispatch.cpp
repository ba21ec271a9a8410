// The market side of the engine: from updates, images and the directory to callbacks.
#include <algorithm>
#include <span>
#include <utility>

#include "strategy/engine.hpp"

namespace tickpath::strategy {
namespace {

tickpath_book_change book_change_of(const wire::BookUpdate& update,
                                    std::uint32_t listing) noexcept {
  return {update.trace_id,
          update.exchange_time_ns,
          listing,
          update.price,
          update.shares,
          update.best_bid,
          update.best_ask,
          update.best_bid_shares,
          update.best_ask_shares,
          static_cast<std::uint8_t>(update.kind),
          static_cast<std::uint8_t>(update.side),
          static_cast<std::uint8_t>(update.feed_state()),
          static_cast<std::uint8_t>(update.trading_state())};
}

tickpath_quote quote_of(const wire::BookUpdate& update) noexcept {
  return {update.best_bid,
          update.best_ask,
          update.best_bid_shares,
          update.best_ask_shares,
          static_cast<std::uint8_t>(update.feed_state()),
          static_cast<std::uint8_t>(update.trading_state()),
          {}};
}

bool moves_book(wire::UpdateKind kind) noexcept {
  return kind >= wire::UpdateKind::kAdd && kind <= wire::UpdateKind::kReplace;
}

}  // namespace

void Engine::on_failed_call(Instance& instance, std::string_view callback,
                            std::int32_t status) noexcept {
  if (instance.failure_length != 0) {
    contain(instance, callback, instance.failure_text());
    return;
  }
  TextBuilder text;
  text << "status " << static_cast<std::uint64_t>(static_cast<std::uint32_t>(status));
  contain(instance, callback, text.view());
}

// A plugin failed: report it, never call it again, leave no order of it behind.
void Engine::contain(Instance& instance, std::string_view callback, std::string_view why) noexcept {
  if (!instance.alive()) return;
  instance.set_state(InstanceState::kFailed);
  alive_ &= ~(std::uint64_t{1} << instance.index);
  counters_.plugins_failed.add();
  TextBuilder text;
  text << callback << " failed, the plugin is disabled and its orders are cancelled: " << why;
  note(instance, TICKPATH_LOG_ERROR, true, text.view());
  instance.set_failure(text.view());  // for the summary
  timers_.drop(instance.index);
  market_timers_.drop(instance.index);
  want_cancels(instance, false, all_listings());
}

void Engine::on_update(const wire::BookUpdate& update, std::size_t at) noexcept {
  Stack& stack = stacks_[at];
  const std::uint64_t tick = stack.tick(update.trace_id);
  trace_.stamp(trace::Hop::kStrategySeen, tick);
  counters_.updates.add();
  if (wire::is_of_feed(update.kind)) [[likely]]
    move_market(stack, update.exchange_time_ns, update.marks);
  event_venue_ = stack.venue;
  if (update.kind == wire::UpdateKind::kFeedState) [[unlikely]]
    return on_feed_state(stack, update);
  if (update.kind == wire::UpdateKind::kInformation) return;
  if (update.kind == wire::UpdateKind::kDirectory) [[unlikely]] {
    // Its row is still to be read: the first order may stand in the same batch of updates.
    stack.directory_behind |= stack.symbols.name(update.instrument_id).empty();
    return;
  }
  const std::uint32_t listing = stack.listing(update.instrument_id);
  if (listing == wire::kNoInstrument) [[unlikely]] {
    counters_.instruments_beyond.add();
    return;
  }
  // ITCH 5.0, 1.2.1: the directory is sent before any order of the day. So with the first order it
  // is time to say which symbols are missing; a feed without a directory may name them yet.
  if (stack.symbols_untold && !stack.directory_behind && moves_book(update.kind)) [[unlikely]]
    tell_missing_symbols(stack);

  InstrumentState& state = instruments_[listing];
  state.quote = quote_of(update);
  state.trace_id = update.trace_id;
  if (update.kind == wire::UpdateKind::kBookCleared) [[unlikely]]
    state.stale = false;  // dropped or rebuilt; mdh says so again if it is still incomplete
  if ((state.subscribers & alive_) == 0) return;
  trace_id_ = tick;
  if (update.kind != wire::UpdateKind::kTrade) dispatch_book(state, listing, update);
  if (update.is_trade())
    dispatch_trade(state, listing, update, update.kind == wire::UpdateKind::kExecute);
  trace_id_ = 0;
}

void Engine::dispatch_book(const InstrumentState& state, std::uint32_t listing,
                           const wire::BookUpdate& update) noexcept {
  const tickpath_book_change change = book_change_of(update, listing);
  call_each(state.subscribers, [&](Instance& instance) {
    if (instance.plugin.book_change == nullptr) return;
    counters_.book_changes.add();
    guard(instance, Callback::kBookChange,
          [&] { return instance.plugin.book_change(instance.self, &change); });
  });
}

void Engine::dispatch_trade(const InstrumentState& state, std::uint32_t listing,
                            const wire::BookUpdate& update, bool displayed) noexcept {
  const tickpath_trade trade{update.trace_id,
                             update.exchange_time_ns,
                             listing,
                             update.price,
                             update.shares,
                             static_cast<std::uint8_t>(update.side),
                             static_cast<std::uint8_t>(displayed ? 1 : 0),
                             {}};
  call_each(state.subscribers, [&](Instance& instance) {
    if (instance.plugin.trade == nullptr) return;
    guard(instance, Callback::kTrade, [&] { return instance.plugin.trade(instance.self, &trade); });
  });
}

void Engine::on_imbalance(const wire::ImbalanceUpdate& update, std::size_t at) noexcept {
  const Stack& stack = stacks_[at];
  const std::uint64_t tick = stack.tick(update.trace_id);
  trace_.stamp(trace::Hop::kStrategySeen, tick);
  counters_.updates.add();
  move_market(stack, update.exchange_time_ns, update.marks);
  event_venue_ = stack.venue;
  const std::uint32_t listing = stack.listing(update.instrument_id);
  if (listing == wire::kNoInstrument) [[unlikely]] {
    if (update.instrument_id != wire::kNoInstrument) counters_.instruments_beyond.add();
    return;
  }
  wire::BookUpdate states{};
  states.states = update.states;
  const tickpath_imbalance imbalance{update.trace_id,
                                     update.exchange_time_ns,
                                     listing,
                                     update.reference_price,
                                     update.near_price,
                                     update.far_price,
                                     update.paired_shares,
                                     update.imbalance_shares,
                                     static_cast<std::uint8_t>(update.side),
                                     static_cast<std::uint8_t>(update.cross),
                                     static_cast<std::uint8_t>(update.direction),
                                     static_cast<std::uint8_t>(update.variation),
                                     static_cast<std::uint8_t>(states.feed_state()),
                                     static_cast<std::uint8_t>(states.trading_state()),
                                     {}};
  trace_id_ = tick;
  call_each(instruments_[listing].subscribers, [&](Instance& instance) {
    if (instance.plugin.imbalance == nullptr) return;
    guard(instance, Callback::kImbalance,
          [&] { return instance.plugin.imbalance(instance.self, &imbalance); });
  });
  trace_id_ = 0;
}

void Engine::on_image(const wire::BookImage& image, std::size_t at) noexcept {
  const Stack& stack = stacks_[at];
  const std::uint32_t listing = stack.listing(image.instrument_id);
  if (listing == wire::kNoInstrument) {
    counters_.instruments_beyond.add();
    return;
  }
  event_venue_ = stack.venue;
  InstrumentState& state = instruments_[listing];
  const wire::ImageLevel& bid = image.bids[0];
  const wire::ImageLevel& ask = image.asks[0];
  wire::BookUpdate update{};
  update.trace_id = image.trace_id;
  update.exchange_time_ns = image.exchange_time_ns;
  update.best_bid = bid.price;
  update.best_ask = ask.price;
  update.best_bid_shares = bid.shares;
  update.best_ask_shares = ask.shares;
  update.set_states(image.feed_state(), image.trading_state());
  tickpath_book_change change = book_change_of(update, listing);
  change.kind = TICKPATH_UPDATE_RESYNCED;
  // The update that said so may be among those that were lost.
  const bool turns_stale = image.feed_state() == wire::FeedState::kStale &&
                           state.quote.feed_state != TICKPATH_FEED_STALE;
  state.quote = {change.best_bid,
                 change.best_ask,
                 change.best_bid_shares,
                 change.best_ask_shares,
                 change.feed_state,
                 change.trading_state,
                 {}};
  state.trace_id = image.trace_id;
  // No tick of its own caused what a plugin does now: trace_id_ stays 0.
  call_each(state.subscribers, [&](Instance& instance) {
    if (instance.plugin.book_change == nullptr) return;
    guard(instance, Callback::kBookChange,
          [&] { return instance.plugin.book_change(instance.self, &change); });
  });
  if (turns_stale) on_stale({listing, 1});
}

void Engine::on_feed_state(Stack& stack, const wire::BookUpdate& update) noexcept {
  const wire::FeedState feed = update.feed_state();
  const std::uint32_t listing = stack.listing(update.instrument_id);
  if (update.instrument_id == wire::kNoInstrument) {
    stack.market_told = feed;
    on_market_state(feed, stack.index);
  } else if (listing != wire::kNoInstrument) {
    InstrumentState& state = instruments_[listing];
    state.stale = feed == wire::FeedState::kStale;
    // With the quote: behind a snapshot it is good without another change of the book.
    state.quote = quote_of(update);
    state.trace_id = update.trace_id;
    dispatch_feed_state(state.subscribers, listing, feed);
    if (state.stale) on_stale({listing, 1});
  } else {
    counters_.instruments_beyond.add();
  }
}

void Engine::on_mdh(bool alive, std::size_t at) noexcept {
  Stack& stack = stacks_[at];
  stack.directory_behind |= alive;  // its rows are read behind this turn's updates
  on_market_state(alive ? stack.market_told : wire::FeedState::kStale, at);
}

void Engine::on_market_state(wire::FeedState feed, std::size_t at) noexcept {
  Stack& stack = stacks_[at];
  if (feed == stack.market) return;
  stack.market = feed;
  for (InstrumentState& state : std::span(instruments_).subspan(stack.first, stack.room)) {
    const bool stays_stale = state.stale && feed == wire::FeedState::kGood;
    if (state.trace_id != 0 && !stays_stale)
      state.quote.feed_state = static_cast<std::uint8_t>(feed);
  }
  tell_market_state(stack);
  if (feed == wire::FeedState::kStale) on_stale({stack.first, stack.room});
}

// To plugins a venue is one: what is true of one shard is told of each of its instruments, and what
// is true of all shards of the venue.
void Engine::tell_market_state(const Stack& stack) noexcept {
  event_venue_ = stack.venue;
  const wire::FeedState feed = stack.market;
  if (std::ranges::all_of(stacks_of(stack.venue),
                          [feed](const Stack& each) { return each.market == feed; }))
    return dispatch_feed_state(~std::uint64_t{0}, wire::kNoInstrument, feed);
  for (std::uint32_t id = 0; id < stack.room; ++id) {
    const InstrumentState& state = instruments_[stack.first + id];
    const bool stays_stale = state.stale && feed == wire::FeedState::kGood;
    const bool seen = state.trace_id != 0 || !stack.symbols.name(id).empty();
    if (seen && !stays_stale) dispatch_feed_state(state.subscribers, stack.first + id, feed);
  }
}

// The state of a whole venue: what all of its shards are, else the worst of them; some may have
// ended before.
wire::FeedState Engine::market_of(std::size_t venue) const noexcept {
  using enum wire::FeedState;
  const std::span<const Stack> shards = stacks_of(venue);
  const auto any = [shards](wire::FeedState feed) {
    return std::ranges::any_of(shards, [feed](const Stack& each) { return each.market == feed; });
  };
  return any(kStale) ? kStale : any(kUnknown) ? kUnknown : any(kGood) ? kGood : kEnded;
}

void Engine::on_stale(Listings of) noexcept {
  if (!options_.cancel_when_feed_stale) return;
  for (const auto& instance : instances_) want_cancels(*instance, true, of);
}

void Engine::dispatch_feed_state(std::uint64_t mask, std::uint32_t instrument,
                                 wire::FeedState feed) noexcept {
  call_each(mask, [&](Instance& instance) {
    if (instance.plugin.feed_state == nullptr) return;
    guard(instance, Callback::kFeedState, [&] {
      return instance.plugin.feed_state(instance.self, instrument, static_cast<std::uint8_t>(feed));
    });
  });
}

// ------------------------------------------------------------------------------------ directory

void Engine::subscribe(Instance& instance, std::uint32_t instrument) noexcept {
  instruments_[instrument].subscribers |= std::uint64_t{1} << instance.index;
}

void Engine::on_directory(const wire::DirectoryEntry& entry, std::size_t at) noexcept {
  Stack& stack = stacks_[at];
  const std::uint32_t listing = stack.listing(entry.instrument_id);
  if (listing == wire::kNoInstrument) {
    counters_.instruments_beyond.add();
    return;
  }
  if (!stack.symbols.add(entry)) return;
  compare_symbols(listing);
  if (!symbols_unsettled_) return;
  for (const auto& instance : instances_)
    for (PendingSymbol& pending : instance->symbols)
      if (!pending.settled && pending.venue == stack.venue &&
          id_of(pending.venue, pending.symbol) == listing)
        settle(*instance, pending, listing);
}

std::string_view Engine::symbol_for(std::string_view symbol_or_name) const noexcept {
  const control::LongNames* const names = names_.load(std::memory_order_acquire);  // see the member
  return names == nullptr ? symbol_or_name : names->symbol_of(symbol_or_name);
}

// By the feed's symbol, or by the name that it stands for.
std::uint32_t Engine::id_of(std::size_t venue, std::string_view symbol_or_name) const noexcept {
  const Stack& direct = stack_of(venue, symbol_or_name);
  const std::uint32_t id = direct.symbols.find(symbol_or_name);
  if (id != wire::kNoInstrument) return direct.listing(id);
  const std::string_view symbol = symbol_for(symbol_or_name);
  const Stack& stack = stack_of(venue, symbol);
  return stack.listing(stack.symbols.find(symbol));
}

std::uint32_t Engine::listing_at(std::size_t venue, std::uint32_t listing) const noexcept {
  const std::string_view symbol = symbol_of(listing);
  if (symbol.empty()) return wire::kNoInstrument;
  if (home(listing).venue == venue) return listing;
  const Stack& stack = stack_of(venue, symbol);
  return stack.listing(stack.symbols.find(symbol));
}

void Engine::set_names(std::unique_ptr<const control::LongNames> names) {
  all_names_.push_back(std::move(names));
  names_.store(all_names_.back().get(), std::memory_order_release);  // see the member
}

// A table that came after its symbols: who waits for one of its names is told.
void Engine::take_names() noexcept {
  names_taken_ = names_.load(std::memory_order_acquire);  // see the member
  for (const auto& instance : instances_) settle_known_symbols(*instance);
}

void Engine::settle_known_symbols(Instance& instance) noexcept {
  for (PendingSymbol& pending : instance.symbols) {
    const std::uint32_t known = id_of(pending.venue, pending.symbol);
    if (!pending.settled && known != wire::kNoInstrument) settle(instance, pending, known);
  }
}

void Engine::tell_missing_symbols(Stack& stack) noexcept {
  stack.symbols_untold = false;
  for (const auto& instance : instances_)
    for (PendingSymbol& pending : instance->symbols) {
      if (pending.settled || pending.venue != stack.venue ||
          &stack_of(pending.venue, symbol_for(pending.symbol)) != &stack)
        continue;
      const std::uint32_t known = id_of(pending.venue, pending.symbol);
      if (known != wire::kNoInstrument)
        settle(*instance, pending, known);
      else
        tell_missing(*instance, pending);
    }
}

// The symbol stays subscribed: a feed without a directory names a symbol with its first order.
void Engine::tell_missing(Instance& instance, PendingSymbol& pending) noexcept {
  if (!instance.alive()) return;
  pending.unknown = true;
  counters_.symbols_unknown.add();
  const Stack& stack = stack_of(pending.venue, symbol_for(pending.symbol));
  TextBuilder text;
  text << "asked for the symbol '" << pending.symbol << "', which is not among the "
       << std::uint64_t{stack.symbols.size()} << " that the feed";
  if (!stack.spec.name.empty()) text << " of " << stack.spec.name;
  if (!stack.shard.whole())
    text << " (shard " << std::uint64_t{stack.shard.number} << "/"
         << std::uint64_t{stack.shard.count} << ")";
  text << " has named so far; it is waited for (if it is misspelt: [plugin.parameters])";
  // Where there are several venues one that lists it is enough: the summary says if there is none.
  note(instance, pending.anywhere ? TICKPATH_WARNING : TICKPATH_LOG_ERROR, true, text.view());
  tell_instrument(instance, pending, wire::kNoInstrument);
}

void Engine::settle(Instance& instance, PendingSymbol& pending, std::uint32_t instrument) noexcept {
  pending.settled = true;
  if (std::exchange(pending.unknown, false))
    counters_.symbols_unknown.set(counters_.symbols_unknown.get() - 1);
  if (!instance.alive()) return;
  subscribe(instance, instrument);
  tell_instrument(instance, pending, instrument);
}

void Engine::tell_instrument(Instance& instance, const PendingSymbol& pending,
                             std::uint32_t instrument) noexcept {
  if (instance.plugin.instrument == nullptr) return;
  event_venue_ = pending.venue;
  guard(instance, Callback::kInstrument, [&] {
    return instance.plugin.instrument(instance.self, pending.symbol.c_str(), instrument);
  });
}

}  // namespace tickpath::strategy
