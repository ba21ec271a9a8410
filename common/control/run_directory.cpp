#include "common/control/run_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::control {
namespace {

constexpr const char* kSuffix = ".pid";
// Whoever has the lock writes its process number at once; until then nobody can tell who it is.
constexpr auto kOwnerPatience = std::chrono::seconds(1);

std::string pid_path(const std::string& directory, const std::string& name) {
  return directory + "/" + name + kSuffix;
}

// A process, by its number and when it began (in clock ticks since boot): numbers are used again.
// Both mean something within `space` only.
struct ProcessId {
  int number = 0;
  std::uint64_t began = 0;
  std::string space;  // empty: not written down
};

// 0: there is none, or it has ended and nobody has asked for its end yet. proc(5), stat: field 3 is
// the state, 22 the start; the name in field 2 may hold anything, ")" included.
std::uint64_t began(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  fields >> state;
  if (state == "Z" || state == "X") return 0;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

// Where our process numbers are valid: "<boot>:<pid namespace>"; empty where /proc is missing.
// namespaces(7): the inode of /proc/self/ns/pid; random(4): boot_id, by which hosts that share a
// folder differ.
const std::string& our_space() {
  static const std::string space = [] {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    struct stat entry {};
    if (boot.empty() || ::stat("/proc/self/ns/pid", &entry) != 0) return std::string();
    return boot + ":" + std::to_string(entry.st_ino);
  }();
  return space;
}

// Its number can be looked up here.
bool is_of_our_space(const ProcessId& process) {
  return process.space.empty() || process.space == our_space();
}

bool lives(const ProcessId& process) {
  return process.number > 0 && process.began != 0 && is_of_our_space(process) &&
         began(process.number) == process.began;
}

// <name>.pid: the process in the first line, the part in the second:
//   4711 129834 2f4bc9fe-...:4026531836
//   oeg 2 1/4
struct PidFile {
  ProcessId process;
  Part part;
};

PidFile read_pid_file(int file) {
  char text[256] = {};
  PidFile content;
  if (::pread(file, text, sizeof(text) - 1, 0) <= 0) return content;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::istringstream(line) >> content.process.number >> content.process.began >>
      content.process.space;
  std::getline(lines, line);
  std::istringstream(line) >> content.part.program >> content.part.venue >> content.part.shard;
  return content;
}

net::FileDescriptor open_to_look(const std::string& path) {
  net::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (file.get() < 0 && (errno == EACCES || errno == EPERM))
    throw SystemError("cannot look at '" + path + "', which is another user's", errno);
  return file;
}

bool is_file_of(const std::string& path, int file) {
  struct stat opened {
  }, named{};
  return ::fstat(file, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// What others can write, they can replace by anything, whatever its owner.
void require_ours(const std::string& directory) {
  const net::FileDescriptor opened(
      ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (opened.get() < 0 || ::fstat(opened.get(), &status) != 0)
    throw SystemError("cannot use the run directory '" + directory + "'" +
                          (errno == ELOOP || errno == ENOTDIR ? ": a link, or no directory" : ""),
                      errno);
  if (status.st_uid != ::geteuid())
    throw Error("the run directory '" + directory + "' belongs to user " +
                std::to_string(status.st_uid) + ": give one of your own (--run-dir)");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw Error("other users can write the run directory '" + directory + "': chmod go-w " +
                directory);
}

}  // namespace

void make_run_directory(const std::string& directory) {
  std::error_code error;
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();  // "run/"
  const std::filesystem::path parent = path.parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error || (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST))
    throw SystemError("cannot make the run directory '" + directory + "'",
                      error ? error.value() : errno);
  require_ours(directory);
}

RunDirectory::RunDirectory(const std::string& directory, const std::string& name, const Part& part)
    : part_(part) {
  make_run_directory(directory);
  const std::string path = pid_path(directory, name);
  const auto deadline = std::chrono::steady_clock::now() + kOwnerPatience;
  while (!try_lock(path)) {
    refuse_if_held(directory, name);
    // Locked, and not by a program of ours: by who could open it when it was open to others.
    if (std::chrono::steady_clock::now() > deadline && is_file_of(path, lock_.get()))
      ::unlink(path.c_str());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  write(::getpid(), path);
}

// The file, as it is locked now, says by whom.
void RunDirectory::refuse_if_held(const std::string& directory, const std::string& name) const {
  const ProcessId process = read_pid_file(lock_.get()).process;
  const std::string taken = "'" + name + "' already runs in '" + directory + "' as process ";
  if (lives(process))
    throw Error(taken + std::to_string(process.number) + ": stop it (tickpath down --run-dir " +
                directory + "), or give another run_dir or name");
  // Without /proc nobody could write down when it began, or look it up here.
  const bool untold = process.number > 0 && (process.began == 0 || our_space().empty());
  if (untold || (process.number > 0 && !is_of_our_space(process)))
    throw Error(taken + std::to_string(process.number) +
                " of another container or host: stop it there, or give another run_dir or name");
}

// Number 0: nobody has the name any more.
void RunDirectory::write(int number, const std::string& path) const {
  std::string text = std::to_string(number) + " " +
                     std::to_string(number == 0 ? 0 : began(number)) + " " + our_space() + "\n";
  if (!part_.program.empty())
    text += part_.program + " " + std::to_string(part_.venue) + " " + part_.shard + "\n";
  if (::ftruncate(lock_.get(), 0) != 0 ||
      ::pwrite(lock_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw SystemError("cannot write '" + path + "'", errno);
}

// False: somebody has it. A file that was replaced since it was opened is not ours either.
bool RunDirectory::try_lock(const std::string& path) {
  lock_ =
      net::FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (lock_.get() < 0) throw SystemError("cannot write '" + path + "'", errno);
  (void)::fchmod(lock_.get(), 0600);  // others could lock it as well
  return ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 && is_file_of(path, lock_.get());
}

// The file stays: who looks for venues that ran here finds it.
RunDirectory::~RunDirectory() {
  try {
    write(0, {});
  } catch (const Error&) {
    // A full disk: then the number stays, of a process that is gone.
  }
}

int RunDirectory::holder(const std::string& directory, const std::string& name) {
  const net::FileDescriptor file = open_to_look(pid_path(directory, name));
  if (file.get() < 0) return 0;
  const ProcessId process = read_pid_file(file.get()).process;
  return lives(process) ? process.number : 0;
}

bool RunDirectory::held_elsewhere(const std::string& directory, const std::string& name) {
  const net::FileDescriptor file = open_to_look(pid_path(directory, name));
  if (file.get() < 0) return false;
  const ProcessId process = read_pid_file(file.get()).process;
  if (process.number == 0 || is_of_our_space(process)) return false;
  // Our lock lasts for a moment. A program that starts in it tries again.
  return ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Part RunDirectory::part(const std::string& directory, const std::string& name) {
  const net::FileDescriptor file = open_to_look(pid_path(directory, name));
  return file.get() < 0 ? Part{} : read_pid_file(file.get()).part;
}

// Under its lock: a successor that waits for this file sees that it is none any more (try_lock()).
void RunDirectory::forget(const std::string& directory, const std::string& name) {
  const std::string path = pid_path(directory, name);
  const net::FileDescriptor file = open_to_look(path);
  if (file.get() >= 0 && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 &&
      is_file_of(path, file.get()))
    ::unlink(path.c_str());
}

std::vector<std::string> RunDirectory::names(const std::string& directory) {
  std::vector<std::string> result;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().extension() == kSuffix) result.push_back(entry.path().stem());
  if (error == std::errc::permission_denied)
    throw SystemError(
        "cannot look into the run directory '" + directory + "', which is another user's",
        error.value());
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace tickpath::control
