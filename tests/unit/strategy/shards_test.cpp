// A venue whose symbols are shared by two mdh's and two oegs: to plugins it is one venue.
#include <gmock/gmock.h>

#include "strategy/config.hpp"
#include "tests/unit/strategy/stacks_fixture.hpp"

namespace tickpath::strategy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kRoom;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::Venued;

// With two shards AAPL and MSFT are in the first, SPY and TSLA in the second. The ids of one are
// those of the other, too.
constexpr std::uint32_t kAapl = 3, kMsft = 4;                 // as plugins know them
constexpr std::uint32_t kSpy = kRoom + 3, kTsla = kRoom + 4;  // 3 and 4 to their mdh
constexpr std::uint32_t kAaplElsewhere = 2 * kRoom + 1, kSpyElsewhere = 2 * kRoom + 2;

class SubscriberOfTwo final : public Venued {
  void start() override {
    subscribe("SPY");
    subscribe("AAPL");
    subscribe("QQQQ");
    subscribe("NONE");
    subscribe("a name that is longer");
  }
};

// A venue in two shards, and another one of one piece.
class Shards : public testing::StacksTest<3> {
 protected:
  Shards()
      : StacksTest({{{{"first", 1, -2'000, 3'000}, {1, 2}},
                     {{"first", 1, -2'000, 3'000}, {2, 2}},
                     {{"second", 2, 500, 1'000}, {}}}}) {}
  void list_all() {
    list(0, 3, "AAPL");
    list(0, 4, "MSFT");
    list(1, 3, "SPY");
    list(1, 4, "TSLA");
    list(2, 1, "AAPL");
    list(2, 2, "SPY");
  }
  void all_good() {
    for (std::size_t stack = 0; stack < 3; ++stack)
      engine.on_update(wire::feed_state_update(wire::kNoInstrument, wire::FeedState::kGood), stack);
  }
  tickpath_venue_state state_of(const Venued& plugin, std::uint32_t venue) {
    tickpath_venue_state state{};
    EXPECT_TRUE(plugin.venue_state(venue, state));
    return state;
  }
};

TEST_F(Shards, AreOneVenueToPlugins) {
  list_all();
  Venued& plugin = add();
  EXPECT_EQ(plugin.venues(), 2u);
  EXPECT_EQ(plugin.venue_name(0), "first");
  EXPECT_EQ(plugin.venue_name(1), "second");
  EXPECT_EQ(plugin.instruments_max(), 3 * kRoom);
  for (const std::uint32_t of_first : {kAapl, kMsft, kSpy, kTsla})
    EXPECT_EQ(plugin.venue_of(of_first), 0u);
  EXPECT_EQ(plugin.venue_of(kSpyElsewhere), 1u);
  EXPECT_EQ(plugin.listing(0, "SPY"), kSpy);
  EXPECT_EQ(plugin.listing(0, "AAPL"), kAapl);
  EXPECT_EQ(plugin.listing(1, kSpy), kSpyElsewhere);
  EXPECT_EQ(plugin.listing(0, kSpyElsewhere), kSpy);
  EXPECT_EQ(plugin.listing(0, kAaplElsewhere), kAapl);
  EXPECT_EQ(plugin.find_symbol("TSLA"), kTsla);
  EXPECT_EQ(plugin.symbol_of(kTsla), "TSLA");
  EXPECT_EQ(state_of(plugin, 0).taker_fee, 3'000);
}

TEST_F(Shards, EverySymbolIsHeardOnceAndItsOrdersGoToItsShard) {
  list_all();
  Venued& plugin = add();
  quote(0, 3, 100'000, 100'100);
  quote(1, 3, 200'000, 200'100);
  ASSERT_THAT(plugin.changes, SizeIs(2));
  EXPECT_EQ(plugin.changes[0].instrument, kAapl);
  EXPECT_EQ(plugin.changes[1].instrument, kSpy);
  const auto sent = plugin.limit(kSpy, Venued::kBuy, 100, 200'000);
  ASSERT_TRUE(sent);
  EXPECT_EQ(ports[0].count, 0u);
  EXPECT_EQ(ports[1].last().instrument_id, 3u) << "as its own mdh numbers it";
  report(1, wire::ReportKind::kFill, sent.id, 3, 100);
  EXPECT_EQ(plugin.reports.at(0).instrument, kSpy);
  EXPECT_EQ(plugin.position(kSpy).shares, 100);
  EXPECT_EQ(plugin.position(kAapl).shares, 0);
  const auto other = plugin.limit(kAapl, Venued::kBuy, 100, 100'000);
  EXPECT_NE(other.id, sent.id) << "one counter for all";
  report(1, wire::ReportKind::kCanceled, other.id, 3);
  EXPECT_EQ(engine.counters().reports_unmatched.get(), 1u) << "no shard ends another's orders";
}

TEST_F(Shards, ASubscriptionIsSettledByTheShardThatHasTheSymbol) {
  Venued& plugin = add<SubscriberOfTwo>();
  EXPECT_THAT(plugin.instruments, IsEmpty());
  list(1, 3, "SPY");
  EXPECT_THAT(plugin.instruments, ElementsAre(Pair("SPY", kSpy)));
  EXPECT_THAT(plugin.about, ElementsAre(0u));
  list(0, 3, "AAPL");
  EXPECT_THAT(plugin.instruments, ElementsAre(Pair("SPY", kSpy), Pair("AAPL", kAapl)));
}

// Which of the shards has begun its day says nothing of the other's symbols.
TEST_F(Shards, ASymbolIsMissingOnceItsOwnShardHasOrders) {
  Venued& plugin = add<SubscriberOfTwo>();
  const auto missing = [&](const char* symbol) {
    return std::ranges::count(plugin.instruments,
                              std::pair(std::string(symbol), TICKPATH_NO_INSTRUMENT));
  };
  ASSERT_EQ(wire::Shard::of("QQQQ", 2).number, 2);
  ASSERT_EQ(wire::Shard::of("NONE", 2).number, 1);
  list(0, 3, "AAPL");
  quote(0, 3, 100'000, 100'100);
  EXPECT_EQ(missing("QQQQ"), 0);
  EXPECT_EQ(missing("SPY"), 0);
  EXPECT_EQ(missing("NONE"), 1);
  list(1, 3, "SPY");
  quote(1, 3, 100'000, 100'100);
  EXPECT_EQ(missing("QQQQ"), 1);
  EXPECT_EQ(missing("SPY"), 0);
  EXPECT_EQ(missing("NONE"), 1);
}

TEST_F(Shards, ALongNameLeadsToTheShardOfItsSymbol) {
  list_all();
  engine.set_names(std::make_unique<const control::LongNames>(
      control::LongNames::Pairs{{"SPY", "a name that is longer"}}));
  Venued& plugin = add<SubscriberOfTwo>();
  EXPECT_EQ(plugin.listing(0, "a name that is longer"), kSpy);
  EXPECT_EQ(plugin.listing(1, "a name that is longer"), kSpyElsewhere);
}

// ------------------------------------------------------------------------------ one in trouble

TEST_F(Shards, OneThatIsStaleIsStaleForItsSymbolsOnly) {
  list_all();
  Venued& plugin = add();
  all_good();
  quote(0, 3, 100'000, 100'100);
  quote(1, 3, 200'000, 200'100);
  ASSERT_TRUE(plugin.limit(kAapl, Venued::kBuy, 100, 100'000));
  ASSERT_TRUE(plugin.limit(kSpy, Venued::kBuy, 100, 200'000));
  plugin.feeds.clear();
  engine.on_mdh(false, 1);
  (void)engine.on_turn();
  EXPECT_THAT(plugin.feeds,
              ElementsAre(Pair(kSpy, TICKPATH_FEED_STALE), Pair(kTsla, TICKPATH_FEED_STALE)));
  EXPECT_EQ(ports[0].count, 1u) << "the new order, and nothing else";
  EXPECT_EQ(ports[1].last().kind, wire::RequestKind::kCancel);
  tickpath_quote seen{};
  ASSERT_TRUE(plugin.quote(kSpy, seen));
  EXPECT_EQ(seen.feed_state, TICKPATH_FEED_STALE);
  ASSERT_TRUE(plugin.quote(kAapl, seen));
  EXPECT_EQ(seen.feed_state, TICKPATH_FEED_GOOD);
  EXPECT_EQ(state_of(plugin, 0).feed_state, TICKPATH_FEED_STALE) << "the worst of its shards";
  EXPECT_TRUE(plugin.limit(kAapl, Venued::kBuy, 100, 100'000)) << "the other shard goes on";

  plugin.feeds.clear();
  engine.on_mdh(true, 1);
  EXPECT_THAT(plugin.feeds, ElementsAre(Pair(TICKPATH_NO_INSTRUMENT, TICKPATH_FEED_GOOD)))
      << "all shards are again";
  EXPECT_EQ(state_of(plugin, 0).feed_state, TICKPATH_FEED_GOOD);
}

TEST_F(Shards, TheWholeFeedIsStaleWhenAllShardsAre) {
  list_all();
  Venued& plugin = add();
  all_good();
  plugin.feeds.clear();
  engine.on_mdh(false, 0);
  EXPECT_THAT(plugin.feeds, SizeIs(2)) << "instrument by instrument";
  plugin.feeds.clear();
  engine.on_mdh(false, 1);
  EXPECT_THAT(plugin.feeds, ElementsAre(Pair(TICKPATH_NO_INSTRUMENT, TICKPATH_FEED_STALE)));
  EXPECT_EQ(plugin.about.back(), 0u);
}

TEST_F(Shards, AnOegThatIsGoneStopsItsSymbolsOnly) {
  list_all();
  Venued& plugin = add();
  engine.on_gateway(1, false, 1);
  EXPECT_THAT(plugin.gateways, IsEmpty()) << "orders can be sent to the venue";
  EXPECT_EQ(state_of(plugin, 0).gateway_up, 1);
  EXPECT_FALSE(plugin.can_send(kSpy));
  EXPECT_TRUE(plugin.can_send(kAapl));
  EXPECT_FALSE(plugin.can_send(3 * kRoom));
  EXPECT_EQ(plugin.limit(kSpy, Venued::kBuy, 100, 200'000).status, TICKPATH_GATEWAY_DOWN);
  EXPECT_TRUE(plugin.limit(kAapl, Venued::kBuy, 100, 100'000));
  engine.on_gateway(1, false, 0);
  EXPECT_THAT(plugin.gateways, ElementsAre(Pair(0u, false)));
  engine.on_gateway(1, true, 1);
  EXPECT_THAT(plugin.gateways, ElementsAre(Pair(0u, false), Pair(0u, true)));
  EXPECT_EQ(state_of(plugin, 1).gateway_up, 1) << "the other venue";
}

TEST_F(Shards, TheRouterTakesThemAsOneVenue) {
  list_all();
  Venued& plugin = add();
  all_good();
  quote(1, 3, 99'000, 100'100);
  quote(2, 2, 99'000, 100'000);
  const auto routed = plugin.route(kSpyElsewhere, Venued::kBuy, 500, 100'200);
  ASSERT_TRUE(routed) << plugin.text_of(routed);
  ASSERT_EQ(routed.count, 2u) << "one order a venue";
  EXPECT_EQ(routed.children[0].instrument, kSpyElsewhere) << "the lower ask first";
  EXPECT_EQ(routed.children[1].instrument, kSpy);
  EXPECT_EQ(ports[0].count, 0u);
  engine.on_gateway(1, false, 1);
  EXPECT_EQ(plugin.route(kSpy, Venued::kBuy, 500, 100'200).count, 1u);
}

// ------------------------------------------------------------------------------- configuration

std::string venue(const std::string& name, const std::string& shard, int at,
                  const std::string& more = "") {
  return "[[venue]]\nname = '" + name + "'\nshard = '" + shard + "'\nfeed.endpoint = 'f" +
         std::to_string(at) + "'\ngateway.endpoint = 'g" + std::to_string(at) + "'\n" + more;
}
StrategyConfig load_venues(const std::string& text) {
  return config::load_text(strategy_schema(), text + "[[plugin]]\nid = 1\nfile = 'a.so'\n",
                           "s.toml");
}
std::string refusal(const std::string& text) {
  try {
    (void)load_venues(text);
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(ShardConfig, StacksStandInTheOrderOfVenuesAndShards) {
  const auto stacks = stacks_of(load_venues(venue("b", "2/2", 1) + venue("a", "", 2) +
                                            venue("b", "1/2", 3) + venue("c", "1/1", 4)));
  ASSERT_EQ(stacks.size(), 4u);
  std::vector<std::string> titles;
  std::vector<int> numbers;
  for (const VenueConfig& each : stacks) {
    titles.push_back(each.title());
    numbers.push_back(each.number);
  }
  EXPECT_THAT(titles, ElementsAre("b 1/2", "b 2/2", "a", "c 1/1"));
  EXPECT_THAT(numbers, ElementsAre(1, 1, 2, 3)) << "of venues";
}

TEST(ShardConfig, RefusesShardsThatDoNotFitTogether) {
  EXPECT_THAT(refusal(venue("a", "1/2", 1)), HasSubstr("there is a 1/2 and no shard 2/2"));
  EXPECT_THAT(refusal(venue("a", "1/2", 1) + venue("a", "1/2", 2)),
              HasSubstr("\"a 1/2\" is given to two venues"));
  EXPECT_THAT(refusal(venue("a", "1/2", 1) + venue("a", "2/3", 2)),
              HasSubstr("a 1/2 and a 2/3 do not fit together"));
  EXPECT_THAT(refusal(venue("a", "", 1) + venue("a", "", 2)),
              HasSubstr("the shards of one venue have a `shard` each"));
  EXPECT_THAT(refusal(venue("a", "x", 1)), HasSubstr("\"x\" is no shard: write \"k/n\""));
  EXPECT_THAT(refusal(venue("a", "1/2", 1) + venue("a", "2/2", 2, "fees.taker = 3.0\n")),
              HasSubstr("a 2/2 has another number or other fees than a 1/2"));
  EXPECT_THAT(refusal(venue("a", "1/2", 1) + venue("a", "2/2", 2, "number = 3\n")),
              HasSubstr("a 2/2 has another number"));
  EXPECT_THAT(refusal(venue("a", "1/2", 1) + venue("a", "2/2", 1)),
              HasSubstr("f1 is in a 1/2 and again in a 2/2"));
}

}  // namespace
}  // namespace tickpath::strategy
