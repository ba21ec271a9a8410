#include "common/rdma/ofi/shm_names.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "common/rdma/shm/memory.hpp"

namespace tickpath::rdma::detail {
namespace {

// The prefix names this process' PID namespace: containers may share /dev/shm and not their
// process ids.
std::string own_prefix() {
  struct stat status {};
  const std::uint64_t space = ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
  return "tickpath." + std::to_string(space) + ".";
}

bool is_gone(std::string_view pid_text) {
  pid_t pid = 0;
  const auto [end, error] =
      std::from_chars(pid_text.data(), pid_text.data() + pid_text.size(), pid);
  if (error != std::errc{} || pid <= 0) return false;
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::string new_ofi_shm_name() {
  // libfabric takes what follows this prefix as it is (man fi_shm, "ADDRESSING").
  return "fi_ns://" + own_prefix() + std::to_string(::getpid()) + "." +
         std::to_string((std::uint64_t{random_key()} << 32) | random_key());
}

void remove_ofi_shm_leftovers() noexcept {
  try {
    const std::string prefix = own_prefix();
    std::error_code error;
    for (std::filesystem::directory_iterator each("/dev/shm", error), end; !error && each != end;
         each.increment(error)) {
      const std::string name = each->path().filename().string();
      if (!name.starts_with(prefix)) continue;
      const std::string_view rest = std::string_view(name).substr(prefix.size());
      if (is_gone(rest.substr(0, rest.find('.')))) ::unlink(each->path().c_str());
    }
  } catch (const std::exception&) {  // no memory: they stay
  }
}

}  // namespace tickpath::rdma::detail
