// What one of a pair answers when somebody asks to join, or who leads: the text of a refused
// connection (common/wire/refusals.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/wire/hello.hpp"
#include "common/wire/leadership.hpp"
#include "oeg/config.hpp"

namespace tickpath::oeg {

// Empty: who says that is the other half of the pair.
std::string why_stranger(const OegConfig& config, const wire::Hello& hello);

// How an oeg that leads says so, and reads it. word.alone: it needs no standby.
std::string leads_answer(wire::Leadership word);
// place: of who has answered. Nothing: it has not said that it leads.
std::optional<wire::Leadership> leads_by(std::string_view answer, std::uint8_t place);

// How a standby says so that waits for the word of a leader that is gone, and reads it. leader: who
// led. Nothing: it has not said that.
std::string waits_answer(wire::Leadership pair);
std::optional<wire::Leadership> waits_by(std::string_view answer, std::uint8_t leader);

}  // namespace tickpath::oeg
