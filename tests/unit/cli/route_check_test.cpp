// The check of routed orders: what the router decides holds, what others would decide is found.
#include "tools/cli/route_check.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <tuple>

#include <gmock/gmock.h>

namespace tickpath::cli {
namespace {

using strategy::LeftOut;
using strategy::RoutedBook;
using strategy::RoutedLevel;
using strategy::RoutedOrder;
using strategy::RoutedPart;
using strategy::RouteRecord;
using strategy::RouteVenue;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kSymbol = "AAPL";

RoutedBook book(Side side, const std::vector<RoutedLevel>& levels, std::int32_t taker = 0) {
  RoutedBook made;
  made.taker_fee = taker;
  for (const RoutedLevel& level : levels) made.add(side, level.price, level.shares);
  return made;
}

// As the engine records it; orders have the ids 100, 101, ... by venue.
RouteRecord record_of(const RoutedOrder& order, const std::vector<RoutedBook>& books,
                      const std::vector<RoutedPart>& parts) {
  RouteRecord record;
  record.head.number = 1;
  std::copy_n(kSymbol, 4, record.head.symbol.begin());
  record.head.shares = order.shares;
  record.head.limit = order.limit;
  record.head.side = static_cast<std::uint8_t>(order.side);
  record.head.type = TICKPATH_LIMIT;
  record.head.time_in_force = order.whole   ? TICKPATH_FOK
                              : order.rests ? TICKPATH_DAY
                                            : TICKPATH_IOC;
  record.head.post_only = order.post_only ? 1 : 0;
  record.head.strategy = 1;
  record.head.venue_count = static_cast<std::uint8_t>(books.size());
  record.head.status = parts.empty() ? TICKPATH_NO_ROUTE : TICKPATH_OK;
  for (std::size_t i = 0; i < books.size(); ++i) {
    RouteVenue& venue = record.venues[i];
    venue.venue = static_cast<std::uint8_t>(i + 1);
    venue.maker_fee = books[i].maker_fee;
    venue.taker_fee = books[i].taker_fee;
    venue.level_count = static_cast<std::uint32_t>(books[i].count);
    venue.levels = books[i].levels;
    venue.update_tick = 7;
  }
  for (std::size_t place = 0; place < parts.size(); ++place) {
    RouteVenue& venue = record.venues[parts[place].book];
    venue.shares = parts[place].shares;
    venue.price = parts[place].price;
    venue.rests = parts[place].rests ? 1 : 0;
    venue.place = static_cast<std::uint8_t>(place);
    venue.order_id = 100 + parts[place].book;
  }
  return record;
}

std::vector<RoutedPart> router(const RoutedOrder& order, const std::vector<RoutedBook>& books) {
  std::vector<RoutedPart> parts(books.size());
  parts.resize(strategy::split(order, books, parts));
  return parts;
}

// Another router: takes the level that `rank` has lowest. With the rank that the rules have it does
// what the router does.
using Rank = std::function<std::tuple<std::int64_t, std::int64_t, std::int64_t>(
    std::int64_t cost, std::uint32_t shares, std::int64_t fee)>;
std::vector<RoutedPart> other_router(const RoutedOrder& order, const std::vector<RoutedBook>& books,
                                     const Rank& rank) {
  std::vector<RoutedPart> parts;
  std::vector<std::size_t> next(books.size());
  std::uint32_t left = order.shares;
  while (left != 0) {
    std::size_t best = books.size();
    const auto rank_of = [&](std::size_t at) {
      const RoutedLevel& level = books[at].levels[next[at]];
      const std::int64_t price = level.price;
      return rank(order.side == Side::kBuy ? price : -price, level.shares, books[at].taker_fee);
    };
    for (std::size_t at = 0; at < books.size(); ++at) {
      if (next[at] == books[at].count) continue;
      if (best == books.size() || rank_of(at) < rank_of(best)) best = at;
    }
    if (best == books.size()) break;
    const RoutedLevel& level = books[best].levels[next[best]++];
    const std::uint32_t taken = std::min(left, level.shares);
    auto part = std::ranges::find(parts, best, &RoutedPart::book);
    if (part == parts.end()) part = parts.insert(parts.end(), {.book = best});
    part->shares += taken;
    part->price = level.price;
    left -= taken;
  }
  if (left != 0 && !parts.empty()) {
    parts[0].shares += left;
    parts[0].price = order.limit;
  }
  return parts;
}

using Router =
    std::function<std::vector<RoutedPart>(const RoutedOrder&, const std::vector<RoutedBook>&)>;

// Few prices and sizes, so that many are the same.
class Market {
 public:
  std::vector<RoutedBook> books(Side side) {
    std::vector<RoutedBook> made(1 + random() % 3);
    for (RoutedBook& each : made) {
      each.taker_fee = static_cast<std::int32_t>(random() % 3) * 1'000 - 1'000;
      each.maker_fee = static_cast<std::int32_t>(random() % 3) * 1'000 - 1'000;
      std::uint32_t price = 10'000;
      for (std::uint32_t levels = random() % 4; levels != 0; --levels) {
        price += (side == Side::kBuy ? 1 : -1) * static_cast<std::int32_t>(random() % 3) * 100;
        each.add(side, price, 100 * (1 + random() % 3));
      }
    }
    return made;
  }
  std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }

