// The number that makes order ids of a restarted strategy new ones (common/wire/order_id.hpp).
#pragma once

#include <cstdint>
#include <string>

namespace tickpath::strategy {

// Raises the number kept in `path` (a new file starts at 1) and returns it, once it is on disk: a
// crash right after must not give it out again. Throws SystemError, or Error when the file holds
// something else or all 65,535 numbers are spent. Control thread.
std::uint16_t next_incarnation(const std::string& path);

}  // namespace tickpath::strategy
