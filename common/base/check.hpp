// CHECK: a broken invariant ends the program, in every build type.
#pragma once

namespace tickpath {

// Prints "file:line: CHECK failed: condition (what)" to stderr and aborts. Any thread.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* what) noexcept;

}  // namespace tickpath

#define TICKPATH_CHECK(condition, what)                                 \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::tickpath::check_failed(__FILE__, __LINE__, #condition, (what)); \
  } while (false)
