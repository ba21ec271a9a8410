// Resampling of a series whose neighbours depend on each other. A burst slows down many orders in a
// row, so n orders say less than n independent ones. Blocks of neighbours are drawn in place of
// single values: what hangs together stays together.
//
// - The circular block bootstrap: D. N. Politis, J. P. Romano, "A circular block-resampling
//   procedure for stationary data" (in: Exploring the Limits of Bootstrap, 1992).
// - The length of the blocks: D. N. Politis, H. White, "Automatic block-length selection for the
//   dependent bootstrap" (Econometric Reviews 23, 2004), section 3, with the constant that A.
//   Patton and both corrected (28, 2009).
// Tools only; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace tickpath::trace {

// The length of blocks that gives the best estimate of the error of the series' mean. 1 where
// neighbours are independent, or all are equal; min(3 sqrt(n), n/3) at most.
std::size_t block_length(std::span<const double> series);

// By element, how often it is drawn: ceil(n / length) blocks, each begins anywhere in the circle of
// n elements. weights: n elements, written. length: from 1 to n.
void draw_blocks(std::mt19937_64& random, std::size_t length, std::span<std::uint16_t> weights);

// The values of a series in ascending order, with where each stood: made once, asked for each draw.
class SortedSeries {
 public:
  // Elements of `none` are left out.
  SortedSeries(std::span<const std::int64_t> series, std::int64_t none);

  std::size_t size() const noexcept { return values_.size(); }
  // Nearest rank, as trace::percentile(); percent from 0 to 100. None may be empty.
  std::int64_t percentile(double percent) const;
  // The same of the series in which each element stands as often as `weights` says. percents:
  // ascending; results: as many. 0 where no element was drawn.
  void percentiles(std::span<const std::uint16_t> weights, std::span<const double> percents,
                   std::span<std::int64_t> results) const;

 private:
  std::vector<std::int64_t> values_;
  std::vector<std::uint32_t> places_;
};

}  // namespace tickpath::trace
