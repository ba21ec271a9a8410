// printf at the end of a string: reports and pictures are rows of aligned columns.
#pragma once

#include <string>

namespace tickpath::rdma::perf {

// At most 399 characters a call.
[[gnu::format(printf, 2, 3)]] void append(std::string& text, const char* format, ...);

}  // namespace tickpath::rdma::perf
