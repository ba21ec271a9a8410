#include "common/cli/programs.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <fstream>
#include <string_view>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "common/control/run_directory.hpp"

namespace tickpath::cli {
namespace {

constexpr std::array<std::string_view, 5> kStartOrder{"sim", "mdh", "oeg", "risk", "strategy"};
constexpr std::array<std::string_view, 5> kStopOrder{"strategy", "oeg", "risk", "mdh", "sim"};

std::size_t rank(const std::array<std::string_view, 5>& order, const std::string& program) {
  const auto found = std::find(order.begin(), order.end(), program);
  return static_cast<std::size_t>(found - order.begin());
}

}  // namespace

std::size_t start_rank(const std::string& program) { return rank(kStartOrder, program); }
std::size_t stop_rank(const std::string& program) { return rank(kStopOrder, program); }

std::string program_of(const std::string& instance) {
  return instance.substr(0, instance.find('-'));
}

bool is_known_program(const std::string& program) {
  return start_rank(program) < kStartOrder.size();
}

std::vector<RunningProgram> running_programs(const std::string& run_dir) {
  std::vector<RunningProgram> running;
  for (const std::string& name : control::RunDirectory::names(run_dir)) {
    const pid_t pid = control::RunDirectory::holder(run_dir, name);
    if (pid <= 0) continue;
    const control::Json status = try_status(run_dir, name);
    running.push_back(
        {name, status.is_object() ? status.value("program", program_of(name)) : program_of(name),
         pid});
  }
  std::stable_sort(running.begin(), running.end(), [](const auto& a, const auto& b) {
    return stop_rank(a.program) < stop_rank(b.program);
  });
  return running;
}

bool wait_for_exit(pid_t pid, int timeout_ms) {
  const int file = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (file < 0) return errno == ESRCH;
  pollfd polled{file, POLLIN, 0};
  const int ready = ::poll(&polled, 1, timeout_ms);
  ::close(file);
  return ready > 0;
}

control::Json try_status(const std::string& run_dir, const std::string& name) {
  try {
    return control::admin_command(control::admin_path(run_dir, name), {{"command", "status"}},
                                  1000);
  } catch (const Error&) {
    return nullptr;
  }
}

std::string last_lines(const std::string& path, std::size_t count) {
  std::ifstream file(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() > count) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += "    " + line + "\n";
  return text;
}

}  // namespace tickpath::cli
