// What one of a pair answers when the other one asks who leads: the text of a refused connection
// (common/wire/refusals.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/wire/leadership.hpp"

namespace tickpath::oeg {

// How an oeg that leads says so, and reads it. word.alone: it needs no standby.
std::string leads_answer(wire::Leadership word);
// place: of who has answered. Nothing: it has not said that it leads.
std::optional<wire::Leadership> leads_by(std::string_view answer, std::uint8_t place);

}  // namespace tickpath::oeg
