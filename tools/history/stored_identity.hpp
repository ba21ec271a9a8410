// What the store knows of a run's recording, so that no load puts another one's rows among its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/history/recording_identity.hpp"
#include "tools/history/store.hpp"

namespace tickpath::history {

// The recording that former loads of the run had.
std::optional<RecordingIdentity> stored_identity(Store& store, const std::string& run);
void store_identity(Store& store, const std::string& run, const RecordingIdentity& identity,
                    std::uint64_t version);

// Throws Error unless both are of one day.
void require_same_day(const std::string& run, const RecordingIdentity& stored,
                      const RecordingIdentity& now);

}  // namespace tickpath::history
