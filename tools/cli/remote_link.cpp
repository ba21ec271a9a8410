#include "tools/cli/remote_link.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/printable.hpp"
#include "common/clock/clock.hpp"

namespace tickpath::cli {

using control::Json;

namespace {

constexpr int kSendMs = 10'000;
constexpr int kEndMs = 2'000;

// Exit statuses of shells, and of ssh, ssh(1).
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;
constexpr int kSshFailed = 255;

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of("\r\n");
  if (end == std::string::npos) return {};
  const std::size_t before = text.find_last_of("\r\n", end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return escaped_controls(text.substr(begin, end - begin + 1));
}

}  // namespace

AgentLink::AgentLink(const Host& host, const std::string& forward)
    : host_(host),
      ssh_(std::make_unique<Child>(agent_command(host, forward), pipes_)),
      begin_ns_(clock::monotonic_ns()) {}

LinkError AgentLink::error(const std::string& what) const {
  return LinkError(host_.name + ": " + what);
}

std::optional<Message> AgentLink::receive() {
  read_errors();
  read_output();
  std::optional<Message> message;
  try {
    message = reader_.next();
    if (message && !open()) {
      greet(*message);
      message = reader_.next();
    }
  } catch (const LinkError&) {
    throw;
  } catch (const Error& wrong) {
    throw error(std::string("'") + wrong.what() +
                "' came instead of an answer of tickpath: the shell there must print nothing when "
                "ssh runs a command (look at its start-up files)");
  }
  if (message) return message;
  if (ended_) over();
  if (!open() && clock::monotonic_ns() - begin_ns_ > kOpenNs)
    throw error("no answer within " + std::to_string(kOpenNs / 1'000'000'000) +
                " s; try: " + ssh_text(host_) + " true");
  return std::nullopt;
}

Message AgentLink::await(int timeout_ms) {
  const std::int64_t end_ns = clock::monotonic_ns() + std::int64_t{timeout_ms} * 1'000'000;
  for (;;) {
    if (std::optional<Message> message = receive()) return std::move(*message);
    if (clock::monotonic_ns() > end_ns)
      throw error("no answer of the agent within " + std::to_string(timeout_ms / 1000) + " s");
    wait();
  }
}

void AgentLink::await_open() {
  while (!open() && !receive() && !open()) wait();
}

void AgentLink::wait() const {
  constexpr int kLookMs = 100;
  std::array<pollfd, 2> polled{{{file(), POLLIN, 0}, {errors(), POLLIN, 0}}};
  (void)::poll(polled.data(), polled.size(), kLookMs);
}

void AgentLink::send(const Json& head) {
  if (!write_all(pipes_.input.get(), encoded(head), kSendMs)) {
    read_errors();
    over();
  }
}

void AgentLink::read_output() {
  std::array<char, 65'536> buffer;
  // Bounded: what has come is looked at before more is taken.
  for (int i = 0; i < 16; ++i) {
    const ssize_t got = ::read(file(), buffer.data(), buffer.size());
    if (got == 0) ended_ = true;
    if (got <= 0) return;
    reader_.append({buffer.data(), static_cast<std::size_t>(got)});
  }
}

void AgentLink::read_errors() {
  constexpr std::size_t kKept = 4096;
  std::array<char, 4096> buffer;
  for (int i = 0; i < 16; ++i) {
    const ssize_t got = ::read(errors(), buffer.data(), buffer.size());
    if (got <= 0) return;
    error_text_.append(buffer.data(), static_cast<std::size_t>(got));
    if (error_text_.size() > kKept) error_text_.erase(0, error_text_.size() - kKept);
  }
}

void AgentLink::greet(const Message& message) {
  const Json& head = message.head;
  const int protocol = head.value("agent", 0);
  const std::string version = head.value("version", "?");
  if (protocol != kAgentProtocol || version != TICKPATH_VERSION)
    throw error(host_.there(host_.binaries) + "/tickpath is version " + version + " (agent " +
                std::to_string(protocol) + "), this one " + TICKPATH_VERSION + " (agent " +
                std::to_string(kAgentProtocol) + "): all hosts have the same");
  machine_ = head.value("machine", "?");
}

// Its end is not known before it is collected; why, is in its last words.
void AgentLink::over() {
  if (!ssh_->wait(kEndMs)) {
    ssh_->signal(SIGKILL);
    (void)ssh_->wait(kEndMs);
  }
  read_errors();
  throw error(why_over());
}

std::string AgentLink::why_over() const {
  const std::string said = last_line(error_text_);
  const std::string try_it = "; try: " + ssh_text(host_) + " true";
  const int code = WIFEXITED(ssh_->status()) ? WEXITSTATUS(ssh_->status()) : kSshFailed;
  const std::string tickpath = host_.there(host_.binaries) + "/tickpath";
  if (open()) return "the connection has ended" + (said.empty() ? "" : " (" + said + ")");
  if (code == kNotFound)
    return "there is no " + tickpath +
           ": folder and binaries in hosts.toml say where it is, and "
           "the same version must be built there";
  if (code == kCannotExecute) return tickpath + " cannot be executed (" + said + ")";
  if (code != kSshFailed)
    return tickpath + " agent ended with " + std::to_string(code) + " (" + said +
           "): is it another version?";
  if (error_text_.find("Host key verification failed") != std::string::npos)
    return error_text_.find("IDENTIFICATION HAS CHANGED") != std::string::npos
               ? "ANOTHER HOST KEY than the one that ssh knows: another machine, or somebody in "
                 "between. Where it is right, correct known_hosts; nothing was sent"
               : "ssh does not know its host key: check it and put it into known_hosts (" +
                     ssh_text(host_) + ", once, by hand)";
  if (error_text_.find("Permission denied") != std::string::npos)
    return "ssh is not let in (" + said + "): it needs a key that asks for no password" + try_it;
  return "cannot be reached (" + (said.empty() ? ssh_->how_it_ended() : said) + ")" + try_it;
}

}  // namespace tickpath::cli
