// What a recording's flow looks like in numbers: enough to tell a generated one from a real one.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "common/feeds/flow/observer.hpp"

namespace tickpath::flow {

struct Statistic {
  std::string group;  // "gaps", "clustering", ...
  std::string name;
  std::string unit;
  double value;  // NaN: the recording has nothing to tell
};

// Windows of the counts, seconds.
inline constexpr std::array<double, 5> kCountWindows{0.001, 0.01, 0.1, 1, 10};

// The variance of the counts in windows over their mean: 1 for a Poisson flow at every window, more
// the more the events come together. NaN for fewer than ten windows.
double fano_factor(const std::vector<TimedEvent>& events, double window_s);
// Correlation of the count in a window with that in the next.
double count_autocorrelation(const std::vector<TimedEvent>& events, double window_s);
// Root mean square of the mid price's moves over `lag_s`, per second^1/2, in basis points: flat
// over the lags for a random walk.
double volatility(const std::vector<MidPrice>& mids, double lag_s);

std::vector<Statistic> statistics(const FlowRecord& record);

}  // namespace tickpath::flow
