// What oeg answers to a risk that it does not let in because it has one (Service::kDropCopy). Who
// reads it stands by; the text is all that a refused connection brings.
#pragma once

#include <string_view>

namespace tickpath::wire {

inline constexpr std::string_view kRiskHeld = "another risk holds the control block";
// Beside it: this oeg leads, so that whoever holds it is the active risk.
inline constexpr std::string_view kOfTheLeader = " of the oeg that leads";

// It may be let in in a moment: nobody is there any more, or its own former connection is.
inline constexpr std::string_view kRiskEnds = "the former connection of risk has not ended";

}  // namespace tickpath::wire
