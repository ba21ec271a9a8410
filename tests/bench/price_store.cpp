// The price store: the newest prices of one instrument (GET) beside a bare READ of as many bytes,
// 100 at a time, a range, and what storing costs its writer; all over the shm provider, one
// process. With
// --redis the same beside Redis on this host, which keeps as many bytes under as many keys: over
// its Unix socket and over TCP on loopback; one GET, GETs in a pipeline, MGET.
#include "common/stores/prices/price_store.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/base/check.hpp"
#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/stores/prices/price_client.hpp"
#include "common/wire/directory.hpp"
#include "tests/bench/one_host.hpp"
#include "tests/bench/price_store_redis.hpp"
#include "tests/bench/report.hpp"

namespace {

using namespace tickpath;

constexpr std::uint32_t kInstruments = 1'000;
constexpr std::size_t kMany = 100;
constexpr std::uint64_t kOpenNs = 34'200'000'000'000;

std::string symbol_name(std::uint32_t id) { return "S" + std::to_string(id); }

wire::BookUpdate update_of(std::uint32_t id, std::uint64_t number) {
  wire::BookUpdate update{};
  update.trace_id = number;
  update.exchange_time_ns = kOpenNs + number * 1'000;
  update.instrument_id = id;
  // Another quote each time, and a trade the tenth time, of each instrument.
  const std::uint64_t turn = number / kInstruments;
  update.price = 100'0000 + static_cast<std::uint32_t>(turn % 100);
  update.shares = 100;
  update.kind = turn % 10 == 0 ? wire::UpdateKind::kTrade : wire::UpdateKind::kAdd;
  update.best_bid = update.price;
  update.best_ask = update.price + 100;
  update.best_bid_shares = update.best_ask_shares = static_cast<std::uint32_t>(turn % 1'000);
  return update;
}

// A store of kInstruments, filled, and both ends of a connection to it.
struct Bench {
  explicit Bench(std::uint64_t updates)
      : device(rdma::open_device("shm", "")), store(*device, options(), kInstruments, "prices") {
    const rdma::Grant grant = store.grant();
    ends = bench::connect_ends(*device, {&grant, 1});
    link::Connection& there = *ends.there;
    client.attach(there, there.extras()[0]);
    bare.attach(there, there.extras()[0]);
    for (std::uint32_t id = 0; id < kInstruments; ++id) {
      store.list(wire::symbol_word(symbol_name(id)), id);
      symbols.push_back(wire::symbol_word(symbol_name(id)));
    }
    for (; written < updates; ++written)
      store.on_update(update_of(static_cast<std::uint32_t>(written % kInstruments), written));
  }
  ~Bench() { client.detach(); }
  static prices::StoreOptions options() {
    prices::StoreOptions options;
    options.instruments = kInstruments;
    options.trades = options.quotes = 2'048;
    options.bars_1s = options.bars_1m = 64;
    return options;
  }

  std::unique_ptr<rdma::Device> device;
  prices::PriceStore store;
  bench::Ends ends;
  prices::PriceClient client{*device, "client", {.symbols_max = kInstruments}};
  bench::BareReader bare{*device, sizeof(wire::LatestPrices) + sizeof(std::uint64_t)};
  std::vector<std::uint64_t> symbols;
  std::uint64_t written = 0;
};

template <class Once>
double measure(const std::string& label, std::uint64_t count, std::uint64_t divisor, Once&& once) {
  bench::Samples samples(count);
  for (std::uint64_t number = 0; number < count; ++number) {
    const TscTicks start = tsc_now();
    once(number);
    samples.add((tsc_now() - start).value / divisor);
  }
  samples.print(label, divisor == 1 ? "" : "mean of " + std::to_string(divisor));
  return samples.median_ns();
}

struct Reads {
  double bare = 1e9;
  double get = 1e9;
  double many = 1e9;
};

// Instruments in turn with a stride, so that no line is in the cache because of the READ before it.
std::size_t at(std::uint64_t number) { return number * 37 % kInstruments; }

Reads reads(Bench& bench, std::uint64_t count, int rounds) {
  Reads best;
  prices::LatestAnswer one;
  std::vector<prices::LatestAnswer> many(kMany);
  const auto& info = *reinterpret_cast<const wire::StoreInfo*>(bench.store.memory());
  // All rows known: what a client does all day.
  std::vector<prices::LatestAnswer> all(kInstruments);
  TICKPATH_CHECK(bench.client.latest_many(bench.symbols, all, 10'000) == prices::PriceStatus::kOk,
                 "all are read");
  for (int round = 0; round < rounds; ++round) {
    best.bare = std::min(best.bare, measure("bare READ, 240 bytes", count, 1, [&](auto number) {
                           bench.bare.read(info.rows_offset + at(number) * sizeof(wire::PriceRow));
                         }));
    best.get = std::min(
        best.get, measure("GET, newest of one", count, 1, [&](auto number) {
          const auto status = bench.client.latest_many({&bench.symbols[at(number)], 1}, {&one, 1});
          TICKPATH_CHECK(
              status == prices::PriceStatus::kOk && one.status == prices::PriceStatus::kOk,
              "it is there");
        }));
    best.many = std::min(
        best.many, measure("GET, 100 at a time", count / kMany, kMany, [&](auto number) {
          const std::size_t from = number * kMany % (kInstruments - kMany);
          const auto symbols = std::span(bench.symbols).subspan(from, kMany);
          TICKPATH_CHECK(bench.client.latest_many(symbols, many) == prices::PriceStatus::kOk,
                         "they are there");
        }));
  }
  return best;
}

void ranges(Bench& bench, std::uint64_t count) {
  std::vector<wire::HistoryLine> lines(1'024);
  const prices::RangeRequest request{.kind = wire::HistoryKind::kQuotes, .newest = 100};
  measure("range, the newest 100 quotes", count, 1, [&](auto number) {
    TICKPATH_CHECK(bench.client.start_range(bench.symbols[at(number)], request, lines),
                   "one at a time");
    do bench.ends.there->poll();
    while (bench.client.poll() == prices::PriceStatus::kPending);
    TICKPATH_CHECK(bench.client.range_answer().count == 100, "all are there");
  });
}

void writing(Bench& bench, std::uint64_t count) {
  measure("one update stored", count, 1, [&](std::uint64_t number) {
    bench.store.on_update(update_of(static_cast<std::uint32_t>(at(number)), ++bench.written));
  });
}

// One that wants another's figure to be so many times its own, at least.
void print_quicker(const std::string& label, double ratio, double bar) {
  std::printf("%-34s %.1f x (bar at least %.0f x): %s\n", label.c_str(), ratio, bar,
              ratio >= bar ? "met" : "NOT met");
}

void beside_redis(const Reads& own, std::uint64_t count) {
  bench::RedisServer server;
  const std::string value(sizeof(wire::LatestPrices), 'x');
  for (const bool tcp : {false, true}) {
    const std::string way = tcp ? "Redis, TCP on loopback, " : "Redis, Unix socket, ";
    bench::RedisClient client(server, tcp);
    for (std::uint32_t id = 0; id < kInstruments; ++id) client.set(symbol_name(id), value);
    std::vector<std::string> keys;
    for (std::uint32_t id = 0; id < kInstruments; ++id) keys.push_back(symbol_name(id));
    const double get = measure(way + "GET", count, 1, [&](std::uint64_t number) {
      TICKPATH_CHECK(client.get(keys[at(number)]) == value.size(), "the value comes back");
    });
    const double pipelined = measure(way + "pipeline", count / kMany, kMany, [&](auto number) {
      const std::size_t from = number * kMany % (kInstruments - kMany);
      TICKPATH_CHECK(
          client.get_pipelined(std::span(keys).subspan(from, kMany)) == value.size() * kMany,
          "the values come back");
    });
    const double mget = measure(way + "MGET", count / kMany, kMany, [&](auto number) {
      const std::size_t from = number * kMany % (kInstruments - kMany);
      TICKPATH_CHECK(client.get_many(std::span(keys).subspan(from, kMany)) == value.size() * kMany,
                     "the values come back");
    });
    print_quicker(way + "GET / GET", get / own.get, 20);
    bench::print_ratio(way + "pipeline / GET of 100", pipelined / own.many);
    bench::print_ratio(way + "MGET / GET of 100", mget / own.many);
  }
}

bool has_flag(int argc, char** argv, std::string_view flag) {
  for (int i = 1; i < argc; ++i)
    if (argv[i] == flag) return true;
  return false;
}

int run(int argc, char** argv) {
  const bool quick = bench::is_quick(argc, argv);
  bench::print_environment("price store: shm provider, one process, rows known, the store at rest");
  pin_this_thread(allowed_cpus().front());
  const std::uint64_t count = quick ? 2'000 : 500'000;
  Bench bench(quick ? 200'000 : 2'000'000);
  const Reads own = reads(bench, count, quick ? 1 : 5);
  ranges(bench, quick ? 100 : 50'000);
  writing(bench, count);
  bench::print_ratio("GET / bare READ", own.get / own.bare, 1.3);
  bench::print_ratio("GET of 100, each / bare READ", own.many / own.bare);
  if (!has_flag(argc, argv, "--redis")) {
    std::printf("Redis: not asked for (--redis)\n");
    return 0;
  }
  if (const std::string why = bench::RedisServer::missing(); !why.empty()) {
    std::printf("Redis: skipped, %s\n", why.c_str());
    return 1;
  }
  beside_redis(own, quick ? 200 : 100'000);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(run, argc, argv); }
