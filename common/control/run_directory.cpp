#include "common/control/run_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::control {
namespace {

constexpr const char* kSuffix = ".pid";

std::string pid_path(const std::string& directory, const std::string& name) {
  return directory + "/" + name + kSuffix;
}

int read_pid(int file) {
  char text[32] = {};
  return ::pread(file, text, sizeof(text) - 1, 0) > 0 ? std::atoi(text) : 0;
}

}  // namespace

RunDirectory::RunDirectory(const std::string& directory, const std::string& name) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw SystemError("cannot make the run directory '" + directory + "'", error.value());
  const std::string path = pid_path(directory, name);
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) throw SystemError("cannot write '" + path + "'", errno);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const int held_by = read_pid(lock_);
    ::close(lock_);
    throw Error("'" + name + "' already runs in '" + directory + "' as process " +
                std::to_string(held_by) + ": stop it (tickpath down --run-dir " + directory +
                "), or give another run_dir or name");
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock_, 0) != 0 ||
      ::pwrite(lock_, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    const int written = errno;
    ::close(lock_);
    throw SystemError("cannot write '" + path + "'", written);
  }
}

// The file stays, empty: removing it could take away the one that a successor has just locked.
RunDirectory::~RunDirectory() {
  (void)!::ftruncate(lock_, 0);
  ::close(lock_);
}

int RunDirectory::holder(const std::string& directory, const std::string& name) {
  const int file = ::open(pid_path(directory, name).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  // A shared lock is refused exactly while the exclusive one is held.
  const bool held = ::flock(file, LOCK_SH | LOCK_NB) != 0;
  const int pid = held ? read_pid(file) : 0;
  ::close(file);
  return pid;
}

std::vector<std::string> RunDirectory::names(const std::string& directory) {
  std::vector<std::string> result;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().extension() == kSuffix) result.push_back(entry.path().stem());
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace tickpath::control
