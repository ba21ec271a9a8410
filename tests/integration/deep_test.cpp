// IEX DEEP 1.0 over the network: sim replays a capture in IEX-TP segments, mdh makes books of them,
// and a subscriber on the fabric sees the venue's own best bid and offer.

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/clock/clock.hpp"
#include "common/control/admin_client.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "common/feeds/recordings/iex_capture_reader.hpp"
#include "common/files/capture_writer.hpp"
#include "common/market/market_reader.hpp"
#include "tests/support/pipeline.hpp"
#include "tests/support/provider.hpp"
#include "tests/support/quotes_compared.hpp"
#include "tests/support/recordings.hpp"

namespace tickpath::test_support {
namespace {

using test_support::DeepMarket;
using test_support::DeepQuote;
using test_support::QuotesCompared;

// Everything that mdh publishes.
struct Subscriber {
  void on_update(const wire::BookUpdate& update) noexcept { updates.push_back(update); }
  void on_image(const wire::BookImage&) noexcept {}
  void on_overrun(std::uint64_t lost) noexcept { overrun += lost; }
  void on_directory(const wire::DirectoryEntry& row) noexcept {
    std::string name(row.symbol, 8);
    name.erase(name.find_last_not_of(' ') + 1);
    names[row.instrument_id] = name;
  }
  void on_mdh(bool) noexcept {}

  // Calls use() for each message that changed a book.
  template <class Use>
  void for_each_change(Use&& use) const {
    for (const wire::BookUpdate& update : updates)
      if (update.kind >= wire::UpdateKind::kAdd && update.kind <= wire::UpdateKind::kReplace)
        use(names.at(update.instrument_id), update);
  }
  std::vector<wire::BookUpdate> updates;
  std::map<std::uint32_t, std::string> names;
  std::uint64_t overrun = 0;
};

DeepQuote quote_of(const wire::BookUpdate& u) {
  return {u.best_bid, u.best_bid_shares, u.best_ask, u.best_ask_shares};
}

class DeepPipeline : public ::testing::Test {
 protected:
  nlohmann::json admin(const std::string& program, const std::string& command) const {
    return control::admin_command(control::admin_path(folder_.run_dir(), program),
                                  {{"command", command}});
  }
  template <class Done>
  void until(const char* what, Done done) {
    const auto limit = std::chrono::steady_clock::now() + 2 * test_support::kPatience;
    while (!done()) ASSERT_LT(std::chrono::steady_clock::now(), limit) << what;
  }
  std::unique_ptr<Process> start(const std::string& name, std::vector<std::string> more) {
    // config/demo has snapshots, which DEEP has not.
    const std::string snapshots = name == "sim" ? "feed.snapshot.listen=" : "feed.snapshot.server=";
    more.insert(more.begin(), {"feed.protocol=iex_deep10", snapshots});
    auto started = folder_.begin(name, more);
    until(name.c_str(), [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      try {
        return admin(name, "ready").value("ready", false);
      } catch (const Error&) {
        return false;
      }
    });
    return started;
  }
  // Plays the capture through both programs and takes everything that mdh says of it.
  void play(const std::string& capture) {
    const auto mdh = start("mdh", {"book.orders_max=1048576", "book.levels_max=1048576"});
    const auto device = test_support::open_test_device();
    market::MarketReaderOptions options{.endpoint = folder_.endpoint("mdh"),
                                        .name = "deep",
                                        .role = wire::Role::kStrategy,
                                        .ring_depth = 1u << 19};
    options.heartbeat.dead_after_ns = 60'000'000'000;
    market::MarketReader reader(*device, nullptr, options);
    const auto now = [] { return static_cast<std::uint64_t>(clock::monotonic_ns()); };
    until("subscription", [&] {
      (void)reader.maintain(now());
      (void)reader.poll(seen_, now());
      return reader.not_ready_reason().empty();
    });
    const auto sim = start("sim", {"replay.file=" + capture, "replay.pace=max",
                                   "replay.max_rate=50000", "replay.burst=32"});
    (void)admin("sim", "start");
    std::uint64_t sent = 0;
    auto look = std::chrono::steady_clock::now();
    until("end of replay", [&] {
      if (reader.poll(seen_, now()) == 0) std::this_thread::yield();
      if (sent == 0 && std::chrono::steady_clock::now() > look) {
        look = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
        const nlohmann::json replay = admin("sim", "status").at("replay");
        if (replay.at("state") == "ended") sent = replay.at("messages_sent");
      }
      return sent != 0 && !reader.directory_behind() && !seen_.updates.empty() &&
             seen_.updates.back().trace_id == sent;
    });
    feed_ = admin("mdh", "counters").at("counters").at("feed");
    reader.close();
    for (const auto& each : {sim.get(), mdh.get()}) each->signal(SIGTERM);
    EXPECT_EQ(sim->wait(test_support::kPatience).exit_code, 0) << sim->output();
    EXPECT_EQ(mdh->wait(test_support::kPatience).exit_code, 0) << mdh->output();
    EXPECT_EQ(seen_.overrun, 0u);
    EXPECT_EQ(feed_.at("missed_messages"), 0);
    EXPECT_EQ(feed_.at("malformed_packets"), 0);
    EXPECT_EQ(feed_.at("malformed_messages"), 0);
  }

