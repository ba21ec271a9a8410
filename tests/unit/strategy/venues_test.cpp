// An engine that trades on two venues: whose ids are whose, what one venue's trouble does to the
// other, and orders that are routed.
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>

#include "tests/unit/strategy/stacks_fixture.hpp"

namespace tickpath::strategy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

using testing::kRoom;
using testing::Venued;

class Subscriber final : public Venued {
  void start() override { subscribe("AAPL"); }
};

class TwoVenues : public testing::StacksTest<2> {
 protected:
  TwoVenues() : StacksTest({{{{"first", 1, -2'000, 3'000}, {}}, {{"second", 2, 500, 1'000}, {}}}}) {
    list(0, 3, "AAPL");
    list(0, 4, "MSFT");
    list(1, 3, "MSFT");
    list(1, 7, "AAPL");
  }
};

// ---------------------------------------------------------------------------------------- ids

TEST_F(TwoVenues, AnInstrumentIsAListingAndEachVenueHearsItsOwnIds) {
  Venued& plugin = add();
  EXPECT_EQ(plugin.venues(), 2u);
  EXPECT_EQ(plugin.venue_name(1), "second");
  EXPECT_EQ(plugin.instruments_max(), 2 * kRoom);
  EXPECT_EQ(plugin.listing(0, "AAPL"), 3u);
  EXPECT_EQ(plugin.listing(1, "AAPL"), kRoom + 7);
  EXPECT_EQ(plugin.listing(0, kRoom + 7), 3u);
  EXPECT_EQ(plugin.venue_of(kRoom + 7), 1u);
  EXPECT_EQ(plugin.venue_of(2 * kRoom), TICKPATH_NO_VENUE);
  EXPECT_EQ(plugin.symbol_of(kRoom + 3), "MSFT");
  quote(1, 7, 100'000, 100'100);
  ASSERT_THAT(plugin.changes, SizeIs(1));
  EXPECT_EQ(plugin.changes[0].instrument, kRoom + 7);
  const auto sent = plugin.limit(kRoom + 7, Venued::kBuy, 100, 100'100);
  ASSERT_TRUE(sent);
  EXPECT_EQ(ports[0].count, 0u);
  ASSERT_EQ(ports[1].count, 1u);
  EXPECT_EQ(ports[1].last().instrument_id, 7u);
  report(1, wire::ReportKind::kFill, sent.id, 7, 100);
  EXPECT_EQ(plugin.reports.at(0).instrument, kRoom + 7);
  EXPECT_EQ(plugin.position(kRoom + 7).shares, 100);
  EXPECT_EQ(plugin.position(3).shares, 0);
  EXPECT_EQ(plugin.position_everywhere(3).shares, 100);
}

TEST_F(TwoVenues, IdsBeyondTheRoomOfAVenueAreNobodysAndNotTheNextVenues) {
  Venued& plugin = add();
  quote(0, kRoom + 7, 100'000, 100'100);
  EXPECT_EQ(engine.counters().instruments_beyond.get(), 1u);
  EXPECT_TRUE(plugin.changes.empty());
  tell_position(0, kRoom + 7, 5, 0);
  EXPECT_EQ(plugin.position(kRoom + 7).shares, 0);
}

TEST_F(TwoVenues, AVenueHasNoSayInOrdersAtTheOther) {
  Venued& plugin = add();
  const auto sent = plugin.limit(3, Venued::kBuy, 100, 100'000);
  ASSERT_TRUE(sent);
  report(1, wire::ReportKind::kCanceled, sent.id, 3);
  EXPECT_EQ(engine.counters().reports_unmatched.get(), 1u);
  EXPECT_EQ(instance->orders.size(), 1u);
}

TEST_F(TwoVenues, ASubscriptionIsAtEveryVenueAndSaysWhichOneItWasSettledAt) {
  Venued& plugin = add<Subscriber>();
  EXPECT_THAT(plugin.instruments, ElementsAre(Pair("AAPL", 3u), Pair("AAPL", kRoom + 7)));
  EXPECT_THAT(plugin.about, ElementsAre(0u, 1u));
  quote(0, 4, 100'000, 100'100);
  EXPECT_TRUE(plugin.changes.empty());
  quote(0, 3, 100'000, 100'100);
  quote(1, 7, 100'000, 100'100);
  EXPECT_THAT(plugin.changes, SizeIs(2));
}

TEST_F(TwoVenues, FeesAndStatesAreOfTheVenue) {
  Venued& plugin = add();
  engine.on_market_state(wire::FeedState::kGood, 1);
  tickpath_venue_state state{};
  ASSERT_TRUE(plugin.venue_state(0, state));
  EXPECT_EQ(state.maker_fee, -2'000);
  EXPECT_EQ(state.feed_state, TICKPATH_FEED_UNKNOWN);
  ASSERT_TRUE(plugin.venue_state(1, state));
  EXPECT_EQ(state.taker_fee, 1'000);
  EXPECT_EQ(state.feed_state, TICKPATH_FEED_GOOD);
  EXPECT_EQ(state.gateway_up, 1);
  EXPECT_EQ(state.accepting, 1);
  EXPECT_FALSE(plugin.venue_state(2, state));
  engine.on_accepting(1, trading::RejectReason::kKillSwitch, 1);
  ASSERT_TRUE(plugin.venue_state(1, state));
  EXPECT_EQ(state.gateway_up, 1);
  EXPECT_EQ(state.accepting, 0);
  EXPECT_FALSE(plugin.can_send(kRoom + 7));
  EXPECT_TRUE(plugin.can_send(3));
}

// ------------------------------------------------------------------------------ one in trouble

TEST_F(TwoVenues, AStaleFeedCancelsAtItsVenueAlone) {
  Venued& plugin = add();
  for (const std::size_t venue : {0, 1}) engine.on_market_state(wire::FeedState::kGood, venue);
  ASSERT_TRUE(plugin.limit(3, Venued::kBuy, 100, 100'000));
  ASSERT_TRUE(plugin.limit(kRoom + 7, Venued::kBuy, 100, 100'000));
  plugin.about.clear();
  engine.on_mdh(false, 1);
  (void)engine.on_turn();
  EXPECT_EQ(ports[0].count, 1u) << "the new order, and nothing else";
  EXPECT_EQ(ports[1].last().kind, wire::RequestKind::kCancel);
  EXPECT_THAT(plugin.about, ElementsAre(1u));
  EXPECT_TRUE(plugin.limit(3, Venued::kBuy, 100, 100'000)) << "the other venue goes on";
}

// The whole of an outage at one venue: what was open there is asked for, what was unanswered is
// lost, and the accounts of the other venue stay as they were.
TEST_F(TwoVenues, AnOutageOfOneGatewayIsSettledWhileTheOtherTrades) {
  Venued& plugin = add();
  const auto lost = plugin.limit(3, Venued::kBuy, 100, 100'000);
  const auto kept = plugin.limit(kRoom + 7, Venued::kBuy, 100, 100'000);
  ASSERT_TRUE(lost && kept);
  report(1, wire::ReportKind::kAccepted, kept.id, 7);
  const auto cancel = plugin.cancel(kept.id);
  ASSERT_TRUE(cancel);
  engine.on_gateway(1, false, 0);
  EXPECT_THAT(plugin.gateways, ElementsAre(Pair(0u, false)));
  EXPECT_EQ(plugin.limit(3, Venued::kBuy, 100, 100'000).status, TICKPATH_GATEWAY_DOWN);
  EXPECT_TRUE(plugin.limit(kRoom + 7, Venued::kBuy, 50, 100'000));
  EXPECT_EQ(instance->counters.answers_lost.get(), 1u);
  EXPECT_EQ(instance->counters.unanswered.get(), 2u) << "those of the second venue";
  EXPECT_EQ(instance->counters.changes_lost.get(), 0u) << "the cancel is on its way elsewhere";
  report(1, wire::ReportKind::kCanceled, cancel.id, 7, 0, kept.id);
  EXPECT_EQ(instance->counters.changes_accepted.get(), 1u);
  EXPECT_EQ(instance->counters.unanswered.get(), 1u);

  engine.on_gateway(1, true, 0);
  engine.advance(1);
  (void)engine.on_turn();
  EXPECT_THAT(plugin.gateways, SizeIs(1)) << "not before its order is settled";
  EXPECT_EQ(ports[0].last().kind, wire::RequestKind::kCancel);
  EXPECT_EQ(ports[0].last().target_order_id, lost.id);
  wire::OrderReport unknown{.order_id = ports[0].last().order_id,
                            .target_order_id = lost.id,
                            .instrument_id = 3,
                            .kind = wire::ReportKind::kCancelRejected,
                            .reason = trading::RejectReason::kUnknownOrder,
                            .strategy_id = 1};
  engine.on_report(1, unknown, 0);
  EXPECT_THAT(plugin.gateways, ElementsAre(Pair(0u, false), Pair(0u, true)));
  EXPECT_EQ(instance->counters.orders_lost.get(), 1u);
  EXPECT_EQ(instance->gateways[0].counters.orders_lost.get(), 1u);
  EXPECT_EQ(instance->gateways[1].counters.orders_lost.get(), 0u);
  EXPECT_EQ(instance->gateways[1].counters.orders.get(), 2u);
  EXPECT_TRUE(plugin.limit(3, Venued::kBuy, 100, 100'000));
}

TEST_F(TwoVenues, PositionsAreToldByEachVenuesOegInItsOwnIds) {
  Venued& plugin = add();
  tell_position(1, 7, -40, 9);
  EXPECT_EQ(plugin.position(kRoom + 7).shares, -40);
  EXPECT_EQ(plugin.position(7).shares, 0);
  EXPECT_EQ(plugin.position_everywhere(3).cash, 9);
}

// Ids never meet: one counter for all venues.
TEST_F(TwoVenues, OrderIdsAreUniqueOverTheVenues) {
  Venued& plugin = add();
  const auto a = plugin.limit(3, Venued::kBuy, 100, 100'000);
  const auto b = plugin.limit(kRoom + 7, Venued::kBuy, 100, 100'000);
  EXPECT_NE(a.id, b.id);
  EXPECT_NE(ports[0].last().order_id, ports[1].last().order_id);
}

// ----------------------------------------------------------------------------------- the router

TEST_F(TwoVenues, ARoutedOrderIsSplitIntoOneOrderAVenue) {
  Venued& plugin = add();
  quote(0, 3, 99'000, 100'100);
  quote(1, 7, 99'000, 100'000);
  const auto routed = plugin.route(3, Venued::kBuy, 500, 100'200);
  ASSERT_TRUE(routed) << plugin.text_of(routed);
  ASSERT_EQ(routed.count, 2u);
  EXPECT_EQ(routed.children[0].instrument, kRoom + 7) << "the lower ask first";
  EXPECT_EQ(routed.children[0].shares, 300u);
  EXPECT_EQ(routed.children[0].price, 100'000u);
  EXPECT_EQ(routed.children[1].instrument, 3u);
  EXPECT_EQ(routed.children[1].shares, 200u);
  EXPECT_EQ(ports[1].last().order_id, routed.children[0].order_id);
  EXPECT_EQ(ports[1].last().instrument_id, 7u);
  EXPECT_EQ(ports[0].last().time_in_force, trading::TimeInForce::kImmediateOrCancel);
  EXPECT_EQ(instance->counters.orders.get(), 2u);
}

TEST_F(TwoVenues, TheRouterLooksBehindTheBestPriceAndTrustsTheNewerOfUpdateAndImage) {
  Venued& plugin = add();
  quote(0, 3, 99'000, 100'100);
  quote(1, 7, 99'000, 100'100);
  wire::BookImage image{};
  image.instrument_id = 7;
  image.trace_id = sequence - 1;  // the update is newer
  image.asks[0] = {100'000, 900, 1};
  image.asks[1] = {100'150, 60, 1};
  images[1].images[7] = image;
  const auto older = plugin.route(3, Venued::kBuy, 700, 100'150);
  ASSERT_EQ(older.count, 2u);
  EXPECT_EQ(older.children[0].shares + older.children[1].shares, 700u);
  const bool first = older.children[0].instrument == kRoom + 7;
  EXPECT_EQ(older.children[first ? 0 : 1].price, 100'150u) << "its second level was wanted";
  images[1].images[7].trace_id = sequence + 1;
  const auto newer = plugin.route(3, Venued::kBuy, 700, 100'150);
  ASSERT_EQ(newer.count, 1u) << "the image says that the second venue has it all";
  EXPECT_EQ(newer.children[0].instrument, kRoom + 7);
  EXPECT_EQ(newer.children[0].price, 100'000u);
}

TEST_F(TwoVenues, TheRouterLeavesOutVenuesThatAreStaleHaltedOrGone) {
  Venued& plugin = add();
  for (const std::size_t venue : {0, 1})
    engine.on_update(wire::feed_state_update(wire::kNoInstrument, wire::FeedState::kGood), venue);
  quote(0, 3, 99'000, 100'100);
  quote(1, 7, 99'000, 100'000);
  const auto to = [&]() -> std::uint32_t {
    const auto routed = plugin.route(3, Venued::kBuy, 100, 100'200);
    EXPECT_LE(routed.count, 1u);
    return routed ? routed.children[0].instrument : TICKPATH_NO_INSTRUMENT;
  };
  EXPECT_EQ(to(), kRoom + 7);
  engine.on_mdh(false, 1);
  EXPECT_EQ(to(), 3u) << "stale";
  engine.on_mdh(true, 1);
  EXPECT_EQ(to(), kRoom + 7);
  quote(1, 7, 99'000, 100'000, wire::TradingState::kHalted);
  EXPECT_EQ(to(), 3u) << "halted";
  quote(1, 7, 99'000, 100'000);
  engine.on_accepting(1, trading::RejectReason::kSessionDown, 1);
  EXPECT_EQ(to(), 3u) << "it is not logged on to the venue";
  EXPECT_EQ(ports[1].count, 2u) << "nothing was sent there that it would refuse";
  engine.on_accepting(1, trading::RejectReason::kNone, 1);
  EXPECT_EQ(to(), kRoom + 7);
  engine.on_held(1, 7, trading::RejectReason::kException, 1);
  EXPECT_EQ(to(), 3u) << "its oeg has to be asked about a report first";
  engine.on_held(1, wire::kNoInstrument, trading::RejectReason::kNone, 1);
  EXPECT_EQ(to(), kRoom + 7);
  engine.on_held(1, 6, trading::RejectReason::kException, 1);
  EXPECT_EQ(to(), kRoom + 7) << "another symbol is held";
  engine.on_held(1, wire::kNoInstrument, trading::RejectReason::kException, 1);
  EXPECT_EQ(to(), 3u) << "all are";
  engine.on_held(1, wire::kNoInstrument, trading::RejectReason::kNone, 1);
  EXPECT_EQ(to(), kRoom + 7);
  engine.on_accepting(1, trading::RejectReason::kRiskAbsent, 1);
  engine.on_gateway(1, false, 1);
  EXPECT_EQ(to(), 3u) << "without its oeg";
  engine.on_gateway_silent(1, 0);
  EXPECT_EQ(to(), TICKPATH_NO_INSTRUMENT);
  EXPECT_EQ(plugin.route(3, Venued::kBuy, 100, 100'200).status, TICKPATH_NO_ROUTE);
}

TEST_F(TwoVenues, TheRouterRefusesWhatIsBoundToAVenueAndWhatIsUnknown) {
  Venued& plugin = add();
  quote(0, 3, 99'000, 100'100);
  EXPECT_EQ(plugin.route(60, Venued::kBuy, 100, 100'200).status, TICKPATH_UNKNOWN_INSTRUMENT);
  EXPECT_EQ(plugin.route(3, Venued::kBuy, 0, 100'200).status, TICKPATH_INVALID);
  Venued::NewOrder order{};
  order.instrument = 3;
  order.shares = 100;
  order.side = TICKPATH_BUY;
  order.type = TICKPATH_PEGGED;
  EXPECT_EQ(plugin.route(order).status, TICKPATH_INVALID);
  order.type = TICKPATH_LIMIT;
  order.price = 100'200;
  order.display_shares = 50;
  EXPECT_EQ(plugin.route(order).status, TICKPATH_INVALID);
  EXPECT_EQ(ports[0].count, 0u);
}

TEST_F(TwoVenues, WhatOneVenueDoesNotTakeIsToldByItsChild) {
  Venued& plugin = add();
  quote(0, 3, 99'000, 100'100);
  quote(1, 7, 99'000, 100'000);
  ports[1].credits = 0;
  const auto routed = plugin.route(3, Venued::kBuy, 500, 100'200);
  ASSERT_TRUE(routed);
  EXPECT_EQ(routed.children[0].status, TICKPATH_NO_CREDIT);
  EXPECT_EQ(routed.children[0].order_id, 0u);
  EXPECT_EQ(routed.children[1].status, TICKPATH_OK);
  ports[0].credits = 0;
  EXPECT_EQ(plugin.route(3, Venued::kBuy, 500, 100'200).status, TICKPATH_NO_CREDIT);
}

// What it saw and chose, for whoever does the sums again.
TEST_F(TwoVenues, EveryDecisionOfTheRouterIsRecorded) {
  RouteRing ring{2};
  engine.set_routes(ring);
  Venued& plugin = add();
  quote(0, 3, 99'000, 100'100);
  quote(1, 7, 99'000, 100'000);
  wire::BookImage image{};
  image.instrument_id = 7;
  image.trace_id = sequence + 5;
  image.asks[0] = {99'900, 400, 1};
  images[1].images[7] = image;
  const auto routed = plugin.route(3, Venued::kBuy, 500, 100'200);
  ASSERT_EQ(routed.count, 2u);
  RouteRecord record;
  ASSERT_TRUE(ring.try_pop(record));
  EXPECT_EQ(record.head.number, 1u);
  EXPECT_GT(record.head.decided, 0u);
  EXPECT_STREQ(record.head.symbol.data(), "AAPL");
  EXPECT_EQ(record.head.shares, 500u);
  EXPECT_EQ(record.head.limit, 100'200u);
  EXPECT_EQ(record.head.side, TICKPATH_BUY);
  EXPECT_EQ(record.head.strategy, 1u);
  EXPECT_EQ(record.head.status, TICKPATH_OK);
  ASSERT_EQ(record.head.venue_count, 2u);
  const RouteVenue& first = record.venues[0];
  EXPECT_EQ(first.venue, 1u);
  EXPECT_EQ(first.taker_fee, 3'000);
  EXPECT_EQ(first.update_tick, sequence - 1);
  EXPECT_EQ(first.image_tick, 0u);
  ASSERT_EQ(first.level_count, 1u);
  EXPECT_EQ(first.levels[0].price, 100'100u);
  EXPECT_EQ(first.order_id, routed.children[1].order_id);
  EXPECT_EQ(first.shares, 100u);
  EXPECT_EQ(first.place, 1u);
  const RouteVenue& second = record.venues[1];
  EXPECT_EQ(second.image_tick, sequence + 5);
  EXPECT_EQ(second.levels[0].price, 99'900u);
  EXPECT_EQ(second.order_id, routed.children[0].order_id);
  EXPECT_EQ(second.price, 99'900u);
}

TEST_F(TwoVenues, ADecisionThatIsNotRecordedIsCountedAndOneThatFoundNoVenueSaysWhy) {
  RouteRing ring{2};
  engine.set_routes(ring);
  Venued& plugin = add();
  quote(0, 3, 99'000, 100'100, wire::TradingState::kHalted);
  engine.on_gateway(1, false, 1);
  engine.on_gateway(1, true, 1);
  engine.on_accepting(1, trading::RejectReason::kVenueGap, 1);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(plugin.route(3, Venued::kBuy, 100, 100'200).status, TICKPATH_NO_ROUTE);
  EXPECT_EQ(plugin.route(3, Venued::kBuy, 0, 100'200).status, TICKPATH_INVALID);
  EXPECT_EQ(engine.counters().routes.get(), 3u) << "a mistake of the plugin's is no decision";
  EXPECT_EQ(engine.counters().routes_unrecorded.get(), 1u);
  RouteRecord record;
  ASSERT_TRUE(ring.try_pop(record));
  EXPECT_EQ(record.head.status, TICKPATH_NO_ROUTE);
  EXPECT_EQ(record.venues[0].left_out, LeftOut::kTrading);
  EXPECT_EQ(record.venues[1].left_out, LeftOut::kNotAccepting);
  EXPECT_EQ(record.venues[1].order_id, 0u);
}

// ------------------------------------------------------------------------------- the arbitrageur

class ArbitragePlugin : public TwoVenues {
 protected:
  Instance& add_arbitrage() {
    const char* bin = std::getenv("TICKPATH_BIN");
    const tickpath_plugin& plugin = load_plugin(
        std::filesystem::path(bin == nullptr ? "build/release/bin" : bin).parent_path().string() +
        "/plugins/arbitrage.so");
    Instance& made = engine.add(plugin, {1,
                                         "",
                                         {{"symbols", std::string("*")},
                                          {"order_shares_max", std::int64_t{200}},
                                          {"edge_min", std::int64_t{50}},
                                          {"legged_max_shares", std::int64_t{1'000}},
                                          {"pause", std::string("1ms")}},
                                         "test.toml",
                                         7});
    engine.start(made);
    engine.on_gateway(1, true, 0);
    engine.on_gateway(1, true, 1);
    instance = &made;
    engine.advance(now += 10'000'000);
    return made;
  }
  // The venue's answer to what was sent last there: so many shares of it, the rest expires.
  void answer(std::size_t venue, std::uint32_t shares) {
    const wire::OrderRequest request = ports[venue].last();
    wire::OrderReport made{.order_id = request.order_id,
                           .instrument_id = request.instrument_id,
                           .kind = wire::ReportKind::kFill,
                           .side = request.side,
                           .strategy_id = 1};
    made.last_shares = made.cumulative_shares = shares;
    made.last_price = static_cast<std::uint32_t>(request.price.value);
    made.leaves_shares = request.shares - shares;
    if (shares != 0) engine.on_report(1, made, venue);
    if (shares == request.shares) return;
    made.kind = wire::ReportKind::kExpired;
    made.leaves_shares = 0;
    engine.on_report(1, made, venue);
  }
  std::uint64_t now = 0;
};

TEST_F(ArbitragePlugin, BuysWhereItIsAskedForLessThanTheOtherVenueBids) {
  (void)add_arbitrage();
  quote(0, 3, 99'000, 100'000);
  quote(1, 7, 100'050, 100'400);
  EXPECT_EQ(ports[0].count, 0u) << "fees of 0.0040 and 0.0050 that are to be left: too little";
  quote(1, 7, 100'090, 100'400);
  ASSERT_EQ(ports[0].count, 1u);
  ASSERT_EQ(ports[1].count, 1u);
  EXPECT_EQ(ports[0].last().side, Side::kBuy);
  EXPECT_EQ(ports[0].last().price.value, 100'000);
  EXPECT_EQ(ports[1].last().side, Side::kSell);
  EXPECT_EQ(ports[1].last().price.value, 100'090);
  EXPECT_EQ(ports[1].last().shares, 200u) << "of 300 and 200 shown";
  EXPECT_EQ(ports[1].last().time_in_force, trading::TimeInForce::kImmediateOrCancel);
  quote(1, 7, 100'190, 100'400);
  EXPECT_EQ(ports[0].count, 1u) << "not while legs are open";
  answer(0, 200);
  answer(1, 200);
  engine.advance(now += 10'000'000);
  quote(1, 7, 100'190, 100'400);
  EXPECT_EQ(ports[0].count, 2u);
}

TEST_F(ArbitragePlugin, TakesBackThroughTheRouterWhatOneLegLeftOver) {
  (void)add_arbitrage();
  quote(0, 3, 99'000, 100'000);
  quote(1, 7, 100'200, 100'400);
  answer(0, 200);
  answer(1, 50);
  quote(1, 7, 99'500, 100'400);  // what was bid is gone
  EXPECT_EQ(ports[1].count, 1u) << "it waits a moment first";
  engine.advance(now += 2'000'000);
  (void)engine.on_turn();
  ASSERT_EQ(ports[1].count, 2u) << "the better bid";
  EXPECT_EQ(ports[0].count, 1u);
  EXPECT_EQ(ports[1].last().side, Side::kSell);
  EXPECT_EQ(ports[1].last().shares, 150u);
  answer(1, 100);
  engine.advance(now += 4'000'000);
  (void)engine.on_turn();
  ASSERT_EQ(ports[1].count, 3u) << "and again, for what is still left";
  EXPECT_EQ(ports[1].last().shares, 50u);
  answer(1, 50);
  engine.begin_stop();
  std::string told;
  LogRecord record;
  while (log.try_pop(record)) told += record.view();
  EXPECT_THAT(told,
              HasSubstr("1 pairs, 1 times one leg fell short, 1 of these taken back before the "
                        "end, 0 shares left"));
}

}  // namespace
}  // namespace tickpath::strategy
