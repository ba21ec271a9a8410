#include "tools/perf/beside_floor.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "common/base/cpu.hpp"
#include "common/base/names.hpp"
#include "common/clock/clock.hpp"

namespace tickpath::rdma::perf {
namespace {

constexpr std::uint32_t kPaceTrial = 1'000;  // messages: a fraction of a millisecond each
constexpr std::uint32_t kDefaultIterations = 200'000;
constexpr std::uint32_t kDefaultWarmup = 2'000;

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
  PerfCase what;
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
  explicit Measurement(ClientSession& session) : session_(session) {
    series_.push_back({{PerfOperation::kFloor, 8}});
    series_.push_back({{PerfOperation::kFloorEachWay, 8}});
    for (const PerfCase& each : session.cases()) series_.push_back({each});
  }

  void run() {
    const std::uint32_t wanted =
        options_.iterations != 0 ? options_.iterations : kDefaultIterations;
    const std::uint32_t count = wanted / options_.rounds;
    for (Series& each : series_) each.ticks.reserve(std::size_t{count} * options_.rounds);
    for (std::uint32_t round = 0; round < options_.rounds; ++round) {
      for (Series& each : series_) run_round(each, count);
    }
  }

  std::vector<PerfRow> rows() {
    std::vector<PerfRow> rows;
    for (Series& each : series_) {
      std::vector<double> ratios;
      for (std::size_t i = 0; i < each.round_p50.size(); ++i) {
        ratios.push_back(each.round_p50[i] / series_[0].round_p50[i]);
      }
      PerfRow row;
      row.what = each.what;
      row.latency = latency_columns(each.ticks, kOneWayUs / hz_, step_);
      row.one_way = true;
      row.beside_floor = {median(ratios), favourite_pace(each)};
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  static constexpr double kOneWayUs = 0.5e6;  // a second: half of the round trip

  // Fills scratch_ with `total` samples.
  void collect(const Series& series, std::uint32_t total, std::uint32_t pace) {
    scratch_.clear();
    scratch_.reserve(total);
    PerfCommand command = session_.command_for(series.what, total);
    command.pace = static_cast<std::uint8_t>(pace);
    session_.latency_run(command, 0, scratch_);
  }

  // The pace of the poll loops that suits this operation now (see LatPace).
  std::uint32_t best_pace(const Series& series) {
    if (series.what.operation == PerfOperation::kFloor) return 0;
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
    const std::uint32_t warmup =
        options_.warmup >= 0 ? static_cast<std::uint32_t>(options_.warmup) : kDefaultWarmup;
    collect(series, warmup + count, pace);
    const auto counted = scratch_.begin() + warmup;
    series.ticks.insert(series.ticks.end(), counted, scratch_.end());
    std::sort(counted, scratch_.end());
    series.round_p50.push_back(grouped_quantile({counted, scratch_.end()}, 0.5, step_));
  }

  ClientSession& session_;
  const PerfOptions& options_ = session_.options();
  std::vector<Series> series_;
  std::vector<std::uint64_t> scratch_;
  double hz_ = static_cast<double>(clock::tsc_hz());
  double step_ = clock_step_ticks();
};

}  // namespace

std::string_view to_string(LatVerdict verdict) noexcept {
  using enum LatVerdict;
  return name_in(verdict, {{kMet, "met"}, {kMissed, "missed"}}, "not judged");
}

bool judge(std::vector<PerfRow>& rows) {
  const bool shared_core = rows.at(0).latency.typical * 1e3 < kSharedCoreFloorNs;
  for (PerfRow& row : rows) {
    for (const LatBar& bar : kLatBars) {
      if (bar.operation != row.what.operation) continue;
      if (row.what.size_bytes != kLatBarBytes && !is_atomic(row.what.operation)) continue;
      row.beside_floor.bar = bar.ratio;
      if (shared_core) continue;
      row.beside_floor.verdict =
          row.beside_floor.ratio <= bar.ratio ? LatVerdict::kMet : LatVerdict::kMissed;
    }
  }
  return shared_core;
}

void measure_beside_floor(ClientSession& session, PerfReport& report) {
  Measurement measurement(session);
  measurement.run();
  report.rows = measurement.rows();
  report.shared_core = judge(report.rows);
  report.clock_cost_ns = clock_cost_ns(clock::TickConverter());
}

}  // namespace tickpath::rdma::perf
