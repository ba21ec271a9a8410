#include "common/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace tickpath {

void check_failed(const char* file, int line, const char* condition, const char* what) noexcept {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s (%s)\n", file, line, condition, what);
  std::abort();
}

}  // namespace tickpath
