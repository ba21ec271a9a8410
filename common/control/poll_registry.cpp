#include "common/control/poll_registry.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"

namespace tickpath::control {

// Version 1, host order. `filled` guards against a slot whose new owner is still writing.
struct PollRegistry::Slot {
  static constexpr std::size_t kWords = kCpusMax / 64;
  std::atomic<std::uint64_t> filled;
  std::atomic<std::uint64_t> cpus[kWords];
  std::atomic<std::uint64_t> arrivals;  // of slot 0 only: of the whole host
  std::uint64_t reserved[6];
};

namespace {

struct flock lock_of(std::size_t slot, short type, std::size_t slot_bytes) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(slot * slot_bytes);
  lock.l_len = 1;
  return lock;
}

constexpr auto kChooserPatience = std::chrono::seconds(1);

// A user who can write the file can truncate it. Touching what is mapped of it then ends the
// program (SIGBUS), so the file must be ours alone.
std::string why_not_ours(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return "is no plain file";
  if (status.st_uid != ::geteuid())
    return "belongs to user " + std::to_string(status.st_uid) + ": remove it";
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) return "is open to other users: remove it";
  if (status.st_nlink != 1) return "has another name, too: remove it";
  return {};
}

bool match(std::size_t thread, const std::vector<PollRegistry::Cpus>& threads,
           std::vector<std::size_t>& owner, PollRegistry::Cpus& tried) {
  for (std::size_t cpu = 0; cpu < PollRegistry::kCpusMax; ++cpu) {
    if (!threads[thread][cpu] || tried[cpu]) continue;
    tried[cpu] = true;
    if (owner[cpu] == threads.size() || match(owner[cpu], threads, owner, tried)) {
      owner[cpu] = thread;
      return true;
    }
  }
  return false;
}

}  // namespace

bool each_has_a_core(const std::vector<PollRegistry::Cpus>& threads) {
  std::vector<std::size_t> owner(PollRegistry::kCpusMax, threads.size());
  for (std::size_t thread = 0; thread < threads.size(); ++thread) {
    PollRegistry::Cpus tried;
    if (!match(thread, threads, owner, tried)) return false;
  }
  return true;
}

int pick_cpu(const std::vector<int>& cpus, const std::vector<PollRegistry::Cpus>& pollers,
             const std::function<std::vector<int>(int)>& siblings) {
  // Threads that may run on several CPUs make room; those that are bound to one do not.
  PollRegistry::Cpus taken;
  for (const PollRegistry::Cpus& poller : pollers)
    if (poller.count() == 1) taken |= poller;
  const auto is_taken = [&](int cpu) {
    return cpu < 0 || static_cast<std::size_t>(cpu) >= PollRegistry::kCpusMax ||
           taken[static_cast<std::size_t>(cpu)];
  };
  int best = -1;
  int best_cost = 0;
  for (const int cpu : cpus) {
    if (is_taken(cpu)) continue;
    const std::vector<int> core = siblings(cpu);
    const bool half = std::any_of(core.begin(), core.end(), is_taken);
    const bool first = std::find(core.begin(), core.end(), 0) != core.end();
    const int cost = (half ? 2 : 0) + (first ? 1 : 0);
    if (best >= 0 && cost >= best_cost) continue;
    best = cpu;
    best_cost = cost;
  }
  return best;
}

std::string PollRegistry::default_path() {
  return "/dev/shm/tickpath-pollers-2." + std::to_string(::geteuid());
}

PollRegistry::PollRegistry(const std::string& path) {
  static_assert(sizeof(Slot) == 192);
  constexpr std::size_t kBytes = kSlots * sizeof(Slot);
  file_ = net::FileDescriptor(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (file_.get() < 0)
    throw SystemError("cannot open the registry of polling threads " + path, errno);
  if (const std::string why = why_not_ours(file_.get()); !why.empty())
    throw Error("the registry of polling threads " + path + " " + why);
  if (const int error = reserve_on_disk(file_.get(), kBytes); error != 0)
    throw SystemError("cannot map the registry of polling threads " + path, error);
  mapping_ = Mapping(file_.get(), kBytes, Mapping::Access::kWriteTouched,
                     "the registry of polling threads " + path);
  slots_ = mapping_.at<Slot>(0);
}

// One byte behind the slots: who holds it chooses a core, nobody else does meanwhile. Held for
// microseconds, and dropped by the kernel if its holder dies; one that was stopped just then is not
// waited for. Without it two threads may choose the same core, which costs speed only.
bool PollRegistry::lock_chooser() noexcept {
  struct flock lock = lock_of(kSlots, F_WRLCK, sizeof(Slot));
  const auto deadline = std::chrono::steady_clock::now() + kChooserPatience;
  while (::fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) {
    if ((errno != EAGAIN && errno != EACCES) || std::chrono::steady_clock::now() > deadline)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void PollRegistry::unlock_chooser() noexcept {
  struct flock lock = lock_of(kSlots, F_UNLCK, sizeof(Slot));
  (void)::fcntl(file_.get(), F_OFD_SETLK, &lock);
}

int PollRegistry::announce_on_free_core(const std::vector<int>& cpus) {
  const bool locked = lock_chooser();
  const int cpu = pick_cpu(cpus, pollers(), core_siblings);
  announce(cpu < 0 ? cpus : std::vector<int>{cpu});
  if (locked) unlock_chooser();
  return cpu;
}

void PollRegistry::announce(const std::vector<int>& cpus) {
  Cpus allowed;
  for (const int cpu : cpus)
    if (cpu >= 0 && static_cast<std::size_t>(cpu) < kCpusMax)
      allowed[static_cast<std::size_t>(cpu)] = true;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    struct flock lock = lock_of(slot, F_WRLCK, sizeof(Slot));
    if (::fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) continue;
    slots_[slot].filled = 0;
    for (std::size_t word = 0; word < Slot::kWords; ++word) {
      std::uint64_t bits = 0;
      for (std::size_t bit = 0; bit < 64; ++bit)
        bits |= std::uint64_t{allowed[word * 64 + bit]} << bit;
      slots_[slot].cpus[word] = bits;
    }
    slots_[slot].filled = 1;
    own_ = slot;
    slots_[0].arrivals.fetch_add(1);
    return;
  }
}

const std::atomic<std::uint64_t>& PollRegistry::arrivals() const noexcept {
  return slots_[0].arrivals;
}

bool PollRegistry::held_by_other(std::size_t slot) const {
  struct flock lock = lock_of(slot, F_WRLCK, sizeof(Slot));
  return ::fcntl(file_.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::vector<PollRegistry::Cpus> PollRegistry::pollers() const {
  std::vector<Cpus> result;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    // Most slots were never used; the kernel is asked about the others only.
    if (slots_[slot].filled == 0 || (slot != own_ && !held_by_other(slot))) continue;
    Cpus cpus;
    for (std::size_t word = 0; word < Slot::kWords; ++word) {
      const std::uint64_t bits = slots_[slot].cpus[word];
      for (std::size_t bit = 0; bit < 64; ++bit)
        if ((bits >> bit & 1) != 0) cpus[word * 64 + bit] = true;
    }
    result.push_back(cpus);
  }
  return result;
}

bool PollRegistry::everyone_has_a_core() const {
  return own_ != kSlots && each_has_a_core(pollers());
}

}  // namespace tickpath::control
