#include "tests/bench/token_ring.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>
#include <vector>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/control/datapath_thread.hpp"
#include "common/control/poll_registry.hpp"
#include "common/control/waiter.hpp"

namespace tickpath::bench {
namespace {

using control::WaitMode;

// One line each: a process polls its own and writes its neighbour's.
struct alignas(kCacheLineBytes) Line {
  std::atomic<std::uint64_t> token{0};
};
struct Shared {
  Line lines[kProcessesMax];
  Line ready;
};

// A member of the ring: hands the token on when it comes.
class Member final : public control::Datapath {
 public:
  Member(Shared& shared, std::size_t index, std::size_t count)
      : mine_(shared.lines[index].token), next_(shared.lines[(index + 1) % count].token) {}

  bool turn() noexcept override {
    // Pairs with the release below: the token is all that travels.
    const std::uint64_t token = mine_.load(std::memory_order_acquire);
    if (token == last_) return false;
    last_ = token;
    next_.store(token, std::memory_order_release);
    return true;
  }

 private:
  std::atomic<std::uint64_t>& mine_;
  std::atomic<std::uint64_t>& next_;
  std::uint64_t last_ = 0;
};

// The first member: starts a round when the one before is over, and times it.
void time_rounds(Shared& shared, std::size_t rounds, control::Waiter& waiter,
                 control::Datapath& datapath, Samples& samples) {
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const auto start = tsc_now();
    // Pairs with the acquire in turn(), and back.
    shared.lines[1].token.store(round, std::memory_order_release);
    while (shared.lines[0].token.load(std::memory_order_acquire) != round) waiter.wait(datapath);
    samples.add((tsc_now() - start).value);
  }
}

struct Registered {
  control::PollRegistry registry;
  Registered() { registry.announce(allowed_cpus()); }
  WaitMode mode() const {
    return registry.everyone_has_a_core() ? WaitMode::kSpin : WaitMode::kYield;
  }
};

[[noreturn]] void run_member(Shared& shared, std::size_t index, std::size_t count, WaitMode mode) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Registered registered;
  shared.ready.token.fetch_add(1);
  if (mode == WaitMode::kAuto) {
    while (shared.ready.token.load() < count) control::Waiter::yield();
    mode = registered.mode();
  }
  control::Waiter waiter(mode, 0);
  Member member(shared, index, count);
  for (;;)
    if (!member.turn()) waiter.wait(member);
}

}  // namespace

RingResult run_token_ring(WaitMode mode, std::size_t count, std::size_t rounds) {
  RingResult result{Samples(rounds), mode};
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  auto& shared = *new (memory) Shared;
  std::vector<pid_t> children;
  for (std::size_t i = 1; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) run_member(shared, i, count, mode);
    children.push_back(child);
  }
  {
    Registered registered;
    shared.ready.token.fetch_add(1);
    while (shared.ready.token.load() < count) control::Waiter::yield();
    if (mode == WaitMode::kAuto) result.effective = registered.mode();
    control::Waiter waiter(result.effective, 0);
    Member unused(shared, 0, count);
    // Busy polling on too few cores waits for the scheduler's tick: a round takes milliseconds.
    time_rounds(shared, rounds / 10 + 1, waiter, unused, result.samples);
    result.samples.clear();
    time_rounds(shared, rounds, waiter, unused, result.samples);
  }
  for (const pid_t child : children) ::kill(child, SIGKILL);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  ::munmap(memory, sizeof(Shared));
  return result;
}

}  // namespace tickpath::bench
