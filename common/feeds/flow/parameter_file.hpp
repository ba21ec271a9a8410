// Flow parameters as JSON: written by `tickpath generate --calibrate`, read by `--flow`.
#pragma once

#include <filesystem>
#include <string>

#include "common/feeds/generator/flow_parameters.hpp"

namespace tickpath::flow {

std::string to_json(const itch::FlowParameters& parameters);
// As the source of common/feeds/generator/default_flow.cpp.
std::string to_cpp(const itch::FlowParameters& parameters);

// Throws RecordingError naming the file and what is missing or out of range.
itch::FlowParameters load_parameters(const std::filesystem::path& path);

}  // namespace tickpath::flow
