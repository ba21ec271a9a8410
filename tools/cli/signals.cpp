#include "tools/cli/signals.hpp"

#include <cerrno>
#include <csignal>

#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::cli {
namespace {

bool is_ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  // A blocked signal waits even where it is ignored.
  if (!is_ignored(SIGHUP)) sigaddset(&set, SIGHUP);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  file_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file_ < 0) throw SystemError("signalfd", errno);
}

Signals::~Signals() { ::close(file_); }

bool Signals::came() {
  signalfd_siginfo info;
  if (::read(file_, &info, sizeof(info)) == sizeof(info)) came_ = true;
  return came_;
}

}  // namespace tickpath::cli
