// Which threads of this host poll, and on which cores they may: what wait = "auto" decides by.
//
// One small file of slots, mapped by everyone. A slot belongs to whoever holds the record lock on
// its first byte; the kernel drops the lock when the process ends, however it ends, so the dead do
// not count. (Open file description locks, fcntl(2): two registrations in one process do not share
// them.)
#pragma once

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/mapping.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::control {

class PollRegistry {
 public:
  // Polling threads a host; more run, but do not count. A host of that many cores would need it
  // raised, with the file's name.
  static constexpr std::size_t kSlots = 256;
  static constexpr std::size_t kCpusMax = 1024;  // the kernel's cpu_set_t
  using Cpus = std::bitset<kCpusMax>;

  // One of each user, who alone can read and write it: "/dev/shm/tickpath-pollers-2.1000". Threads
  // of other users are not counted: what one may write, another must not depend on.
  static std::string default_path();

  // Control thread. Throws Error naming the path; also where the file is another user's, no plain
  // file, or has a second name.
  explicit PollRegistry(const std::string& path = default_path());

  // Takes a slot for a thread that may run on `cpus`. Once.
  void announce(const std::vector<int>& cpus);

  // Takes a slot for a thread on a core that no other polling thread is bound to, and says which
  // CPU; -1 where there is none: then the slot is for all of `cpus`. Two that ask at the same time
  // get different cores. Once, instead of announce().
  int announce_on_free_core(const std::vector<int>& cpus);

  // The allowed CPUs of every polling thread, one's own included.
  std::vector<Cpus> pollers() const;
  bool everyone_has_a_core() const;

  // Goes up with every announce() on this host. Any thread may read it: a spinning thread that sees
  // it move yields at once, and does not keep the newcomer's core until someone looks around.
  const std::atomic<std::uint64_t>& arrivals() const noexcept;

 private:
  struct Slot;
  bool held_by_other(std::size_t slot) const;
  bool lock_chooser() noexcept;
  void unlock_chooser() noexcept;

  net::FileDescriptor file_;  // closed, it drops the lock, and with it the slot
  Mapping mapping_;
  Slot* slots_ = nullptr;
  std::size_t own_ = kSlots;
};

// Whether each of the threads can have a core that no other has: a bipartite matching.
bool each_has_a_core(const std::vector<PollRegistry::Cpus>& threads);

// Which of `cpus` a new polling thread is bound to best: none that another is bound to; rather a
// whole core than the sibling thread of a taken one; rather not the first core, which the kernel
// uses for itself; then the lowest. -1: all are taken. siblings(cpu): CPUs of its core.
int pick_cpu(const std::vector<int>& cpus, const std::vector<PollRegistry::Cpus>& pollers,
             const std::function<std::vector<int>(int)>& siblings);

}  // namespace tickpath::control
