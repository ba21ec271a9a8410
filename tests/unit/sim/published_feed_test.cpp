// Our orders on the feed: what a subscriber's book must be, and examples of each message.
#include <memory>

#include "common/feeds/recordings/lobster.hpp"
#include "feed_reader.hpp"
#include "random_stream.hpp"
#include "report_log.hpp"
#include "sim/market/market.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/sanitized.hpp"

namespace tickpath::sim::published_feed {
namespace {

constexpr std::uint64_t kFeedSeeds = test_support::seeds(12);
constexpr std::size_t kFeedCommands = 4'000;

const char* symbol_of(std::uint32_t locate) { return locate == 1 ? "ZAAA" : "ZAAB"; }

// A recorded command as its message.
struct Encode {
  const book::BookSet& book;
  Locate locate_of(std::uint64_t reference) const {
    const book::Handle handle = book.find(reference);
    return handle == book::kNoOrder ? Locate{1} : book.order(handle).locate;
  }
  Bytes operator()(const Add& c) const {
    return add(c.locate, symbol_of(c.locate), c.reference, c.side, c.shares, c.price);
  }
  Bytes operator()(const Execute& c) const {
    return executed(locate_of(c.reference), c.reference, c.shares);
  }
  Bytes operator()(const ExecuteAt& c) const {
    return executed_at(locate_of(c.reference), c.reference, c.shares, c.price, c.printable);
  }
  Bytes operator()(const Reduce& c) const {
    return canceled(locate_of(c.reference), c.reference, c.shares);
  }
  Bytes operator()(const Delete& c) const { return deleted(locate_of(c.reference), c.reference); }
  Bytes operator()(const ReplaceRecorded& c) const {
    return replaced(locate_of(c.reference), c.reference, c.new_reference, c.shares, c.price);
  }
  Bytes operator()(const HiddenTrade& c) const {
    return hidden_trade(c.locate, symbol_of(c.locate), c.shares, c.price);
  }
  Bytes operator()(const State& c) const {
    return trading_action(c.locate, symbol_of(c.locate),
                          c.state == wire::TradingState::kTrading ? 'T' : 'H');
  }
  static char code(CrossKind kind) {
    return kind == CrossKind::kOpening ? 'O' : kind == CrossKind::kClosing ? 'C' : 'H';
  }
  Bytes operator()(const RecordedImbalance& c) const {
    itch::NetOrderImbalanceIndicator m{.header = {c.locate, 0, kOpenNs},
                                       .imbalance_shares = c.shares,
                                       .imbalance_direction = itch::indicator_of(c.side),
                                       .stock = symbol_of(c.locate),
                                       .cross_type = code(c.kind)};
    return encoded(m);
  }
  Bytes operator()(const RecordedCross& c) const {
    itch::CrossTrade m{.header = {c.locate, 0, kOpenNs},
                       .shares = 1'000,
                       .stock = symbol_of(c.locate),
                       .cross_price = c.price,
                       .cross_type = code(c.kind)};
    return encoded(m);
  }
  Bytes operator()(const Close&) const { return system_event('C'); }
  Bytes operator()(const BeginDay&) const { return system_event('O'); }
  Bytes operator()(const auto&) const { return {}; }  // a request
};

// Whether a recorder of a real venue could have seen this, given what was recorded before.
struct Valid {
  const book::BookSet& book;
  bool holds(std::uint64_t reference, std::uint32_t shares) const {
    const book::Handle handle = book.find(reference);
    return handle != book::kNoOrder && shares != 0 && shares <= book.order(handle).shares;
  }
  bool operator()(const Add& c) const {
    return c.shares != 0 && c.price != 0 && book.find(c.reference) == book::kNoOrder;
  }
  bool operator()(const Execute& c) const { return holds(c.reference, c.shares); }
  bool operator()(const ExecuteAt& c) const { return holds(c.reference, c.shares); }
  bool operator()(const Reduce& c) const { return holds(c.reference, c.shares); }
  bool operator()(const Delete& c) const { return holds(c.reference, 1); }
  bool operator()(const ReplaceRecorded& c) const {
    return holds(c.reference, 1) && c.shares != 0 && c.price != 0 &&
           (c.new_reference == c.reference || book.find(c.new_reference) == book::kNoOrder);
  }
  bool operator()(const auto&) const { return true; }
};

// A market whose orders are published, and a subscriber.
class Venue {
 public:
  explicit Venue(HaltRule halt = HaltRule::kRest,
                 SelfMatchRule self_match = SelfMatchRule::kCancelNewest,
                 CrossRule crosses = CrossRule::kRecorded)
      : matcher_(options(halt, self_match, crosses), log_), market_(matcher_) {
    market_.publish_to(reader, 1'000'000'000);
  }

  void record(const Bytes& message) { market_.apply(message); }
  // Returns what was sent to the market, for a recorded command.
  Bytes play(const StreamCommand& command) {
    Bytes message = std::visit(Encode{matcher_.book()}, command);
    if (std::holds_alternative<Close>(command)) closed_ = true;
    if (std::holds_alternative<BeginDay>(command)) closed_ = false;
    if (const auto* order = std::get_if<NewOrder>(&command)) ids_.insert(order->order_id);
    if (const auto* order = std::get_if<ReplaceOrder>(&command)) ids_.insert(order->order_id);
    if (message.empty())
      tickpath::sim::apply(matcher_, command);
    else
      market_.apply(message);
    return message;
  }
  bool valid(const StreamCommand& command) const {
    return std::visit(Valid{matcher_.book()}, command);
  }

  // Every level: what the recording has left, and what of ours is shown. Empty: as published.
  std::string difference() {
    std::map<std::tuple<unsigned, Side, std::uint32_t>, book::LevelView> truth;
    const auto count = [&](unsigned locate, Side side, std::uint32_t price, std::uint32_t shares) {
      book::LevelView& level = truth[{locate, side, price}];
      if (shares == 0) return;
      ++level.orders;
      level.shares += shares;
    };
    const book::BookSet& book = matcher_.book();
    for (const Locate locate : {Locate{1}, Locate{2}})
      for (const Side side : {Side::kBuy, Side::kSell})
        for (std::uint32_t price = 0; price <= kPriceMax; ++price)
          for (book::Handle h = book.front(locate, side, price); h != book::kNoOrder;
               h = book.next(h))
            count(locate, side, price, book.order(h).shares - Matcher::taken_of(book.user(h)));
    for (auto id = ids_.begin(); id != ids_.end();) {
      const LiveOrder* order = matcher_.find_live(*id);
      if (order == nullptr) {
        id = ids_.erase(id);
        continue;
      }
      if (order->place == Place::kBook && !closed_)
        count(order->locate, order->side, order->price, order->shown());
      ++id;
    }
    std::ostringstream out;
    for (const auto& [key, level] : truth) {
      const auto& [locate, side, price] = key;
      const book::LevelView seen = reader.book.level_at(static_cast<Locate>(locate), side, price);
      if (seen.orders != level.orders || seen.shares != level.shares)
        out << "locate " << locate << (side == Side::kBuy ? " bid " : " offer ") << price
            << ": published " << seen.orders << " orders, " << seen.shares << " shares; true "
            << level.orders << ", " << level.shares << "\n";
    }
    std::uint64_t levels = 0;
    for (const auto& [key, level] : truth) levels += level.orders != 0 ? 1 : 0;
    std::uint64_t seen = 0;
    for (const Locate locate : {Locate{1}, Locate{2}})
      seen += reader.book.depth(locate, Side::kBuy) + reader.book.depth(locate, Side::kSell);
    if (out.str().empty() && seen != levels) out << "levels at other prices are published\n";
    return out.str();
  }

  NewOrder order(std::uint64_t id, Side side, std::uint32_t shares, std::uint32_t price) const {
    return {.order_id = id,
            .price = {price},
            .locate = 1,
            .shares = shares,
            .party = {0, static_cast<std::uint8_t>(id)},
            .side = side};
  }
  void enter(const NewOrder& request) { play(request); }
  void cancel(std::uint64_t id, Side side) {
    CancelOrder request{.order_id = id + 1'000,
                        .target_order_id = id,
                        .locate = 1,
                        .party = {0, static_cast<std::uint8_t>(id)},
                        .side = side};
    play(request);
  }
  const PublishedCounters& counters() const { return market_.published()->counters(); }
  const MatcherCounters& matching() const { return matcher_.counters(); }

  FeedReader reader;

 private:
  static constexpr std::uint32_t kPriceMax = 130;
  static MatcherOptions options(HaltRule halt, SelfMatchRule self_match, CrossRule crosses) {
    return {.book = {.orders_max = 4096, .levels_max = 1024},
            .live_orders_max = 4096,
            .order_ids_max = 1u << 16,
            .halt_rule = halt,
            .self_match = self_match,
            .display_shares_min = 1,
            .crosses = crosses};
  }

  ReportLog log_;
  Matcher matcher_;
  Market market_;
  std::set<std::uint64_t> ids_;
  bool closed_ = false;
};

// ---------------------------------------------------------------------- properties

struct FeedRules {
  HaltRule halt;
  SelfMatchRule self_match;
  CrossRule crosses = CrossRule::kRecorded;
};
class PublishedFeedProperty : public testing::TestWithParam<FeedRules> {
 protected:
  std::unique_ptr<Venue> venue() const {
    return std::make_unique<Venue>(GetParam().halt, GetParam().self_match, GetParam().crosses);
  }
  // The first difference between the subscriber's book and the market. only_valid: the recording
  // is one that a venue could have sent.
  std::string failure(const Stream& stream, bool only_valid, Venue& venue) const {
    list_symbols(venue);
    for (std::size_t i = 0; i < stream.size(); ++i) {
      if (only_valid && !venue.valid(stream[i])) continue;
      venue.play(stream[i]);
      if (std::holds_alternative<BeginDay>(stream[i])) list_symbols(venue);
      std::string found = venue.difference();
      if (only_valid && venue.reader.refused() != 0) found += "an invalid message\n";
      if (!found.empty()) return "after command " + std::to_string(i) + ": " + found;
    }
    return {};
  }
  static void list_symbols(Venue& venue) {
    for (const Locate locate : {Locate{1}, Locate{2}})
      venue.record(directory(locate, symbol_of(locate)));
  }
  void expect_agreement(std::uint64_t seed, bool only_valid, Venue& venue) const {
    const Stream stream = RandomStream(seed).make(kFeedCommands);
    if (failure(stream, only_valid, venue).empty()) return;
    const auto again = [&](const Stream& s) { return failure(s, only_valid, *this->venue()); };
    const Stream least = minimised(stream, [&](const Stream& s) { return !again(s).empty(); });
    FAIL() << "seed " << seed << "\n" << again(least) << print(least);
  }
};

TEST_P(PublishedFeedProperty, TheBookOfASubscriberIsTheMarketsAtEveryQuietMoment) {
  std::uint64_t own = 0;
  std::uint64_t amended = 0;
  std::uint64_t withheld = 0;
  for (std::uint64_t seed = 1; seed <= kFeedSeeds; ++seed) {
    const std::unique_ptr<Venue> made = venue();
    expect_agreement(seed, true, *made);
    if (HasFatalFailure()) return;
    EXPECT_EQ(made->reader.refused(), 0u);
    EXPECT_EQ(made->reader.undecodable, 0u);
    EXPECT_EQ(made->reader.repeated_matches, 0u);
    EXPECT_EQ(made->reader.wrong_symbols, 0u);
    own += made->counters().own.get();
    amended += made->counters().amended.get();
    withheld += made->counters().withheld.get();
  }
  EXPECT_GT(own, 500 * kFeedSeeds);
  EXPECT_GT(amended, 10 * kFeedSeeds);
  EXPECT_GT(withheld, 10 * kFeedSeeds);
}

TEST_P(PublishedFeedProperty, ABadRecordingMakesNoWorseFeedThanItselfAndTheSameBook) {
  for (std::uint64_t seed = 101; seed <= 100 + kFeedSeeds; ++seed) {
    const std::unique_ptr<Venue> made = venue();
    expect_agreement(seed, false, *made);
    if (HasFatalFailure()) return;
    EXPECT_LE(made->reader.refused(),
              made->matching().unknown_references.get() + made->matching().bad_messages.get());
  }
}

INSTANTIATE_TEST_SUITE_P(EveryRule, PublishedFeedProperty,
                         testing::Values(FeedRules{HaltRule::kRest, SelfMatchRule::kCancelNewest},
                                         FeedRules{HaltRule::kReject, SelfMatchRule::kCancelOldest},
                                         FeedRules{HaltRule::kRest, SelfMatchRule::kCancelBoth,
                                                   CrossRule::kOwn},
                                         FeedRules{HaltRule::kRest, SelfMatchRule::kDecrement}));

class PublishedFeed : public testing::Test, protected Venue {};

TEST_F(PublishedFeed, WithoutOrdersOfOursIsTheRecordingByteForByte) {
  for (std::uint64_t seed = 1; seed <= kFeedSeeds; ++seed) {
    Venue venue;
    std::vector<Bytes> recorded;
    for (const StreamCommand& command : RandomStream(seed).make(kFeedCommands)) {
      if (std::visit(Encode{venue.reader.book}, command).empty()) continue;  // a request
      recorded.push_back(venue.play(command));
    }
    EXPECT_EQ(venue.reader.messages, recorded) << "seed " << seed;
    EXPECT_EQ(venue.counters().own.get() + venue.counters().amended.get() +
                  venue.counters().withheld.get(),
              0u);
  }
}

// ---------------------------------------------------------------------- examples

TEST_F(PublishedFeed, ShowsReducesAndDeletesAnOrderOfOurs) {
  record(directory(1, "ZAAA", kOpenNs + 5));
  enter(order(1, Side::kBuy, 100, 120));
  ReplaceOrder fewer{.order_id = 2,
                     .target_order_id = 1,
                     .price = {120},
                     .locate = 1,
                     .shares = 60,
                     .party = {0, 1}};
  play(fewer);
  fewer.order_id = 3;
  fewer.target_order_id = 2;
  fewer.price = {121};
  play(fewer);
  play(CancelOrder{.order_id = 4, .target_order_id = 3, .locate = 1, .party = {0, 1}});
  ASSERT_EQ(reader.types(), "RAXUD");
  const auto shown = reader.as<itch::AddOrder>(1);
  EXPECT_EQ(shown.shares, 100u);
  EXPECT_EQ(shown.price, 120u);
  EXPECT_EQ(shown.stock.view(), "ZAAA");
  EXPECT_EQ(shown.header.timestamp, kOpenNs + 5);
  EXPECT_NE(shown.order_reference_number & kOwnNumbers, 0u);
  EXPECT_EQ(reader.as<itch::OrderCancel>(2).cancelled_shares, 40u);
  const auto moved = reader.as<itch::OrderReplace>(3);
  EXPECT_EQ(moved.original_order_reference_number, shown.order_reference_number);
  EXPECT_EQ(moved.price, 121u);
  EXPECT_EQ(reader.as<itch::OrderDelete>(4).order_reference_number,
            moved.new_order_reference_number);
}

TEST_F(PublishedFeed, ARecordedOrderThatWeTookExecutesAtOnceAndOnlyTheRestOfItLater) {
  record(add(1, "ZAAA", 7, Side::kSell, 100, 120));
  enter(order(1, Side::kBuy, 70, 120));
  record(executed(1, 7, 20));
  record(executed(1, 7, 80));  // 10 of them are left
  ASSERT_EQ(reader.types(), "AEEE");
  EXPECT_EQ(reader.as<itch::OrderExecuted>(1).executed_shares, 70u);
  EXPECT_NE(reader.as<itch::OrderExecuted>(1).match_number & kOwnNumbers, 0u);
  EXPECT_EQ(reader.as<itch::OrderExecuted>(2).executed_shares, 20u);
  EXPECT_EQ(reader.as<itch::OrderExecuted>(3).executed_shares, 10u);
  EXPECT_EQ(matching().conflict_executed.get(), 70u);
  EXPECT_EQ(counters().amended.get(), 1u);
}

TEST_F(PublishedFeed, ARecordedOrderThatIsAllOursIsHeardOfNoMore) {
  record(add(1, "ZAAA", 7, Side::kSell, 100, 120));
  enter(order(1, Side::kBuy, 100, 120));
  record(canceled(1, 7, 30));
  record(replaced(1, 7, 8, 60, 121));
  record(deleted(1, 8));
  EXPECT_EQ(reader.types(), "AE");
  EXPECT_EQ(counters().withheld.get(), 3u);
  EXPECT_EQ(matching().conflict_withdrawn.get(), 100u);
}

TEST_F(PublishedFeed, ARecordedReplacementByMoreSharesThanWeTookIsANewOrder) {
  record(add(1, "ZAAA", 7, Side::kSell, 100, 120));
  enter(order(1, Side::kBuy, 100, 120));
  record(replaced(1, 7, 8, 150, 121));
  ASSERT_EQ(reader.types(), "AEA");
  const auto shown = reader.as<itch::AddOrder>(2);
  EXPECT_EQ(shown.order_reference_number, 8u);
  EXPECT_EQ(shown.shares, 50u);
  EXPECT_EQ(shown.buy_sell_indicator, 'S');
  EXPECT_EQ(shown.stock.view(), "ZAAA");
}

TEST_F(PublishedFeed, ARecordedOrderThatMeetsOursTradesFirstAndComesWithTheRest) {
  enter(order(1, Side::kBuy, 30, 120));
  record(add(1, "ZAAA", 7, Side::kSell, 100, 119));
  record(add(1, "ZAAA", 8, Side::kBuy, 100, 118));
  ASSERT_EQ(reader.types(), "AEAA");
  EXPECT_EQ(reader.as<itch::OrderExecuted>(1).executed_shares, 30u);
  EXPECT_EQ(reader.as<itch::AddOrder>(2).shares, 70u);
  EXPECT_EQ(reader.as<itch::AddOrder>(2).order_reference_number, 7u);
}

TEST_F(PublishedFeed, EachSliceOfAReserveOrderIsAnOrderOfItsOwn) {
  NewOrder reserve = order(1, Side::kBuy, 100, 120);
  reserve.display_shares = 40;
  enter(reserve);
  enter(order(2, Side::kSell, 90, 120));
  ASSERT_EQ(reader.types(), "AEAEAE");
  EXPECT_EQ(reader.as<itch::AddOrder>(2).shares, 40u);
  EXPECT_EQ(reader.as<itch::AddOrder>(4).shares, 20u);
  EXPECT_EQ(reader.as<itch::OrderExecuted>(5).executed_shares, 10u);
}

TEST_F(PublishedFeed, APeggedOrderMovesWithItsPriceAndAStopIsNotSeenBeforeItIsTriggered) {
  NewOrder pegged = order(1, Side::kBuy, 50, 0);
  pegged.type = OrderType::kPegged;
  enter(pegged);  // nothing to be pegged to
  NewOrder stop = order(2, Side::kSell, 10, 125);
  stop.type = OrderType::kStopLimit;
  stop.stop_price = {121};
  enter(stop);
  EXPECT_EQ(reader.types(), "");
  record(add(1, "ZAAA", 7, Side::kBuy, 100, 119));
  record(add(1, "ZAAA", 8, Side::kBuy, 100, 120));
  record(hidden_trade(1, "ZAAA", 5, 121));
  ASSERT_EQ(reader.types(), "AAAUPA");
  EXPECT_EQ(reader.as<itch::OrderReplace>(3).price, 120u);
  EXPECT_EQ(reader.as<itch::AddOrder>(5).price, 125u);
}

TEST_F(PublishedFeed, LeavesOutARecordedMessageThatNamesAnOrderByANumberOfOurs) {
  enter(order(1, Side::kBuy, 30, 120));
  record(deleted(1, kOwnNumbers | 1));
  record(replaced(1, 5, kOwnNumbers | 1, 10, 120));
  EXPECT_EQ(reader.types(), "A");
  EXPECT_EQ(counters().own_number.get(), 2u);
}

// At the start all levels but the first event's are of orders that no line names.
TEST_F(PublishedFeed, HasTheWholeBookOfALobsterFileWithItsWindow) {
  const std::string lines =
      "34200.0,1,11,100,1000000,1\n34201.0,2,11,10,1000000,1\n34202.0,2,11,10,1000000,1\n";
  const std::string rows =
      "1000200,300,1000000,100,1000300,40,999900,70\n"
      "1000200,300,1000000,90,1000300,40,999900,70\n"
      "1000200,300,1000000,80,1000300,40,999900,70\n";
  const auto opened = [](const std::string& text) {
    return test_support::open_memory(std::as_bytes(std::span(text)), "made.csv");
  };
  itch::LobsterReader recording(opened(lines), "ZAAA", opened(rows));
  const auto closes = [](std::span<const std::byte> bytes) {
    return static_cast<char>(bytes.front()) == 'S' && static_cast<char>(bytes.back()) == 'M';
  };
  for (itch::RecordedMessage m;
       recording.next(m) == itch::ReadStatus::kMessage && !closes(m.bytes);)
    record({m.bytes.begin(), m.bytes.end()});
  EXPECT_EQ(recording.counts().unnamed_orders, 3u);
  EXPECT_EQ(counters().own_number.get(), 0u);
  EXPECT_EQ(reader.book.best(1, Side::kBuy), (book::Quote{1'000'000, 80}));
  EXPECT_EQ(reader.book.best(1, Side::kSell), (book::Quote{1'000'200, 300}));
  EXPECT_EQ(reader.book.level_at(1, Side::kBuy, 999'900).shares, 70u);
  NewOrder ours = order(1, Side::kBuy, 100, 1'000'200);
  ours.time_in_force = TimeInForce::kImmediateOrCancel;
  enter(ours);
  EXPECT_EQ(matching().fills.get(), 1u);
  EXPECT_EQ(reader.book.best(1, Side::kSell), (book::Quote{1'000'200, 200}));
}

TEST_F(PublishedFeed, AnOrderGoodTillCancelledLeavesWithItsDayAndComesWithTheNext) {
  NewOrder lasting = order(1, Side::kBuy, 30, 120);
  record(add(1, "ZAAA", 7, Side::kSell, 100, 125));
  lasting.time_in_force = TimeInForce::kGoodTillCancel;
  enter(lasting);
  enter(order(2, Side::kBuy, 10, 119));
  record(system_event('C'));
  record(system_event('O'));
  EXPECT_EQ(reader.types(), "AAADDSS") << "where it stands in this day's feed is not known yet";
  record(directory(1, "ZAAA"));
  EXPECT_EQ(reader.types(), "AAADDSSRA");
  EXPECT_EQ(reader.book.best(1, Side::kBuy), (book::Quote{120, 30}));
}

}  // namespace
}  // namespace tickpath::sim::published_feed
