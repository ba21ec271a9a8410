// The Hawkes process that a recording's events are most likely from.
#pragma once

#include <span>

#include "common/feeds/flow/observer.hpp"
#include "common/feeds/generator/flow_parameters.hpp"

namespace tickpath::flow {

// Maximum likelihood by expectation and maximisation over who caused whom (A. Veen and F. P.
// Schoenberg, "Estimation of Space-Time Branching Process Models in Seismology Using an EM-Type
// Algorithm", 2008), with kernels that share their times: kernel_s must be filled, share,
// branching, kernel_share and events_per_second become the estimates. Time grows with events times
// kinds times kernels; about a second for 100,000 events and 60 rounds.
// Throws RecordingError for fewer than 1,000 events.
void fit_hawkes(std::span<const TimedEvent> events, itch::FlowParameters& parameters,
                int rounds = 60);

// Everything that the generator takes from one symbol's recording.
itch::FlowParameters calibrate(const FlowRecord& record, const std::string& origin);

}  // namespace tickpath::flow
