// Text of flow::compare_venues(), for `tickpath generate --venues` and `tickpath inspect --venues`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/feeds/flow/venue_comparison.hpp"

namespace tickpath::cli {

// "run/a.itch50.gz" of venue 0: "run/a-1.itch50.gz".
std::filesystem::path venue_path(const std::filesystem::path& output, std::uint32_t venue);

// Opens the recordings and compares them. Throws RecordingError when one cannot be opened or is
// damaged: what is missing of one would be told of all.
flow::VenueComparison compare_files(const std::vector<std::string>& files);

// For people; and as one JSON object (one line).
std::string venues_text(const flow::VenueComparison& comparison,
                        const std::vector<std::string>& files);
std::string venues_json(const flow::VenueComparison& comparison,
                        const std::vector<std::string>& files);

}  // namespace tickpath::cli
