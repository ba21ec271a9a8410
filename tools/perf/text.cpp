#include "tools/perf/text.hpp"

#include <cstdarg>
#include <cstdio>

namespace tickpath::rdma::perf {

void append(std::string& text, const char* format, ...) {
  char line[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  text += line;
}

}  // namespace tickpath::rdma::perf
