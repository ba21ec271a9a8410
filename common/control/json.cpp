#include "common/control/json.hpp"

#include <nlohmann/json.hpp>

namespace tickpath::control {

std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tickpath::control
