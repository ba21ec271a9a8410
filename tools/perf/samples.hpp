// Figures of a set of samples, in the columns of perftest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tickpath::rdma::perf {

// The TSC of some CPUs advances in steps of many ticks (10 ns on AMD), give or take a tick where a
// hypervisor scales it: the usual distance between two reads that differ, in ticks.
double clock_step_ticks();

// Samples that fall into one step of the clock are taken as spread evenly over it (the median of
// grouped data), so that a quantile resolves finer than the clock. `sorted` is not empty.
double grouped_quantile(std::span<const std::uint64_t> sorted, double part, double step_ticks);

struct HistogramBin {
  double low_us = 0, high_us = 0;
  std::uint64_t count = 0;
};

// Microseconds.
struct LatencyColumns {
  std::uint64_t iterations = 0;
  double min = 0, max = 0, typical = 0, average = 0, deviation = 0;  // typical: the median
  double p90 = 0, p99 = 0, p999 = 0, p9999 = 0;
  std::vector<HistogramBin> histogram;  // of equal width on a logarithmic scale
};

// Sorts `ticks`. us_per_tick: halved by the caller where a sample is a round trip and a column one
// way. `ticks` is not empty.
LatencyColumns latency_columns(std::vector<std::uint64_t>& ticks, double us_per_tick,
                               double step_ticks);

}  // namespace tickpath::rdma::perf
