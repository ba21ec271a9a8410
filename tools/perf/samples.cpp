#include "tools/perf/samples.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/cpu.hpp"

namespace tickpath::rdma::perf {
namespace {

constexpr double kBinsPerOctave = 8;
constexpr std::size_t kBinsMax = 96;

std::vector<HistogramBin> histogram_of(std::span<const std::uint64_t> sorted, double us_per_tick) {
  const double low = std::max(static_cast<double>(sorted.front()), 1.0);
  const double high = std::max(static_cast<double>(sorted.back()), low);
  const double octaves = std::log2(high / low);
  const auto wanted = static_cast<std::size_t>(std::ceil(octaves * kBinsPerOctave)) + 1;
  const std::size_t bins = std::min(wanted, kBinsMax);
  const double width =
      bins == wanted ? 1 / kBinsPerOctave : octaves / static_cast<double>(bins - 1);
  std::vector<HistogramBin> histogram(bins);
  for (std::size_t i = 0; i < bins; ++i) {
    histogram[i].low_us = low * std::exp2(static_cast<double>(i) * width) * us_per_tick;
    histogram[i].high_us = low * std::exp2(static_cast<double>(i + 1) * width) * us_per_tick;
  }
  for (const std::uint64_t ticks : sorted) {
    const double position = std::log2(std::max(static_cast<double>(ticks), low) / low) / width;
    ++histogram[std::min(static_cast<std::size_t>(position), bins - 1)].count;
  }
  return histogram;
}

}  // namespace

double clock_step_ticks() {
  std::vector<std::uint64_t> steps;
  std::uint64_t last = tsc_now().value;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t now = tsc_now().value;
    if (now > last) steps.push_back(now - last);
    last = now;
  }
  if (steps.empty()) return 1;
  std::sort(steps.begin(), steps.end());
  // The lower quartile: reads further apart than one step only lengthen the upper half.
  return static_cast<double>(steps[steps.size() / 4]);
}

double grouped_quantile(std::span<const std::uint64_t> sorted, double part, double step_ticks) {
  const double rank = part * static_cast<double>(sorted.size());
  const std::uint64_t value = sorted[std::min(static_cast<std::size_t>(rank), sorted.size() - 1)];
  const double middle = std::round(static_cast<double>(value) / step_ticks) * step_ticks;
  const auto edge = [](double ticks) {
    return static_cast<std::uint64_t>(std::ceil(std::max(ticks, 0.0)));
  };
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), edge(middle - step_ticks / 2));
  const auto last = std::lower_bound(first, sorted.end(), edge(middle + step_ticks / 2));
  if (first == last) return static_cast<double>(value);
  const double within =
      (rank - static_cast<double>(first - sorted.begin())) / static_cast<double>(last - first);
  return middle + step_ticks * (within - 0.5);
}

LatencyColumns latency_columns(std::vector<std::uint64_t>& ticks, double us_per_tick,
                               double step_ticks) {
  std::sort(ticks.begin(), ticks.end());
  const auto at = [&](double part) {
    const double value = grouped_quantile(ticks, part, step_ticks);
    return us_per_tick *
           std::clamp(value, static_cast<double>(ticks.front()), static_cast<double>(ticks.back()));
  };
  LatencyColumns columns;
  columns.iterations = ticks.size();
  columns.min = us_per_tick * static_cast<double>(ticks.front());
  columns.max = us_per_tick * static_cast<double>(ticks.back());
  columns.typical = at(0.5);
  columns.p90 = at(0.9);
  columns.p99 = at(0.99);
  columns.p999 = at(0.999);
  columns.p9999 = at(0.9999);
  double sum = 0;
  for (const std::uint64_t each : ticks) sum += static_cast<double>(each);
  const double mean = sum / static_cast<double>(ticks.size());
  double squares = 0;
  for (const std::uint64_t each : ticks) {
    const double off = static_cast<double>(each) - mean;
    squares += off * off;
  }
  columns.average = us_per_tick * mean;
  columns.deviation = us_per_tick * std::sqrt(squares / static_cast<double>(ticks.size()));
  columns.histogram = histogram_of(ticks, us_per_tick);
  return columns;
}

}  // namespace tickpath::rdma::perf
