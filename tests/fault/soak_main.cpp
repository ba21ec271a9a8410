// Counts false alarms: a pipeline trades while every core is kept busy, nobody dies, and nobody may
// be called dead. At the end mdh is stopped once, to see that a death is still noticed.
//   fault_soak [SECONDS]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "tests/fault/fault_run.hpp"

namespace tickpath::test_support {
namespace {

struct Watch {
  const char* program;
  const char* group;
  const char* peer;
};
constexpr Watch kWatches[] = {{"strategy", "feed", "mdh"}, {"risk", "feed", "mdh"},
                              {"oeg", "market", "mdh"},    {"strategy", "gateway", "oeg"},
                              {"risk", "orders", "oeg"},   {"oeg", "strategies", "strategy"},
                              {"oeg", "risk", "risk"}};

// Processes that do nothing but compute, two a core; they end with this process. TICKPATH_SOAK_NICE
// lowers them, for machines that others need too.
class BusyMachine {
 public:
  BusyMachine() {
    const char* const nice = std::getenv("TICKPATH_SOAK_NICE");
    const std::size_t count = 2 * allowed_cpus().size();
    for (std::size_t i = 0; i < count; ++i) {
      const pid_t id = ::fork();
      if (id == 0) compute(nice != nullptr ? std::atoi(nice) : 0);
      if (id > 0) children_.push_back(id);
    }
  }
  ~BusyMachine() {
    for (const pid_t id : children_) ::kill(id, SIGKILL);
    for (const pid_t id : children_) ::waitpid(id, nullptr, 0);
  }
  BusyMachine(const BusyMachine&) = delete;
  BusyMachine& operator=(const BusyMachine&) = delete;
  std::size_t size() const noexcept { return children_.size(); }

 private:
  [[noreturn]] static void compute(int nice) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpriority(PRIO_PROCESS, 0, nice);
    volatile std::uint64_t sum = 0;
    for (std::uint64_t i = 0;; ++i) sum = sum + i;
  }
  std::vector<pid_t> children_;
};

std::uint64_t alarms(const FaultRun& run, bool print) {
  std::uint64_t total = 0;
  for (const Watch& watch : kWatches) {
    const std::uint64_t count =
        run.counter(watch.program, watch.group, std::string(watch.peer) + "_losses");
    total += count;
    if (print && count != 0)
      std::printf("  %s called %s dead %llu times\n", watch.program, watch.peer,
                  static_cast<unsigned long long>(count));
  }
  return total;
}

// Under this load only that it comes counts; the figure is for the reader.
bool notices_a_stop(FaultRun& run) {
  const std::uint64_t before = run.counter("oeg", "market", "mdh_losses");
  const std::int64_t stopped_ns = monotonic_ns();
  run.signal("mdh", SIGSTOP);
  const bool noticed = run.wait_counter_above("oeg", "market", "mdh_losses", before);
  const auto at_ns = static_cast<std::int64_t>(run.counter("oeg", "market", "mdh_lost_at_ns"));
  run.signal("mdh", SIGCONT);
  if (noticed)
    std::printf("mdh stopped under this load: oeg noticed after %.1f ms\n",
                static_cast<double>(at_ns - stopped_ns) / 1e6);
  return noticed;
}

int soak(double seconds) {
  FaultRun run;
  run.begin();
  const std::uint64_t at_start = alarms(run, false);
  std::uint64_t found = 0;
  bool noticed = false;
  {
    const BusyMachine busy;
    std::printf("%zu busy processes on %zu cores, %.0f s\n", busy.size(), allowed_cpus().size(),
                seconds);
    std::fflush(stdout);
    const std::int64_t end_ns = monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
    while (monotonic_ns() < end_ns) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    found = alarms(run, true) - at_start;
    for (const char* const program : {"mdh", "strategy", "oeg", "risk"})
      std::printf("  longest gap between two beats of %s: %.1f ms\n", program,
                  static_cast<double>(run.counter(program, "heartbeat", "gap_ns_max")) / 1e6);
    std::printf("%llu false alarms\n", static_cast<unsigned long long>(found));
    noticed = notices_a_stop(run);
  }
  std::fflush(stdout);
  (void)run.end();
  return found == 0 && noticed ? 0 : 1;
}

}  // namespace
}  // namespace tickpath::test_support

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  if (seconds <= 0) {
    std::fprintf(stderr, "usage: fault_soak [SECONDS]\n");
    return 2;
  }
  try {
    return tickpath::test_support::soak(seconds);
  } catch (const tickpath::Error& error) {
    std::fprintf(stderr, "fault_soak: %s\n", error.what());
    return 1;
  }
}
