// The router's side of the engine: from books and gateways to orders.

#include <span>

#include "common/wire/order_terms.hpp"
#include "strategy/engine.hpp"

namespace tickpath::strategy {
namespace {

// The rest is bound to a venue: a stop waits for its trades, a pegged order for its best price.
bool is_routable(const tickpath_new_order& order) noexcept {
  const wire::OrderRequest request = request_of(order);
  const bool simple = order.type == TICKPATH_LIMIT || order.type == TICKPATH_MARKET;
  return simple && order.display_shares == 0 && order.minimum_shares == 0 &&
         !trading::is_on_cross(request.time_in_force) && wire::terms_agree(request);
}

// What a DAY or GTC limit order does with what does not trade at once.
bool rests(const tickpath_new_order& order) noexcept {
  return order.type == TICKPATH_LIMIT &&
         !trading::is_immediate(static_cast<trading::TimeInForce>(order.time_in_force));
}

}  // namespace

void Engine::on_held(std::uint8_t strategy, std::uint32_t instrument, trading::RejectReason refuses,
                     std::size_t stack) noexcept {
  if (Instance* const known = by_strategy_[strategy]; known != nullptr)
    known->gateways[stack].held.on_held(instrument, refuses != trading::RejectReason::kNone);
}

LeftOut Engine::routed_book(const Instance& instance, std::uint32_t listing, Side side,
                            RoutedBook& book, RouteVenue& seen) noexcept {
  if (listing == wire::kNoInstrument) return LeftOut::kNotListed;
  const Stack& stack = home(listing);
  const Gateway& gateway = instance.gateways[stack.index];
  if (!gateway.up) return LeftOut::kNoGateway;
  if (!gateway.accepts()) return LeftOut::kNotAccepting;
  if (gateway.held.has(stack.id(listing))) [[unlikely]]
    return LeftOut::kHeld;
  const InstrumentState& state = instruments_[listing];
  if (state.trace_id == 0) return LeftOut::kNoQuote;
  if (state.other_symbol) return LeftOut::kOtherSymbol;
  if (state.quote.feed_state != TICKPATH_FEED_GOOD) return LeftOut::kFeed;
  if (wire::gathers(static_cast<wire::TradingState>(state.quote.trading_state)))
    return LeftOut::kTrading;
  book.listing = listing;
  book.maker_fee = stack.spec.maker_fee;
  book.taker_fee = stack.spec.taker_fee;
  book.count = 0;
  wire::BookImage image;
  const bool imaged = stack.images->image(stack.id(listing), image);
  const bool buys = side == Side::kBuy;
  // The update that was taken last, where it is newer; behind its price the image is the best there
  // is.
  if (!imaged || image.trace_id < state.trace_id)
    book.add(side, buys ? state.quote.best_ask : state.quote.best_bid,
             buys ? state.quote.best_ask_shares : state.quote.best_bid_shares);
  if (imaged && (book.count != 0 || image.trace_id >= state.trace_id))
    for (const wire::ImageLevel& level : buys ? image.asks : image.bids)
      book.add(side, level.price, level.shares);
  seen.update_tick = state.trace_id;
  seen.image_tick = imaged ? image.trace_id : 0;
  seen.level_count = static_cast<std::uint32_t>(book.count);
  seen.levels = book.levels;
  return LeftOut::kNo;
}

std::size_t Engine::routed_books(const Instance& instance, const tickpath_new_order& order,
                                 std::span<RoutedBook> books) noexcept {
  std::size_t usable = 0;
  for (std::size_t venue = 0; venue < venues_.size(); ++venue) {
    RouteVenue& seen = route_.venues[venue];
    seen = {};
    const VenueSpec& spec = stacks_of(venue).front().spec;  // the same for all of its shards
    seen.venue = spec.number;
    seen.maker_fee = spec.maker_fee;
    seen.taker_fee = spec.taker_fee;
    seen.left_out = routed_book(instance, listing_at(venue, order.instrument),
                                static_cast<Side>(order.side), books[usable], seen);
    if (seen.left_out == LeftOut::kNo) ++usable;
  }
  return usable;
}

void Engine::begin_route(const Instance& instance, const tickpath_new_order& order) noexcept {
  counters_.routes.add();
  RouteHead& head = route_.head;
  head = {};
  head.number = counters_.routes.get();
  head.decided = tsc_now().value;
  head.trace_id = trace_id_;
  head.symbol = market::padded(symbol_of(order.instrument));
  head.shares = order.shares;
  head.limit = order.price;
  head.side = order.side;
  head.type = order.type;
  head.time_in_force = order.time_in_force;
  head.post_only = (order.instructions & TICKPATH_POST_ONLY) != 0 ? 1 : 0;
  head.strategy = instance.id;
  head.venue_count = static_cast<std::uint8_t>(venues_.size());
}

// Behind the orders: nothing stands between a decision and the wire.
void Engine::record_route(std::int32_t status) noexcept {
  route_.head.status = status;
  if (routes_ == nullptr || !routes_->try_push(route_)) counters_.routes_unrecorded.add();
}

std::int32_t Engine::send_parts(Instance& instance, const tickpath_new_order& order,
                                std::span<const RoutedBook> books,
                                std::span<const RoutedPart> parts, tickpath_child* children,
                                std::size_t& count) noexcept {
  std::int32_t status = TICKPATH_OK;
  bool any = false;
  for (; count < parts.size(); ++count) {
    const RoutedPart& part = parts[count];
    tickpath_new_order child = order;
    child.instrument = books[part.book].listing;
    child.shares = part.shares;
    if (order.type == TICKPATH_LIMIT) child.price = part.price;
    if (!part.rests && order.type == TICKPATH_LIMIT) child.time_in_force = TICKPATH_IOC;
    std::uint64_t id = 0;
    const std::int32_t sent = send_new(instance, child, id);
    children[count] = {id, child.instrument, child.shares, child.price, sent, child.time_in_force,
                       {}};
    RouteVenue& to = route_.venues[home(child.instrument).venue];
    to.order_id = id;
    to.shares = part.shares;
    to.price = part.price;
    to.status = sent;
    to.place = static_cast<std::uint8_t>(count);
    to.rests = part.rests ? 1 : 0;
    if (sent != TICKPATH_OK) status = sent;
    any |= sent == TICKPATH_OK;
  }
  return any ? std::int32_t{TICKPATH_OK} : status;
}

std::int32_t Engine::route(Instance& instance, const tickpath_new_order& order,
                           tickpath_child* children, std::size_t& count) noexcept {
  if (instance.setting_up) return TICKPATH_NOT_NOW;
  if (!instance.running()) return TICKPATH_STOPPING;
  if (symbol_of(order.instrument).empty()) return TICKPATH_UNKNOWN_INSTRUMENT;
  if (!is_routable(order)) return TICKPATH_INVALID;
  begin_route(instance, order);
  std::array<RoutedBook, TICKPATH_VENUES_MAX> room;
  const std::span books = std::span(room).first(routed_books(instance, order, room));
  std::array<RoutedPart, TICKPATH_VENUES_MAX> parts;
  const RoutedOrder asked{.side = static_cast<Side>(order.side),
                          .shares = order.shares,
                          .limit = order.price,
                          .rests = rests(order),
                          .whole = order.time_in_force == TICKPATH_FOK,
                          .post_only = (order.instructions & TICKPATH_POST_ONLY) != 0};
  const std::size_t split_into = split(asked, books, parts);
  std::int32_t status = TICKPATH_NO_ROUTE;
  if (split_into != 0)
    status = instance.orders.capacity() - instance.orders.size() < split_into
                 ? std::int32_t{TICKPATH_CAPACITY}
                 : send_parts(instance, order, books, std::span(parts).first(split_into), children,
                              count);
  record_route(status);
  return status;
}

}  // namespace tickpath::strategy
