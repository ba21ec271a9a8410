// The router's side of the engine: from books and gateways to orders.

#include <span>

#include "common/wire/order_terms.hpp"
#include "strategy/engine.hpp"

namespace tickpath::strategy {
namespace {

// The rest is bound to a venue: a stop waits for its trades, a pegged order for its best price.
bool is_routable(const tickpath_new_order& order) noexcept {
  const auto time = static_cast<wire::TimeInForce>(order.time_in_force);
  wire::OrderRequest request{};
  request.price = Price{order.price};
  request.shares = order.shares;
  request.side = static_cast<Side>(order.side);
  request.type = static_cast<wire::OrderType>(order.type);
  request.time_in_force = time;
  request.instructions = order.instructions;
  request.stop_price = order.stop_price;
  const bool simple = order.type == TICKPATH_LIMIT || order.type == TICKPATH_MARKET;
  return simple && order.display_shares == 0 && order.minimum_shares == 0 &&
         !wire::is_on_cross(time) && wire::terms_agree(request);
}

// What a DAY or GTC limit order does with what does not trade at once.
bool rests(const tickpath_new_order& order) noexcept {
  return order.type == TICKPATH_LIMIT &&
         !wire::is_immediate(static_cast<wire::TimeInForce>(order.time_in_force));
}

}  // namespace

bool Engine::routed_book(const Instance& instance, std::uint32_t listing, Side side,
                         RoutedBook& book) noexcept {
  if (listing == wire::kNoInstrument) return false;
  const Stack& stack = home(listing);
  if (!instance.gateways[stack.index].up) return false;
  const InstrumentState& state = instruments_[listing];
  const auto trading = static_cast<wire::TradingState>(state.quote.trading_state);
  if (state.trace_id == 0 || state.other_symbol || state.quote.feed_state != TICKPATH_FEED_GOOD ||
      wire::gathers(trading))
    return false;
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
  return true;
}

std::int32_t Engine::route(Instance& instance, const tickpath_new_order& order,
                           tickpath_child* children, std::size_t& count) noexcept {
  if (instance.setting_up) return TICKPATH_NOT_NOW;
  if (!instance.running()) return TICKPATH_STOPPING;
  if (symbol_of(order.instrument).empty()) return TICKPATH_UNKNOWN_INSTRUMENT;
  if (!is_routable(order)) return TICKPATH_INVALID;
  std::array<RoutedBook, TICKPATH_VENUES_MAX> books;
  std::size_t usable = 0;
  const Side side = static_cast<Side>(order.side);
  for (std::size_t venue = 0; venue < venues_.size(); ++venue)
    if (routed_book(instance, listing_at(venue, order.instrument), side, books[usable])) ++usable;
  std::array<RoutedPart, TICKPATH_VENUES_MAX> parts;
  const RoutedOrder asked{.side = side,
                          .shares = order.shares,
                          .limit = order.price,
                          .rests = rests(order),
                          .whole = order.time_in_force == TICKPATH_FOK,
                          .post_only = (order.instructions & TICKPATH_POST_ONLY) != 0};
  const std::size_t split_into = split(asked, std::span(books).first(usable), parts);
  if (split_into == 0) return TICKPATH_NO_ROUTE;
  if (instance.orders.capacity() - instance.orders.size() < split_into) return TICKPATH_CAPACITY;
  std::int32_t status = TICKPATH_OK;
  bool any = false;
  for (; count < split_into; ++count) {
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
    if (sent != TICKPATH_OK) status = sent;
    any |= sent == TICKPATH_OK;
  }
  return any ? std::int32_t{TICKPATH_OK} : status;
}

}  // namespace tickpath::strategy
