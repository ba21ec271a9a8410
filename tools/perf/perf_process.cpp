#include "tools/perf/perf_process.hpp"

#include <cerrno>
#include <filesystem>
#include <new>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::rdma::perf {
namespace {

constexpr int kEndNapsMax = 3'000;     // of a millisecond
constexpr int kStartLimitMs = 30'000;  // an emulated machine with one slow CPU takes seconds

void tell(int descriptor, char kind, const std::string& text) {
  const std::string line = kind + text;
  [[maybe_unused]] const ssize_t written = ::write(descriptor, line.data(), line.size());
}

[[noreturn]] void server_main(const PerfServeOptions& options, int descriptor) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  bool told = false;
  PerfServeEvents events;
  events.listening = [&](const std::string& endpoint, const DeviceInfo&) {
    tell(descriptor, 'L', endpoint);
    ::close(descriptor);
    told = true;
  };
  try {
    serve_perf(options, events);
  } catch (const std::exception& error) {
    if (!told) tell(descriptor, 'F', error.what());
    ::_exit(1);
  }
  ::_exit(0);
}

// Until the writer closes it.
std::string read_all(int descriptor) {
  std::string text;
  char buffer[512];
  pollfd ready{descriptor, POLLIN, 0};
  while (::poll(&ready, 1, kStartLimitMs) == 1) {
    const ssize_t count = ::read(descriptor, buffer, sizeof(buffer));
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

SharedFloor::SharedFloor() {
  void* memory = ::mmap(nullptr, sizeof(FloorLines), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw SystemError("cannot map the floor's cache lines", errno);
  lines_ = new (memory) FloorLines;
}

SharedFloor::~SharedFloor() { ::munmap(lines_, sizeof(FloorLines)); }

ForkedServer::ForkedServer(const PerfServeOptions& options) {
  int ends[2];
  if (::pipe(ends) != 0) throw SystemError("cannot make a pipe", errno);
  pid_ = ::fork();
  if (pid_ < 0) {
    const int cause = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    throw SystemError("cannot fork the server process", cause);
  }
  if (pid_ == 0) {
    ::close(ends[0]);
    server_main(options, ends[1]);
  }
  ::close(ends[1]);
  const std::string said = read_all(ends[0]);
  ::close(ends[0]);
  if (!said.empty() && said[0] == 'L') {
    endpoint_ = said.substr(1);
    return;
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  throw Error("the server process: " + (said.empty() ? "did not start" : said.substr(1)));
}

void ForkedServer::finish() {
  for (int naps = 0; pid_ > 0 && naps < kEndNapsMax; ++naps) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    if (pid_ > 0) ::usleep(1000);
  }
}

ForkedServer::~ForkedServer() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  // What it would have taken away itself; a host:port is no file.
  std::error_code ignored;
  std::filesystem::remove(endpoint_, ignored);
}

}  // namespace tickpath::rdma::perf
