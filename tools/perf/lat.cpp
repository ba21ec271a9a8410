#include "tools/perf/lat.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

#include <unistd.h>

#include "common/clock/clock.hpp"
#include "tools/perf/host.hpp"
#include "tools/perf/lat_peer.hpp"
#include "tools/perf/lat_process.hpp"
#include "tools/perf/samples.hpp"

namespace tickpath::rdma::perf {
namespace {

constexpr std::uint32_t kPaceTrial = 1'000;  // messages: a fraction of a millisecond each

// What can be asked for; the floors run always.
constexpr LatOperation kAllOperations[] = {LatOperation::kWrite, LatOperation::kSend,
                                           LatOperation::kRead, LatOperation::kFetchAdd,
                                           LatOperation::kCompareSwap};

// Which CPUs: those asked for, else the first two allowed.
void choose_cpus(LatOptions& options) {
  const std::vector<int> allowed = allowed_cpus();
  if (allowed.size() < 2 && (options.client_cpu < 0 || options.server_cpu < 0)) {
    throw Error("latency between two processes needs two CPUs; this process may use one only");
  }
  if (options.client_cpu < 0) options.client_cpu = allowed[0];
  if (options.server_cpu < 0) {
    options.server_cpu = allowed[0] == options.client_cpu ? allowed[1] : allowed[0];
  }
  if (options.client_cpu == options.server_cpu) {
    throw Error("client and server must run on different CPUs");
  }
}

void check_options(const LatOptions& options) {
  for (const std::uint32_t size : options.sizes) {
    if (size < 8 || size % 8 != 0 || size > kLatBytesMax) {
      throw Error("a message size is a multiple of 8 from 8 to " + std::to_string(kLatBytesMax) +
                  ", not " + std::to_string(size));
    }
  }
  if (options.sizes.empty() || options.rounds == 0 || options.iterations < options.rounds) {
    throw Error("latency needs at least one size, one round and one iteration a round");
  }
}

double clock_cost_ns(const clock::TickConverter& converter) {
  constexpr int kReads = 10'000;
  const std::uint64_t before = tsc_now().value;
  for (int i = 0; i < kReads - 1; ++i) {
    [[maybe_unused]] const volatile std::uint64_t read = tsc_now().value;
  }
  return static_cast<double>(converter.to_ns({tsc_now().value - before})) / kReads;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// One operation at one size: its samples of all rounds, its median in each.
struct Series {
  LatOperation operation;
  std::uint32_t size_bytes;
  std::vector<std::uint64_t> ticks{};
  std::vector<double> round_p50{};
  std::array<std::uint32_t, std::size(kLatPaces)> pace_rounds{};  // rounds run at each pace
};

const char* favourite_pace(const Series& series) {
  const auto most = std::max_element(series.pace_rounds.begin(), series.pace_rounds.end());
  return kLatPaces[most - series.pace_rounds.begin()].name;
}

class Measurement {
 public:
  Measurement(const LatOptions& options, LatPeer& peer, LatControl& control, PeerWatch& watch)
      : options_(options), peer_(peer), control_(control), watch_(watch) {
    series_.push_back({LatOperation::kFloor, 8});
    series_.push_back({LatOperation::kFloorEachWay, 8});
    for (const LatOperation operation : kAllOperations) {
      if (!wanted(operation)) continue;
      for (const std::uint32_t size : options.sizes) {
        const bool word = operation >= LatOperation::kFetchAdd;
        series_.push_back({operation, word ? 8 : size});
        if (word) break;
      }
    }
  }

  void run() {
    const std::uint32_t count = options_.iterations / options_.rounds;
    for (Series& each : series_) each.ticks.reserve(std::size_t{count} * options_.rounds);
    for (std::uint32_t round = 0; round < options_.rounds; ++round) {
      for (Series& each : series_) run_round(each, count);
    }
  }

  std::vector<LatRow> rows() {
    std::vector<LatRow> rows;
    for (Series& each : series_) {
      std::vector<double> ratios;
      for (std::size_t i = 0; i < each.round_p50.size(); ++i) {
        ratios.push_back(each.round_p50[i] / series_[0].round_p50[i]);
      }
      rows.push_back({each.operation, each.size_bytes, statistics(each), median(ratios),
                      favourite_pace(each)});
    }
    return rows;
  }

 private:
  bool wanted(LatOperation operation) const {
    return options_.operations.empty() ||
           std::find(options_.operations.begin(), options_.operations.end(), operation) !=
               options_.operations.end();
  }

  void start(const Series& series, std::uint32_t count, std::uint32_t pace) {
    control_.operation = series.operation;
    control_.size_bytes = series.size_bytes;
    control_.count = count;
    control_.pace = pace;
    peer_.set_pace(pace);
    control_.floor.store(0, std::memory_order_seq_cst);
    control_.floor_there.store(0, std::memory_order_seq_cst);
    control_.floor_back.store(0, std::memory_order_seq_cst);
    peer_.clear_landing(series.size_bytes);
    const std::uint32_t command = control_.command.fetch_add(1, std::memory_order_seq_cst) + 1;
    for (std::uint32_t spins = 1; control_.ready.load(std::memory_order_seq_cst) != command + 1;
         ++spins) {
      cpu_relax();
      if (spins % (1u << 20) == 0) watch_.check();
    }
  }

  // Fills scratch_ with `total` samples.
  void collect(const Series& series, std::uint32_t total, std::uint32_t pace) {
    scratch_.clear();
    scratch_.reserve(total);
    start(series, total, pace);
    peer_.run_client(series.operation, series.size_bytes, total, scratch_);
  }

  // The pace of the poll loops that suits this operation now (see LatPace).
  std::uint32_t best_pace(const Series& series) {
    if (series.operation == LatOperation::kFloor) return 0;
    if (options_.pace >= 0) return static_cast<std::uint32_t>(options_.pace);
    std::uint32_t best = 0;
    std::uint64_t best_ticks = ~std::uint64_t{0};
    for (std::uint32_t pace = 0; pace < std::size(kLatPaces); ++pace) {
      collect(series, kPaceTrial, pace);
      // Not the median, which the clock's steps would make equal for several.
      const auto half = scratch_.begin() + kPaceTrial / 2;
      std::nth_element(scratch_.begin(), half, scratch_.end());
      const auto ticks = std::accumulate(scratch_.begin(), half, std::uint64_t{0});
      if (ticks < best_ticks) {
        best = pace;
        best_ticks = ticks;
      }
    }
    return best;
  }

  void run_round(Series& series, std::uint32_t count) {
    const std::uint32_t pace = best_pace(series);
    ++series.pace_rounds[pace];
    collect(series, options_.warmup + count, pace);
    const auto counted = scratch_.begin() + options_.warmup;
    series.ticks.insert(series.ticks.end(), counted, scratch_.end());
    std::sort(counted, scratch_.end());
    series.round_p50.push_back(to_ns(grouped_quantile({counted, scratch_.end()}, 0.5, step_)));
  }

  static double to_ns(double ticks) {
    const double ns = ticks * 1e9 / static_cast<double>(clock::tsc_hz());
    return ns / 2;  // half of the round trip
  }

  LatStatistics statistics(Series& series) const {
    std::sort(series.ticks.begin(), series.ticks.end());
    const auto at = [&](double part) { return to_ns(grouped_quantile(series.ticks, part, step_)); };
    return {series.ticks.size(),
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            to_ns(static_cast<double>(series.ticks.back()))};
  }

  const LatOptions& options_;
  LatPeer& peer_;
  LatControl& control_;
  PeerWatch& watch_;
  std::vector<Series> series_;
  std::vector<std::uint64_t> scratch_;
  double step_ = clock_step_ticks();
};

}  // namespace

std::string_view to_string(LatOperation operation) noexcept {
  switch (operation) {
    case LatOperation::kFloor:
      return "floor";
    case LatOperation::kFloorEachWay:
      return "floor_each_way";
    case LatOperation::kWrite:
      return "write";
    case LatOperation::kSend:
      return "send";
    case LatOperation::kRead:
      return "read";
    case LatOperation::kFetchAdd:
      return "fetch_add";
    case LatOperation::kCompareSwap:
      return "compare_swap";
  }
  return "unknown";
}

std::string_view to_string(LatVerdict verdict) noexcept {
  switch (verdict) {
    case LatVerdict::kMet:
      return "met";
    case LatVerdict::kMissed:
      return "missed";
    case LatVerdict::kNotJudged:
      break;
  }
  return "not judged";
}

bool judge(std::vector<LatRow>& rows) {
  const bool shared_core = rows.at(0).statistics.p50_ns < kSharedCoreFloorNs;
  for (LatRow& row : rows) {
    for (const LatBar& bar : kLatBars) {
      if (bar.operation != row.operation) continue;
      if (row.size_bytes != kLatBarBytes && row.operation < LatOperation::kFetchAdd) continue;
      row.bar = bar.ratio;
      if (shared_core) continue;
      row.verdict = row.ratio <= bar.ratio ? LatVerdict::kMet : LatVerdict::kMissed;
    }
  }
  return shared_core;
}

LatOperation parse_operation(std::string_view name) {
  std::string choices;
  for (const LatOperation operation : kAllOperations) {
    if (to_string(operation) == name) return operation;
    choices += " " + std::string(to_string(operation));
  }
  throw Error("no operation is called \"" + std::string(name) + "\"; choose from:" + choices);
}

std::size_t parse_pace(std::string_view name) {
  std::string choices;
  for (std::size_t i = 0; i < std::size(kLatPaces); ++i) {
    if (kLatPaces[i].name == name) return i;
    choices += std::string(" \"") + kLatPaces[i].name + "\"";
  }
  throw Error("no pace is called \"" + std::string(name) + "\"; choose from:" + choices);
}

LatReport measure_latency(const LatOptions& requested) {
  LatOptions options = requested;
  check_options(options);
  choose_cpus(options);
  const std::string endpoint =
      (std::filesystem::temp_directory_path() / ("tickpath.lat." + std::to_string(::getpid())))
          .string();
  SharedControl control;
  clock::tsc_hz();  // before the fork: both sides use one measurement
  ServerProcess server(options, *control, options.server_cpu, endpoint);
  pin_this_thread(options.client_cpu);
  LatPeer peer(options, *control, server);
  while (control->ready.load(std::memory_order_seq_cst) == 0) {
    server.check();
    ::usleep(1000);
  }
  peer.connect(endpoint);
  Measurement measurement(options, peer, *control, server);
  measurement.run();
  server.finish();
  std::vector<LatRow> rows = measurement.rows();
  const bool shared_core = judge(rows);
  return {.provider = peer.device().info().provider,
          .device = peer.device().info().name,
          .cpu_model = cpu_model(),
          .client_cpu = options.client_cpu,
          .server_cpu = options.server_cpu,
          .rounds = options.rounds,
          .clock_cost_ns = clock_cost_ns(clock::TickConverter()),
          .clock_step_ns = clock_step_ticks() * 1e9 / static_cast<double>(clock::tsc_hz()),
          .rows = std::move(rows),
          .shared_core = shared_core,
          .notes = peer.device().notes()};
}

}  // namespace tickpath::rdma::perf
