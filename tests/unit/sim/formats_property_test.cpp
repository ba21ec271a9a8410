// One market as each format records it: orders of ours get the same fills from all of them.
//
// IEX DEEP tells price levels and no orders, so sim refuses orders on it. There the levels after
// each event are the same as ITCH's.
//
// Its market has nothing that a format cannot express. LOBSTER has no replacements, only a deletion
// and a submission, and so what we took of the order is not taken of its successor. Nor do its
// files contain what happens beyond the levels that were asked for.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/random.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "common/feeds/recordings/dbn_reader.hpp"
#include "common/feeds/recordings/deep_to_itch.hpp"
#include "common/feeds/recordings/lobster.hpp"
#include "replayed_orders.hpp"
#include "tests/support/dbn_bytes.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/unit/itch/capture_test_support.hpp"

namespace tickpath::sim::formats {
namespace {

using Content = std::vector<std::byte>;
namespace dbn = itch::dbn;

constexpr std::uint64_t kStartNs = 34'200'000'000'000;
constexpr std::uint64_t kEventNs = 1'000'000;
constexpr std::uint32_t kCent = 100;
constexpr std::size_t kWindow = 3;  // levels a side
constexpr int kEvents = 400;
constexpr std::uint64_t kMidnightNs = 20'000ull * 86'400 * 1'000'000'000;  // since the Unix epoch

struct MarketOrder {
  std::uint64_t id;
  Side side;
  std::uint32_t price;
  std::uint32_t shares;
};
enum class What : std::uint8_t { kAdd, kReduce, kDelete, kExecute, kReplace, kHidden };
struct MarketEvent {
  What what;
  MarketOrder order;  // before it; of an addition, after it
  std::uint32_t shares = 0;
  std::uint32_t price = 0;  // of a replacement, or a hidden trade
  std::uint64_t new_id = 0;
  std::uint64_t time_ns = 0;
  std::vector<MarketOrder> book{};  // after it, by arrival
};

// A side's levels, the best first: price and shares.
std::vector<std::pair<std::uint32_t, std::uint32_t>> levels_of(
    const std::vector<MarketOrder>& orders, Side side) {
  std::map<std::uint32_t, std::uint32_t> levels;
  for (const MarketOrder& order : orders)
    if (order.side == side) levels[order.price] += order.shares;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all(levels.begin(), levels.end());
  if (side == Side::kBuy) std::ranges::reverse(all);
  return all;
}

// Every event is at a level within the window, before it and after it.
class RandomMarket {
 public:
  RandomMarket(std::uint64_t seed, bool replaces) : random_(seed), replaces_(replaces) {
    for (int i = 0; i < kEvents; ++i) happen();
  }
  std::vector<MarketEvent> events;
  std::vector<TimedOrder> ours;

