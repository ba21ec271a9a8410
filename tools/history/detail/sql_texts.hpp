// schema.sql and the files of queries/, which the build puts into the program.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace tickpath::history::detail {

extern const std::string_view kSchema;
extern const std::vector<std::pair<std::string_view, std::string_view>> kQueries;  // name and text

}  // namespace tickpath::history::detail
