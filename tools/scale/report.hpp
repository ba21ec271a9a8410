// What `tickpath scale` prints: for people, as tables of docs/SCALE.md, and for scripts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/scale/analysis.hpp"
#include "tools/scale/simulation.hpp"

namespace tickpath::scale {

enum class Format : std::uint8_t { kText, kMarkdown };

// "5.0 M", "950", "37.3 k"; three digits that mean something.
std::string amount(double value);
// "3.2 ns", "410 us", "1.5 ms"
std::string time_text(double seconds);

// simulated: nullptr: the table alone.
std::string report(const Scenario& scenario, const Analysis& analysis,
                   const SimulationResult* simulated, Format format);
std::string report_json(const Scenario& scenario, const Analysis& analysis,
                        const SimulationResult* simulated);

// What changes the limit: the scenario as it is, then with each of the variations, one row each.
struct Variation {
  std::string what;  // as it was asked for
  Scenario scenario;
};
std::string variations_report(const std::vector<Variation>& variations, Format format);

// What so many hosts of so many cores carry, one row each, by link speed.
std::string plan_report(const Scenario& scenario, const std::vector<Machines>& machines,
                        const std::vector<double>& links_gbps, Format format);

}  // namespace tickpath::scale
