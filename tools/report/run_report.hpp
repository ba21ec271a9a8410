// A run as a page: everything that its directories say.
#pragma once

#include <string>
#include <vector>

#include "tools/report/page.hpp"

namespace tickpath::report {

inline constexpr std::size_t kRowsMax = 4'000;  // of fills, and of orders: the last ones

// What the run of these directories, one a host, has come to. It may go on. Without traces (a
// deterministic replay leaves none) the page has what was traded alone. Throws Error: nothing of a
// run is there, or a file is damaged; SystemError.
PageContent content_of(const std::vector<std::string>& run_dirs);

}  // namespace tickpath::report
