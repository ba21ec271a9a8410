// A folder as a store: chDB in this process.
#include <cerrno>
#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/write_all.hpp"
#include "common/net/file_descriptor.hpp"
#include "tools/history/chdb_library.hpp"
#include "tools/history/store.hpp"

namespace tickpath::history {
namespace {

namespace fs = std::filesystem;

// The opener of a folder holds this file locked: chDB would say of a second one only that it
// cannot.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : file_(::open((folder + "/tickpath.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_.get() < 0) throw SystemError("the store " + folder + " cannot be written", errno);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    if (::fcntl(file_.get(), F_SETLK, &whole) == 0) return;
    ::fcntl(file_.get(), F_GETLK, &whole);
    throw Error("the store " + folder + " is in use by process " + std::to_string(whole.l_pid) +
                ": one at a time (a server has room for several)");
  }

 private:
  net::FileDescriptor file_;  // the lock goes with it, or with the process
};

// chDB ignores SIGPIPE and blocks it, here and again with a query. `| head` ends this command as
// any other.
void let_pipes_end_us() {
  std::signal(SIGPIPE, SIG_DFL);
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
}

class FolderStore final : public Store {
 public:
  FolderStore(const std::string& folder, const std::string& library)
      : folder_(folder), lock_(folder), chdb_(ChdbLibrary::load(library)) {
    std::string program = "clickhouse";
    std::string path = "--path=" + fs::absolute(folder).string();
    char* argv[] = {program.data(), path.data(), nullptr};
    connection_ = chdb_.connect(2, argv);
    if (connection_ == nullptr || *connection_ == nullptr)
      throw Error("chDB cannot open the store " + folder + " (its reason is above)");
    let_pipes_end_us();
  }
  ~FolderStore() override { chdb_.close(connection_); }

  void enter(bool create, const std::string&) override {
    if (create) execute(std::string("CREATE DATABASE IF NOT EXISTS ") + kDatabase);
    execute(std::string("USE ") + kDatabase);
    execute("SET final = 1");
  }

  void query(const std::string& sql, const std::string& format, const Sink& sink) override {
    ChdbLibrary::Result* const result =
        chdb_.query(*connection_, sql.data(), sql.size(), format.data(), format.size());
    if (result == nullptr) throw Error("chDB gave no answer");
    let_pipes_end_us();
    try {
      if (const char* error = chdb_.error(result); error != nullptr) throw QueryError(error);
      if (const std::size_t bytes = chdb_.length(result); bytes != 0)
        sink({chdb_.buffer(result), bytes});
    } catch (...) {
      chdb_.destroy(result);
      throw;
    }
    chdb_.destroy(result);
  }

  // Through memory that has a name: in a statement chDB reads data as text, up to an empty line.
  void insert(const std::string& table, std::string_view rows) override {
    const net::FileDescriptor file(::memfd_create("rows", MFD_CLOEXEC));
    if (file.get() < 0) throw SystemError("no memory for a block of rows", errno);
    if (!write_all(file.get(), rows)) throw SystemError("no memory for a block of rows", errno);
    execute("INSERT INTO " + table + " SELECT * FROM file('/proc/self/fd/" +
            std::to_string(file.get()) + "', 'RowBinary') SETTINGS max_insert_threads = 1");
  }

  const std::string& place() const noexcept override { return folder_; }

 private:
  std::string folder_;
  FolderLock lock_;
  const ChdbLibrary& chdb_;
  ChdbLibrary::Connection** connection_ = nullptr;
};

}  // namespace

void check_folder(const FolderOptions& options) {
  std::error_code error;
  const fs::file_status status = fs::status(options.folder, error);
  if (fs::exists(status) && !fs::is_directory(status))
    throw Error("the store " + options.folder + " is no folder");
  if (!fs::exists(status) && !options.create)
    throw Error("there is no store " + options.folder + ": tickpath history load makes one");
  if (options.create) fs::create_directories(options.folder, error);
  if (error) throw SystemError("the store " + options.folder + " cannot be made", error.value());
  // Whatever else is in a folder, chDB must not mix its files with.
  if (fs::exists(fs::path(options.folder) / "metadata")) return;
  for (const auto& entry : fs::directory_iterator(options.folder))
    if (entry.path().filename() != "tickpath.lock")
      throw Error("the folder " + options.folder + " is no store: it holds " +
                  entry.path().filename().string());
  if (!options.create) throw Error("the store " + options.folder + " is empty: nothing was loaded");
}

std::unique_ptr<Store> open_folder(const FolderOptions& options) {
  check_folder(options);
  return std::make_unique<FolderStore>(options.folder, options.library);
}

}  // namespace tickpath::history