 private:
  std::mt19937 random_{17};
};

enum class Asked { kImmediate, kEveryKind };

RouteCheck checked(const Router& router, Asked which, int count = 2'000) {
  Market market;
  RoutedRun run;
  for (int i = 0; i < count; ++i) {
    RoutedOrder order{.side = market.random() % 2 == 0 ? Side::kBuy : Side::kSell,
                      .shares = 50 * (1 + market.random() % 20)};
    if (which == Asked::kEveryKind) {
      order.limit = 9'700 + 100 * (market.random() % 7);
      const std::uint32_t kind = market.random() % 4;
      order.rests = kind == 1 || kind == 2;
      order.post_only = kind == 2;
      order.whole = kind == 3;
    }
    const std::vector<RoutedBook> books = market.books(order.side);
    run.decisions.push_back({record_of(order, books, router(order, books)), {}, {}});
  }
  return check_routes(run);
}

TEST(RouteCheck, EveryDecisionOfTheRouterIsAsGoodAsThatOfAnyVenueAlone) {
  const RouteCheck check = checked(router, Asked::kEveryKind);
  for (const auto which : {RouteCheck::kShares, RouteCheck::kPrice, RouteCheck::kSplit}) {
    EXPECT_EQ(check.rules[which].checked, 2'000u);
    EXPECT_THAT(check.rules[which].examples, IsEmpty());
    EXPECT_EQ(check.rules[which].broken, 0u);
  }
  EXPECT_GT(check.by_orders[0], 50u);
  EXPECT_GT(check.by_orders[2], 100u);
  EXPECT_GT(check.by_orders[3], 10u);
  EXPECT_THAT(to_text(check), HasSubstr("decisions better than the best venue alone"));
}

// What the rules rank by, and what is left when one of them is forgotten.
TEST(RouteCheck, ARouterThatForgetsPriceSizeOrFeesIsFound) {
  const auto with = [](const Rank& rank) {
    return checked(
        [&](const auto& order, const auto& books) { return other_router(order, books, rank); },
        Asked::kImmediate);
  };
  const RouteCheck right = with([](std::int64_t cost, std::uint32_t shares, std::int64_t fee) {
    return std::tuple(cost, -std::int64_t{shares}, fee);
  });
  EXPECT_EQ(right.rules[RouteCheck::kSplit].broken, 0u) << to_text(right);
  EXPECT_EQ(right.rules[RouteCheck::kPrice].broken, 0u);

  const RouteCheck no_fee = with([](std::int64_t cost, std::uint32_t shares, std::int64_t) {
    return std::tuple(cost, -std::int64_t{shares}, std::int64_t{0});
  });
  EXPECT_GT(no_fee.rules[RouteCheck::kSplit].broken, 50u);
  EXPECT_EQ(no_fee.rules[RouteCheck::kPrice].broken, 0u) << "prices are as good";

  const RouteCheck no_size = with([](std::int64_t cost, std::uint32_t, std::int64_t fee) {
    return std::tuple(cost, fee, std::int64_t{0});
  });
  EXPECT_GT(no_size.rules[RouteCheck::kSplit].broken, 50u);
  EXPECT_FALSE(no_size.holds());

  const RouteCheck no_price = with([](std::int64_t, std::uint32_t shares, std::int64_t fee) {
    return std::tuple(-std::int64_t{shares}, fee, std::int64_t{0});
  });
  EXPECT_GT(no_price.rules[RouteCheck::kPrice].broken, 50u);
  EXPECT_THAT(no_price.rules[RouteCheck::kPrice].examples,
              AllOf(SizeIs(5), Contains(HasSubstr("worse than venue"))));
  EXPECT_THAT(no_price.problem(), HasSubstr("promises"));
}

TEST(RouteCheck, ARouterThatGoesToTheWrongVenueOrToOneAloneIsFound) {
  const RouteCheck wrong = checked(
      [](const auto& order, const auto& books) {
        std::vector<RoutedPart> parts = router(order, books);
        for (RoutedPart& part : parts) part.book = (part.book + 1) % books.size();
        return parts;
      },
      Asked::kImmediate);
  EXPECT_GT(wrong.rules[RouteCheck::kSplit].broken, 500u);
  EXPECT_GT(wrong.rules[RouteCheck::kPrice].broken + wrong.rules[RouteCheck::kShares].broken, 100u);

  const RouteCheck first = checked(
      [](const auto& order, const auto& books) {
        const std::vector<RoutedPart> alone = router(order, {books[0]});
        return alone;
      },
      Asked::kImmediate);
  EXPECT_GT(first.rules[RouteCheck::kShares].broken, 100u);
  EXPECT_THAT(first.rules[RouteCheck::kShares].examples, Contains(HasSubstr("fewer than venue")));

  const RouteCheck nowhere = checked(
      [](const auto&, const auto&) { return std::vector<RoutedPart>(); }, Asked::kEveryKind);
  EXPECT_GT(nowhere.rules[RouteCheck::kShares].broken, 300u);
  EXPECT_GT(nowhere.rules[RouteCheck::kSplit].broken, nowhere.rules[RouteCheck::kShares].broken)
      << "and what should have rested";
}

// ------------------------------------------------------------------------------ one decision

class OneDecision : public ::testing::Test {
 protected:
  // 100 of the first venue and 50 of the second.
  OneDecision() {
    run.decisions.push_back(
        {record_of({.side = Side::kBuy, .shares = 150, .limit = 10'200},
                   {book(Side::kBuy, {{10'000, 100}}, 3'000), book(Side::kBuy, {{10'100, 80}})},
                   {{0, 100, 10'000}, {1, 50, 10'100}}),
         {},
         {}});
    for (std::uint8_t venue = 1; venue <= 2; ++venue)
      run.books[venue].put(7, kSymbol,
                           {{}, venue == 1 ? BookLevels{{10'000, 100}} : BookLevels{{10'100, 80}}});
    fill(0, 100, 10'000);
    fill(1, 50, 10'100);
  }
  void fill(std::size_t at, std::uint32_t shares, std::uint32_t price) {
    RoutedFate& fate = run.fates[100 + at];
    fate.order.side = Side::kBuy;
    fate.order.shares = run.decisions[0].record.venues[at].shares;
    fate.order.price = run.decisions[0].record.venues[at].price;
    fate.order.time_in_force = trading::TimeInForce::kImmediateOrCancel;
    TradedFill made;
    made.shares = shares;
    made.price = {price};
    fate.fills.push_back(made);
  }
  RouteCheck::Rule rule(RouteCheck::Which which) const { return check_routes(run).rules[which]; }

  RoutedRun run;
};

TEST_F(OneDecision, IsFollowedToItsFills) {
  run.decisions[0].sent_at_match = {7, 7};
  run.decisions[0].sent_at_decision = {7, 7};
  const RouteCheck check = check_routes(run);
  EXPECT_TRUE(check.holds()) << to_text(check);
  EXPECT_EQ(check.rules[RouteCheck::kSeen].checked, 2u);
  EXPECT_EQ(check.rules[RouteCheck::kSent].checked, 2u);
  EXPECT_EQ(check.rules[RouteCheck::kFills].checked, 2u);
  EXPECT_THAT(check.figures,
              AllOf(Contains(HasSubstr("filled 150 of 150 shares")),
                    Contains(HasSubstr("1 of 1 met the books that it saw; of these 1 were")),
                    Contains(HasSubstr("0 of 1 had books that the exchanges had changed"))));
}

// What it did not find at once it leaves there, and is filled by who comes later.
TEST_F(OneDecision, TheFillsOfWhatRestedAreNotThoseOfItsArrival) {
  run.decisions[0].sent_at_match = {7, 7};
  RouteVenue& venue = run.decisions[0].record.venues[0];
  venue.shares = 130;
  venue.rests = 1;
  fill(0, 30, 10'000);
  const auto figures = [&] { return check_routes(run).figures; };
  EXPECT_THAT(figures(),
              AllOf(Contains(HasSubstr("filled 150 of 150 shares")),
                    Contains(HasSubstr("and 0 that it did not see")),
                    Contains(HasSubstr("1 of 1 met the books that it saw; of these 1"))));
  venue.rests = 0;
  EXPECT_THAT(figures(), AllOf(Contains(HasSubstr("and 30 that it did not see")),
                               Contains(HasSubstr("1 of 1 met the books that it saw; of these 0"))))
      << "nothing of it is there any more when others come";
}

TEST_F(OneDecision, ABookThatIsNotTheFeedsIsFound) {
  run.books[2].put(7, kSymbol, {{}, {{10'100, 90}}});
  EXPECT_THAT(rule(RouteCheck::kSeen).examples,
              ElementsAre(HasSubstr("venue 2 at message 7, image 0")));
}

// The update's best price, and the image behind it.
TEST_F(OneDecision, ABookOfAnUpdateAndAnOlderImageIsMadeAgain) {
  RouteVenue& venue = run.decisions[0].record.venues[1];
  venue.image_tick = 5;
  venue.levels[1] = {10'200, 30};
  venue.level_count = 2;
  run.books[2].put(5, kSymbol, {{}, {{10'000, 10}, {10'100, 40}, {10'200, 30}}});
  EXPECT_EQ(rule(RouteCheck::kSeen).broken, 0u);
  venue.image_tick = 8;
  run.books[2].put(8, kSymbol, {{}, {{10'100, 80}, {10'200, 30}}});
  EXPECT_EQ(rule(RouteCheck::kSeen).broken, 0u) << "the newer image alone";
  run.books[2].put(8, kSymbol, {{}, {{10'100, 70}, {10'200, 30}}});
  EXPECT_EQ(rule(RouteCheck::kSeen).broken, 1u);
}

TEST_F(OneDecision, WhatIsNotRecordedIsSaidAndNotCalledGood) {
  run.books.erase(2);
  run.fates.erase(101);
  const RouteCheck check = check_routes(run);
  EXPECT_FALSE(check.holds());
  EXPECT_THAT(check.unchecked, AllOf(Contains(HasSubstr("1 books that it saw")),
                                     Contains(HasSubstr("1 orders are in no journal"))));
  EXPECT_THAT(check.problem(), HasSubstr("not everything could be checked"));
  EXPECT_THAT(to_text(check), HasSubstr("UNCHECKED"));
}

TEST_F(OneDecision, AnOrderOtherThanDecidedIsFound) {
  run.fates[101].order.price = 10'200;
  EXPECT_THAT(
      rule(RouteCheck::kSent).examples,
      ElementsAre(HasSubstr("50 at 1.0100 were decided for venue 2, oeg has 50 at 1.0200")));
  run.fates[101].order.price = 10'100;
  run.fates[101].order.time_in_force = trading::TimeInForce::kDay;
  EXPECT_EQ(rule(RouteCheck::kSent).broken, 1u) << "it would rest";
}

TEST_F(OneDecision, AFillBeyondThePlannedPriceIsFound) {
  run.fates[101].fills[0].price = {10'100, 1};
  EXPECT_THAT(rule(RouteCheck::kFills).examples, ElementsAre(HasSubstr("beyond 1.0100")));
  run.fates[101].fills[0].price = {10'099, 99};
  EXPECT_EQ(rule(RouteCheck::kFills).broken, 0u);
}

TEST_F(OneDecision, WhatMovedInFlightIsAFigure) {
  run.decisions[0].sent_at_decision = {7, 9};
  run.decisions[0].sent_at_match = {7, 9};
  run.books[2].put(9, kSymbol, {{}, {{9'900, 500}}});
  run.fates[101].fills[0].price = {9'900};
  const RouteCheck check = check_routes(run);
  EXPECT_TRUE(check.holds()) << to_text(check);
  EXPECT_THAT(check.figures,
              AllOf(Contains(HasSubstr("1 of 1 had books that the exchanges had changed already; "
                                       "on these 1 would have had")),
                    Contains(HasSubstr("-1.0000 dearer than planned")),
                    Contains(HasSubstr("0 of 1 met the books that it saw"))));
}

TEST_F(OneDecision, FeesAreAFigureBesideThePrice) {
  // 100 at one price: the larger size first, which is dearer by its fee.
  run.decisions[0].record = record_of(
      {.side = Side::kBuy, .shares = 100, .limit = 10'200},
      {book(Side::kBuy, {{10'000, 300}}, 3'000), book(Side::kBuy, {{10'000, 100}}, 1'000)},
      {{0, 100, 10'000}});
  run.books[1].put(7, kSymbol, {{}, {{10'000, 300}}});
  run.books[2].put(7, kSymbol, {{}, {{10'000, 100}}});
  run.fates.erase(101);
  const RouteCheck check = check_routes(run);
  EXPECT_TRUE(check.holds()) << to_text(check);
  EXPECT_THAT(check.figures,
              Contains(HasSubstr("1 decisions cost more than a venue alone, by 0.0020 a share")));
}

TEST_F(OneDecision, AVenueThatCouldNotBeChosenIsNoneToCompareWith) {
  run.decisions[0].record.venues[1].left_out = LeftOut::kFeed;
  run.decisions[0].record.venues[1].shares = 0;
  run.decisions[0].record.venues[1].order_id = 0;
  run.decisions[0].record.venues[0].shares = 150;
  run.decisions[0].record.venues[0].price = 10'200;
  run.fates[100].order.shares = 150;
  run.fates[100].order.price = 10'200;
  const RouteCheck check = check_routes(run);
  EXPECT_TRUE(check.holds()) << to_text(check);
  EXPECT_EQ(check.rules[RouteCheck::kSeen].checked, 1u);
}

TEST_F(OneDecision, SaysWhereAnOegAcceptedNothingAndWhatWentThereInVain) {
  run.decisions.push_back(run.decisions[0]);
  run.decisions[1].record.venues[1].left_out = LeftOut::kNotAccepting;
  run.decisions[1].record.venues[1].shares = 0;
  run.decisions[1].record.venues[1].order_id = 0;
  run.fates[101].order.reason = trading::RejectReason::kSessionDown;
  const RouteCheck check = check_routes(run);
  EXPECT_THAT(check.figures,
              Contains(HasSubstr("1 times a venue was left out because its oeg accepted no")));
  EXPECT_THAT(check.figures,
              Contains(HasSubstr("1 orders were on their way when an oeg began to refuse")));
}

}  // namespace
}  // namespace tickpath::cli
