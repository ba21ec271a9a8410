// The JSON type of the control threads; keys keep their order. Include <nlohmann/json.hpp> where it
// is built or taken apart.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace tickpath::control {

using Json = nlohmann::ordered_json;

}  // namespace tickpath::control
