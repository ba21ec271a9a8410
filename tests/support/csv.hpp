// What `tickpath orders`, `fills` and the like list: a header, and a row a line. No cell has a
// comma.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tickpath::test_support {

using CsvRow = std::map<std::string, std::string>;  // by the names of the header

// A row that has fewer cells than the header lacks the last of them.
inline std::vector<CsvRow> rows_of_csv(const std::string& csv) {
  std::vector<CsvRow> rows;
  std::vector<std::string> header;
  std::istringstream lines(csv);
  for (std::string line, cell; std::getline(lines, line);) {
    std::vector<std::string> cells;
    for (std::istringstream row(line); std::getline(row, cell, ',');) cells.push_back(cell);
    if (header.empty()) {
      header = std::move(cells);
      continue;
    }
    CsvRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) row[header.at(i)] = cells[i];
  }
  return rows;
}

}  // namespace tickpath::test_support
