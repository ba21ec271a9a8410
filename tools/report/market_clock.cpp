#include "tools/report/market_clock.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tickpath::report {
namespace {

constexpr std::int64_t kDayNs = 86'400'000'000'000;
constexpr std::int64_t kWindowNs = 100'000'000;

using Known = MarketClock::Known;

// By the machine's time, days go on, and both times ascend.
std::vector<Known> ascending(std::vector<Known> known) {
  std::ranges::sort(known, {}, &Known::realtime_ns);
  std::vector<Known> points;
  std::int64_t day_ns = 0;
  for (Known each : known) {
    each.market_ns += day_ns;
    if (!points.empty()) {
      const Known& last = points.back();
      if (each.market_ns + kDayNs / 2 < last.market_ns) {
        day_ns += kDayNs;
        each.market_ns += kDayNs;
      }
      if (each.market_ns <= last.market_ns || each.realtime_ns <= last.realtime_ns) continue;
    }
    points.push_back(each);
  }
  return points;
}

// The least late of each window, and the first and the last one beside a gap between windows.
std::vector<Known> least_late(const std::vector<Known>& points) {
  std::vector<Known> kept;
  const auto keep = [&](const Known& point) {
    if (kept.empty() || kept.back().realtime_ns < point.realtime_ns) kept.push_back(point);
  };
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin;
    std::size_t best = begin;
    for (; end < points.size() && points[end].realtime_ns < points[begin].realtime_ns + kWindowNs;
         ++end)
      if (points[end].market_ns - points[end].realtime_ns >
          points[best].market_ns - points[best].realtime_ns)
        best = end;
    const auto away = [&](std::size_t from, std::size_t to) {
      return points[to].realtime_ns - points[from].realtime_ns > kWindowNs;
    };
    if (begin == 0 || away(begin - 1, begin)) keep(points[begin]);
    keep(points[best]);
    if (end == points.size() || away(end - 1, end)) keep(points[end - 1]);
    begin = end;
  }
  return kept;
}

// A straight line through the two points beside `value`, or through the first and the last one.
double interpolated(const std::vector<Known>& points, std::int64_t Known::*from,
                    std::int64_t Known::*to, double value) {
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

MarketClock::MarketClock(std::vector<Known> known, std::int64_t start_ns)
    : points_(least_late(ascending(std::move(known)))), start_ns_(start_ns) {}

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
