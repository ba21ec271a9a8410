#include "common/trace/block_bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/trace/analysis.hpp"

namespace tickpath::trace {
namespace {

// R(k) of Politis and White: the sample autocovariance at lag k.
double autocovariance(std::span<const double> centred, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < centred.size(); ++i) sum += centred[i] * centred[i + lag];
  return sum / static_cast<double>(centred.size());
}

// The flat-top lag window of the same paper.
double flat_top(double share) {
  const double size = std::abs(share);
  return size <= 0.5 ? 1 : std::max(0.0, 2 * (1 - size));
}

// The smallest lag behind which `quiet` correlations in a row are no more than noise; else the last
// lag beyond which that could be seen.
std::size_t last_correlated(std::span<const double> covariances, std::size_t quiet, double bound) {
  std::size_t in_a_row = 0;
  for (std::size_t lag = 1; lag < covariances.size(); ++lag) {
    in_a_row = std::abs(covariances[lag] / covariances[0]) < bound ? in_a_row + 1 : 0;
    if (in_a_row == quiet) return lag - quiet;
  }
  return covariances.size() - 1 - quiet;
}

}  // namespace

std::size_t block_length(std::span<const double> series) {
  const auto n = static_cast<double>(series.size());
  if (series.size() < 8) return 1;
  const double mean = std::accumulate(series.begin(), series.end(), 0.0) / n;
  std::vector<double> centred(series.begin(), series.end());
  for (double& each : centred) each -= mean;
  const double log_n = std::log10(n);
  const auto quiet = static_cast<std::size_t>(std::max(5.0, std::ceil(std::sqrt(log_n))));
  const std::size_t lags =
      std::min(static_cast<std::size_t>(std::ceil(std::sqrt(n))) + quiet, series.size() - 1);
  std::vector<double> covariances{autocovariance(centred, 0)};
  if (covariances[0] <= 1e-12) return 1;
  for (std::size_t lag = 1; lag <= lags; ++lag) covariances.push_back(autocovariance(centred, lag));
  const std::size_t correlated = last_correlated(covariances, quiet, 2 * std::sqrt(log_n / n));
  const std::size_t window = std::max<std::size_t>(1, std::min(2 * correlated, lags));
  double spectrum = covariances[0], slope = 0;
  for (std::size_t lag = 1; lag <= window; ++lag) {
    const double weight = flat_top(static_cast<double>(lag) / static_cast<double>(window));
    spectrum += 2 * weight * covariances[lag];
    slope += 2 * weight * static_cast<double>(lag) * covariances[lag];
  }
  if (spectrum <= 0) return 1;
  const double length = std::cbrt(2 * slope * slope / (4.0 / 3 * spectrum * spectrum) * n);
  const double most = std::max(1.0, std::ceil(std::min(3 * std::sqrt(n), n / 3)));
  return static_cast<std::size_t>(std::clamp(std::ceil(length), 1.0, most));
}

void draw_blocks(std::mt19937_64& random, std::size_t length, std::span<std::uint16_t> weights) {
  const std::size_t n = weights.size();
  std::ranges::fill(weights, std::uint16_t{0});
  for (std::size_t drawn = 0; drawn < n; drawn += length) {
    const std::size_t count = std::min(length, n - drawn);  // the last block is cut off
    const std::size_t begin = random() % n;
    const std::size_t until_end = std::min(count, n - begin);
    for (std::size_t i = 0; i < until_end; ++i) ++weights[begin + i];
    for (std::size_t i = 0; i < count - until_end; ++i) ++weights[i];
  }
}

SortedSeries::SortedSeries(std::span<const std::int64_t> series, std::int64_t none) {
  for (std::size_t i = 0; i < series.size(); ++i)
    if (series[i] != none) places_.push_back(static_cast<std::uint32_t>(i));
  std::ranges::stable_sort(places_, {}, [&](std::uint32_t i) { return series[i]; });
  for (const std::uint32_t place : places_) values_.push_back(series[place]);
}

std::int64_t SortedSeries::percentile(double percent) const {
  return trace::percentile(values_, percent);
}

void SortedSeries::percentiles(std::span<const std::uint16_t> weights,
                               std::span<const double> percents,
                               std::span<std::int64_t> results) const {
  std::uint64_t total = 0;
  for (const std::uint32_t place : places_) total += weights[place];
  std::uint64_t passed = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < percents.size(); ++i) {
    const double exact = percents[i] / 100 * static_cast<double>(total);
    const auto rank = static_cast<std::uint64_t>(std::max(std::ceil(exact - 1e-6), 1.0));
    while (next < values_.size() && passed < rank) passed += weights[places_[next++]];
    results[i] = next == 0 ? 0 : values_[next - 1];
  }
}

}  // namespace tickpath::trace
