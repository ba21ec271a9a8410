#include "common/clock/host.hpp"

#include <array>
#include <cerrno>
#include <fstream>

#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/fnv.hpp"

namespace tickpath::clock {

std::uint64_t host_id_of(const std::string& boot_id) noexcept {
  const std::uint64_t hash = fnv1a(boot_id);
  return hash == 0 ? 1 : hash;
}

std::uint64_t host_id() {
  constexpr const char* kPath = "/proc/sys/kernel/random/boot_id";
  std::ifstream file(kPath);
  std::string boot_id;
  if (!(file >> boot_id)) throw SystemError(std::string("cannot read ") + kPath, errno);
  return host_id_of(boot_id);
}

std::string host_name() {
  std::array<char, 65> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown";
  return name.data();
}

Source this_host() { return {host_id(), nullptr, nullptr}; }

}  // namespace tickpath::clock
