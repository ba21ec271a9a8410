#include "tools/cli/run_owner.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/replace_file.hpp"
#include "common/control/run_directory.hpp"

namespace tickpath::cli {
namespace {

std::string lock_path(const std::string& run_dir) { return run_dir + "/up.lock"; }
std::string verdict_path(const std::string& run_dir) { return run_dir + "/up.verdict"; }

// For its text only: the lock says whether it lives.
pid_t number_in(int file) {
  char text[32] = {};
  return ::pread(file, text, sizeof(text) - 1, 0) > 0 ? std::atoi(text) : 0;
}

}  // namespace

RunOwner::RunOwner(const std::string& run_dir) : run_dir_(run_dir) {
  control::make_run_directory(run_dir);
  const std::string path = lock_path(run_dir);
  lock_ =
      net::FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (lock_.get() < 0) throw SystemError("cannot write '" + path + "'", errno);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error("`tickpath up` already runs in '" + run_dir + "' as process " +
                std::to_string(number_in(lock_.get())) + ": tickpath down --run-dir " + run_dir +
                ", or start this one beside it: --run-dir DIR --port-offset 100");
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock_.get(), 0) != 0 ||
      ::pwrite(lock_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw SystemError("cannot write '" + path + "'", errno);
  std::filesystem::remove(verdict_path(run_dir));
}

void RunOwner::tell(const std::string& verdict) const {
  replace_file(verdict_path(run_dir_), {verdict});
}

pid_t RunOwner::holder(const std::string& run_dir) {
  const net::FileDescriptor file(
      ::open(lock_path(run_dir).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (file.get() < 0 || ::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return 0;
  return number_in(file.get());
}

bool RunOwner::starts_one(const std::string& run_dir) {
  const std::string owner = std::to_string(holder(run_dir));
  std::ifstream children("/proc/" + owner + "/task/" + owner + "/children");
  const std::vector<std::string> names = control::RunDirectory::names(run_dir);
  return std::any_of(std::istream_iterator<pid_t>(children), {}, [&](pid_t child) {
    return std::ranges::none_of(names, [&](const std::string& name) {
      return control::RunDirectory::holder(run_dir, name) == child;
    });
  });
}

std::optional<std::string> RunOwner::verdict(const std::string& run_dir) {
  std::ifstream file(verdict_path(run_dir));
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace tickpath::cli
