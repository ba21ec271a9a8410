#include "common/feeds/generator/detail/hawkes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tickpath::itch::detail {
namespace {

// A cluster of a process closer to criticality than this is longer than any recording.
constexpr double kRatioMax = 0.95;

bool is_later(const HawkesEvent& a, const HawkesEvent& b) noexcept { return a.time_s > b.time_s; }

// What is left of the mix when the events that others cause are taken away: (I - B^T) share. A kind
// of which others cause more than there are is never without a cause.
std::vector<double> immigrant_shares(const FlowParameters& p, double scale) {
  std::vector<double> shares(kFlowEvents);
  for (std::size_t j = 0; j < kFlowEvents; ++j) {
    double caused = 0;
    for (std::size_t i = 0; i < kFlowEvents; ++i) caused += p.share[i] * p.branching[i][j] * scale;
    shares[j] = std::max(p.share[j] - caused, 0.0);
  }
  return shares;
}

// Events that one without a cause brings about in the end, itself included: the sum over the
// generations, which shrink by less than kRatioMax each.
double cluster_size(const FlowParameters& p, const std::vector<double>& immigrants, double scale) {
  const double sum = std::accumulate(immigrants.begin(), immigrants.end(), 0.0);
  std::vector<double> generation(immigrants);
  double total = 0;
  for (int depth = 0; depth < 1000; ++depth) {
    total += std::accumulate(generation.begin(), generation.end(), 0.0);
    std::vector<double> next(kFlowEvents, 0.0);
    for (std::size_t i = 0; i < kFlowEvents; ++i)
      for (std::size_t j = 0; j < kFlowEvents; ++j)
        next[j] += generation[i] * p.branching[i][j] * scale;
    generation = std::move(next);
  }
  return total / sum;
}

}  // namespace

Hawkes::Hawkes(const FlowParameters& parameters, double rate, double clustering, double contagion,
               const AliasTable& symbols, Random& random)
    : random_(random),
      symbols_(symbols),
      contagion_(contagion),
      ratio_(std::min(branching_ratio(parameters) * clustering, kRatioMax)),
      kernel_s_(parameters.kernel_s),
      kinds_(immigrant_shares(parameters, 0)) {
  const double measured = branching_ratio(parameters);
  const double scale = measured > 0 ? ratio_ / measured : 0;
  for (std::size_t i = 0; i < kFlowEvents; ++i) {
    double mean = 0;
    for (const double each : parameters.branching[i]) mean += each * scale;
    children_.push_back({std::exp(-mean), mean,
                         AliasTable(mean > 0 ? parameters.branching[i] : parameters.share),
                         AliasTable(parameters.kernel_share[i])});
  }
  const std::vector<double> immigrants = immigrant_shares(parameters, scale);
  kinds_ = AliasTable(immigrants);
  immigrant_gap_s_ = cluster_size(parameters, immigrants, scale) / rate;
  next_immigrant_s_ = exponential() * candidate_gap_s();
}

double Hawkes::exponential() noexcept { return -std::log1p(-random_.unit()); }

double Hawkes::first_waiting_s() const noexcept {
  return heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.front().time_s;
}

void Hawkes::push(const HawkesEvent& event) {
  heap_.push_back(event);
  std::push_heap(heap_.begin(), heap_.end(), is_later);
}

HawkesEvent Hawkes::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), is_later);
  const HawkesEvent event = heap_.back();
  heap_.pop_back();
  return event;
}

// As many as a Poisson variable says, by inversion.
void Hawkes::breed(const HawkesEvent& cause) {
  const Children& children = children_[static_cast<std::size_t>(cause.kind)];
  double left = random_.unit();
  double probability = children.none;
  for (unsigned n = 1; left >= probability && probability > 0; ++n) {
    left -= probability;
    probability *= children.mean / n;
    const std::uint32_t symbol = random_.chance(contagion_) ? symbols_.draw(random_) : cause.symbol;
    const double delay_s = exponential() * kernel_s_[children.kernel.draw(random_)];
    push({cause.time_s + delay_s, symbol, static_cast<FlowEvent>(children.kind.draw(random_)),
          false});
  }
}

}  // namespace tickpath::itch::detail
