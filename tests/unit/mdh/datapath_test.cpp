// The whole datapath, from a multicast socket on loopback to a subscriber over the shm fabric.
// Every turn runs under a DatapathScope: where the allocation guard is linked (all builds but
// sanitizers), the first allocation ends the test.
#include "mdh/datapath.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include <unistd.h>

#include "common/base/datapath_guard.hpp"
#include "common/feeds/generator/generator.hpp"
#include "common/link/heartbeat.hpp"
#include "common/link/subscriber.hpp"
#include "common/wire/hello.hpp"
#include "tests/support/connect.hpp"
#include "tests/support/parking.hpp"
#include "tests/unit/link/fabric.hpp"
#include "tests/unit/mdh/feed_fixture.hpp"
#include "tests/unit/prices/store_fixture.hpp"
#ifdef TICKPATH_ALLOC_GUARD
#include "tests/support/alloc_guard/alloc_guard.hpp"
#endif

namespace tickpath::mdh::test {
namespace {

using BookSubscriber = link::Subscriber<wire::BookUpdate, wire::BookImage>;

struct Reader {
  void on_update(const wire::BookUpdate& update, std::uint64_t) { updates.push_back(update); }
  void on_image(std::uint32_t index, const wire::BookImage& image) { images[index] = image; }
  std::vector<wire::BookUpdate> updates;
  std::map<std::uint32_t, wire::BookImage> images;
};

MdhConfig test_config() {
  MdhConfig config;
  // Tests of several checkouts may run at once: the process number keeps them apart.
  const auto id = static_cast<unsigned>(::getpid());
  config.feed.group = {"239.255." + std::to_string(id % 251) + "." + std::to_string(id / 251 % 251),
                       static_cast<std::uint16_t>(20'000 + id % 20'000)};
  config.instruments_max = 32;
  config.orders_max = 1u << 16;
  config.levels_max = 1u << 14;
  config.feed_batch = 8;
  return config;
}

class DatapathTest : public ::testing::Test {
 protected:
  explicit DatapathTest(const trace::TraceOptions& tracing = {},
                        const MdhConfig& configured = test_config())
      : config(configured),
        publisher(*fabric.device, nullptr,
                  {.name = "mdh", .image_count = config.instruments_max, .images_per_flush = 64}),
        directory(*fabric.device, config.instruments_max, "directory"),
        heartbeat(*fabric.device, "heartbeat"),
        trace(tracing),
        store(config.store.enabled
                  ? std::make_unique<prices::PriceStore>(*fabric.device, config.store,
                                                         config.instruments_max, "prices")
                  : nullptr),
        datapath(config, publisher, directory, store.get(), nullptr, trace, log),
        sender({.group = net::parse_endpoint(config::format_address(config.feed.group)),
                .interface = "127.0.0.1"}) {
    define_notes(log);
  }

  bool turn() {
    const DatapathScope scope;
    return datapath.turn();
  }
  // Until nothing more comes, and nothing is waited for.
  void run() {
    for (int idle = 0; idle < 20;) idle = turn() || datapath.arbiter().waiting() ? 0 : idle + 1;
  }
  void send(const Bytes& bytes) { ASSERT_EQ(sender.send(bytes), net::IoStatus::kOk); }

