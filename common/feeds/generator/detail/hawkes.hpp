// A Hawkes process of many symbols, event by event: the cluster representation (A. G. Hawkes and D.
// Oakes, "A cluster process representation of a self-exciting process", 1974). Events that nothing
// caused come as a Poisson process whose rate follows the time of day; each event draws how many
// others it causes, of which kind and how much later. What is to come waits in a heap, so that an
// event costs O(log n) of those waiting, however many symbols and kernels there are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/random.hpp"
#include "common/feeds/generator/flow_parameters.hpp"

namespace tickpath::itch::detail {

struct HawkesEvent {
  double time_s;
  std::uint32_t symbol;
  FlowEvent kind;
  bool barren;  // causes nothing
};

class Hawkes {
 public:
  // `rate`: events a second in the long run, all symbols. `clustering` scales the branching
  // matrix: 0 is a Poisson process, 1 as measured.
  Hawkes(const FlowParameters& parameters, double rate, double clustering, double contagion,
         const AliasTable& symbols, Random& random);

  // The next event in time; `activity` of the time of day (1: as much as the mean) thins the
  // events that nothing caused, at most kActivityMax.
  static constexpr double kActivityMax = 3;
  template <class Activity>
  HawkesEvent next(const Activity& activity) {
    while (next_immigrant_s_ <= first_waiting_s()) {
      const double at = next_immigrant_s_;
      next_immigrant_s_ += exponential() * candidate_gap_s();
      if (random_.unit() * kActivityMax >= activity(at)) continue;
      const HawkesEvent event{at, symbols_.draw(random_), kind_of_immigrant(), false};
      breed(event);
      return event;
    }
    const HawkesEvent event = pop();
    if (!event.barren) breed(event);
    return event;
  }

  // An event from outside, at a time that is not past.
  void push(const HawkesEvent& event);
  std::size_t waiting() const noexcept { return heap_.size(); }

 private:
  double exponential() noexcept;
  double candidate_gap_s() const noexcept { return immigrant_gap_s_ / kActivityMax; }
  double first_waiting_s() const noexcept;
  FlowEvent kind_of_immigrant() noexcept { return static_cast<FlowEvent>(kinds_.draw(random_)); }
  HawkesEvent pop();
  void breed(const HawkesEvent& cause);

  struct Children {
    double none;  // probability that there is none: exp(-mean)
    double mean;
    AliasTable kind;
    AliasTable kernel;
  };

  Random& random_;
  const AliasTable& symbols_;
  double contagion_;
  double ratio_;
  std::array<double, kFlowKernels> kernel_s_;
  std::vector<Children> children_;
  AliasTable kinds_;
  double immigrant_gap_s_;
  double next_immigrant_s_ = 0;
  std::vector<HawkesEvent> heap_;
};

}  // namespace tickpath::itch::detail
