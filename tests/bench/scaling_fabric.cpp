// What a process of mdh, and one of strategy, pays for each that it serves: two processes, a core
// each, over the shm provider.
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/feeds/generator/generator.hpp"
#include "common/feeds/itch/moldudp64.hpp"
#include "common/link/link.hpp"
#include "mdh/datapath.hpp"
#include "mdh/notes.hpp"
#include "strategy/datapath.hpp"
#include "tests/bench/plugins.hpp"
#include "tests/bench/report.hpp"
#include "tests/bench/scaling.hpp"
#include "tests/support/connect.hpp"
#include "tests/support/process.hpp"

namespace tickpath::bench {
namespace {

constexpr std::uint32_t kInstruments = 1'000;

std::uint64_t now_ns() { return static_cast<std::uint64_t>(clock::monotonic_ns()); }

void take_core(std::size_t index) {
  static const std::vector<int> cpus = allowed_cpus();  // before the first pinning
  pin_this_thread(cpus[index % cpus.size()]);
}

// A process on the second core that ends with this object.
class Child {
 public:
  explicit Child(const std::function<void()>& run) : id_(::fork()) {
    take_core(id_ != 0 ? 0 : 1);
    if (id_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      run();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "the other process: %s\n", error.what());
    }
    ::_exit(1);
  }
  ~Child() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  pid_t id_;
};

// Until `done`, at most half a minute.
void turn_until(const std::function<bool()>& done, const std::function<void()>& turn) {
  const std::uint64_t latest = now_ns() + 30'000'000'000;
  while (!done()) {
    if (now_ns() > latest) throw std::runtime_error("the two processes do not meet");
    turn();
  }
}

// ------------------------------------------------------------------------------- subscribers

struct Updates {
  void on_update(const wire::BookUpdate& update, std::uint64_t) noexcept { last = update.trace_id; }
  std::uint64_t last = 0;
};

using Subscriber = link::Subscriber<wire::BookUpdate, wire::BookImage>;

[[noreturn]] void subscribe(const std::string& endpoint, std::size_t count) {
  const auto device = rdma::open_device("shm", "");
  std::vector<std::unique_ptr<Subscriber>> all;
  link::SubscriberOptions options;
  options.image_count = kInstruments + 1;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(std::make_unique<Subscriber>(*device, nullptr, options));
    connect_now(*all.back(), endpoint, {}, {}, 30'000);
  }
  for (Updates updates;;)
    for (const auto& each : all) each->poll(updates);
}

// mdh's sink, with a watch on what posting an update takes.
class TimedSink final : public mdh::UpdateSink {
 public:
  TimedSink(mdh::BookPublisher& publisher, mdh::DirectoryTable& directory, std::size_t samples)
      : sink_(publisher, directory), posting(samples) {}
  void publish(const wire::BookUpdate& update) noexcept override {
    // Fences: else the counter would be read while the book's cold lines are still on their way.
    const TscTicks start = tsc_after_loads();
    sink_.publish(update);
    posting.add((tsc_after_loads() - start).value);
  }
  void mark_dirty(std::uint32_t id) noexcept override { sink_.mark_dirty(id); }
  void store_row(std::uint32_t index, const wire::DirectoryEntry& row) noexcept override {
    sink_.store_row(index, row);
  }

 private:
  mdh::FabricSink sink_;

