// What is said to who is not let in, and goes by it; the text is all that a refused connection
// brings. Most of it is oeg's to a risk, because it has one (Service::kDropCopy): who reads that
// stands by.
#pragma once

#include <cstdint>
#include <string_view>

namespace tickpath::wire {

inline constexpr std::string_view kRiskHeld = "another risk holds the control block";
// Beside it: this oeg leads, so that whoever holds it is the active risk.
inline constexpr std::string_view kOfTheLeader = " of the oeg that leads";

// The peer may connect in a moment: the former connection of its place is ending, or another one is
// being made.
inline constexpr std::string_view kRiskEnds = "a connection of risk ends or begins";

// Service::kStandby with Hello::flags kAsksOnly, by an oeg that waits for a witness which may be
// gone for good: this one leads; its epoch follows, and then whether it needs no standby.
inline constexpr std::uint8_t kAsksOnly = 1;
inline constexpr std::string_view kLeadsInEpoch = "leads, in epoch ";
inline constexpr std::string_view kNeedsNobody = ", alone";
// The other answers to anything of Service::kStandby: this one runs, and has a part in who leads.
// Or it waits for a witness's word, as the standby of a leader that is gone. It has all that the
// leader had, whose epoch follows.
inline constexpr std::string_view kDoesNotLead = "it does not lead";
inline constexpr std::string_view kWaitsForWord = "it waits for the word, after epoch ";
// Service::kStandby with this flag: an oeg asks who leads, and nobody gives way to the question.
inline constexpr std::uint8_t kAsksWhoLeads = 2;
// With kAsksOnly: the host of who asks was started since it led, and the end of its journal may be
// lost.
inline constexpr std::uint8_t kBooksMayBeCut = 8;
// Service::kStandby with this flag: an oeg that asks to join remembers what it was, and has
// renounced that. One without has lost its memory, and may have led before.
inline constexpr std::uint8_t kRemembers = 4;

}  // namespace tickpath::wire
