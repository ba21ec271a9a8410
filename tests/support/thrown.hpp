// What a call throws.
#pragma once

#include <exception>
#include <optional>
#include <string>

namespace tickpath::test_support {

// Nothing: it threw no such error.
template <class Error, class Call>
std::optional<Error> thrown(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return {};
}

// The cause of the error that a call throws.
template <class Error, class Call>
auto cause_of(Call&& call) {
  const std::optional<Error> error = thrown<Error>(call);
  return error ? std::optional(error->cause()) : std::nullopt;
}

template <class Error = std::exception, class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tickpath::test_support
