// What `tickpath prices` shows: text for people, JSON for programs. Prices are in currency units.
#pragma once

#include <string>
#include <vector>

#include "common/control/json.hpp"
#include "common/stores/prices/price_client.hpp"

namespace tickpath::cli {

// The newest of each symbol; `problem` where there is nothing.
struct ShownLatest {
  std::string symbol;
  std::string problem;
  wire::LatestPrices prices;
};
std::string latest_text(const std::vector<ShownLatest>& rows);
control::Json latest_json(const std::vector<ShownLatest>& rows);

// A range of one symbol.
struct ShownRange {
  std::string symbol;
  wire::HistoryKind kind;
  std::string problem;
  prices::RangeAnswer answer;
  std::vector<wire::HistoryLine> lines;
};
std::string range_text(const ShownRange& range);
control::Json range_json(const ShownRange& range);

}  // namespace tickpath::cli
