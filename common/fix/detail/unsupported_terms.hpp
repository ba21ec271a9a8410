// Terms of an order that are valid FIX, change what it means, and that the venue does not have.
#pragma once

#include <string_view>

#include "common/fix/codec.hpp"

namespace tickpath::fix::detail {

// For a person, at most kTextMax characters; empty: there are none.
std::string_view unsupported_term(const Fields& fields) noexcept;

}  // namespace tickpath::fix::detail
