// How long a test waits for what must come. No test that passes ever waits so long: it bounds what
// fails, on a machine that may be busy, emulated, or slowed by a sanitizer.
#pragma once

#include <chrono>

namespace tickpath::test_support {

inline constexpr std::chrono::seconds kPatience{60};

}  // namespace tickpath::test_support
