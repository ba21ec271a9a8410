#include "tools/cli/remote_proxy.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/clock/clock.hpp"
#include "common/control/admin_client.hpp"
#include "common/control/command_line.hpp"
#include "common/control/run_directory.hpp"
#include "tools/cli/commands.hpp"

namespace tickpath::cli {

namespace fs = std::filesystem;
using control::Json;

namespace {

constexpr std::int64_t kProxySecondNs = 1'000'000'000;
constexpr std::int64_t kBeatNs = kProxySecondNs / 4;  // the shortest patience is a second
constexpr std::int64_t kAgainNs = kProxySecondNs;
// What a program leaves that is needed here; it has its name here once all of it has come.
constexpr std::array<const char*, 3> kBrought{".summary.json", ".ledger.json", ".trace"};
constexpr const char* kPart = ".part";
constexpr int kCheckMs = 40'000;

sigset_t proxy_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, kProxyKill}) sigaddset(&set, number);
  return set;
}

// So that whoever waits for the proxy sees what became of the program.
[[noreturn]] void end_like(std::optional<int> status) {
  if (!status) throw Error("the program has ended, and nobody saw how");
  if (WIFEXITED(*status)) throw Exit{WEXITSTATUS(*status)};
  const rlimit none{0, 0};
  (void)::setrlimit(RLIMIT_CORE, &none);  // what is worth a look is there
  const int number = WTERMSIG(*status);
  std::fflush(nullptr);
  std::signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  std::raise(number);
  throw Exit{128 + number};
}

}  // namespace

Json agent_request(const RemoteProgram& program) {
  const Host& host = program.host;
  return {{"folder", host.folder},          {"binaries", host.binaries},
          {"run_dir", host.run_dir},        {"name", program.name},
          {"program", program.program},     {"config", program.config},
          {"settings", program.settings},   {"detached", program.detached},
          {"patience_ns", host.patience_ns}};
}

Proxy::Proxy(std::string run_dir, RemoteProgram program, bool attach)
    : run_dir_(std::move(run_dir)), program_(std::move(program)), attach_(attach) {
  const sigset_t set = proxy_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = net::FileDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (signals_.get() < 0) throw SystemError("signalfd", errno);
}

Proxy::~Proxy() {
  link_.reset();
  std::error_code none;
  fs::remove(control::admin_path(run_dir_, program_.name), none);
}

std::optional<int> Proxy::run() {
  std::error_code none;
  if (!attach_)
    for (const char* ending : kBrought) fs::remove(brought(ending), none);
  fs::remove(brought(kRanOn), none);
  connect();
  while (!ended_) turn();
  for (const char* ending : kBrought) fs::rename(brought(ending) + kPart, brought(ending), none);
  replace_file(brought(kRanOn), {program_.host.name, "\n"});
  forget_remote(run_dir_, program_.name);
  return status_;
}

std::string Proxy::brought(const char* ending) const {
  return run_dir_ + "/" + program_.name + ending;
}

void Proxy::connect() {
  asked_ = false;
  std::error_code none;
  for (const char* ending : kBrought) fs::remove(brought(ending) + kPart, none);
  const std::string admin = control::admin_path(run_dir_, program_.name);
  link_ = std::make_unique<AgentLink>(
      program_.host,
      admin + ":" + control::admin_path(program_.host.there(program_.host.run_dir), program_.name));
}

void Proxy::turn() {
  wait();
  const std::int64_t now_ns = clock::monotonic_ns();
  try {
    take_signals();  // one that the link does not take any more is sent again by the next one
    if (!link_ && now_ns >= next_ns_) connect();
    if (link_) take_messages();
    if (link_ && asked_ && !ended_) beat();
  } catch (const LinkError& error) {
    lost(error.what());
  }
}

void Proxy::wait() {
  constexpr int kLookMs = 200;
  std::array<pollfd, 3> polled{{{signals_.get(), POLLIN, 0},
                                {link_ ? link_->file() : -1, POLLIN, 0},
                                {link_ && !link_->open() ? link_->errors() : -1, POLLIN, 0}}};
  (void)::poll(polled.data(), polled.size(), kLookMs);
}

void Proxy::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    stop_signal_ = static_cast<int>(info.ssi_signo) == kProxyKill ? SIGKILL : SIGTERM;
    if (stop_ns_ == 0) stop_ns_ = clock::monotonic_ns();
    if (!asked_ && !attach_)
      throw Error(program_.host.name + ": stopped before it had begun there");
    if (link_ && asked_) link_->send({{"signal", stop_signal_}});
  }
}

void Proxy::take_messages() {
  while (!ended_) {
    const std::optional<Message> message = link_->receive();
    if (link_->open() && !asked_) {
      Json request = agent_request(program_);
      request["do"] = attach_ ? "attach" : "run";
      request["output_at"] = output_at_;
      link_->send(request);
      asked_ = true;
    }
    if (!message) return;
    take(*message);
  }
}

