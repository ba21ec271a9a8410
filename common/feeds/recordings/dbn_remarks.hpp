// What a person should know about how Databento's records were read.
#pragma once

#include <cstddef>
#include <string>

#include "common/feeds/recordings/dbn_orders.hpp"

namespace tickpath::itch {

// "123 records of market by order, times UTC; 4 name unknown orders; ...": one line, of all files
// together. It is the last file's: the others have "times UTC" alone.
std::string remarks_of(const DbnOrders& orders, std::size_t file);

}  // namespace tickpath::itch
