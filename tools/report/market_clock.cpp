#include "tools/report/market_clock.hpp"

#include <algorithm>
#include <cmath>

namespace tickpath::report {
namespace {

constexpr std::int64_t kDayNs = 86'400'000'000'000;

// A straight line through the two points beside `value`, or through the first and the last one.
double interpolated(const std::vector<MarketClock::Known>& points,
                    std::int64_t MarketClock::Known::*from, std::int64_t MarketClock::Known::*to,
                    double value) {
  const auto after = std::ranges::upper_bound(
      points, value, {}, [&](const auto& point) { return static_cast<double>(point.*from); });
  const bool inside = after != points.begin() && after != points.end();
  const auto& first = inside ? *(after - 1) : points.front();
  const auto& second = inside ? *after : points.back();
  const auto& nearest = after == points.end() ? points.back() : first;
  const double pace =
      static_cast<double>(second.*to - first.*to) / static_cast<double>(second.*from - first.*from);
  return static_cast<double>(nearest.*to) + (value - static_cast<double>(nearest.*from)) * pace;
}

}  // namespace

MarketClock::MarketClock(std::vector<Known> known, std::int64_t start_ns) : start_ns_(start_ns) {
  std::ranges::sort(known, {}, &Known::realtime_ns);
  std::int64_t day_ns = 0;
  for (Known each : known) {
    each.market_ns += day_ns;
    if (!points_.empty()) {
      const Known& last = points_.back();
      if (each.market_ns + kDayNs / 2 < last.market_ns) {
        day_ns += kDayNs;
        each.market_ns += kDayNs;
      }
      if (each.market_ns <= last.market_ns || each.realtime_ns <= last.realtime_ns) continue;
    }
    points_.push_back(each);
  }
}

double MarketClock::at(std::int64_t realtime_ns) const noexcept {
  if (!is_market_time()) return static_cast<double>(realtime_ns - start_ns_) * 1e-9;
  return interpolated(points_, &Known::realtime_ns, &Known::market_ns,
                      static_cast<double>(realtime_ns)) *
         1e-9;
}

std::int64_t MarketClock::realtime_ns(double market_s) const noexcept {
  if (!is_market_time()) return start_ns_ + std::llround(market_s * 1e9);
  return std::llround(
      interpolated(points_, &Known::market_ns, &Known::realtime_ns, market_s * 1e9));
}

}  // namespace tickpath::report
