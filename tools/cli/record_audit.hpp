// What a run leaves beside its books, against these: routes, numbers of lives, ids of symbols.
#pragma once

#include <vector>

#include "tools/cli/audit.hpp"

namespace tickpath::cli {

// One line a file and rule. What is on another host is left out: audit() says so.
std::vector<Conservation::Line> record_lines(const Remains& remains);

}  // namespace tickpath::cli