  PipelineFolder folder_;
  Subscriber seen_;
  nlohmann::json feed_;
};

TEST_F(DeepPipeline, AGeneratedCaptureArrivesEventByEvent) {
  DeepMarket market(20, 1);
  for (int i = 0; i < 20'000; ++i) market.event();
  const std::string path = folder_ / "deep.pcapng.zst";
  {
    files::CaptureWriter capture(path, "made up", "test");
    std::vector<std::byte> buffer(1'400);
    iex::SegmentBuilder builder(buffer, {.protocol = iex::kDeep10, .channel = 1, .session = 5});
    for (std::size_t at = 0; at < market.messages.size();) {
      builder.begin(at + 1);
      while (at < market.messages.size() && builder.message_count() < 3 &&
             builder.append(market.messages[at]))
        ++at;
      const std::uint64_t time = DeepMarket::kStartNs + at * 1'000;
      capture.write({.time_ns = time,
                     .source_address = 0x0a000001,
                     .destination_address = 0xe9d73c01,
                     .source_port = 10'000,
                     .destination_port = 10'378,
                     .payload = builder.finish(time)});
    }
    capture.finish();
  }
  play(path);
  std::map<std::string, std::vector<DeepQuote>> quotes;
  seen_.for_each_change([&](const std::string& name, const wire::BookUpdate& update) {
    if (update.feed_state() == wire::FeedState::kGood) quotes[name].push_back(quote_of(update));
  });
  EXPECT_EQ(quotes, market.quotes);
}

// mdh publishes times of the day.
struct OfTheDay {
  QuotesCompared& compared;
  void operator()(iex::QuoteUpdate quote) {
    quote.timestamp %= std::int64_t{86'400} * 1'000'000'000;
    compared(quote);
  }
  void operator()(const auto&) noexcept {}
};

TEST_F(DeepPipeline, ARecordedSessionAgreesWithTheVenuesOwnQuotes) {
  const auto deep = test_support::data_folder() / "iex/20260713_DEEP10.pcap.zst";
  const auto tops = test_support::data_folder() / "iex/20260713_TOPS16.pcap.zst";
  TICKPATH_NEED_DATA(deep);
  TICKPATH_NEED_DATA(tops);
  play(deep);
  EXPECT_EQ(feed_.at("messages"), 203'110);
  EXPECT_EQ(seen_.names.size(), 13'015u);
  std::map<std::string, DeepQuote, std::less<>> shown;
  QuotesCompared compared([&](const iex::Symbol& symbol) {
    const auto found = shown.find(symbol.view());
    return found == shown.end() ? DeepQuote{} : found->second;
  });
  OfTheDay of_the_day{compared};
  const auto reader = iex::CaptureReader::open(tops);
  ASSERT_NE(reader, nullptr);
  for (iex::CapturedMessage message; reader->next(message);)
    ASSERT_EQ(iex::decode(message.bytes, of_the_day), iex::DecodeStatus::kOk);
  iex::Timestamp newest = 0;
  seen_.for_each_change([&](const std::string& name, const wire::BookUpdate& update) {
    const auto time = static_cast<iex::Timestamp>(update.exchange_time_ns);
    newest = std::max(newest, time);
    compared.before(name, time);
    shown[name] = quote_of(update);
  });
  compared.finish(newest);
  compared.expect_agreement("best bid and offer as quoted, over the network");
}

}  // namespace
}  // namespace tickpath::test_support
