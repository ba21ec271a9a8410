#include "tools/cli/route_decision.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

#include "common/base/format.hpp"

namespace tickpath::cli {

using strategy::LeftOut;
using strategy::RoutedLevel;
using strategy::RouteVenue;

namespace {

void sort_by_cost(Pieces& pieces, bool with_fees) {
  std::ranges::stable_sort(pieces, {}, [&](const Piece& piece) {
    return piece.cost * kFeeOfAPrice + (with_fees ? piece.fee : 0);
  });
}

}  // namespace

std::string money_text(std::int64_t millionths) {
  return formatted("%.4f", static_cast<double>(millionths) / 1e6);
}

std::uint64_t shares_of(const Pieces& pieces) {
  std::uint64_t sum = 0;
  for (const Piece& piece : pieces) sum += piece.shares;
  return sum;
}

std::int64_t value_of(const Pieces& pieces, std::uint64_t shares, bool with_fees) {
  std::int64_t sum = 0;
  for (const Piece& piece : pieces) {
    const std::uint64_t taken = std::min(shares, piece.shares);
    sum += static_cast<std::int64_t>(taken) *
           (piece.cost * kFeeOfAPrice + (with_fees ? piece.fee : 0));
    shares -= taken;
  }
  return sum;
}

Pieces walk(std::span<const RoutedLevel> levels, Side side, std::uint32_t limit,
            std::uint64_t shares, std::int64_t fee) {
  Pieces pieces;
  for (const RoutedLevel& level : levels) {
    if (shares == 0 || !within(side, limit, level.price)) break;
    const std::uint64_t taken = std::min<std::uint64_t>(shares, level.shares);
    pieces.push_back({cost_of(side, level.price), fee, taken});
    shares -= taken;
  }
  return pieces;
}

std::string symbol_of(const strategy::RouteHead& head) {
  return {head.symbol.data(), strnlen(head.symbol.data(), head.symbol.size())};
}

std::string Decision::name() const {
  return formatted("route %llu of strategy %u, %s %u %s",
                   static_cast<unsigned long long>(head().number), unsigned{head().strategy},
                   side() == Side::kBuy ? "buy" : "sell", head().shares, symbol().c_str());
}

RoutedBooks Decision::seen() const {
  RoutedBooks books;
  for (std::size_t i = 0; i < venues().size(); ++i)
    books[i] = std::span(venues()[i].levels).first(venues()[i].level_count);
  return books;
}

Pieces Decision::planned(const RoutedBooks& books, bool with_fees) const {
  if (post_only()) return {};
  Pieces all;
  for (std::size_t i = 0; i < venues().size(); ++i) {
    const RouteVenue& venue = venues()[i];
    const Pieces part = walk(books[i], side(), venue.price, venue.shares, venue.taker_fee);
    if (whole() && shares_of(part) < venue.shares) continue;
    all.insert(all.end(), part.begin(), part.end());
  }
  sort_by_cost(all, with_fees);
  return all;
}

Pieces Decision::alone(const RoutedBooks& books, std::size_t at) const {
  const RouteVenue& venue = venues()[at];
  if (venue.left_out != LeftOut::kNo || post_only()) return {};
  Pieces all = walk(books[at], side(), head().limit, head().shares, venue.taker_fee);
  if (whole() && shares_of(all) < head().shares) return {};
  return all;
}

Dues Decision::chosen() const {
  Dues dues;
  for (std::size_t i = 0; i < venues().size(); ++i) {
    const RouteVenue& venue = venues()[i];
    if (venue.shares != 0) dues[i] = {venue.shares, venue.price, venue.rests != 0, venue.place};
  }
  return dues;
}

// A level of a venue; in the order of its fields the best comes first.
struct Decision::Offer {
  std::int64_t cost;
  std::int64_t larger_first;
  std::int64_t fee;
  std::size_t at;
  RoutedLevel level;
};

std::vector<Decision::Offer> Decision::offers(const RoutedBooks& books) const {
  std::vector<Offer> all;
  for (std::size_t i = 0; i < venues().size(); ++i)
    for (const RoutedLevel& level : books[i])
      if (venues()[i].left_out == LeftOut::kNo && within(side(), head().limit, level.price))
        all.push_back({cost_of(side(), level.price), -std::int64_t{level.shares},
                       venues()[i].taker_fee, i, level});
  std::ranges::sort(all, {}, [](const Offer& offer) {
    return std::tuple(offer.cost, offer.larger_first, offer.fee, offer.at);
  });
  return all;
}

Dues Decision::swept(const RoutedBooks& books) const {
  Dues dues;
  std::uint32_t left = head().shares;
  std::size_t first = 0;
  for (const Offer& offer : offers(books)) {
    if (left == 0) break;
    const std::uint32_t taken = std::min(left, offer.level.shares);
    if (dues.empty()) first = offer.at;
    const auto [due, fresh] = dues.try_emplace(offer.at);
    if (fresh) due->second.place = static_cast<std::uint8_t>(dues.size() - 1);
    due->second.shares += taken;
    due->second.price = offer.level.price;
    left -= taken;
  }
  if (left == 0 || dues.empty()) return dues;
  dues[first].shares += left;
  dues[first].price = head().limit;
  dues[first].rests = rests();
  return dues;
}

// All of it: where it rests, or of fill or kill where it is cheapest.
Dues Decision::at_one(const RoutedBooks& books) const {
  // Whether nothing is known, cost, larger size first, fee, place.
  using Rank = std::tuple<bool, std::int64_t, std::int64_t, std::int64_t, std::size_t>;
  std::optional<Rank> best;
  for (std::size_t i = 0; i < venues().size(); ++i) {
    const RouteVenue& venue = venues()[i];
    if (venue.left_out != LeftOut::kNo) continue;
    Rank rank;
    if (whole()) {
      const Pieces all = alone(books, i);
      if (all.empty()) continue;
      rank = {false, value_of(all, head().shares, false), 0, venue.taker_fee, i};
    } else {
      const bool empty = books[i].empty();
      const RoutedLevel top = empty ? RoutedLevel{0, 0} : books[i].front();
      if (post_only() && !empty && within(side(), head().limit, top.price)) continue;
      rank = {empty, cost_of(side(), top.price), -std::int64_t{top.shares}, venue.maker_fee, i};
    }
    if (!best || rank < *best) best = rank;
  }
  if (!best) return {};
  return {{std::get<4>(*best), {head().shares, head().limit, true, 0}}};
}

Dues Decision::due() const {
  const RoutedBooks books = seen();
  if (whole()) return at_one(books);
  Dues dues;
  if (!post_only()) dues = swept(books);
  return dues.empty() && rests() ? at_one(books) : dues;
}

std::string Decision::text_of(const Dues& dues) const {
  std::string text;
  for (const auto& [at, due] : dues)
    text += formatted("%s%u at %s of venue %u", text.empty() ? "" : ", ", due.shares,
                      due.price == 0 ? "any price" : money_text(due.price * kFeeOfAPrice).c_str(),
                      unsigned{venues()[at].venue});
  return text.empty() ? "nothing anywhere" : text;
}

Against compare(const Decision& decision, const RoutedBooks& books) {
  const Pieces plan = decision.planned(books, false);
  const Pieces plan_net = decision.planned(books, true);
  const std::uint64_t planned = shares_of(plan);
  Against against;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < decision.venues().size(); ++i) {
    const std::uint8_t number = decision.venues()[i].venue;
    const Pieces alone = decision.alone(books, i);
    const std::uint64_t shows = shares_of(alone);
    if (shows > planned && shows - planned > against.fewer) {
      against.fewer = shows - planned;
      against.fewer_than = number;
    }
    const std::uint64_t common = std::min(shows, planned);
    const std::int64_t saved = value_of(alone, common, false) - value_of(plan, common, false);
    if (-saved > against.dearer) {
      against.dearer = -saved;
      against.dearer_than = number;
    }
    const std::int64_t fees = value_of(plan_net, common, true) - value_of(alone, common, true);
    if (fees > against.dearer_fees) {
      against.dearer_fees = fees;
      against.of_shares = common;
    }
    if (shows == 0 || shows < most) continue;
    against.saved = shows > most ? saved : std::min(against.saved, saved);
    most = shows;
  }
  return against;
}

}  // namespace tickpath::cli
