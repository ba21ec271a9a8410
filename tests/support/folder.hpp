// A folder that goes away with the test, and whole files.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "common/base/error.hpp"

namespace tickpath::test_support {

// A fresh folder, removed at the end unless TICKPATH_KEEP is set (to look at what a test left).
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "tickpath_test_XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw SystemError("cannot make " + path_, errno);
  }
  ~Folder() {
    if (std::getenv("TICKPATH_KEEP") == nullptr) std::filesystem::remove_all(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const noexcept { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SystemError("cannot read " + path, errno);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw SystemError("cannot write " + path, errno);
}

}  // namespace tickpath::test_support
