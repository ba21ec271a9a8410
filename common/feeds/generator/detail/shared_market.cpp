#include "common/feeds/generator/detail/shared_market.hpp"

#include <algorithm>
#include <cmath>

#include "common/feeds/generator/detail/generated_clock.hpp"

namespace tickpath::itch::detail {
namespace {

// Sizes of a move, in gaps between bid and ask: half a gap moves quotes, a whole one locks those of
// a venue that has not followed yet, more cross them.
constexpr double kHalfGap = 0.40;
constexpr double kWholeGap = 0.52;
constexpr double kTwoGaps = 0.06;  // what is left of 1 are jumps
constexpr double kJumpGaps = 3;    // at least, and as many more on average
constexpr double kJumpGapsMax = 20;
// A value that is so far from where it began turns back for certain; in between, the more likely.
constexpr double kRange = 0.1;

// A venue's lag behind the first one is log-normal, the first one's behind the move a tenth of it.
constexpr double kLagSigma = 1;
constexpr double kLagsMax = 20;  // medians
constexpr double kFirstLag = 0.1;

// Parts of the day between open and end: nothing moves before and after. In the last part, every
// venue still has messages left to follow the last move with.
constexpr double kFirstMove = 0.005;
constexpr double kLastMove = 0.98;

constexpr std::uint64_t kHaltsSeed = 0x68616c7473;  // "halts"

std::uint64_t seed_of(std::uint64_t market, std::uint64_t stream) {
  // Seeds that differ by one give unrelated numbers (Random's own splitmix64).
  return Random(market + 0x9e3779b97f4a7c15 * (stream + 1)).next();
}

double exponential(Random& random) noexcept { return -std::log1p(-random.unit()); }

// Box and Muller, 1958; one of the pair.
double normal(Random& random) noexcept {
  const double radius = std::sqrt(2 * exponential(random));
  return radius * std::cos(2 * 3.14159265358979323846 * random.unit());
}

std::vector<double> leads_of(const VenueMarket& market) {
  std::vector<double> leads;
  for (const VenueProfile& venue : market.venues) leads.push_back(venue.leads);
  return leads;
}

}  // namespace

std::uint32_t draw_first_value(Random& random) noexcept {
  return static_cast<std::uint32_t>(500 * std::pow(100.0, random.unit()));
}

std::uint32_t liked_spread(std::uint32_t value_ticks, double quiet) noexcept {
  return 1 + static_cast<std::uint32_t>(value_ticks / 10'000.0 * (1 + 4 * quiet));
}

SharedMarket::SharedMarket(const VenueMarket& market, std::uint32_t venue,
                           std::span<const double> activity)
    : market_(market),
      venue_(venue),
      activity_(activity),
      leaders_(leads_of(market)),
      halts_random_(seed_of(market.seed, kHaltsSeed)),
      lags_ns_(market.venues.size()) {
  const double sum = std::accumulate(activity.begin(), activity.end(), 0.0);
  streams_.reserve(activity.size());
  for (std::size_t i = 0; i < activity.size(); ++i) {
    Stream stream{.random = Random(seed_of(market.seed, i)),
                  .moves_per_second = market.moves_per_second * activity[i] / sum};
    stream.ticks = stream.anchor_ticks = draw_first_value(stream.random);
    const double quiet = static_cast<double>(i) / static_cast<double>(activity.size());
    stream.gap_ticks = quoted_gap_ticks(liked_spread(stream.ticks, quiet));
    stream.ticks_at_start = stream.ticks;
    streams_.push_back(stream);
  }
}

void SharedMarket::begin_day(std::uint64_t open_ns, std::uint64_t end_ns) {
  // What the venue did not come to yesterday moved the value all the same.
  for (Stream& stream : streams_)
    while (stream.at_s < to_s_) advance(stream);
  const double length_s = static_cast<double>(end_ns - open_ns) * 1e-9;
  from_s_ = static_cast<double>(open_ns) * 1e-9 + kFirstMove * length_s;
  to_s_ = static_cast<double>(open_ns) * 1e-9 + kLastMove * length_s;
  waiting_ = {};
  for (std::uint32_t symbol = 0; symbol < streams_.size(); ++symbol) {
    Stream& stream = streams_[symbol];
    stream.ticks_at_start = stream.ticks;
    stream.at_s = from_s_;
    stream.due_ns = 0;
    if (advance(stream)) waiting_.push({stream.due_ns, symbol, stream.ticks});
  }
  plan_halts();
}

ValueMove SharedMarket::take_move() {
  const ValueMove move = waiting_.top();
  waiting_.pop();
  Stream& stream = streams_[move.symbol];
  if (advance(stream)) waiting_.push({stream.due_ns, move.symbol, stream.ticks});
  return move;
}

// To the next move of the day; false when there is none. What is drawn is the same for each venue.
bool SharedMarket::advance(Stream& stream) {
  const DayShape shape(from_s_, to_s_);
  stream.at_s += exponential(stream.random) / (stream.moves_per_second * shape.at(stream.at_s));
  if (!(stream.at_s < to_s_)) return false;
  step(stream);
  const std::uint32_t leader = leaders_.draw(stream.random);
  const double first_ns = kFirstLag * lag_ns(stream.random);
  for (double& lag : lags_ns_) lag = first_ns + lag_ns(stream.random);
  lags_ns_[leader] = first_ns;
  // A venue hears of the moves in their order.
  const auto due_ns = static_cast<std::uint64_t>(stream.at_s * 1e9 + lags_ns_[venue_]);
  stream.due_ns = std::max(stream.due_ns, due_ns);
  return true;
}

void SharedMarket::step(Stream& stream) {
  Random& random = stream.random;
  double size = random.unit();
  double gaps = 0;
  if (size < kHalfGap)
    gaps = 0.5;
  else if (size < kHalfGap + kWholeGap)
    gaps = 1;
  else if (size < kHalfGap + kWholeGap + kTwoGaps)
    gaps = 2;
  else
    gaps = std::min(kJumpGaps * (1 + exponential(random)), kJumpGapsMax);
  const auto ticks = static_cast<std::uint32_t>(std::max(1.0, gaps * stream.gap_ticks));
  const double anchor = stream.anchor_ticks;
  const double away = std::clamp((stream.ticks - anchor) / (kRange * anchor), -1.0, 1.0);
  if (random.chance(0.5 - 0.5 * away))
    stream.ticks += ticks;
  else
    stream.ticks -= std::min(ticks, stream.ticks - std::min(stream.ticks, kLowestTicks));
}

double SharedMarket::lag_ns(Random& random) {
  return market_.lag_ns * std::min(std::exp(kLagSigma * normal(random)), kLagsMax);
}

void SharedMarket::plan_halts() {
  halts_.clear();
  next_halt_ = 0;
  for (std::uint32_t i = 0; i < market_.halts; ++i) {
    const double at = kLastHalt * (i + 0.5) / market_.halts;
    halts_.push_back({static_cast<std::uint64_t>((from_s_ + at * (to_s_ - from_s_)) * 1e9),
                      activity_.draw(halts_random_)});
  }
}

}  // namespace tickpath::itch::detail
