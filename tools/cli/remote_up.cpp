#include "tools/cli/remote_up.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/clock/clock.hpp"
#include "common/config/values.hpp"
#include "common/control/admin_client.hpp"
#include "common/control/run_directory.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/remote_link.hpp"

namespace tickpath::cli {

namespace fs = std::filesystem;
using control::Json;

namespace {

constexpr int kProbeMs = 30'000;

// Its problems, a line each.
std::string ask(const Host& host, AgentLink& link) {
  link.await_open();
  link.send({{"do", "probe"},
             {"folder", host.folder},
             {"binaries", host.binaries},
             {"run_dir", host.run_dir},
             {"programs", host.programs}});
  const Message answer = link.await(kProbeMs);
  std::string problems;
  if (answer.head.contains("failed"))
    problems += "\n" + host.name + ": " + answer.head["failed"].get<std::string>();
  for (const std::string problem : answer.head.value("problems", Json::array()))
    problems += "\n" + host.name + ": " + problem;
  return problems;
}

// The rest of a file, up to its last line's end.
std::string whole_lines(const std::string& path, std::uint64_t begin) {
  std::ifstream file(path);
  file.seekg(static_cast<std::streamoff>(begin));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  return text;
}

}  // namespace

std::map<std::string, std::string> probe_hosts(const std::vector<Host>& hosts) {
  std::vector<std::unique_ptr<AgentLink>> links;
  for (const Host& host : hosts) links.push_back(std::make_unique<AgentLink>(host, ""));
  std::map<std::string, std::string> machines;
  std::string problems;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    try {
      problems += ask(hosts[i], *links[i]);
      machines[hosts[i].name] = links[i]->machine();
    } catch (const LinkError& error) {
      problems += "\n" + std::string(error.what());
    }
  }
  if (!problems.empty()) throw config::ConfigError({"nothing was started:" + problems});
  return machines;
}

std::vector<std::string> RemoteOutput::look() {
  std::vector<std::string> lines;
  for (auto& [name, shown] : programs_) {
    const std::string path = run_dir_ + "/" + name + ".out";
    std::error_code error;
    const std::uint64_t size = fs::file_size(path, error);
    if (error || size == shown.begin) continue;
    if (size < shown.begin) shown.begin = 0;  // started again
    const std::string text = whole_lines(path, shown.begin);
    shown.begin += text.size();
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
      lines.push_back(shown.host + ": " + escaped_controls(line));
  }
  return lines;
}

std::vector<std::string> lost_programs(const std::string& run_dir) {
  std::vector<std::string> names = remote_names(run_dir);
  std::erase_if(names, [&](const std::string& name) {
    return control::RunDirectory::holder(run_dir, name) > 0;
  });
  return names;
}

std::vector<std::string> all_that_ran(const std::string& run_dir) {
  std::vector<std::string> names = control::RunDirectory::names(run_dir);
  for (const std::string& name : lost_programs(run_dir))
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

std::string host_name_of(const std::string& run_dir, const std::string& name) {
  try {
    return is_remote(run_dir, name) ? read_remote(run_dir, name).host.name : "";
  } catch (const Error&) {
    return "another host";
  }
}

namespace {

// In a session of its own, and nobody's child: it lives as long as the program.
pid_t spawn_proxy(const std::string& run_dir, const std::string& name) {
  const std::string self = fs::read_symlink("/proc/self/exe");
  const std::string output = run_dir + "/" + name + ".out";
  const int file =
      ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) throw SystemError("cannot write '" + output + "'", errno);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::setsid();
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)::dup2(nothing, STDIN_FILENO);
    (void)::dup2(file, STDOUT_FILENO);
    (void)::dup2(file, STDERR_FILENO);
    ::execl(self.c_str(), self.c_str(), "proxy", run_dir.c_str(), name.c_str(), "--attach",
            static_cast<char*>(nullptr));
    std::_Exit(127);
  }
  const int error = errno;
  ::close(file);
  if (child < 0) throw SystemError("cannot start a proxy", error);
  return child;
}

// Empty: it has the program, or the program has ended.
std::string await_proxy(const std::string& run_dir, const std::string& name, pid_t proxy) {
  // Longer than ssh may take and the proxy tries again, but for a patience of minutes.
  constexpr std::int64_t kLongestNs = 60'000'000'000;
  const std::int64_t end_ns = clock::monotonic_ns() + kLongestNs;
  for (;;) {
    if (clock::monotonic_ns() > end_ns) return name + ": does not answer";
    if (try_status(run_dir, name, kGlanceMs).is_object()) return {};
    int status = 0;
    if (::waitpid(proxy, &status, WNOHANG) == proxy) {
      if (!is_remote(run_dir, name)) return {};
      return name + ": no connection\n" + last_lines(run_dir + "/" + name + ".out", 4);
    }
    constexpr int kBetweenMs = 50;
    (void)::poll(nullptr, 0, kBetweenMs);
  }
}

void run_attach(const std::string& run_dir) {
  const std::vector<std::string> names = lost_programs(run_dir);
  if (names.empty()) std::printf("nothing is without its connection in '%s'\n", run_dir.c_str());
  std::string problems;
  for (const std::string& problem : attach_programs(run_dir, names)) problems += "\n" + problem;
  for (const std::string& name : names) {
    const std::string host = host_name_of(run_dir, name);
    if (control::RunDirectory::holder(run_dir, name) > 0)
      std::printf("%-10s attached (on %s)\n", name.c_str(), host.c_str());
    else if (host.empty())
      std::printf("%-10s has ended there\n", name.c_str());
  }
  if (!problems.empty()) throw Error("not everything is attached:" + problems);
}

}  // namespace

std::vector<std::string> attach_programs(const std::string& run_dir,
                                         const std::vector<std::string>& names) {
  std::vector<pid_t> proxies;
  for (const std::string& name : names) proxies.push_back(spawn_proxy(run_dir, name));
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::string problem = await_proxy(run_dir, names[i], proxies[i]); !problem.empty())
      problems.push_back(std::move(problem));
  return problems;
}

void add_attach_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "attach", "Connect again to programs on other hosts that go on without `up`");
  auto run_dir = std::make_shared<std::string>("run");
  command->add_option("--run-dir", *run_dir, "Where they were started from")->capture_default_str();
  command->callback([run_dir] { run_attach(*run_dir); });
}

}  // namespace tickpath::cli
