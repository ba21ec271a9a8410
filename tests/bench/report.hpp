// What every benchmark prints: where it ran, one line a figure, the cost of measuring. One sample a
// message, never an average of a batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/trace/analysis.hpp"

namespace tickpath::bench {

// `--quick` (what ctest passes): tiny inputs, so that a benchmark cannot rot; no figure of such a
// run means anything.
bool is_quick(int argc, char** argv);

// What follows NAME among the arguments, else `otherwise`.
std::string text_option(int argc, char** argv, const char* name, const std::string& otherwise = {});
// "NAME 20" likewise.
std::uint64_t option(int argc, char** argv, const char* name, std::uint64_t otherwise);

// main(): what it throws is printed, and 1 then.
int run_main(int (*run)(int, char**), int argc, char** argv);

// CPU, cores allowed, TSC rate, cost of one measurement (two TSC reads) and the commit if known.
void print_environment(std::string_view what);

// Median cost of two back-to-back TSC reads, ns: subtract nothing, but know it.
double measurement_cost_ns();

// TSC differences gathered by a benchmark, summarised in nanoseconds with a decimal.
class Samples {
 public:
  explicit Samples(std::size_t capacity) { ticks_.reserve(capacity); }
  void add(std::uint64_t ticks) { ticks_.push_back(ticks); }  // allocation-free within capacity
  std::size_t count() const { return ticks_.size(); }
  void clear() { ticks_.clear(); }
  // Nearest rank, ns.
  double percentile_ns(double percent) const;
  double median_ns() const { return percentile_ns(50); }
  // "label   count ...  p50 ...  p90 ...  p99 ...  p99.9 ...  max ... ns", and below it the floor
  // of the tail: the same of a loop that only reads the clock, right behind the samples, for a
  // second at most, with the ratio of both. Times of a tail without it say how busy the machine
  // was.
  void print(std::string_view label, std::string_view note = "") const;

 private:
  std::vector<std::int64_t> sorted() const;
  std::vector<std::uint64_t> ticks_;
};

// "label   1.23 x (bar 1.25 x): met" - a figure beside the bar that the project set itself. Never
// changes the exit status: benchmarks report, they do not assert times.
void print_ratio(std::string_view label, double ratio, double bar);
// One for which there is no bar.
void print_ratio(std::string_view label, double ratio);
void print_against(std::string_view label, double value_ns, double bar_ns);

}  // namespace tickpath::bench