void Proxy::take(const Message& message) {
  const Json& head = message.head;
  if (head.contains("failed")) {
    asked_ = false;
    throw Error(program_.host.name + ": " + head["failed"].get<std::string>());
  }
  if (head.contains("running")) {
    pid_ = head["running"];
    if (lost_ns_ != 0)
      say("connected again; " + program_.name + " runs as process " + std::to_string(pid_));
    lost_ns_ = 0;
    running_ = attach_ = true;
    if (stop_signal_ != 0) link_->send({{"signal", stop_signal_}});
  } else if (head.contains("output")) {
    output_at_ += static_cast<std::int64_t>(message.body.size());
    std::fwrite(message.body.data(), 1, message.body.size(), stdout);
    std::fflush(stdout);
  } else if (head.contains("file")) {
    take_file(message);
  } else if (head.contains("ended")) {
    ended_ = true;
    if (head["ended"].is_number()) status_ = head["ended"].get<int>();
  }
}

// Only those that are known: the other end must not choose what is written here.
void Proxy::take_file(const Message& message) {
  const std::string name = message.head["file"];
  if (std::none_of(kBrought.begin(), kBrought.end(),
                   [&](const char* ending) { return name == program_.name + ending; }))
    throw Error(program_.host.name + ": sends a file that nobody asked for");
  const std::string path = run_dir_ + "/" + name + kPart;
  const net::FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::int64_t at = message.head["at"];
  const std::int64_t size = message.head["size"];
  const auto bytes = static_cast<ssize_t>(message.body.size());
  if (file.get() < 0 || ::ftruncate(file.get(), size) != 0 ||
      ::pwrite(file.get(), message.body.data(), message.body.size(), at) != bytes)
    throw SystemError("cannot write '" + path + "'", errno);
}

void Proxy::beat() {
  const std::int64_t now_ns = clock::monotonic_ns();
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kBeatNs;
  link_->send({{"beat", 1}});
}

// What runs there goes on for the host's patience, or, detached, without end.
void Proxy::lost(const std::string& why) {
  link_.reset();
  attach_ = attach_ || asked_;  // it may have been started
  if (!attach_) throw Error(why);
  const std::int64_t now_ns = clock::monotonic_ns();
  next_ns_ = now_ns + kAgainNs;
  if (lost_ns_ == 0) {
    lost_ns_ = now_ns;
    say(why.substr(program_.host.name.size() + 2) + "; " + program_.name +
        " goes on there, the connection is tried again");
  }
  const std::int64_t since_ns = stop_ns_ > lost_ns_ ? stop_ns_ : lost_ns_;
  const bool for_ever = program_.detached && stop_signal_ == 0 && running_;
  if (!for_ever && now_ns - since_ns > program_.host.patience_ns)
    throw Error(why + "\n" + still_runs());
}

void Proxy::say(const std::string& text) const {
  std::printf("%s: %s\n", program_.name.c_str(), text.c_str());
  std::fflush(stdout);
}

std::string Proxy::still_runs() const {
  const Host& host = program_.host;
  const std::string what =
      program_.detached ? "MAY STILL RUN there"
                        : "may still run there, and is ended there after " +
                              std::to_string(host.patience_ns / kProxySecondNs) + " s without us";
  return host.name + ": " + program_.name +
         (pid_ != 0 ? " (process " + std::to_string(pid_) + ")" : "") + " " + what +
         "; once the host can be reached: tickpath attach, or " + ssh_text(host) + " " +
         host.there(host.binaries) + "/tickpath status --run-dir " + host.there(host.run_dir);
}

namespace {

// Prints what the program says to its configuration, as its own --print-config.
[[noreturn]] void print_config(const RemoteProgram& program) {
  AgentLink link(program.host, {});
  link.await_open();
  Json request = agent_request(program);
  request["do"] = "print-config";
  link.send(request);
  const Message answer = link.await(kCheckMs);
  if (answer.head.contains("failed"))
    throw Error(program.host.name + ": " + answer.head["failed"].get<std::string>());
  std::fwrite(answer.body.data(), 1, answer.body.size(), stdout);
  end_like(answer.head.value("status", 1));
}

}  // namespace

void add_proxy_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "proxy", "What `up` runs here for each program of another host; nothing to run by hand");
  struct Arguments {
    std::string run_dir;
    std::string name;
    bool attach = false;
    bool print = false;
  };
  auto arguments = std::make_shared<Arguments>();
  command->add_option("run-dir", arguments->run_dir, "The run directory here")->required();
  command->add_option("name", arguments->name, "The program's instance name")->required();
  command->add_flag("--attach", arguments->attach, "It runs already");
  command->add_flag("--print-config", arguments->print, "Its configuration in effect there");
  command->callback([arguments] {
    std::signal(SIGPIPE, SIG_IGN);
    RemoteProgram program = read_remote(arguments->run_dir, arguments->name);
    if (arguments->print) print_config(program);
    std::optional<int> status;
    {
      const control::RunDirectory held(arguments->run_dir, arguments->name, program.part);
      Proxy proxy(arguments->run_dir, std::move(program), arguments->attach);
      try {
        status = proxy.run();
      } catch (const std::exception&) {
        if (!proxy.begun()) forget_remote(arguments->run_dir, arguments->name);
        throw;
      }
    }
    end_like(status);
  });
}

}  // namespace tickpath::cli