 private:
  void happen() {
    if (orders_.size() < 8 || (orders_.size() < 40 && random_.chance(0.45)))
      add();
    else if (random_.chance(0.1))
      trade_hidden();
    else if (random_.chance(0.4))
      execute();
    else
      change();
    events.back().time_ns = kStartNs + events.size() * kEventNs;
    events.back().book = orders_;
    if (random_.chance(0.1)) enter_ours();
  }
  // Near the best price of its side, or a new best one, and never through the other side.
  std::uint32_t draw_price(Side side) {
    const auto own = levels_of(orders_, side), other = levels_of(orders_, opposite(side));
    const std::int64_t out = side == Side::kBuy ? -1 : 1;
    const std::int64_t best = own.empty() ? 1'000'000 + out * 5 * kCent : own[0].first;
    std::int64_t price = best + out * kCent * (std::int64_t{random_.below(4)} - 1);
    if (!other.empty() && out * (price - std::int64_t{other[0].first}) < kCent)
      price = std::int64_t{other[0].first} + out * kCent;
    if (own.size() >= kWindow && out * (price - std::int64_t{own[kWindow - 1].first}) > 0)
      price = own[kWindow - 1].first;
    return static_cast<std::uint32_t>(price);
  }
  void add() {
    const Side side = random_.chance(0.5) ? Side::kBuy : Side::kSell;
    const MarketOrder order{++last_id_, side, draw_price(side), 1 + random_.below(100)};
    orders_.push_back(order);
    events.push_back({What::kAdd, order});
  }
  void trade_hidden() {
    const auto bids = levels_of(orders_, Side::kBuy), asks = levels_of(orders_, Side::kSell);
    const std::uint32_t price = bids.empty() ? asks[0].first : bids[0].first;
    events.push_back({What::kHidden, {0, Side::kBuy, price, 0}, 1 + random_.below(50), price});
  }
  // The first in line; the last order of a side stays.
  void execute() {
    const Side side = random_.chance(0.5) ? Side::kBuy : Side::kSell;
    const auto levels = levels_of(orders_, side);
    const auto of_side = std::ranges::count(orders_, side, &MarketOrder::side);
    if (of_side < 2) return add();
    const auto first = std::ranges::find_if(orders_, [&](const MarketOrder& order) {
      return order.side == side && order.price == levels[0].first;
    });
    events.push_back({What::kExecute, *first, 1 + random_.below(first->shares)});
    take(first, events.back().shares);
  }
  void change() {
    const auto chosen =
        orders_.begin() + static_cast<std::ptrdiff_t>(random_.below(orders_.size()));
    const auto levels = levels_of(orders_, chosen->side);
    std::size_t rank = 0;
    while (levels[rank].first != chosen->price) ++rank;
    const auto of_side = std::ranges::count(orders_, chosen->side, &MarketOrder::side);
    if (rank >= kWindow || of_side < 2) return add();
    if (replaces_ && random_.chance(0.3)) return replace(chosen);
    const bool whole = chosen->shares == 1 || random_.chance(0.7);
    const std::uint32_t shares = whole ? chosen->shares : 1 + random_.below(chosen->shares - 1);
    events.push_back({whole ? What::kDelete : What::kReduce, *chosen, shares});
    take(chosen, shares);
  }
  void replace(std::vector<MarketOrder>::iterator chosen) {
    MarketOrder order = *chosen;
    MarketEvent event{What::kReplace, order};
    orders_.erase(chosen);
    order.price = event.price = draw_price(order.side);
    order.shares = event.shares = order.shares + 1 + random_.below(100);
    order.id = event.new_id = ++last_id_;
    orders_.push_back(order);
    events.push_back(event);
  }
  void take(std::vector<MarketOrder>::iterator order, std::uint32_t shares) {
    if ((order->shares -= shares) == 0) orders_.erase(order);
  }
  void enter_ours() {
    const Side side = random_.chance(0.5) ? Side::kBuy : Side::kSell;
    const auto levels = levels_of(orders_, side);
    if (levels.empty()) return;
    const std::uint32_t price = levels[0].first + kCent * random_.below(5) - 2 * kCent;
    ours.push_back({events.back().time_ns + kEventNs / 2,
                    limit_order(++last_ours_, side, 1 + random_.below(200), price)});
  }

  Random random_;
  bool replaces_;
  std::vector<MarketOrder> orders_;
  std::uint64_t last_id_ = 0, last_ours_ = 0;
};

// ------------------------------------------------------------------------------------- formats

template <class Message>
void append_framed(Content& to, Message message) {
  std::array<std::byte, itch::kMaxMessageBytes> buffer;
  const std::size_t length = itch::encode(message, buffer.data());
  to.push_back(std::byte{0});
  to.push_back(static_cast<std::byte>(length));
  to.insert(to.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length));
}

Content as_itch(const RandomMarket& market) {
  Content file;
  for (const MarketEvent& e : market.events) {
    const itch::Header header{1, 0, e.time_ns};
    const std::uint64_t id = e.order.id;
    switch (e.what) {
      case What::kAdd:
        append_framed(file, itch::AddOrder{.header = header,
                                           .order_reference_number = id,
                                           .buy_sell_indicator = itch::indicator_of(e.order.side),
                                           .shares = e.order.shares,
                                           .stock = "ZAAA",
                                           .price = e.order.price});
        break;
      case What::kReduce:
        append_framed(file, itch::OrderCancel{.header = header,
                                              .order_reference_number = id,
                                              .cancelled_shares = e.shares});
        break;
      case What::kDelete:
        append_framed(file, itch::OrderDelete{.header = header, .order_reference_number = id});
        break;
      case What::kExecute:
        append_framed(
            file, itch::OrderExecuted{
                      .header = header, .order_reference_number = id, .executed_shares = e.shares});
        break;
      case What::kReplace:
        append_framed(file, itch::OrderReplace{.header = header,
                                               .original_order_reference_number = id,
                                               .new_order_reference_number = e.new_id,
                                               .shares = e.shares,
                                               .price = e.price});
        break;
      case What::kHidden:
        append_framed(file, itch::NonCrossTrade{.header = header,
                                                .buy_sell_indicator = 'B',
                                                .shares = e.shares,
                                                .stock = "ZAAA",
                                                .price = e.price});
        break;
    }
  }
  return file;
}

// Databento keeps an order's id when it is replaced.
class Databento {
 public:
  explicit Databento(int snapshot_every) : snapshot_every_(snapshot_every) {
    file_ = test_support::encode_metadata({.dataset = "MADE", .symbols = {{7, "ZAAA"}}});
  }
  Content file(const RandomMarket& market) {
    int count = 0;
    for (const MarketEvent& e : market.events) {
      tell(e);
      if (snapshot_every_ != 0 && ++count % snapshot_every_ == 0) tell_snapshot(e);
    }
    return file_;
  }

