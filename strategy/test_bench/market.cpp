#include "strategy/test_bench/market.hpp"

#include <algorithm>
#include <set>

namespace tickpath::test_bench {
namespace {

// Symbols of ITCH have up to eight characters; the directory has room for sixteen.
constexpr std::size_t kSymbolMax = 8;
constexpr std::uint64_t kDayNs = 86'400'000'000'000;

std::uint64_t checked(std::chrono::nanoseconds time_of_day) {
  if (time_of_day.count() < 0 || static_cast<std::uint64_t>(time_of_day.count()) >= kDayNs)
    throw TestBenchError("a time of day is 0 or more, and less than 24 hours");
  return static_cast<std::uint64_t>(time_of_day.count());
}

std::string text_of(const TestLevel& level) {
  return std::to_string(level.shares) + " at " + price_text(level.price);
}

}  // namespace

Side checked(std::uint8_t side) {
  if (side != TICKPATH_BUY && side != TICKPATH_SELL)
    throw TestBenchError("side " + std::to_string(side) + ": give TICKPATH_BUY or TICKPATH_SELL");
  return static_cast<Side>(side);
}

Market::Market(const std::vector<TestVenue>& venues, std::uint32_t instruments_max,
               std::chrono::nanoseconds time_of_day)
    : instruments_max_(instruments_max), time_of_day_ns_(checked(time_of_day)) {
  if (venues.size() > TICKPATH_VENUES_MAX)
    throw TestBenchError(std::to_string(venues.size()) + " venues: at most " +
                         std::to_string(TICKPATH_VENUES_MAX) + " are possible");
  std::set<std::string> taken;
  for (const TestVenue& venue : venues) {
    if (venue.name.empty() || venue.name.find('@') != std::string::npos)
      throw TestBenchError("a venue is named '" + venue.name + "': give it a name, without '@'");
    if (!taken.insert(venue.name).second)
      throw TestBenchError("two venues are named '" + venue.name + "'");
    names_.push_back(venue.name);
  }
  if (names_.empty()) names_.emplace_back();
  sequences_.resize(names_.size());
  listed_.resize(names_.size());
  feeds_.resize(names_.size());
}

std::size_t Market::venue(std::string_view name) const {
  if (name.empty() && names_.size() == 1) return 0;
  const auto found = std::ranges::find(names_, name);
  if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
  std::string known;
  for (const std::string& each : names_) known += (known.empty() ? "" : ", ") + each;
  throw TestBenchError("there is no venue '" + std::string(name) + "'; TestBenchOptions::venues " +
                       (known.empty() ? "is empty" : "has " + known));
}

std::vector<const Listing*> Market::list(std::string_view name) {
  const std::size_t at = name.find('@');
  const std::string symbol(name.substr(0, at));
  if (symbol.empty() || symbol.size() > kSymbolMax || symbol.find(' ') != std::string::npos)
    throw TestBenchError("'" + symbol + "' is no symbol: 1 to " + std::to_string(kSymbolMax) +
                         " characters, none of them a space");
  std::vector<std::size_t> where;
  if (at != std::string_view::npos) {
    where.push_back(venue(name.substr(at + 1)));
  } else {
    for (std::size_t each = 0; each < names_.size(); ++each) where.push_back(each);
  }
  std::vector<const Listing*> made;
  for (const std::size_t each : where) {
    const std::string full = names_.size() == 1 ? symbol : symbol + "@" + names_[each];
    if (look_up(full) != nullptr) throw TestBenchError(full + " is listed already");
    if (listed_[each] == instruments_max_)
      throw TestBenchError(full + " has no room: TestBenchOptions::instruments_max is " +
                           std::to_string(instruments_max_));
    listings_.push_back({.name = full,
                         .symbol = symbol,
                         .venue = each,
                         .id = listed_[each]++,
                         .feed = feeds_[each]});
    made.push_back(&listings_.back());
  }
  return made;
}

const Listing* Market::look_up(std::string_view name) const noexcept {
  const auto found = std::ranges::find(listings_, name, &Listing::name);
  return found == listings_.end() ? nullptr : &*found;
}

const Listing& Market::find(std::string_view name) const {
  if (const Listing* const found = look_up(name)) return *found;
  std::string known;
  for (const Listing& each : listings_) known += (known.empty() ? "" : ", ") + each.name;
  throw TestBenchError(
      "nobody listed '" + std::string(name) + "'; there is " +
      (known.empty() ? "nothing: list() it, or give it in TestBenchOptions::symbols" : known));
}
Listing& Market::find(std::string_view name) {
  return const_cast<Listing&>(std::as_const(*this).find(name));
}

const Listing* Market::by_id(std::size_t venue, std::uint32_t id) const noexcept {
  for (const Listing& each : listings_)
    if (each.venue == venue && each.id == id) return &each;
  return nullptr;
}

// ---------------------------------------------------------------------------------------- messages

wire::BookUpdate Market::update(Listing& listing, const BookEvent& event) {
  const bool of_feed = wire::is_of_feed(event.kind);
  if (of_feed) {
    listing.trace_id = next_message(listing.venue);
    listing.exchange_time_ns = time_of_day_ns_;
  }
  const TestLevel bid = listing.bids.empty() ? TestLevel{} : listing.bids.front();
  const TestLevel ask = listing.asks.empty() ? TestLevel{} : listing.asks.front();
  wire::BookUpdate update{};
  update.trace_id = listing.trace_id;
  update.exchange_time_ns = of_feed ? time_of_day_ns_ : 0;
  update.instrument_id = listing.id;
  update.price = event.price;
  update.shares = event.shares;
  update.best_bid = bid.price;
  update.best_ask = ask.price;
  update.best_bid_shares = bid.shares;
  update.best_ask_shares = ask.shares;
  update.kind = event.kind;
  update.side = event.side;
  update.set_states(listing.feed, listing.trading);
  update.set_day(day_);
  if (update.is_trade()) {
    listing.last_trade_price = event.price;
    listing.last_trade_shares = event.shares;
  }
  return update;
}

wire::BookUpdate Market::message(std::size_t venue) {
  wire::BookUpdate update{};
  update.trace_id = next_message(venue);
  update.exchange_time_ns = time_of_day_ns_;
  update.instrument_id = wire::kNoInstrument;
  update.kind = wire::UpdateKind::kInformation;
  update.set_day(day_);
  return update;
}

wire::ImbalanceUpdate Market::imbalance(Listing& listing, const TestImbalance& imbalance) {
  listing.trace_id = next_message(listing.venue);
  listing.exchange_time_ns = time_of_day_ns_;
  wire::BookUpdate states{};
  states.set_states(listing.feed, listing.trading);
  states.set_day(day_);
  wire::ImbalanceUpdate update{};
  update.trace_id = listing.trace_id;
  update.exchange_time_ns = time_of_day_ns_;
  update.instrument_id = listing.id;
  update.reference_price = imbalance.reference_price;
  update.imbalance_shares = imbalance.imbalance_shares;
  update.far_price = imbalance.far_price;
  update.near_price = imbalance.near_price;
  update.paired_shares = imbalance.paired_shares;
  update.cross = imbalance.cross;
  update.direction = imbalance.direction;
  update.variation = imbalance.variation;
  update.kind = wire::UpdateKind::kImbalance;
  update.side = imbalance.side == 0 ? Side{} : checked(imbalance.side);
  update.states = states.states;
  update.marks = states.marks;
  return update;
}

wire::BookUpdate Market::state(const Listing& listing) {
  wire::BookUpdate update = wire::feed_state_update(listing.id, listing.feed, listing.trace_id);
  const TestLevel bid = listing.bids.empty() ? TestLevel{} : listing.bids.front();
  const TestLevel ask = listing.asks.empty() ? TestLevel{} : listing.asks.front();
  update.best_bid = bid.price;
  update.best_ask = ask.price;
  update.best_bid_shares = bid.shares;
  update.best_ask_shares = ask.shares;
  update.set_states(listing.feed, listing.trading);
  return update;
}

wire::BookImage Market::image(const Listing& listing) {
  wire::BookImage image{};
  image.trace_id = listing.trace_id;
  image.exchange_time_ns = listing.exchange_time_ns;
  image.instrument_id = listing.id;
  image.last_trade_price = listing.last_trade_price;
  image.last_trade_shares = listing.last_trade_shares;
  wire::BookUpdate states{};
  states.set_states(listing.feed, listing.trading);
  image.states = states.states;
  const auto copy = [](const std::vector<TestLevel>& from, wire::ImageLevel* to) {
    for (std::size_t level = 0; level < std::min(from.size(), wire::kImageLevels); ++level)
      to[level] = {from[level].price, from[level].shares, from[level].orders};
  };
  copy(listing.bids, image.bids);
  copy(listing.asks, image.asks);
  return image;
}

BookEvent Market::difference(const Listing& listing, const std::vector<TestLevel>& bids,
                             const std::vector<TestLevel>& asks) {
  using wire::UpdateKind;
  for (const Side side : {Side::kBuy, Side::kSell}) {
    const std::vector<TestLevel>& before = listing.side(side);
    const std::vector<TestLevel>& after = side == Side::kBuy ? bids : asks;
    for (std::size_t at = 0; at < std::max(before.size(), after.size()); ++at) {
      const TestLevel old = at < before.size() ? before[at] : TestLevel{};
      const TestLevel now = at < after.size() ? after[at] : TestLevel{};
      if (old.price == now.price && old.shares == now.shares) continue;
      if (old.price == now.price)
        return old.shares < now.shares
                   ? BookEvent{UpdateKind::kAdd, side, now.price, now.shares - old.shares}
                   : BookEvent{UpdateKind::kCancel, side, now.price, old.shares - now.shares};
      const bool better = side == Side::kBuy ? now.price > old.price : now.price < old.price;
      if (now.price != 0 && (old.price == 0 || better))
        return {UpdateKind::kAdd, side, now.price, now.shares};
      return {UpdateKind::kDelete, side, old.price, old.shares};
    }
  }
  // Nothing differs: an order that was replaced by its like.
  if (!listing.bids.empty())
    return {UpdateKind::kReplace, Side::kBuy, listing.bids[0].price, listing.bids[0].shares};
  if (!listing.asks.empty())
    return {UpdateKind::kReplace, Side::kSell, listing.asks[0].price, listing.asks[0].shares};
  return {UpdateKind::kDelete, Side::kBuy, 0, 0};
}

// ------------------------------------------------------------------------------------------- books

void Market::check_side(const std::vector<TestLevel>& levels, Side side) {
  for (std::size_t at = 0; at < levels.size(); ++at) {
    if (levels[at].price == 0 || levels[at].shares == 0)
      throw TestBenchError("a level of " + text_of(levels[at]) +
                           ": price and shares must be above 0");
    if (at == 0) continue;
    const bool in_order = side == Side::kBuy ? levels[at].price < levels[at - 1].price
                                             : levels[at].price > levels[at - 1].price;
    if (!in_order)
      throw TestBenchError("a level of " + text_of(levels[at]) + " stands behind one of " +
                           text_of(levels[at - 1]) + ": give the best first");
  }
}

void Market::add(Listing& listing, Side side, std::uint32_t price, std::uint32_t shares) {
  check_side({{price, shares}}, side);
  std::vector<TestLevel>& levels = listing.side(side);
  const auto at = std::ranges::find_if(levels, [&](const TestLevel& level) {
    return side == Side::kBuy ? level.price <= price : level.price >= price;
  });
  if (at == levels.end() || at->price != price) {
    levels.insert(at, {price, shares, 1});
    return;
  }
  if (at->shares + shares < shares)
    throw TestBenchError("a level has less than 2^32 shares, and so " + text_of(*at) +
                         " have no room for " + std::to_string(shares) + " more");
  at->shares += shares;
  ++at->orders;
}

bool Market::remove(Listing& listing, Side side, std::uint32_t price, std::uint32_t shares) {
  std::vector<TestLevel>& levels = listing.side(side);
  const auto at = std::ranges::find(levels, price, &TestLevel::price);
  if (at == levels.end() || shares == 0 || at->shares < shares)
    throw TestBenchError("there are no " + text_of({price, shares}) + " in the book of " +
                         listing.name +
                         (at == levels.end() ? ": no such level" : ", but " + text_of(*at)));
  at->shares -= shares;
  if (at->shares != 0) return false;
  levels.erase(at);
  return true;
}

void Market::set_feed(std::size_t venue, wire::FeedState feed) {
  feeds_[venue] = feed;
  for (Listing& listing : listings_)
    if (listing.venue == venue && !(listing.own_stale && feed == wire::FeedState::kGood))
      listing.feed = feed;
}
void Market::set_feed(Listing& listing, wire::FeedState feed) {
  listing.own_stale = feed == wire::FeedState::kStale;
  listing.feed = feed;
}
void Market::clear(Listing& listing) {
  listing.bids.clear();
  listing.asks.clear();
  set_feed(listing, feeds_[listing.venue]);
  listing.own_stale = false;
}

void Market::advance(std::uint64_t ns) noexcept {
  time_of_day_ns_ += ns;
  for (; time_of_day_ns_ >= kDayNs; time_of_day_ns_ -= kDayNs)
    day_ = static_cast<std::uint8_t>((day_ + 1) & 0x7f);
}
void Market::begin_day(std::chrono::nanoseconds time_of_day) {
  time_of_day_ns_ = checked(time_of_day);
  day_ = static_cast<std::uint8_t>((day_ + 1) & 0x7f);
}

}  // namespace tickpath::test_bench
