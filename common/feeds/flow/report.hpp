// Statistics of one flow, or of two side by side.
#pragma once

#include <string>
#include <vector>

#include "common/feeds/flow/statistics.hpp"

namespace tickpath::flow {

struct Column {
  std::string title;  // "generated", a file name
  std::vector<Statistic> values;
  std::uint64_t events = 0;
};

// A line a statistic; with two columns, the first over the second. The columns have the same
// statistics, as statistics() gives them.
std::string report_text(const std::vector<Column>& columns);
// {"columns":[...], "statistics":[{"group":..., "name":..., "unit":..., "values":[...]}]}; null for
// what a recording does not tell.
std::string report_json(const std::vector<Column>& columns);

}  // namespace tickpath::flow