 private:
  static char side_of(Side side) { return side == Side::kBuy ? 'B' : 'A'; }
  std::uint64_t id_of(std::uint64_t id) const {
    const auto first = first_ids_.find(id);
    return first == first_ids_.end() ? id : first->second;
  }
  void record(char action, char side, std::uint64_t id, std::uint32_t price, std::uint32_t size,
              std::uint64_t time_ns, std::uint8_t flags) {
    const dbn::MboMessage message{.publisher = 1,
                                  .instrument = 7,
                                  .event_time_ns = kMidnightNs + time_ns,
                                  .order_id = id,
                                  .price = std::int64_t{price} * 100'000,
                                  .size = size,
                                  .flags = flags,
                                  .action = action,
                                  .side = side,
                                  .receive_time_ns = kMidnightNs + time_ns};
    test_support::append_mbo(message, file_);
  }
  void tell(const MarketEvent& e) {
    const char side = side_of(e.order.side);
    const std::uint64_t id = id_of(e.order.id);
    const auto say = [&](char action, std::uint32_t price, std::uint32_t size,
                         std::uint8_t flags = dbn::kLast) {
      record(action, side, id, price, size, e.time_ns, flags);
    };
    switch (e.what) {
      case What::kAdd:
        return say('A', e.order.price, e.order.shares);
      case What::kReduce:
      case What::kDelete:
        return say('C', e.order.price, e.shares);
      case What::kExecute:
        record('T', side_of(opposite(e.order.side)), 0, e.order.price, e.shares, e.time_ns, 0);
        say('F', e.order.price, e.shares, 0);
        return say('C', e.order.price, e.shares);
      case What::kReplace:
        first_ids_[e.new_id] = id;
        return say('M', e.price, e.shares);
      case What::kHidden:
        return record('T', 'N', 0, e.price, e.shares, e.time_ns, dbn::kLast);
    }
  }
  // In any order: an order's place is its own.
  void tell_snapshot(const MarketEvent& e) {
    const std::uint64_t now_ns = e.time_ns + kEventNs / 4;
    record('R', 'N', 0, 0, 0, now_ns, dbn::kSnapshot);
    for (auto order = e.book.rbegin(); order != e.book.rend(); ++order)
      record('A', side_of(order->side), id_of(order->id), order->price, order->shares, now_ns,
             dbn::kSnapshot);
  }

