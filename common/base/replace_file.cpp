#include "common/base/replace_file.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/write_all.hpp"

namespace tickpath {
namespace {

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags)
      : path_(path), file_(::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    if (file_ < 0) fail("open");
  }
  ~OpenFile() { ::close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void write(std::string_view bytes) {
    if (!write_all(file_, bytes)) fail("write");
  }
  void sync() {
    if (::fsync(file_) != 0) fail("sync");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw SystemError(std::string("cannot ") + what + " '" + path_ + "'", errno);
  }
  const std::string path_;
  const int file_;
};

}  // namespace

void replace_file(const std::string& path, std::initializer_list<std::string_view> pieces,
                  const std::function<void()>& renaming) {
  const std::string fresh = path + ".new";
  {
    OpenFile file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
    for (const std::string_view piece : pieces) file.write(piece);
    file.sync();
  }
  renaming();
  if (std::rename(fresh.c_str(), path.c_str()) != 0)
    throw SystemError("cannot rename '" + fresh + "' to '" + path + "'", errno);
  const std::string directory = std::filesystem::path(path).parent_path();
  OpenFile(directory.empty() ? "." : directory, O_RDONLY | O_DIRECTORY).sync();
}

}  // namespace tickpath
