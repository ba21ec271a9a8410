// The fault table: a row a fault, filled in by the tests, printed when the last one is over.
#pragma once

#include <cstdint>
#include <string>

namespace tickpath::test_support {

struct FaultRow {
  std::string fault;       // "mdh: SIGSTOP"
  std::string noticed_by;  // "strategy, risk, oeg"
  double bound_ms = 0;     // by configuration; below 0: none, it is a matter of count
  double measured_ms = -1;
  std::string others_do{};
  std::string came_back{};  // what shows it, and after how long
  bool books_hold = false;
};

// Any number of times; the table comes at the end of the process, where TICKPATH_FAULT_TABLE names
// a file, and on stdout.
void add_row(FaultRow row);

}  // namespace tickpath::test_support
