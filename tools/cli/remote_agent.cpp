#include "tools/cli/remote_agent.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/replace_file.hpp"
#include "common/clock/clock.hpp"
#include "common/control/run_directory.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"

namespace tickpath::cli {

namespace fs = std::filesystem;
using control::Json;

namespace {

constexpr int kRequestMs = 20'000;
constexpr int kSayMs = 10'000;
constexpr int kPrintMs = 30'000;
constexpr std::int64_t kKillAfterNs = 20'000'000'000;  // as `tickpath up` waits for a program
constexpr std::size_t kPiece = 65'536;

std::string text(const Json& request, const char* key) { return request.at(key); }

std::string binary(const Json& request, const std::string& program) {
  return text(request, "binaries") + "/" + program;
}

// As Pipeline starts those of its own host.
std::vector<std::string> program_arguments(const Json& request) {
  const std::string name = text(request, "name");
  const std::string run_dir = text(request, "run_dir");
  std::vector<std::string> arguments{binary(request, text(request, "program")),
                                     run_dir + "/" + name + ".toml",
                                     "--run-dir",
                                     run_dir,
                                     "--set",
                                     "name=" + name};
  for (const std::string setting : request.at("settings"))
    arguments.insert(arguments.end(), {"--set", setting});
  return arguments;
}

void enter_folder(const Json& request) {
  const std::string folder = text(request, "folder");
  if (::chdir(folder.c_str()) != 0)
    throw SystemError("cannot use the folder '" + folder + "'", errno);
}

void write_config(const Json& request) {
  control::make_run_directory(text(request, "run_dir"));
  replace_file(text(request, "run_dir") + "/" + text(request, "name") + ".toml",
               {text(request, "config")});
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What may keep a program from running here; empty: nothing.
std::string program_problem(const Json& request, const std::string& name) {
  const std::string run_dir = text(request, "run_dir");
  if (const int pid = control::RunDirectory::holder(run_dir, name); pid > 0)
    return "'" + name + "' already runs in '" + run_dir + "' as process " + std::to_string(pid) +
           ": tickpath attach gives it back to the run directory here that it was started from, "
           "and tickpath down stops it then; or, there, tickpath down --run-dir " +
           run_dir;
  const std::string path = binary(request, program_of(name));
  if (::access(path.c_str(), X_OK) != 0)
    return SystemError("cannot execute '" + path + "'", errno).what();
  const std::string output = run_dir + "/" + name + ".check";
  Child child({path, "--version"}, output, {});
  const bool answered = child.wait(kPrintMs) && child.succeeded();
  std::string version = read_whole(output);
  fs::remove(output);
  version = version.substr(0, version.find('\n'));
  if (answered && version == std::string("tickpath ") + TICKPATH_VERSION) return {};
  return "'" + path + "' is another version: '" + version +
         "', not 'tickpath " TICKPATH_VERSION "'";
}

}  // namespace

HostedProgram::HostedProgram(const Json& request)
    : run_dir_(text(request, "run_dir")),
      name_(text(request, "name")),
      stem_(run_dir_ + "/" + name_) {}

HostedProgram HostedProgram::start(const Json& request) {
  HostedProgram program(request);
  if (const int pid = control::RunDirectory::holder(program.run_dir_, program.name_); pid > 0)
    throw Error("'" + program.name_ + "' already runs in '" + program.run_dir_ + "' as process " +
                std::to_string(pid));
  write_config(request);
  for (const char* ending : {".ended", ".trace", ".summary.json", ".ledger.json"})
    fs::remove(program.path(ending));
  program.take_charge();
  program.child_ = std::make_unique<Child>(program_arguments(request), program.path(".out"),
                                           std::map<std::string, std::string>{});
  program.pid_ = program.child_->pid();
  return program;
}

HostedProgram HostedProgram::find(const Json& request) {
  HostedProgram program(request);
  program.take_charge();
  const pid_t pid = control::RunDirectory::holder(program.run_dir_, program.name_);
  if (pid <= 0) return program;
  // The descriptor is of one process for good; only then is it looked which one that is.
  program.process_ = net::FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (control::RunDirectory::holder(program.run_dir_, program.name_) == pid) program.pid_ = pid;
  return program;
}

bool HostedProgram::ended() {
  if (child_) return child_->ended();
  pollfd polled{process_.get(), POLLIN, 0};
  return pid_ == 0 || ::poll(&polled, 1, 0) > 0;
}

void HostedProgram::signal(int number) {
  if (child_)
    child_->signal(number);
  else if (pid_ != 0)
    (void)::syscall(SYS_pidfd_send_signal, process_.get(), number, nullptr, 0);
}

Json HostedProgram::status() {
  if (child_) {
    replace_file(path(".ended"), {std::to_string(child_->status())});
    return child_->status();
  }
  // Its parent collects it a moment after we see that it has ended.
  constexpr int kLooks = 40;
  for (int look = 0; look < kLooks; ++look) {
    int status = 0;
    if (std::ifstream(path(".ended")) >> status) return status;
    constexpr int kBetweenMs = 50;
    (void)::poll(nullptr, 0, kBetweenMs);
  }
  return nullptr;
}

void HostedProgram::take_charge() const {
  replace_file(path(".agent"), {std::to_string(::getpid())});
}

bool HostedProgram::in_charge() const {
  pid_t pid = 0;
  std::ifstream(path(".agent")) >> pid;
  return pid == ::getpid();
}

Agent::Agent(int input, int output)
    : input_(input), output_(output), heard_ns_(clock::monotonic_ns()) {
  (void)::fcntl(input_, F_SETFL, O_NONBLOCK);
  (void)::fcntl(output_, F_SETFL, O_NONBLOCK);
}

void Agent::run() {
  say({{"agent", kAgentProtocol}, {"version", TICKPATH_VERSION}, {"machine", machine_id()}});
  try {
    const Json asked = request();
    const std::string what = text(asked, "do");
    enter_folder(asked);
    if (what == "probe")
      probe(asked);
    else if (what == "print-config")
      print_config(asked);
    else if (what == "run")
      host(HostedProgram::start(asked), asked);
    else if (what == "attach")
      host(HostedProgram::find(asked), asked);
    else
      throw Error("the agent cannot '" + what + "'");
  } catch (const Json::exception& error) {
    say({{"failed", std::string("not what tickpath asks: ") + error.what()}});
  } catch (const std::exception& error) {
    say({{"failed", error.what()}});
  }
}

Json Agent::request() {
  const std::int64_t end_ns = heard_ns_ + std::int64_t{kRequestMs} * 1'000'000;
  while (!lost_ && clock::monotonic_ns() < end_ns) {
    std::array<char, kPiece> buffer;
    const ssize_t got = ::read(input_, buffer.data(), buffer.size());
    if (got == 0) break;
    if (got > 0) reader_.append({buffer.data(), static_cast<std::size_t>(got)});
    if (auto message = reader_.next()) return std::move(message->head);
    constexpr int kLookMs = 100;
    pollfd polled{input_, POLLIN, 0};
    (void)::poll(&polled, 1, kLookMs);
  }
  throw Error("no request came; tickpath up runs this, people do not");
}

void Agent::probe(const Json& request) {
  Json problems = Json::array();
  control::make_run_directory(text(request, "run_dir"));
  for (const std::string name : request.at("programs")) {
    if (const std::string problem = program_problem(request, name); !problem.empty())
      problems.push_back(problem);
  }
  say({{"problems", problems}});
}

void Agent::print_config(const Json& request) {
  write_config(request);
  std::vector<std::string> arguments = program_arguments(request);
  arguments.emplace_back("--print-config");
  const std::string output = text(request, "run_dir") + "/" + text(request, "name") + ".check";
  Child child(arguments, output, {});
  if (!child.wait(kPrintMs)) throw Error("'" + arguments[0] + "' does not end");
  const std::string printed = read_whole(output);
  fs::remove(output);
  say({{"status", child.status()}}, std::string_view(printed).substr(0, MessageReader::kBodyMax));
}

void Agent::host(HostedProgram program, const Json& request) {
  detached_ = request.at("detached");
  patience_ns_ = request.at("patience_ns");
  output_at_ = request.value("output_at", std::int64_t{0});
  if (program.pid() != 0) say({{"running", program.pid()}});
  while (!program.ended()) {
    constexpr int kLookMs = 50;
    std::array<pollfd, 2> polled{
        {{program.descriptor(), POLLIN, 0}, {lost_ ? -1 : input_, POLLIN, 0}}};
    (void)::poll(polled.data(), polled.size(), kLookMs);
    take_requests(program);
    pass_on_output(program);
    look_after(program);
  }
  const Json status = program.status();
  if (lost_) return;
  pass_on_output(program);
  pass_on_files(program);
  say({{"ended", status}});
}

void Agent::take_requests(HostedProgram& program) {
  while (!lost_) {
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(input_, buffer.data(), buffer.size());
    if (got == 0) return lose();
    if (got < 0) break;
    reader_.append({buffer.data(), static_cast<std::size_t>(got)});
    try {
      while (const auto message = reader_.next()) obey(message->head, program);
    } catch (const std::exception&) {
      return lose();  // nobody of ours, and no reason to end the program at once
    }
  }
}

void Agent::obey(const Json& request, HostedProgram& program) {
  heard_ns_ = clock::monotonic_ns();
  const int number = request.value("signal", 0);
  if (number == SIGTERM || number == SIGKILL) program.signal(number);
}

// While the connection has no room it waits in the file.
void Agent::pass_on_output(const HostedProgram& program) {
  const net::FileDescriptor file(
      ::open(program.path(".out").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::array<char, 2048> buffer;  // with its head less than a pipe takes at once
  while (!lost_ && file.get() >= 0) {
    pollfd polled{output_, POLLOUT, 0};
    if (::poll(&polled, 1, 0) == 0) return;
    const ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), output_at_);
    if (got <= 0) return;
    say({{"output", 1}}, {buffer.data(), static_cast<std::size_t>(got)});
    output_at_ += got;
  }
}

void Agent::pass_on_files(const HostedProgram& program) {
  for (const char* ending : {".summary.json", ".ledger.json", ".trace"})
    pass_on_file(program.path(ending), program.name() + ending);
}

// A trace has room for more than a run has stamped, and is sparse: so it stays.
void Agent::pass_on_file(const std::string& path, const std::string& name) {
  const net::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return;
  std::array<char, kPiece> buffer;
  for (std::int64_t at = 0; !lost_;) {
    const ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), at);
    if (got <= 0) break;
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
    if (piece.find_first_not_of('\0') != std::string_view::npos)
      say({{"file", name}, {"at", at}, {"size", status.st_size}}, piece);
    at += got;
  }
}