  int snapshot_every_;
  Content file_;
  std::map<std::uint64_t, std::uint64_t> first_ids_;
};

std::string lobster_messages(const RandomMarket& market) {
  std::string text;
  for (const MarketEvent& e : market.events) {
    const int type = e.what == What::kAdd      ? 1
                     : e.what == What::kReduce ? 2
                     : e.what == What::kDelete ? 3
                     : e.what == What::kHidden ? 5
                                               : 4;
    std::array<char, 128> line;
    std::snprintf(line.data(), line.size(), "%llu.%09llu,%d,%llu,%u,%u,%d\n",
                  static_cast<unsigned long long>(e.time_ns / 1'000'000'000),
                  static_cast<unsigned long long>(e.time_ns % 1'000'000'000), type,
                  static_cast<unsigned long long>(e.order.id),
                  e.what == What::kAdd ? e.order.shares : e.shares, e.order.price,
                  e.order.side == Side::kBuy ? 1 : -1);
    text += line.data();
  }
  return text;
}

std::string lobster_rows(const RandomMarket& market) {
  std::string text;
  for (const MarketEvent& e : market.events) {
    const auto bids = levels_of(e.book, Side::kBuy), asks = levels_of(e.book, Side::kSell);
    for (std::size_t i = 0; i < kWindow; ++i) {
      const auto cell = [&](const auto& levels, const char* none) {
        return i < levels.size()
                   ? std::to_string(levels[i].first) + "," + std::to_string(levels[i].second)
                   : std::string(none);
      };
      text += (i == 0 ? "" : ",") + cell(asks, "9999999999,0") + "," + cell(bids, "-9999999999,0");
    }
    text += "\n";
  }
  return text;
}

// The shares at each place, of both sides.
using Places = std::map<std::pair<Side, std::uint32_t>, std::uint32_t>;
Places places_of(const std::vector<MarketOrder>& orders) {
  Places places;
  for (const MarketOrder& order : orders) places[{order.side, order.price}] += order.shares;
  return places;
}

// A replacement is an event of two updates. A trade has a message of its own beside its level's.
class Deep {
 public:
  Content file(const RandomMarket& market) {
    for (const MarketEvent& e : market.events) {
      const auto time = static_cast<iex::Timestamp>(kMidnightNs + e.time_ns);
      if (e.what == What::kHidden || e.what == What::kExecute)
        tell(iex::TradeReport{
            .timestamp = time, .symbol = "ZAAA", .size = e.shares, .price = e.order.price});
      tell_changes(places_of(e.book), time);
      frames_.push_back(
          itch::test::udp_frame(kMidnightNs + e.time_ns, segment_.finish(kMidnightNs + e.time_ns)));
      segment_.begin(sequence_);
    }
    return itch::test::pcap_file(frames_);
  }

 private:
  void tell_changes(const Places& after, iex::Timestamp time) {
    Places changes = after;
    for (const auto& [place, shares] : shown_)
      if (!changes.emplace(place, 0u).second && changes.at(place) == shares) changes.erase(place);
    for (auto it = changes.begin(); it != changes.end(); ++it) {
      const bool last = std::next(it) == changes.end();
      const auto update = [&]<class Update>(Update message) {
        message.flags = last ? Update::kEventComplete : std::uint8_t{0};
        message.timestamp = time;
        message.symbol = "ZAAA";
        message.size = it->second;
        message.price = it->first.second;
        tell(message);
      };
      if (it->first.first == Side::kBuy)
        update(iex::BuyLevelUpdate{});
      else
        update(iex::SellLevelUpdate{});
    }
    shown_ = after;
  }
  template <class Message>
  void tell(const Message& message) {
    std::array<std::byte, iex::kMaxMessageBytes> bytes;
    EXPECT_TRUE(segment_.append(std::span(bytes).first(iex::encode(message, bytes.data()))));
    ++sequence_;
  }

  std::array<std::byte, 1'400> buffer_;
  std::uint64_t sequence_ = 1;
  iex::SegmentBuilder segment_ = begun(buffer_);
  std::vector<itch::test::Frame> frames_;
  Places shown_;

  static iex::SegmentBuilder begun(std::span<std::byte> buffer) {
    iex::SegmentBuilder builder(buffer, {.protocol = iex::kDeep10, .channel = 1, .session = 7});
    builder.begin(1);
    return builder;
  }
};

Content bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<LoggedReport> fills_from_itch(const RandomMarket& market) {
  const Content file = as_itch(market);
  itch::BinaryFileReader reader(test_support::open_memory(file, "made.itch50"));
  return fills_of(reader, market.ours);
}

std::vector<LoggedReport> fills_from_databento(const RandomMarket& market, int snapshot_every) {
  const Content file = Databento(snapshot_every).file(market);
  itch::DbnReader reader(test_support::open_memory(file, "made.dbn"));
  std::vector<LoggedReport> fills = fills_of(reader, market.ours);
  EXPECT_EQ(reader.counts().unknown_orders, 0u);
  EXPECT_EQ(reader.counts().repeated_orders, 0u);
  EXPECT_EQ(reader.counts().lone_fills, 0u);
  return fills;
}

std::vector<LoggedReport> fills_from_lobster(const RandomMarket& market, bool window) {
  const Content messages = bytes_of(lobster_messages(market));
  const Content rows = bytes_of(lobster_rows(market));
  itch::LobsterReader reader(test_support::open_memory(messages, "made.csv"), "ZAAA",
                             window ? test_support::open_memory(rows, "rows.csv") : nullptr);
  std::vector<LoggedReport> fills = fills_of(reader, market.ours);
  EXPECT_EQ(reader.damage(), "");
  EXPECT_EQ(reader.counts().unnamed_orders, 0u);
  EXPECT_EQ(reader.counts().dropped_events, 0u);
  return fills;
}

// The orders of a recording that is read as ITCH.
class OpenOrders {
 public:
  void operator()(const itch::AddOrder& m) noexcept {
    orders_[m.order_reference_number] = {m.order_reference_number,
                                         m.buy_sell_indicator == 'B' ? Side::kBuy : Side::kSell,
                                         m.price, m.shares};
  }
  void operator()(const itch::OrderExecuted& m) noexcept {
    take(m.order_reference_number, m.executed_shares);
  }
  void operator()(const itch::OrderCancel& m) noexcept {
    take(m.order_reference_number, m.cancelled_shares);
  }
  void operator()(const itch::OrderDelete& m) noexcept { orders_.erase(m.order_reference_number); }
  void operator()(const itch::OrderReplace& m) noexcept {
    const Side side = orders_.at(m.original_order_reference_number).side;
    orders_.erase(m.original_order_reference_number);
    orders_[m.new_order_reference_number] = {m.new_order_reference_number, side, m.price, m.shares};
  }
  void operator()(const auto&) noexcept {}

  Places places() const {
    std::vector<MarketOrder> all;
    for (const auto& [reference, order] : orders_) all.push_back(order);
    return places_of(all);
  }

 private:
  void take(std::uint64_t reference, std::uint32_t shares) {
    if ((orders_.at(reference).shares -= shares) == 0) orders_.erase(reference);
  }
  std::map<std::uint64_t, MarketOrder> orders_;
};

// What rests after each event.
std::vector<Places> places_in(itch::RecordingReader& reader, const RandomMarket& market) {
  OpenOrders orders;
  std::vector<Places> all;
  itch::RecordedMessage message;
  while (reader.next(message) == itch::ReadStatus::kMessage) {
    while (all.size() < market.events.size() &&
           market.events[all.size()].time_ns < message.timestamp_ns)
      all.push_back(orders.places());
    EXPECT_EQ(itch::decode(message.bytes, orders), itch::DecodeStatus::kOk);
  }
  all.resize(market.events.size(), orders.places());
  return all;
}

TEST(Formats, DeepHasTheLevelsOfTheSameMarket) {
  constexpr std::uint64_t kSeeds = test_support::seeds(4);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomMarket market(seed, true);
    const Content itch_file = as_itch(market), deep_file = Deep().file(market);
    itch::BinaryFileReader itch_reader(test_support::open_memory(itch_file, "made.itch50"));
    iex::DeepToItch deep_reader(
        iex::CaptureReader::open(test_support::open_memory(deep_file, "made.pcap")), "made.pcap");
    const std::vector<Places> truth = places_in(itch_reader, market);
    const std::vector<Places> deep = places_in(deep_reader, market);
    for (std::size_t i = 0; i < market.events.size(); ++i) {
      ASSERT_EQ(truth[i], places_of(market.events[i].book)) << "ITCH, event " << i;
      ASSERT_EQ(deep[i], truth[i]) << "DEEP, event " << i;
    }
  }
}

TEST(Formats, OfOneMarketGiveOurOrdersTheSameFills) {
  constexpr std::uint64_t kSeeds = test_support::seeds(4);
  std::size_t fills = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomMarket market(seed, false);
    const std::vector<LoggedReport> truth = fills_from_itch(market);
    fills += truth.size();
    EXPECT_EQ(fills_from_databento(market, 0), truth);
    EXPECT_EQ(fills_from_databento(market, 20), truth) << "with snapshots";
    EXPECT_EQ(fills_from_lobster(market, false), truth);
    EXPECT_EQ(fills_from_lobster(market, true), truth) << "with its window";
    const RandomMarket replacing(seed, true);
    const std::vector<LoggedReport> with_replacements = fills_from_itch(replacing);
    EXPECT_EQ(fills_from_databento(replacing, 0), with_replacements);
    EXPECT_EQ(fills_from_databento(replacing, 20), with_replacements) << "with snapshots";
  }
  EXPECT_GT(fills, 20 * kSeeds);
}

}  // namespace
}  // namespace tickpath::sim::formats
