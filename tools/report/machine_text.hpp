// The machines of a run, for the head of its page.
#pragma once

#include <string>
#include <vector>

#include "common/trace/analysis.hpp"

namespace tickpath::report {

// A line for each host of the traces. Processor and kernel are known of this host alone; without
// traces it is the only line, as the host where the page was made.
std::vector<std::string> machine_texts(const trace::Analysis& analysis);

}  // namespace tickpath::report
