// How a program ended, as a matcher: EXPECT_THAT(run(...), Ends(1, "no such file")).
#pragma once

#include <ostream>
#include <string>

#include <gmock/gmock.h>

#include "tests/support/process.hpp"

namespace tickpath::test_support {

inline void PrintTo(const Finished& finished, std::ostream* out) {
  *out << "exit code " << finished.exit_code << ", signal " << finished.signal
       << (finished.timed_out ? ", timed out" : "") << ", output:\n"
       << finished.output;
}

namespace detail {
inline auto of_output(const std::string& part) { return ::testing::HasSubstr(part); }
template <class Matcher>
auto of_output(const Matcher& matcher) requires(!std::is_convertible_v<Matcher, std::string>) {
  return matcher;
}
}  // namespace detail

// With this exit code (or one that matches), and an output that has each of the parts: texts, or
// matchers of all of it.
template <class... Parts>
::testing::Matcher<const Finished&> Ends(const ::testing::Matcher<int>& exit_code,
                                         const Parts&... parts) {
  const ::testing::Matcher<const std::string&> output =
      ::testing::AllOf(::testing::_, detail::of_output(parts)...);
  return ::testing::AllOf(::testing::Field("exit_code", &Finished::exit_code, exit_code),
                          ::testing::Field("output", &Finished::output, output));
}

}  // namespace tickpath::test_support
