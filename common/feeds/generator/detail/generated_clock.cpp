#include "common/feeds/generator/detail/generated_clock.hpp"

#include <algorithm>

namespace tickpath::itch::detail {
namespace {

constexpr double kOpenS = 9.5 * 3600;
constexpr double kCloseS = 16 * 3600;
// At noon, and by how much more at the open and the close; in means of the whole day. The LOBSTER
// hour from the open falls by about a half, as this does.
constexpr double kNoon = 0.6;
constexpr double kEdge = 1.2;
// The flow is never sped up or slowed down by more than this to end in time.
constexpr double kCorrectionMax = 4;

double noon_distance(double s) noexcept {
  const double x = (s - kOpenS) / (kCloseS - kOpenS);
  return std::clamp(2 * x - 1, -1.0, 1.0);
}

}  // namespace

double DayShape::raw(double s) noexcept {
  const double d = noon_distance(s);
  return kNoon + kEdge * d * d;
}

// From the open; the edges go on beyond the trading day.
double DayShape::integral(double s) noexcept {
  const double d = noon_distance(s);
  const double half = (kCloseS - kOpenS) / 2;
  const double inside = half * (kNoon * (d + 1) + kEdge * (d * d * d + 1) / 3);
  const double before = std::min(s - kOpenS, 0.0);
  const double after = std::max(s - kCloseS, 0.0);
  return inside + (before + after) * (kNoon + kEdge);
}

DayShape::DayShape(double from_s, double to_s) noexcept : to_s_(to_s), mean_(1) {
  if (to_s > from_s) mean_ = (integral(to_s) - integral(from_s)) / (to_s - from_s);
}

GeneratedClock::GeneratedClock(std::uint64_t start_ns, double length_ns, double rate) noexcept
    : now_exact_ns_(static_cast<double>(start_ns)),
      end_ns_(now_exact_ns_ + length_ns),
      shape_(now_exact_ns_ * 1e-9, end_ns_ * 1e-9),
      now_ns_(start_ns),
      rate_(rate) {}

double GeneratedClock::correction(std::uint64_t left) const noexcept {
  const double expected = rate_ * shape_.until_end(now_s());
  return std::clamp(expected / static_cast<double>(left + 1), 1 / kCorrectionMax, kCorrectionMax);
}

void GeneratedClock::follow(double flow_s, std::uint64_t left) noexcept {
  move((flow_s - flow_s_) * 1e9 * correction(left));
  flow_s_ = flow_s;
}

double GeneratedClock::time_of(double flow_s, std::uint64_t left) const noexcept {
  return std::min(now_exact_ns_ + std::max((flow_s - flow_s_) * 1e9 * correction(left), 0.0),
                  end_ns_);
}

void GeneratedClock::interrupt(std::uint64_t at_ns, std::uint64_t left) noexcept {
  const double gap_ns = std::max(static_cast<double>(at_ns) - now_exact_ns_, 0.0);
  flow_s_ += gap_ns * 1e-9 / correction(left);
  move(gap_ns);
}

void GeneratedClock::step(std::uint64_t until_ns, std::uint64_t messages) noexcept {
  if (static_cast<double>(until_ns) > now_exact_ns_)
    move((static_cast<double>(until_ns) - now_exact_ns_) / static_cast<double>(messages + 1));
}

void GeneratedClock::jump(std::uint64_t to_ns) noexcept {
  move(static_cast<double>(to_ns) - now_exact_ns_);
}

void GeneratedClock::move(double gap_ns) noexcept {
  now_exact_ns_ = std::min(now_exact_ns_ + std::max(gap_ns, 0.0), end_ns_);
  now_ns_ = static_cast<std::uint64_t>(now_exact_ns_);
}

}  // namespace tickpath::itch::detail
