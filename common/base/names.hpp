// Names of enumerators and codes, for logs, reports and tools.
#pragma once

#include <initializer_list>
#include <type_traits>
#include <utility>

namespace tickpath {

// The name that stands beside `value` in the table, or `unknown`. Allocates nothing.
template <class Value>
constexpr const char* name_in(
    Value value, std::initializer_list<std::pair<std::type_identity_t<Value>, const char*>> names,
    const char* unknown = "?") noexcept {
  for (const auto& [each, name] : names)
    if (each == value) return name;
  return unknown;
}

}  // namespace tickpath