// Ends what nobody can end any more. Another agent may be in charge by now.
void Agent::look_after(HostedProgram& program) {
  const std::int64_t now_ns = clock::monotonic_ns();
  if (now_ns - heard_ns_ > patience_ns_) lose();
  if (!program.in_charge()) return lose();
  if (!lost_ || detached_ || now_ns - heard_ns_ < patience_ns_) return;
  if (asked_ns_ == 0) {
    asked_ns_ = now_ns;
    program.signal(SIGTERM);
  } else if (now_ns - asked_ns_ > kKillAfterNs) {
    program.signal(SIGKILL);
  }
}

void Agent::say(const Json& head, std::string_view body) {
  if (!lost_ && !write_all(output_, encoded(head, body), kSayMs)) lose();
}

// ssh's end here may go: its pipes are not ours any more.
void Agent::lose() {
  if (lost_) return;
  lost_ = true;
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int file : {input_, output_, STDERR_FILENO}) (void)::dup2(nothing, file);
  ::close(nothing);
}

void add_agent_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "agent", "What `up` runs by ssh on the other hosts of hosts.toml; nothing to run by hand");
  command->callback([] {
    // The end of a connection ends nothing by itself.
    std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    (void)::setsid();
    // What is started here must not keep ssh's pipes open.
    const int input = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int file : {STDIN_FILENO, STDOUT_FILENO}) (void)::dup2(nothing, file);
    ::close(nothing);
    Agent(input, output).run();
  });
}

}  // namespace tickpath::cli
