// What a key may hold, in words: for messages and for the comments of a printed configuration.
#pragma once

#include <string>

#include "common/config/detail/schema_core.hpp"

namespace tickpath::config::detail {

// "an integer from 1 to 65535 (packets)", "one of: spin, yield, park, auto".
std::string allowed(const Field& field);

}  // namespace tickpath::config::detail
