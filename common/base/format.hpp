// printf into a string: reports are rows of aligned columns.
#pragma once

#include <string>

namespace tickpath {

// A text of any length. Allocates: not for datapath threads.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* pattern, ...);

}  // namespace tickpath
