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

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::uint32_t processors() noexcept {
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<std::uint32_t>(online) : 0;
}

Source this_host() { return {host_id(), nullptr, nullptr}; }

}  // namespace tickpath::clock
