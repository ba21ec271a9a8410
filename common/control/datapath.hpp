// What a program's datapath thread runs. The thread itself belongs to the Runtime.
#pragma once

#include <span>

namespace tickpath::control {

// All members are called by the datapath thread. turn(), arm(), may_sleep() and woken() run under a
// DatapathScope: no allocation, no lock, no exception.
class Datapath {
 public:
  virtual ~Datapath() = default;

  // Once, on the thread, before it polls and outside the DatapathScope. May not throw.
  virtual void on_thread_start() noexcept {}

  // One bounded piece of work over everything the thread polls. True if it found any: the thread
  // calls again at once instead of waiting.
  virtual bool turn() noexcept = 0;

  // The rest is for wait = "park"; the Waiter calls it in this order: arm(), turn(), may_sleep(),
  // wake_descriptors(), the sleep, woken().

  // Asks every source to make its descriptor readable at the next event (arms the completion
  // queues). Does not look for work: what came before is found by the turn() that follows.
  virtual void arm() noexcept {}
  // After a turn that found nothing. False: a source cannot wake us as it stands now (it was made
  // since arm()), or something is due that no descriptor tells of. Sets the timers for the rest.
  virtual bool may_sleep() noexcept { return true; }
  // What to sleep on: channels, sockets, an eventfd that the control thread writes. At most
  // kWakeDescriptorsMax; asked before every sleep, so that the set may change.
  virtual std::span<const int> wake_descriptors() const noexcept { return {}; }
  // After a sleep (or its time-out): acknowledge the channels.
  virtual void woken() noexcept {}

  // Once, on the thread, after its last turn.
  virtual void on_thread_end() noexcept {}
};

// poll(2) gets its descriptors from an array on the stack; a program polls a handful of peers.
inline constexpr int kWakeDescriptorsMax = 64;

}  // namespace tickpath::control
