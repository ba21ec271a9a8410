#include "tools/watch/tickpath_child.hpp"

#include <algorithm>
#include <filesystem>

#include <unistd.h>

namespace tickpath::watch {
namespace {

std::vector<std::string> with_program(const std::vector<std::string>& arguments) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::vector<std::string> all{folder / "tickpath"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

}  // namespace

TickpathChild::TickpathChild(const std::vector<std::string>& arguments)
    : child_(with_program(arguments), pipes_) {}

void TickpathChild::read() {
  char buffer[1024];
  for (const int file : {pipes_.output.get(), pipes_.errors.get()})
    for (ssize_t got = 0; (got = ::read(file, buffer, sizeof buffer)) > 0;)
      said_.append(buffer, static_cast<std::size_t>(got));
}

bool TickpathChild::ended() {
  const bool ended = child_.ended();  // first: what it says at its end is read then
  read();
  return ended;
}

std::string TickpathChild::text() const {
  std::string text = said_;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace_if(
      text, [](char each) { return static_cast<unsigned char>(each) < ' '; }, ' ');
  return text.empty() ? child_.how_it_ended() : text;
}

}  // namespace tickpath::watch
