// A directory that goes away with the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tickpath::control {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    char name[] = "/tmp/tickpath-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace tickpath::control