 public:
  Samples posting;
};

std::vector<std::vector<std::byte>> packets_of(std::uint64_t messages) {
  itch::GeneratorOptions options;
  options.messages = messages;
  options.symbols = kInstruments;
  itch::Generator generator(options);
  std::array<std::byte, itch::mold::kMaxPacketBytes> buffer;
  itch::mold::PacketBuilder builder(buffer);
  std::vector<std::vector<std::byte>> packets;
  itch::RecordedMessage message;
  while (generator.next(message) == itch::ReadStatus::kMessage) {
    builder.begin(itch::mold::Session("BENCH"), packets.size() + 1);
    (void)builder.append(message.bytes);
    const auto bytes = builder.finish();
    packets.emplace_back(bytes.begin(), bytes.end());
  }
  return packets;
}

struct Posting {
  double message_ns = 0;
  double p90_ns = 0;
};

// Messages one at a time, so far apart that readers keep up, each with its image behind it.
Posting post_to(std::size_t subscribers, const std::vector<std::vector<std::byte>>& packets) {
  const auto device = rdma::open_device("shm", "");
  const test_support::Folder folder;
  const std::string endpoint = folder / "mdh";
  const auto listener = device->listen(endpoint);
  const Child child([&] { subscribe(endpoint, subscribers); });
  mdh::BookPublisher publisher(*device, nullptr, {.name = "mdh", .image_count = kInstruments + 1});
  mdh::DirectoryTable directory(*device, kInstruments + 1, "directory");
  trace::TraceWriter trace({});
  log::HotLog log;
  mdh::define_notes(log);
  TimedSink sink(publisher, directory, packets.size());
  mdh::FeedOptions options;
  options.instruments_max = kInstruments + 1;
  mdh::Feed feed(options, sink, trace, log);
  mdh::Arbiter arbiter({}, feed, nullptr, nullptr, log);
  const auto finish_turn = [&] {
    publisher.flush(
        [&](std::uint32_t id, wire::BookImage& image) noexcept { feed.fill_image(id, image); });
    publisher.turn();
  };
  turn_until([&] { return publisher.subscriber_count() == subscribers && !publisher.busy(); },
             [&] {
               if (const auto request = listener->next()) accept_now(publisher, *request, {}, {});
               finish_turn();
             });
  const std::uint64_t apart = clock::TickConverter().from_ns(3'000 + 1'000 * subscribers).value;
  Samples messages(packets.size());
  std::uint64_t due = tsc_now().value;
  for (const std::vector<std::byte>& packet : packets) {
    while (tsc_now().value < due) cpu_relax();
    const TscTicks start = tsc_now();
    arbiter.collect(mdh::Line::kA, packet, {0, start});
    arbiter.process(start);
    finish_turn();
    messages.add((tsc_now() - start).value);
    due = std::max(due + apart, tsc_now().value);
  }
  return {messages.median_ns(), sink.posting.percentile_ns(90)};
}

// -------------------------------------------------------------------------------- strategies

// oeg and mdh as the engine sees them: channels and heartbeats, and a tick every 20 us.
class Peers {
 public:
  Peers(const std::string& mdh, const std::string& oeg)
      : listens_mdh_(device_->listen(mdh)), listens_oeg_(device_->listen(oeg)) {
    for (std::uint32_t id = 0; id < kInstruments; ++id) directory_.store(id, listed(id));
  }

  [[noreturn]] void run() {
    publisher_.turn();
    std::uint64_t due = 0;
    for (;;) {
      accept();
      heartbeat_.beat();
      server_.poll(*this);
      if (now_ns() < due) continue;
      due = now_ns() + 20'000;
      tick();
    }
  }
  void on_message(link::ClientId, std::uint64_t, const wire::OrderRequest&) noexcept {}
  void on_client(link::ClientId id, std::uint64_t, link::LinkEvent event) noexcept {
    if (event != link::LinkEvent::kConnected) return;
    wire::OrderReport end{};
    end.kind = wire::ReportKind::kPositionsEnd;
    (void)server_.send(id, end);
  }

 private:
  void accept() {
    if (const auto request = listens_mdh_->next()) {
      const std::array<rdma::Grant, 2> extras{directory_.grant(), heartbeat_.grant()};
      publisher_.start_accept(*request, {}, extras, "strategy", {});
    }
    if (const auto request = listens_oeg_->next()) {
      const std::array<rdma::Grant, 1> extras{heartbeat_.grant()};
      server_.start_accept(*request, {}, extras, ++clients_, {});
    }
    publisher_.collect();
    server_.collect();
  }
  void tick() noexcept {
    publisher_.publish(update_of(++sequence_, kInstruments));
    publisher_.turn();
    publisher_.flush([](std::uint32_t, wire::BookImage&) noexcept {});
  }

