// Whether one run is slower than another one, at which hop and by how much, and whether that is
// more than chance.
//
// The figures are percentiles of each hop. Both runs are drawn anew many times
// (block_bootstrap.hpp), all hops of an order together. The spread of a difference over these draws
// is its standard error. All intervals hold at once. Each draw has one figure that deviates most,
// in its own standard errors; that deviation sets the width of all (J. P. Romano, M. Wolf, "Exact
// and approximate stepdown methods for multiple hypothesis testing", JASA 100, 2005, single step).
// So the chance that two equal runs are called different is the level, however many figures there
// are.
//
// Two runs of one program differ by more than their orders do. All orders of a run share where its
// memory lies and who else uses the machine. So each side may have several runs. Then an interval
// is at least as wide as the percentiles of equal runs differ: Student's t with Bonferroni's
// correction, over the pooled variance of both sides' runs. With one run a side nothing says how
// far runs differ. Tools only; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/trace/latency_series.hpp"

namespace tickpath::trace {

struct DifferenceOptions {
  double level = 0.01;      // from 0.005 to 0.5: the chance that equal runs are called different
  double tolerance = 0;     // 0.1: a tenth slower is still not called slower
  std::size_t draws = 999;  // at least 199
  // A run of more orders is thinned to every second (third, ...): the draws would take minutes.
  std::size_t orders_max = 16'384;
  std::uint64_t seed = 1;  // equal runs and equal seeds: equal results
};

enum class Change : std::uint8_t { kNone, kSlower, kQuicker, kTooFew };

// What became of one percentile; nanoseconds.
struct PercentileDifference {
  double percent = 0;
  std::int64_t before = 0;  // of several runs the mean of theirs
  std::int64_t now = 0;
  // The interval of now - before. 0 where there are too few orders (kTooFew).
  double low = 0;
  double high = 0;
  Change change = Change::kTooFew;
};

struct RowDifference {
  std::string name;
  Hop from = Hop::kNone;
  Hop to = Hop::kNone;
  std::size_t count_before = 0;
  std::size_t count_now = 0;
  std::vector<PercentileDifference> percentiles;  // of 50, 90, 99
  bool any(Change change) const noexcept;
};

// How one run was drawn.
struct DrawnRun {
  std::size_t orders = 0;  // drawn from
  std::size_t every = 1;   // this many orders one was taken
  std::size_t block = 1;   // orders that are drawn together
  std::size_t blocks() const noexcept { return orders / block; }
};

struct Difference {
  std::vector<DrawnRun> before;
  std::vector<DrawnRun> now;
  bool knows_runs = false;  // a side has several: intervals hold how far equal runs differ
  // Rows that all runs have, the first is from tick to order.
  std::vector<RowDifference> rows;
  std::vector<std::string> only_some;  // names of rows that a run lacks

  bool any(Change change) const noexcept;
  // Rows of single hops that are slower, by the increase that is certain, the largest first.
  std::vector<const RowDifference*> slower_hops() const;
  bool too_few() const noexcept;  // orders, for any figure
};

// The quantile of Student's t that is left in `tail` of all draws, both sides together: tail above
// 0, below 1. freedom: at least 1.
double student_t(double tail, std::size_t freedom);

// Each side has one run at least. Throws Error: the runs have no row in common, or one has no
// order.
Difference compare(std::span<const LatencySeries> before, std::span<const LatencySeries> now,
                   const DifferenceOptions& options = {});
inline Difference compare(const LatencySeries& before, const LatencySeries& now,
                          const DifferenceOptions& options = {}) {
  return compare(std::span(&before, 1), std::span(&now, 1), options);
}

}  // namespace tickpath::trace
