// The fault table: a row a fault, filled in by the tests, printed when the last one is over.
#pragma once

#include <string>

namespace tickpath::test_support {

struct FaultRow {
  std::string fault;       // "mdh: SIGSTOP"
  std::string noticed_by;  // "strategy, risk, oeg"
  double bound_ms = 0;     // by configuration; below 0: none, it is a matter of count
  double measured_ms = -1;
  double late_ms = 0;  // added to the bound: by how much this machine held threads up meanwhile
  std::string others_do{};
  std::string came_back{};  // what shows it, and after how long
  bool books_hold = false;
};

// Fails the test where the fault was not noticed. Any number of times; the table comes at the end
// of the process on stdout, and where TICKPATH_FAULT_TABLE names a file also there: then every
// bound is asserted, too.
void add_row(FaultRow row);

}  // namespace tickpath::test_support
