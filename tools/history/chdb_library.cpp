#include "tools/history/chdb_library.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/trusted_file.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::history {
namespace {

namespace fs = std::filesystem;

// A new version is a new digest: `npm view PACKAGE@VERSION dist.integrity`.
constexpr const char* kVersion = "26.5.3";
constexpr const char* kPackage = "@chdb/lib-linux-x64-gnu@26.5.3";
constexpr const char* kArchive = "chdb-lib-linux-x64-gnu-26.5.3.tgz";
constexpr const char* kSha512 =
    "fPrLmRt5Moor9yGz4mazbrNje4t7X9KB2mTGkXFWRxRBs2iKy8yh6jx11xsa0Qr3iDFMU/yHqd+bVdYJXu3QaQ==";
constexpr std::uint64_t kArchiveBytes = 166'572'008;  // for the progress alone

// The digest of the file's content, in base 64.
std::string sha512(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw SystemError("cannot read " + path, errno);
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  EVP_DigestInit_ex(context, EVP_sha512(), nullptr);
  std::vector<char> part(1u << 20);
  while (in.read(part.data(), static_cast<std::streamsize>(part.size())) || in.gcount() > 0)
    EVP_DigestUpdate(context, part.data(), static_cast<std::size_t>(in.gcount()));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned bytes = 0;
  EVP_DigestFinal_ex(context, digest.data(), &bytes);
  EVP_MD_CTX_free(context);
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text{};
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(bytes));
  return {reinterpret_cast<char*>(text.data()), static_cast<std::size_t>(length)};
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t sum = 0;
  std::error_code gone;  // npm renames while we look
  for (auto at = fs::recursive_directory_iterator(folder, gone);
       !gone && at != fs::recursive_directory_iterator(); at.increment(gone)) {
    std::error_code error;
    if (const auto bytes = at->file_size(error); !error) sum += bytes;
  }
  return sum;
}

std::string end_of(const fs::path& log) {
  std::ifstream in(log);
  std::string line;
  std::vector<std::string> lines;
  while (std::getline(in, line))
    if (!line.empty()) lines.push_back(line);
  std::string text;
  for (std::size_t i = lines.size() > 5 ? lines.size() - 5 : 0; i < lines.size(); ++i)
    text += "\n  " + lines[i];
  return text;
}

// Runs a program, both its streams into a log; `tick` ten times a second. Returns its exit status,
// -1 after a signal. Throws SystemError where it cannot be started.
int run(std::vector<std::string> arguments, const fs::path& log,
        const std::function<void()>& tick) {
  std::vector<char*> argv;
  for (std::string& each : arguments) argv.push_back(each.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw SystemError("cannot start " + arguments[0], error);
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) throw SystemError("waiting for " + arguments[0], errno);
    tick();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void download(const fs::path& work, const FetchProgress& progress) {
  std::vector<std::string> npm{"npm",        "pack",
                               kPackage,     "--pack-destination",
                               work,         "--cache",
                               work / "npm", "--fetch-retries=1",
                               "--no-fund",  "--no-update-notifier"};
  int status = 0;
  try {
    status = run(std::move(npm), work / "npm.log",
                 [&] { progress(std::min(bytes_in(work), kArchiveBytes), kArchiveBytes); });
  } catch (const SystemError& error) {
    if (error.errno_value() != ENOENT) throw;
    throw Error(
        "chDB is fetched by npm, which is not here: install npm, or name a libchdb.so with "
        "--library or in TICKPATH_CHDB");
  }
  if (status != 0)
    throw Error("npm could not fetch " + std::string(kPackage) + ":" + end_of(work / "npm.log"));
}

void unpack(const fs::path& work, const fs::path& library) {
  const fs::path archive = work / kArchive;
  if (const std::string digest = sha512(archive); digest != kSha512)
    throw Error(archive.string() + " is not what this version of tickpath was tested with: its " +
                "SHA-512 is " + digest + ", expected " + kSha512 + "; it is not used");
  const int status =
      run({"tar", "-xzf", archive, "-C", work, "package/libchdb.so"}, work / "tar.log", [] {});
  if (status != 0)
    throw Error("cannot unpack " + archive.string() + ":" + end_of(work / "tar.log"));
  fs::permissions(work / "package/libchdb.so", fs::perms::owner_read | fs::perms::owner_exec);
  fs::rename(work / "package/libchdb.so", library);  // whole, or not there
}

template <class Function>
void find(void* library, const std::string& path, const char* name, Function& function) {
  void* const symbol = ::dlsym(library, name);
  if (symbol == nullptr)
    throw Error(path + " is no chDB of version " + kVersion + ": it has no " + name);
  function = reinterpret_cast<Function>(symbol);
}

}  // namespace

std::string cached_library() {
  const char* const xdg = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  fs::path cache;
  if (xdg != nullptr && *xdg != '\0')
    cache = xdg;
  else if (home != nullptr && *home != '\0')
    cache = fs::path(home) / ".cache";
  else
    throw Error("no folder for chDB: neither XDG_CACHE_HOME nor HOME is set");
  return cache / "tickpath/chdb" / kVersion / "libchdb.so";
}

std::string fetch_library(const FetchProgress& progress) {
  const fs::path library = cached_library();
  if (fs::exists(library)) return library;
  const fs::path folder = library.parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw SystemError("cannot make the folder " + folder.string(), error.value());
  const net::FileDescriptor lock(
      ::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.get() < 0) throw SystemError("cannot write in " + folder.string(), errno);
  while (::flock(lock.get(), LOCK_EX) != 0)
    if (errno != EINTR) throw SystemError("cannot lock " + folder.string(), errno);
  if (fs::exists(library)) return library;  // by another process meanwhile
  std::fprintf(stderr, "fetching %s (167 MB) by npm into %s\n", kPackage, folder.c_str());
  const fs::path work = folder / "part";
  fs::remove_all(work);
  fs::create_directory(work);
  try {
    download(work, progress);
    unpack(work, library);
  } catch (const fs::filesystem_error& problem) {
    throw Error(std::string("cannot fetch chDB: ") + problem.what());
  }
  fs::remove_all(work, error);
  return library;
}

const ChdbLibrary& ChdbLibrary::load(const std::string& path) {
  static ChdbLibrary functions;
  if (functions.connect != nullptr) return functions;
  if (const std::string why = why_untrusted(path); !why.empty())
    throw Error(path + " is not loaded: it " + why);
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error("cannot load chDB: " + std::string(::dlerror()));
  ChdbLibrary found;
  find(library, path, "chdb_connect", found.connect);
  find(library, path, "chdb_close_conn", found.close);
  find(library, path, "chdb_query_n", found.query);
  find(library, path, "chdb_destroy_query_result", found.destroy);
  find(library, path, "chdb_result_buffer", found.buffer);
  find(library, path, "chdb_result_length", found.length);
  find(library, path, "chdb_result_error", found.error);
  find(library, path, "chdb_set_signal_handlers_enabled", found.handle_signals);
  found.handle_signals(0);  // signals are the command's
  functions = found;
  return functions;
}

}  // namespace tickpath::history
