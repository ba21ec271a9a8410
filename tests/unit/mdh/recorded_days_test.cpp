// Several days in one session, whose symbols come, go and change their locates.
#include <map>
#include <random>
#include <set>

#include "tests/unit/mdh/feed_fixture.hpp"
#include "tests/unit/mdh/venue_snapshot.hpp"

namespace tickpath::mdh::test {
namespace {

constexpr std::array<const char*, 8> kTraded{"AAPL", "MSFT", "SPY", "A",
                                             "QQQ",  "TSLA", "IBM", "GE"};

// What a venue says, and the best bid of each symbol behind its last message.
class Venue {
 public:
  explicit Venue(std::uint32_t seed) : random_(seed) {}
  void day() {
    messages.push_back(event('O'));
    best.clear();
    orders_.clear();
    std::vector<const char*> symbols(kTraded.begin(), kTraded.end());
    std::shuffle(symbols.begin(), symbols.end(), random_);
    symbols.resize(3 + random_() % 5);
    for (std::size_t i = 0; i < symbols.size(); ++i)
      messages.push_back(directory(static_cast<std::uint16_t>(i + 1), symbols[i]));
    for (int i = 0; i < 40; ++i) act(symbols);
    find_best();
    messages.push_back(event('C'));
  }
  std::vector<Bytes> messages;
  std::map<std::string, std::uint32_t> best;

 private:
  struct Order {
    std::string symbol;
    std::uint16_t locate;
    std::uint32_t price;
  };
  static Bytes event(char code) {
    return encoded(itch::SystemEvent{.header = header(0), .event_code = code});
  }
  void act(const std::vector<const char*>& symbols) {
    if (!orders_.empty() && random_() % 3 == 0) {
      const auto order = orders_.begin();
      messages.push_back(remove(order->second.locate, order->first));
      orders_.erase(order);
      return;
    }
    const std::size_t at = random_() % symbols.size();
    const auto locate = static_cast<std::uint16_t>(at + 1);
    const auto price = static_cast<std::uint32_t>(1'000 + random_() % 500);
    // References come again each day.
    const std::uint64_t reference = orders_.empty() ? 1 : orders_.rbegin()->first + 1;
    orders_[reference] = {symbols[at], locate, price};
    messages.push_back(add(locate, symbols[at], reference, 'B', 100, price));
  }
  void find_best() {
    for (const auto& [reference, order] : orders_)
      best[order.symbol] = std::max(best[order.symbol], order.price);
  }

  std::mt19937 random_;
  std::map<std::uint64_t, Order> orders_;
};

// As a subscriber sees it.
struct Subscriber {
  VectorSink sink;
  trace::TraceWriter trace{{}};
  log::HotLog log;
  Feed feed;
  ReadySnapshots snapshots;
  OneLine line;
  Subscriber() : feed(small_options(), sink, trace, log), line(feed, log, &snapshots) {
    define_notes(log);
  }
  void hear(const std::vector<Bytes>& messages, std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; ++at) line.hear(packet("S", at + 1, {messages[at]}));
  }
  std::map<std::string, std::uint32_t> best() const {
    std::map<std::string, std::uint32_t> all;
    for (const auto& [row, entry] : sink.rows) {
      const std::uint32_t price = image_of(feed, entry.instrument_id).bids[0].price;
      if (price != 0) all[std::string(entry.name())] = price;
    }
    return all;
  }
};

TEST(RecordedDays, EachSymbolHasItsOwnBookEachDay) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    Venue venue(seed);
    Subscriber subscriber;
    for (int day = 0; day < 4; ++day) {
      const std::size_t heard = venue.messages.size();
      venue.day();
      subscriber.hear(venue.messages, heard, venue.messages.size());
      ASSERT_EQ(subscriber.best(), venue.best) << "seed " << seed << ", day " << day;
    }
    EXPECT_EQ(subscriber.feed.counters().further_days.get(), 3u);
    EXPECT_EQ(subscriber.feed.state(), wire::FeedState::kGood);
  }
}

TEST(RecordedDays, ASnapshotBridgesAnyStretchOfThem) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    Venue venue(seed);
    for (int day = 0; day < 3; ++day) venue.day();
    std::mt19937 random(seed);
    const std::size_t all = venue.messages.size();
    const std::size_t lost = 1 + random() % (all - 2);
    const std::size_t back = lost + 1 + random() % (all - lost - 1);
    Subscriber subscriber;
    subscriber.hear(venue.messages, 0, lost);
    sim::GlimpseBook told(kRoom);
    for (std::size_t at = 0; at < back; ++at) told.apply(venue.messages[at]);
    fill(subscriber.snapshots.made, told, itch::mold::Session("S"));
    subscriber.snapshots.ready = true;
    subscriber.hear(venue.messages, back, all);
    ASSERT_EQ(subscriber.feed.counters().bridged_messages.get(), back - lost);
    ASSERT_EQ(subscriber.feed.counters().missed_messages.get(), 0u);
    ASSERT_EQ(subscriber.best(), venue.best)
        << "seed " << seed << ", lost " << lost << " to " << back << " of " << all;
    subscriber.feed.books().verify();
  }
}

}  // namespace
}  // namespace tickpath::mdh::test
