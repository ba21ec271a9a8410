#include "strategy/test_bench/simulated_venue.hpp"

#include <algorithm>

#include "common/trading/order_terms.hpp"

namespace tickpath::test_bench {
namespace {

using trading::OrderState;
using trading::OrderType;
using trading::TimeInForce;

bool is_immediate(const OrderRecord& order) {
  return trading::is_immediate(order.request.time_in_force);
}

// Rests until the test answers: there is no auction, and no price that a peg follows.
bool is_for_the_test(const OrderRecord& order) {
  return order.request.type == OrderType::kPegged ||
         trading::is_on_cross(order.request.time_in_force);
}

bool waits_for_its_stop(const OrderRecord& order) {
  return trading::has_stop(order.request.type) && !order.triggered;
}

}  // namespace

void SimulatedVenue::on_trade(const Listing& listing, std::uint32_t price) {
  trades_[&listing] = price;
}

std::optional<Answer> SimulatedVenue::next() {
  for (; looked_at_ < exchange_.requests().size(); ++looked_at_)
    if (exchange_.unanswered(looked_at_)) return answer(exchange_.requests()[looked_at_]);
  for (const OrderRecord& order : exchange_.orders()) {
    if (order.done() || order.state == OrderState::kPendingNew) continue;
    if (std::optional<Answer> report = work(order)) return report;
  }
  trades_.clear();
  return std::nullopt;
}

std::optional<Answer> SimulatedVenue::answer(const TestRequest& request) {
  const bool is_new = request.kind == TestRequest::Kind::kNew;
  const OrderRecord& order = exchange_.order(is_new ? request.id : request.target_id);
  if (order.done()) return exchange_.reject(request.id, TICKPATH_REASON_TOO_LATE, {});
  if (request.kind == TestRequest::Kind::kCancel) return exchange_.accept(request.id);
  if (!is_new && request.shares <= order.filled)
    return exchange_.reject(request.id, TICKPATH_REASON_TOO_LATE, {});
  const std::string why = refusal(order);
  return why.empty() ? exchange_.accept(request.id)
                     : exchange_.reject(request.id, TICKPATH_REASON_VENUE, why);
}

std::string SimulatedVenue::refusal(const OrderRecord& order) const {
  if (wire::gathers(market_.find(order.listing).trading)) return "trading is halted";
  if ((order.request.instructions & wire::kPostOnly) != 0 && meets(order))
    return "post-only order would trade";
  return {};
}

// Levels of the other side that its limit allows, with what is left of each; until one returns
// true.
template <class Visit>
void SimulatedVenue::each_level(const OrderRecord& order, Visit&& visit) const {
  const Listing& listing = market_.find(order.listing);
  const bool buys = order.request.side == Side::kBuy;
  const auto taken = taken_.find(&listing);
  for (TestLevel level : listing.side(buys ? Side::kSell : Side::kBuy)) {
    if (order.price != 0 && (buys ? level.price > order.price : level.price < order.price)) return;
    if (taken != taken_.end())
      if (const auto gone = taken->second.find(level.price); gone != taken->second.end())
        level.shares -= std::min(level.shares, gone->second);
    if (level.shares != 0 && visit(level)) return;
  }
}

std::optional<TestLevel> SimulatedVenue::meets(const OrderRecord& order) const {
  std::optional<TestLevel> best;
  each_level(order, [&](const TestLevel& level) {
    best = level;
    return true;
  });
  return best;
}

std::uint64_t SimulatedVenue::meets_in_all(const OrderRecord& order) const {
  std::uint64_t sum = 0;
  each_level(order, [&](const TestLevel& level) {
    sum += level.shares;
    return false;
  });
  return sum;
}

std::optional<Answer> SimulatedVenue::work(const OrderRecord& order) {
  if (is_for_the_test(order)) return std::nullopt;
  if (waits_for_its_stop(order)) {
    const auto traded = trades_.find(&market_.find(order.listing));
    if (traded == trades_.end()) return std::nullopt;
    const bool reached = order.request.side == Side::kBuy ? traded->second >= order.stop_price
                                                          : traded->second <= order.stop_price;
    return reached ? std::optional(exchange_.trigger(order.id)) : std::nullopt;
  }
  if (wire::gathers(market_.find(order.listing).trading)) return std::nullopt;
  return trade(order);
}

std::optional<Answer> SimulatedVenue::trade(const OrderRecord& order) {
  const bool whole = order.request.time_in_force == TimeInForce::kFillOrKill;
  const std::uint32_t needed = whole               ? order.leaves
                               : order.filled == 0 ? order.request.minimum_shares
                                                   : 0;
  const std::optional<TestLevel> level =
      meets_in_all(order) >= needed ? meets(order) : std::nullopt;
  if (!level) {
    if (is_immediate(order) || order.price == 0) return exchange_.expire(order.id, {});
    resting_.insert(order.id);
    return std::nullopt;
  }
  const std::uint32_t shares = std::min(order.leaves, level->shares);
  taken_[&market_.find(order.listing)][level->price] += shares;
  // A taker has the book's price, a maker its own.
  const bool made = resting_.contains(order.id);
  return exchange_.fill(order.id, shares, made ? order.price : level->price);
}

}  // namespace tickpath::test_bench
