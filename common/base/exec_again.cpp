#include "common/base/exec_again.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/cpu.hpp"

namespace tickpath {

int exec_again() {
  std::vector<std::string> words;
  std::ifstream line("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    if (const int file = std::stoi(entry.path().filename()); file > STDERR_FILENO)
      (void)::fcntl(file, F_SETFD, FD_CLOEXEC);
  (void)set_real_time(false);
  ::execv("/proc/self/exe", arguments.data());
  return errno;
}

}  // namespace tickpath
