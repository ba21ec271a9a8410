#include "common/feeds/flow/hawkes_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tickpath::flow {
namespace {

using itch::kFlowEvents;
using itch::kFlowKernels;

constexpr std::size_t kEventsMin = 1'000;
// From the reaction time of machines to that of people: what is shorter than the first is the same
// moment, what is longer than the last is the time of day.
constexpr std::array<double, kFlowKernels> kKernels{30e-6, 1e-3, 30e-3, 1, 15};

using Matrix = std::array<std::array<double, kFlowEvents>, kFlowEvents>;
using KernelShares = std::array<std::array<double, kFlowKernels>, kFlowEvents>;

// What the events so far add to the intensity, cause by cause and kernel by kernel, each of mass 1.
class Excitation {
 public:
  explicit Excitation(const std::array<double, kFlowKernels>& kernel_s) : kernel_s_(kernel_s) {}
  void advance(double seconds) {
    for (std::size_t k = 0; k < kFlowKernels; ++k) {
      const double decay = std::exp(-seconds / kernel_s_[k]);
      for (auto& cause : level_) cause[k] *= decay;
    }
  }
  void add(FlowEvent kind) {
    auto& cause = level_[static_cast<std::size_t>(kind)];
    for (std::size_t k = 0; k < kFlowKernels; ++k) cause[k] += 1 / kernel_s_[k];
  }
  double at(std::size_t cause, std::size_t kernel) const { return level_[cause][kernel]; }

 private:
  std::array<double, kFlowKernels> kernel_s_;
  std::array<std::array<double, kFlowKernels>, kFlowEvents> level_{};
};

struct Sums {
  std::array<double, kFlowEvents> immigrants{};
  Matrix caused{};
  KernelShares kernels{};
};

struct Model {
  std::array<double, kFlowEvents> immigrants_per_s{};
  Matrix branching{};
  KernelShares kernel_share{};
};

// For each event, how likely it is that nothing, or which kind how long ago, caused it.
Sums expect(std::span<const TimedEvent> events, const Model& model,
            const std::array<double, kFlowKernels>& kernel_s) {
  Sums sums;
  Excitation excitation(kernel_s);
  std::uint64_t last_ns = events.front().time_ns;
  for (const TimedEvent& event : events) {
    excitation.advance(static_cast<double>(event.time_ns - last_ns) * 1e-9);
    last_ns = event.time_ns;
    const auto effect = static_cast<std::size_t>(event.kind);
    double part[kFlowEvents][kFlowKernels];
    double intensity = model.immigrants_per_s[effect];
    for (std::size_t i = 0; i < kFlowEvents; ++i)
      for (std::size_t k = 0; k < kFlowKernels; ++k) {
        part[i][k] = model.branching[i][effect] * model.kernel_share[i][k] * excitation.at(i, k);
        intensity += part[i][k];
      }
    sums.immigrants[effect] += model.immigrants_per_s[effect] / intensity;
    for (std::size_t i = 0; i < kFlowEvents; ++i)
      for (std::size_t k = 0; k < kFlowKernels; ++k) {
        const double share = part[i][k] / intensity;
        sums.caused[i][effect] += share;
        sums.kernels[i][k] += share;
      }
    excitation.add(event.kind);
  }
  return sums;
}

void maximise(const Sums& sums, const std::array<double, kFlowEvents>& counts, double seconds,
              Model& model) {
  for (std::size_t i = 0; i < kFlowEvents; ++i) {
    model.immigrants_per_s[i] = sums.immigrants[i] / seconds;
    const double all = std::accumulate(sums.kernels[i].begin(), sums.kernels[i].end(), 0.0);
    for (std::size_t j = 0; j < kFlowEvents; ++j)
      model.branching[i][j] = counts[i] > 0 ? sums.caused[i][j] / counts[i] : 0;
    if (all == 0) continue;
    for (std::size_t k = 0; k < kFlowKernels; ++k)
      model.kernel_share[i][k] = sums.kernels[i][k] / all;
  }
}

itch::FlowQuantiles quantiles(std::vector<double> values) {
  itch::FlowQuantiles table{};
  if (values.empty()) return table;
  std::ranges::sort(values);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(table.size());
    table[i] = values[static_cast<std::size_t>(at * static_cast<double>(values.size()))];
  }
  return table;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

void fit_hawkes(std::span<const TimedEvent> events, itch::FlowParameters& parameters, int rounds) {
  if (events.size() < kEventsMin)
    throw itch::RecordingError("cannot calibrate on " + std::to_string(events.size()) +
                               " events of one symbol: it takes " + std::to_string(kEventsMin));
  const double seconds =
      std::max(1e-9, static_cast<double>(events.back().time_ns - events.front().time_ns) * 1e-9);
  std::array<double, kFlowEvents> counts{};
  for (const TimedEvent& event : events) ++counts[static_cast<std::size_t>(event.kind)];
  const auto all = static_cast<double>(events.size());
  Model model;
  for (std::size_t i = 0; i < kFlowEvents; ++i) {
    parameters.share[i] = counts[i] / all;
    model.immigrants_per_s[i] = 0.5 * counts[i] / seconds;
    for (std::size_t j = 0; j < kFlowEvents; ++j) model.branching[i][j] = 0.5 * counts[j] / all;
    model.kernel_share[i].fill(1.0 / kFlowKernels);
  }
  for (int round = 0; round < rounds; ++round)
    maximise(expect(events, model, parameters.kernel_s), counts, seconds, model);
  parameters.branching = model.branching;
  parameters.kernel_share = model.kernel_share;
  parameters.events_per_second = all / seconds;
}

itch::FlowParameters calibrate(const FlowRecord& record, const std::string& origin) {
  itch::FlowParameters parameters;
  parameters.origin = origin;
  parameters.kernel_s = kKernels;
  fit_hawkes(record.events, parameters);
  parameters.spread_ticks = std::max(1.0, mean(record.spread_ticks));
  std::vector<double> behind(record.behind_ticks);
  for (double& each : behind) each /= parameters.spread_ticks;
  parameters.behind = quantiles(std::move(behind));
  parameters.inside = quantiles(record.inside);
  parameters.shares = quantiles(record.shares);
  parameters.executed = quantiles(record.executed);
  parameters.age_rank = quantiles(record.age_rank);
  parameters.replace_share = record.deleted == 0 ? 0
                                                 : static_cast<double>(record.replaced) /
                                                       static_cast<double>(record.deleted);
  std::size_t same = 0;
  for (std::size_t i = 1; i < record.trade_signs.size(); ++i)
    same += record.trade_signs[i] == record.trade_signs[i - 1];
  if (record.trade_signs.size() > 1)
    parameters.sign_persistence =
        static_cast<double>(same) / static_cast<double>(record.trade_signs.size() - 1);
  return parameters;
}

}  // namespace tickpath::flow