  std::unique_ptr<rdma::Device> device_ = rdma::open_device("shm", "");
  std::unique_ptr<rdma::Listener> listens_mdh_, listens_oeg_;
  mdh::DirectoryTable directory_{*device_, kInstruments, "directory"};
  link::Heartbeat heartbeat_{*device_, "heartbeat"};
  mdh::BookPublisher publisher_{*device_, nullptr, {.image_count = kInstruments}};
  link::ChannelServer<wire::OrderReport, wire::OrderRequest> server_{
      *device_, nullptr, {.name = "oeg", .depth = 1024}};
  std::uint64_t clients_ = 0;
  std::uint64_t sequence_ = 0;
};

struct Images final : strategy::ImageSource {
  bool image(std::uint32_t instrument, wire::BookImage& out) noexcept override {
    return reader->image(instrument, out);
  }
  market::MarketReader* reader = nullptr;
};

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0;
  std::ifstream statm("/proc/self/statm");
  statm >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

struct Ticking {
  double tick_ns = 0;
  std::uint64_t bytes = 0;
};

// Turns of the datapath that found one tick.
Ticking tick(std::size_t instances, bool subscribes, std::size_t ticks) {
  const test_support::Folder folder;
  const Child child([&] { Peers(folder / "mdh", folder / "oeg").run(); });
  const auto device = rdma::open_device("shm", "");
  market::MarketReaderOptions market_options;
  market_options.endpoint = folder / "mdh";
  market::MarketReader market(*device, nullptr, market_options);
  strategy::OrderChannelsOptions order_options;
  order_options.endpoint = folder / "oeg";
  order_options.name = "strategy";
  strategy::OrderChannels orders(*device, nullptr, order_options);
  Images images;
  images.reader = &market;
  trace::TraceWriter trace({});
  strategy::LogRing log(64);
  const tickpath_plugin& plugin = example_plugin("quoter");
  ::malloc_trim(0);  // what was freed before is not there for the taking
  const std::uint64_t before = resident_bytes();
  strategy::Engine engine({}, orders, images, trace, log);
  for (std::size_t i = 1; i <= instances; ++i) {
    engine.start(engine.add(plugin, quoter(i, i == 1 || subscribes ? "*" : "NONE")));
    orders.add(static_cast<std::uint8_t>(i));
  }
  strategy::StrategyDatapath datapath(market, orders, engine, nullptr);
  turn_until([&] { return market.not_ready_reason().empty() && orders.not_ready_reason().empty(); },
             [&] {
               market.maintain(now_ns());
               orders.maintain(now_ns());
               datapath.turn();
             });
  Samples samples(ticks);
  while (samples.count() < ticks) {
    const std::uint64_t seen = engine.counters().updates.get();
    const TscTicks start = tsc_now();
    datapath.turn();
    const std::uint64_t taken = (tsc_now() - start).value;
    if (engine.counters().updates.get() == seen + 1) samples.add(taken);
  }
  return {samples.median_ns(), resident_bytes() - before};
}

}  // namespace

void print_subscribers(const ScalingOptions& options) {
  const auto packets = packets_of(options.pick(200'000, 20'000));
  double one_ns = 0;
  for (const std::size_t count : {1, 2, 4, 8}) {
    const Posting cost = post_to(count, packets);
    if (count == 1) one_ns = cost.message_ns;
    const std::string each =
        count == 1
            ? ""
            : " (" + decimal((cost.message_ns - one_ns) / static_cast<double>(count - 1), 0) +
                  " each more)";
    print_row("mdh, ns a message with its image; p90 book -> posted, ns",
              std::to_string(count) + " subscribers",
              decimal(cost.message_ns, 0) + each + "; " + decimal(cost.p90_ns, 0));
  }
}

void print_strategies(const ScalingOptions& options) {
  const std::size_t ticks = options.pick(100'000, 500);
  const Ticking one = tick(1, true, ticks);
  print_row("strategy, ns a turn with a tick", "1 instance", decimal(one.tick_ns, 0));
  for (const bool subscribes : {false, true}) {
    constexpr std::size_t kMany = 9;
    const Ticking many = tick(kMany, subscribes, ticks);
    print_row("... one more, ns a tick; MB", subscribes ? "subscribed" : "not subscribed",
              decimal((many.tick_ns - one.tick_ns) / (kMany - 1), 0) + "; " +
                  decimal(static_cast<double>(many.bytes - one.bytes) / 1e6 / (kMany - 1), 2));
  }
}

}  // namespace tickpath::bench
