#include "common/feeds/generator/flow_parameters.hpp"

#include "common/base/names.hpp"

namespace tickpath::itch {

const char* name_of(FlowEvent event) noexcept {
  using enum FlowEvent;
  return name_in(event,
                 {{kAddInside, "add_inside"},
                  {kAddTouch, "add_touch"},
                  {kAddBehind, "add_behind"},
                  {kDelete, "delete"},
                  {kReduce, "reduce"},
                  {kExecute, "execute"},
                  {kHidden, "hidden"}},
                 "unknown");
}

double branching_ratio(const FlowParameters& parameters) noexcept {
  // Power iteration; the matrix has no negative entries.
  std::array<double, kFlowEvents> vector{};
  vector.fill(1);
  double ratio = 0;
  for (int i = 0; i < 200; ++i) {
    std::array<double, kFlowEvents> next{};
    double sum = 0;
    double before = 0;
    for (std::size_t from = 0; from < kFlowEvents; ++from) {
      before += vector[from];
      for (std::size_t to = 0; to < kFlowEvents; ++to)
        next[to] += vector[from] * parameters.branching[from][to];
    }
    for (const double each : next) sum += each;
    if (sum == 0) return 0;
    ratio = sum / before;
    for (std::size_t k = 0; k < kFlowEvents; ++k) vector[k] = next[k] / sum;
  }
  return ratio;
}

}  // namespace tickpath::itch
