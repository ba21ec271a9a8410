#include "tools/perf/lat_process.hpp"

#include <cstdio>
#include <new>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tickpath::rdma::perf {
namespace {

// The server's view of its parent, which the kernel kills it with.
class ParentProcess final : public PeerWatch {
 public:
  void check() override {
    if (::getppid() == 1) throw Error("the client process ended");
  }
};

void serve_commands(LatPeer& peer, LatControl& control, PeerWatch& watch) {
  for (std::uint32_t last = 0;;) {
    for (std::uint32_t spins = 1; control.command.load(std::memory_order_seq_cst) == last;
         ++spins) {
      cpu_relax();
      if (spins % (1u << 20) == 0) watch.check();
    }
    last = control.command.load(std::memory_order_seq_cst);
    if (control.exit) return;
    peer.clear_landing(control.size_bytes);
    control.ready.store(last + 1, std::memory_order_seq_cst);  // 1 was "listening"
    peer.set_pace(control.pace);
    peer.run_server(control.operation, control.size_bytes, control.count);
  }
}

[[noreturn]] void server_main(const LatOptions& options, LatControl& control, int cpu,
                              const std::string& endpoint) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    ParentProcess parent;
    pin_this_thread(cpu);
    LatPeer peer(options, control, parent);
    peer.serve(endpoint);
    serve_commands(peer, control, parent);
  } catch (const std::exception& error) {
    std::snprintf(control.failure, sizeof(control.failure), "%s", error.what());
    control.failed.store(true, std::memory_order_seq_cst);
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

SharedControl::SharedControl() {
  void* memory = ::mmap(nullptr, sizeof(LatControl), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw SystemError("cannot map the control page", errno);
  control_ = new (memory) LatControl;
}

SharedControl::~SharedControl() { ::munmap(control_, sizeof(LatControl)); }

ServerProcess::ServerProcess(const LatOptions& options, LatControl& control, int cpu,
                             const std::string& endpoint)
    : control_(control), pid_(::fork()) {
  if (pid_ < 0) throw SystemError("cannot fork the peer process", errno);
  if (pid_ == 0) server_main(options, control, cpu, endpoint);
}

ServerProcess::~ServerProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void ServerProcess::check() {
  if (control_.failed.load(std::memory_order_seq_cst)) {
    throw Error(std::string("the peer process failed: ") + control_.failure);
  }
  if (::waitpid(pid_, nullptr, WNOHANG) == 0) return;
  pid_ = -1;
  throw Error("the peer process ended during the measurement");
}

void ServerProcess::finish() {
  control_.exit = true;
  control_.command.fetch_add(1, std::memory_order_seq_cst);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace tickpath::rdma::perf
