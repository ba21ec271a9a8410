// fuzz(): the events run in a process of their own, which this one watches.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "strategy/test_bench/bench.hpp"
#include "strategy/test_bench/fuzz_events.hpp"

namespace tickpath {

struct FuzzAccess {
  static TestBench::Impl& impl(TestBench& bench) { return *bench.impl_; }
};

namespace {

// What the child says; the parent reads it also when the child is gone.
struct Progress {
  std::atomic<std::uint32_t> step{0};
  std::atomic<const char*> event{""};  // a literal: at the same place in both
  FuzzResult result{};
  bool done = false;
  char failure[1'024] = {};
};
static_assert(std::atomic<const char*>::is_always_lock_free);

class SharedProgress {
 public:
  SharedProgress() {
    void* const memory = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw SystemError("fuzz: no memory to watch the strategy by", errno);
    progress_ = new (memory) Progress;
  }
  ~SharedProgress() { ::munmap(progress_, sizeof(Progress)); }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  Progress& operator*() const noexcept { return *progress_; }

 private:
  Progress* progress_;
};

void say_failure(Progress& progress, const std::string& text) {
  const std::size_t size = std::min(text.size(), sizeof(progress.failure) - 1);
  std::memcpy(progress.failure, text.data(), size);
  progress.failure[size] = '\0';
}

// The last tenth of the steps comes behind `stop`: its answers, and whatever else.
void run_events(TestBench& bench, test_bench::FuzzEvents& events, std::uint32_t steps,
                Progress& progress) {
  const std::uint64_t malformed = bench.malformed();
  for (std::uint32_t step = 1; step <= steps; ++step) {
    const bool stops = step == steps - steps / 10;
    progress.event.store(stops ? "stop" : events.choose(), std::memory_order_relaxed);
    progress.step.store(step, std::memory_order_relaxed);
    if (stops) {
      bench.stop();
      ++progress.result.events;
    } else {
      (void)events.send(progress.result);
    }
    if (bench.malformed() != malformed)
      return say_failure(progress,
                         "the strategy asked for an order whose terms do not go together "
                         "(TICKPATH_INVALID)");
  }
  progress.done = true;
}

[[noreturn]] void be_child(TestBench& bench, std::uint64_t seed, std::uint32_t steps,
                           Progress& progress) {
  try {
    auto& impl = FuzzAccess::impl(bench);
    impl.simulates_ = false;
    std::vector<std::string> listings, venues;
    for (const test_bench::Listing& each : impl.market_.listings()) listings.push_back(each.name);
    for (std::size_t venue = 0; venue < impl.market_.venues(); ++venue)
      venues.push_back(impl.market_.venue_name(venue));
    (void)bench.take_requests();
    const auto instruments =
        static_cast<std::uint32_t>(impl.market_.venues()) * impl.options_.instruments_max;
    test_bench::FuzzEvents events(bench, std::move(listings), std::move(venues), instruments,
                                  impl.options_.strategy_id, seed);
    run_events(bench, events, steps, progress);
  } catch (const std::exception& error) {
    say_failure(progress, error.what());
  }
  ::_exit(0);
}

// Waits for the child's end. False: it has stayed in one event for too long.
bool outlives_its_events(pid_t child, Progress& progress, std::chrono::milliseconds event_max) {
  const int file = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (file < 0) throw SystemError("fuzz: cannot watch the strategy's process", errno);
  std::uint32_t seen = 0;
  bool ended = false;
  do {
    seen = progress.step.load(std::memory_order_relaxed);
    pollfd polled{file, POLLIN, 0};
    ended = ::poll(&polled, 1, static_cast<int>(event_max.count())) > 0;
  } while (!ended && progress.step.load(std::memory_order_relaxed) != seen);
  ::close(file);
  if (!ended) ::kill(child, SIGKILL);
  return ended;
}

std::string end_of(int status) {
  if (WIFSIGNALED(status)) return std::string("it crashed: ") + ::strsignal(WTERMSIG(status));
  return "it ended the process, with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

FuzzResult fuzz(TestBench& bench, std::uint64_t seed, std::uint32_t steps,
                const FuzzLimits& limits) {
  if (FuzzAccess::impl(bench).market_.listings().empty())
    throw TestBenchError("fuzz() needs a symbol: give TestBenchOptions::symbols");
  if (bench.failed()) throw StrategyFailure(bench.failure());
  const SharedProgress shared;
  Progress& progress = *shared;
  const pid_t child = ::fork();
  if (child < 0) throw SystemError("fuzz: cannot make a process", errno);
  if (child == 0) be_child(bench, seed, steps, progress);
  const bool ended = outlives_its_events(child, progress, limits.event_max);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (progress.done && WIFEXITED(status) && WEXITSTATUS(status) == 0) return progress.result;
  std::string why = progress.failure;
  if (!ended)
    why = "it hangs: no end after " + std::to_string(limits.event_max.count()) + " ms";
  else if (why.empty())
    why = end_of(status);
  throw StrategyFailure("fuzz seed " + std::to_string(seed) + ", step " +
                        std::to_string(progress.step.load(std::memory_order_relaxed)) + " (" +
                        progress.event.load(std::memory_order_relaxed) + "): " + why);
}

}  // namespace tickpath
