#pragma once

#include <cstddef>
#include <string>

#include "common/control/json.hpp"

namespace CLI {
class App;
}

namespace tickpath::cli {

// `tickpath status`: the programs of a run directory, with their key counters.
void add_status_command(CLI::App& app);

// What a person reads: a line a program, what it counts below it, none longer than `columns`.
std::string status_text(const control::Json& all, std::size_t columns);

}  // namespace tickpath::cli
