// The JSON type of the control threads; keys keep their order. Include <nlohmann/json.hpp> where it
// is built or taken apart.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tickpath::control {

using Json = nlohmann::ordered_json;

// The text of it, on one line or indented. Bytes that are not UTF-8 (a symbol, a name from outside)
// become U+FFFD: what a program has to say at its end must not end it.
std::string text_of(const Json& json, int indent = -1);

}  // namespace tickpath::control
