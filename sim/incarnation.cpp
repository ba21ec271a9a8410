#include <cerrno>
#include <cstdio>
#include <fstream>

#include "common/base/error.hpp"
#include "sim/application.hpp"

namespace tickpath::sim {

std::uint16_t next_incarnation(const std::string& path) {
  unsigned value = 0;
  std::ifstream(path) >> value;  // missing or unreadable: the first
  value = (value + 1) & 0xffff;
  if (value == 0) value = 1;
  const std::string fresh = path + ".new";
  {
    std::ofstream out(fresh);
    out << value << '\n';
    if (!out.flush()) throw SystemError("cannot write " + fresh, errno);
  }
  // Renamed into place: a crash leaves the old number or the new one, never half of one.
  if (std::rename(fresh.c_str(), path.c_str()) != 0)
    throw SystemError("cannot replace " + path, errno);
  return static_cast<std::uint16_t>(value);
}

}  // namespace tickpath::sim