  std::unique_ptr<BookSubscriber> connect() {
    auto subscriber = std::make_unique<BookSubscriber>(
        *fabric.device, nullptr,
        link::SubscriberOptions{.depth = 1u << 15, .image_count = config.instruments_max});
    const wire::Hello hello{};
    fabric.meet([&] { connect_now(*subscriber, fabric.endpoint, link::bytes_of(hello)); },
                [&](rdma::ConnectionRequest& request) {
                  const std::array<rdma::Grant, 2> extras{directory.grant(), heartbeat.grant()};
                  accept_now(publisher, request, {}, extras);
                });
    return subscriber;
  }
  testing::AssertionResult turns_until(BookSubscriber& subscriber, Reader& reader,
                                       const std::function<bool()>& done) {
    const bool so = link::test::eventually([&] {
      run();
      (void)subscriber.poll(reader, 4'096);
      return done();
    });
    return so ? testing::AssertionSuccess() : testing::AssertionFailure() << "not in time";
  }
  testing::AssertionResult goes_live(BookSubscriber& subscriber, Reader& reader) {
    return turns_until(subscriber, reader,
                       [&] { return subscriber.state() == link::SubscriberState::kLive; });
  }
  // Sends a generated day in full packets, letting both ends keep up.
  void replay(const itch::GeneratorOptions& options, BookSubscriber* subscriber, Reader& reader) {
    itch::Generator generator(options);
    Bytes buffer(itch::mold::kMaxPacketBytes);
    itch::mold::PacketBuilder builder(buffer);
    std::uint64_t sequence = 1;
    builder.begin("DAY", sequence);
    const auto flush = [&] {
      sequence += builder.message_count();
      const auto bytes = builder.finish();
      send({bytes.begin(), bytes.end()});
      builder.begin("DAY", sequence);
      turn();
      if (subscriber != nullptr) (void)subscriber->poll(reader, 4'096);
    };
    itch::RecordedMessage message;
    while (generator.next(message) == itch::ReadStatus::kMessage) {
      if (builder.append(message.bytes)) continue;
      flush();
      ASSERT_TRUE(builder.append(message.bytes));
    }
    flush();
    run();
  }

  MdhConfig config;
  link::test::Fabric fabric;
  BookPublisher publisher;
  DirectoryTable directory;
  link::Heartbeat heartbeat;
  trace::TraceWriter trace;
  log::HotLog log;
  std::unique_ptr<prices::PriceStore> store;
  MdhDatapath datapath;
  net::UdpMulticastSender sender;
};

TEST_F(DatapathTest, TheFirstSenderIsTheFeedAndASecondMakesBooksStale) {
  net::UdpMulticastSender stranger(
      {.group = net::parse_endpoint(config::format_address(config.feed.group)),
       .interface = "127.0.0.1"});
  send(packet("S", 1, {test::directory(1, "AAPL")}));
  run();
  EXPECT_EQ(datapath.feed().state(), wire::FeedState::kGood);
  ASSERT_EQ(stranger.send(packet("NEW", 1, {test::directory(2, "EVIL")})), net::IoStatus::kOk);
  run();
  EXPECT_EQ(datapath.strangers(), 1u);
  EXPECT_EQ(datapath.feed().counters().sessions.get(), 1u);
  EXPECT_EQ(datapath.feed().counters().messages.get(), 1u);
  EXPECT_EQ(datapath.feed().state(), wire::FeedState::kStale) << "which of the two is right?";
}

// The exchange has a port of its own, and everyone else is refused without harm.
class DatapathWithSource : public DatapathTest {
 protected:
  static MdhConfig with_source() {
    MdhConfig config = test_config();
    config.feed.source = "127.0.0.1:" + std::to_string(config.feed.group.port + 1);
    return config;
  }
  DatapathWithSource()
      : DatapathTest({}, with_source()),
        exchange({.group = net::parse_endpoint(config::format_address(config.feed.group)),
                  .interface = "127.0.0.1",
                  .source = net::parse_endpoint(config.feed.source)}) {}
  net::UdpMulticastSender exchange;
};

TEST_F(DatapathWithSource, StrangersAreRefusedAndCountedAndChangeNothing) {
  send(packet("NEW", 1, {test::directory(2, "EVIL")}));  // even as the first
  ASSERT_EQ(exchange.send(packet("S", 1, {test::directory(1, "AAPL")})), net::IoStatus::kOk);
  send(packet("S", 2, {test::directory(2, "EVIL")}));
  send(packet("NEW", 1, {test::directory(2, "EVIL")}));
  run();
  EXPECT_EQ(datapath.strangers(), 3u);
  EXPECT_EQ(datapath.feed().counters().sessions.get(), 1u);
  EXPECT_EQ(datapath.feed().counters().messages.get(), 1u);
  EXPECT_EQ(datapath.feed().state(), wire::FeedState::kGood);
}

TEST_F(DatapathTest, CarriesEveryMessageFromTheSocketToASubscriber) {
  const auto subscriber = connect();
  Reader reader;
  ASSERT_TRUE(goes_live(*subscriber, reader));
  replay({.symbols = 20, .messages = 20'000}, subscriber.get(), reader);
  ASSERT_TRUE(turns_until(*subscriber, reader,
                          [&] { return subscriber->position() == publisher.sequence(); }));
  const FeedCounters& feed = datapath.feed().counters();
  EXPECT_EQ(feed.messages.get(), 20'000u);
  EXPECT_EQ(feed.gaps.get(), 0u);
  EXPECT_EQ(reader.updates.size(), feed.updates.get() + 1) << "and that a numbering begins";
  std::set<std::uint64_t> traced;
  for (const wire::BookUpdate& update : reader.updates) traced.insert(update.trace_id);
  EXPECT_EQ(traced.size(), 20'000u) << "each message in at least one update";

  datapath.close();
  ASSERT_TRUE(turns_until(*subscriber, reader, [&] {
    return datapath.closed() && subscriber->counters().conserved.get() == 1;
  }));
  EXPECT_EQ(subscriber->counters().seen.get() + subscriber->counters().overrun.get(),
            publisher.counters().published.get());
}

TEST_F(DatapathTest, GivesALateSubscriberEveryBookAndTheDirectory) {
  Reader reader;
  replay({.symbols = 20, .messages = 5'000}, nullptr, reader);
  const auto subscriber = connect();
  ASSERT_TRUE(goes_live(*subscriber, reader));
  ASSERT_EQ(reader.images.size(), 20u);
  for (const auto& [id, image] : reader.images) {
    wire::BookImage now = image_of(datapath.feed(), id);
    now.ring_sequence = image.ring_sequence;
    EXPECT_EQ(std::memcmp(&now, &image, sizeof(now)), 0) << id;
    EXPECT_LE(image.ring_sequence, publisher.sequence());
    wire::DirectoryEntry row{};
    ASSERT_EQ(directory.load(id, row), link::ReadStatus::kOk);
    EXPECT_EQ(row.instrument_id, id);
    EXPECT_EQ(row.name(), itch::generated_symbol(row.feed_locate - 1u));
  }
}

TEST_F(DatapathTest, SleepsBesideNoPacket) {
  Bytes buffer(itch::mold::kMaxPacketBytes);
  itch::mold::PacketBuilder builder(buffer);
  std::array<std::byte, itch::SystemEvent::kLength> message{};
  (void)itch::encode(itch::SystemEvent{.event_code = 'O'}, message.data());
  std::uint64_t sent = 0;
  test_support::expect_no_arrival_is_slept_through(
      datapath,
      [&] {
        builder.begin("DAY", ++sent);
        ASSERT_TRUE(builder.append(message));
        const auto bytes = builder.finish();
        send({bytes.begin(), bytes.end()});
      },
      [&] { return datapath.feed().counters().messages.get() == sent; });
}

TEST_F(DatapathTest, DropsADatagramThatIsTooLong) {
  send(packet("S", 1, {add(7, "AAPL", 1, 'B', 10, 500)}));
  std::vector<Bytes> many(60, add(7, "AAPL", 2, 'B', 10, 500));
  send(packet("S", 2, many));
  run();
  EXPECT_EQ(datapath.feed().counters().malformed_packets.get(), 1u);
  EXPECT_EQ(datapath.feed().counters().messages.get(), 1u);
}

#ifdef TICKPATH_ALLOC_GUARD
TEST_F(DatapathTest, TurnsWithoutAnAllocation) {
  const auto before = test_support::allocation_counts();
  test_support::alloc_guard_report_only(true);
  const auto subscriber = connect();
  Reader reader;
  replay({.symbols = 30, .messages = 5'000}, subscriber.get(), reader);
  send(packet("NEXT", 1, {test::directory(1, "AAPL"), add(1, "AAPL", 1, 'B', 1, 1)}));
  send(packet("NEXT", 9, {remove(1, 1), remove(1, 2), Bytes{std::byte{'z'}}}));
  send(packet("NEXT", 1, {}));
  send(Bytes(3));
  send(end_of_session("NEXT", 12));
  run();
  EXPECT_EQ(datapath.feed().state(), wire::FeedState::kEnded);
  test_support::alloc_guard_report_only(false);
  EXPECT_EQ(test_support::allocation_counts().violations, before.violations);
  EXPECT_GT(test_support::allocation_counts().all, before.all) << "the guard is at work";
}
#endif

// Bars as the recording alone says: orders by their numbers, and each trade that counts.
struct BarsOfRecording {
  void trade(std::uint16_t locate, std::uint64_t time_ns, std::uint32_t price,
             std::uint64_t shares) {
    if (shares == 0) return;
    wire::PriceBar& bar = bars[locate][time_ns / 60'000'000'000 * 60'000'000'000];
    if (bar.trades++ == 0) bar.open = bar.low = price;
    bar.high = std::max(bar.high, price);
    bar.low = std::min(bar.low, price);
    bar.close = price;
    bar.volume += shares;
    bar.notional += price * shares;
  }
  void operator()(const itch::AddOrder& m) { prices[m.order_reference_number] = m.price; }
  void operator()(const itch::AddOrderMpid& m) { prices[m.order_reference_number] = m.price; }
  void operator()(const itch::OrderReplace& m) { prices[m.new_order_reference_number] = m.price; }
  void operator()(const itch::OrderExecuted& m) {
    trade(m.header.stock_locate, m.header.timestamp, prices.at(m.order_reference_number),
          m.executed_shares);
  }
  void operator()(const itch::OrderExecutedWithPrice& m) {
    if (m.printable != 'N')
      trade(m.header.stock_locate, m.header.timestamp, m.execution_price, m.executed_shares);
  }
  void operator()(const itch::NonCrossTrade& m) {
    trade(m.header.stock_locate, m.header.timestamp, m.price, m.shares);
  }
  void operator()(const itch::CrossTrade& m) {
    trade(m.header.stock_locate, m.header.timestamp, m.cross_price, m.shares);
  }
  void operator()(const auto&) {}

  std::map<std::uint64_t, std::uint32_t> prices;
  std::map<std::uint16_t, std::map<std::uint64_t, wire::PriceBar>> bars;  // by locate and minute
};

class StoringDatapathTest : public DatapathTest {
 protected:
  StoringDatapathTest() : DatapathTest({}, storing()) {}
  static MdhConfig storing() {
    MdhConfig config = test_config();
    config.store.enabled = true;
    config.store.instruments = 32;
    config.store.quotes = 2'048;
    config.store.keep_ns = 86'400'000'000'000;
    return config;
  }
};

// A day of ten minutes at 30 messages a second, through the socket. A subscriber's updates say what
// the quotes were.
TEST_F(StoringDatapathTest, PricesThatAreReadAreThoseOfTheRecording) {
  const itch::GeneratorOptions day{.symbols = 12, .messages = 20'000, .messages_per_second = 30};
  const auto subscriber = connect();
  Reader reader;
  ASSERT_TRUE(goes_live(*subscriber, reader));
  replay(day, subscriber.get(), reader);
  ASSERT_TRUE(turns_until(*subscriber, reader,
                          [&] { return subscriber->position() == publisher.sequence(); }));
  BarsOfRecording recording;
  itch::Generator generator(day);
  itch::RecordedMessage message;
  std::uint64_t last_ns = 0;
  while (generator.next(message) == itch::ReadStatus::kMessage) {
    (void)itch::decode(message.bytes, recording);
    last_ns = 0;
    for (std::size_t at = 5; at < 11; ++at)  // of every message, TotalView-ITCH 5.0, 1: "Timestamp"
      last_ns = last_ns << 8 | static_cast<std::uint64_t>(message.bytes[at]);
  }

  prices::test::Reading reading(store->grant());
  prices::PriceClient client(*prices::test::fabric().device, "client");
  client.attach(*reading.there, reading.there->extras()[0]);
  std::size_t bars_compared = 0;
  for (const auto& [locate, minutes] : recording.bars) {
    std::vector<wire::HistoryLine> lines;
    const prices::RangeAnswer answer = client.range(
        itch::generated_symbol(locate - 1u), {.kind = wire::HistoryKind::kBars1m}, lines, 10'000);
    ASSERT_EQ(answer.status, prices::PriceStatus::kOk) << prices::to_string(answer.status);
    EXPECT_EQ(answer.clock_ns, last_ns);
    auto bars = prices::test::entries_of<wire::PriceBar>(lines);
    bars.push_back(answer.current);
    ASSERT_EQ(bars.size(), minutes.size());
    std::size_t i = 0;
    for (const auto& [start_ns, bar] : minutes) {
      wire::PriceBar expected = bar;
      expected.start_ns = start_ns;
      ASSERT_EQ(bars[i++], expected) << locate << " at " << start_ns;
      ++bars_compared;
    }
  }
  EXPECT_GT(bars_compared, 50u);

  std::map<std::uint32_t, std::vector<wire::PriceQuote>> quotes;
  for (const wire::BookUpdate& update : reader.updates) {
    if (update.instrument_id == wire::kNoInstrument || update.kind == wire::UpdateKind::kImbalance)
      continue;
    auto& all = quotes[update.instrument_id];
    const wire::PriceQuote last = all.empty() ? wire::PriceQuote{} : all.back();
    if (update.best_bid == last.bid && update.best_ask == last.ask &&
        update.best_bid_shares == last.bid_shares && update.best_ask_shares == last.ask_shares &&
        (update.states == last.states || (update.best_bid | update.best_ask) == 0))
      continue;
    all.push_back({update.exchange_time_ns,
                   update.trace_id,
                   update.best_bid,
                   update.best_ask,
                   update.best_bid_shares,
                   update.best_ask_shares,
                   update.states,
                   {}});
  }
  for (const auto& [id, all] : quotes) {
    wire::DirectoryEntry row{};
    ASSERT_EQ(directory.load(id, row), link::ReadStatus::kOk);
    std::vector<wire::HistoryLine> lines;
    const prices::RangeAnswer answer =
        client.range(row.name(), {.kind = wire::HistoryKind::kQuotes}, lines, 10'000);
    ASSERT_EQ(answer.status, prices::PriceStatus::kOk);
    EXPECT_FALSE(answer.overwritten);
    ASSERT_EQ(lines.size(), all.size()) << id;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto quote = prices::test::entry_of<wire::PriceQuote>(lines[i]);
      ASSERT_EQ(std::memcmp(&quote, &all[i], sizeof(quote)), 0) << id << " " << i;
    }
  }
  client.detach();
}

class TracedDatapathTest : public DatapathTest {
 protected:
  TracedDatapathTest() : DatapathTest(tracing()) {}
  static trace::TraceOptions tracing() { return {.path = path(), .capacity = 4'096}; }
  ~TracedDatapathTest() override { std::filesystem::remove(path()); }
  static std::string path() {
    return (std::filesystem::temp_directory_path() /
            ("tickpath_mdh_" + std::to_string(::getpid()) + ".trace"))
        .string();
  }
};

TEST_F(TracedDatapathTest, StampsFourHopsForEveryMessage) {
  for (std::uint64_t i = 1; i <= 50; ++i) send(packet("S", i, {add(7, "AAPL", i, 'B', 10, 500)}));
  run();
  trace.write_behind();
  std::ifstream file(path(), std::ios::binary);
  file.seekg(trace::kHeaderBytes);
  std::map<std::uint64_t, std::map<trace::Hop, std::uint64_t>> stamps;
  for (trace::Record record; file.read(reinterpret_cast<char*>(&record), sizeof(record));)
    if (record.key != 0)
      stamps[record.key & trace::kIdMask][static_cast<trace::Hop>(record.key >> 56)] = record.time;
  ASSERT_EQ(stamps.size(), 50u);
  for (auto& [id, hops] : stamps) {
    ASSERT_EQ(hops.size(), 4u) << id;
    EXPECT_LT(hops[trace::Hop::kMdhRx], hops[trace::Hop::kMdhBook]);
    EXPECT_LE(hops[trace::Hop::kMdhBook], hops[trace::Hop::kMdhPosted]);
    EXPECT_LT(clock::realtime_ns() - static_cast<std::int64_t>(hops[trace::Hop::kMdhKernelRx]),
              60'000'000'000);
  }
}

}  // namespace
}  // namespace tickpath::mdh::test
