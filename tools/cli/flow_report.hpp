// `tickpath generate --calibrate` and `--report`: recordings and generated flows, measured.
#pragma once

#include <string>

#include "common/feeds/flow/report.hpp"
#include "common/feeds/generator/generator.hpp"

namespace tickpath::cli {

// "20000", "8k/s", "30M/h" as messages a second. Throws Error.
double parse_rate(const std::string& text);

// The busiest symbol's flow. Throws RecordingError: the file, or nothing in it.
flow::FlowRecord observe_file(const std::string& file);
flow::FlowRecord observe_generated(const itch::GeneratorOptions& options);
itch::FlowParameters calibrate_on(const std::string& file);

// As many messages in as much time as the recording's symbol has.
void match_length(const flow::FlowRecord& real, itch::GeneratorOptions& options);

flow::Column column_of(const std::string& title, const flow::FlowRecord& record);

}  // namespace tickpath::cli
