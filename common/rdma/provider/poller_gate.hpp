// The door to what one thread uses all the time, and others now and then: a lock that costs its
// polling thread no locked instruction.
//
// The polling thread is favoured: it comes and goes by plain stores to `inside_`, and whoever else
// wants in takes `entered_`, ends the favour, and looks whether it is inside. Not favoured, the
// polling thread takes `entered_` as well, and is favoured again once it has come so some hundred
// times: then it is the one that uses the gate. This is Dekker's mutual exclusion: each side stores
// its own word and reads the other's, and the store must be seen before the read is done. The
// polling thread does not pay for that order: who ends the favour has every running thread of the
// process execute a barrier (membarrier(2), PRIVATE_EXPEDITED, Linux 4.14). So either the polling
// thread's read comes behind it, and finds the favour ended, or its store came before, and is seen.
// (Biased locking, as in Dice, Moir and Scherer, "Quickly Reacquirable Locks", 2003.)
#pragma once

#include <atomic>

#include <sched.h>

#include "common/rdma/provider/barriers.hpp"

namespace tickpath::rdma::detail {

// Where tests let another thread's steps happen.
struct NoSteps {
  // How often the polling thread takes `entered_` before it is favoured. Ending a favour costs a
  // system call, so not at once; some tens of microseconds of polling.
  static constexpr unsigned kPatience = 256;
  void refused() noexcept {}       // the polling thread, which asks next
  void found_inside() noexcept {}  // another thread, which gives back what it has taken
};

template <class Steps = NoSteps>
class BasicPollerGate {
 public:
  explicit BasicPollerGate(const Steps& steps = {}) : steps_(steps) {}

  // ------------------------------------------------- the polling thread, one at a time

  // Never waits. True: nobody else is in until leave().
  bool try_enter() noexcept {
    inside_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler's half of the order
    // Relaxed: true was stored by this thread, which had taken entered_; nobody has been in since.
    if (favoured_.load(std::memory_order_relaxed)) [[likely]]
      return true;
    return try_enter_by_exchange();
  }
  // The same, and where it is false whoever is inside runs `late` of its leave() before it is gone.
  bool try_enter_or_ask() noexcept {
    if (try_enter()) return true;
    steps_.refused();
    // Either the second try sees the others gone, or those see this: sequentially consistent all.
    asked_.store(true, std::memory_order_seq_cst);
    return try_enter();
  }
  // late: of what this thread asked for itself, as nobody else asks.
  template <class Function>
  void leave(Function&& late) noexcept {
    if (asked_.load(std::memory_order_relaxed)) [[unlikely]] {
      asked_.store(false, std::memory_order_relaxed);
      late();
    }
    // Release: pairs with enter_beside() and try_enter_beside().
    if (by_exchange_) [[unlikely]] {
      by_exchange_ = false;
      // Whoever takes entered_ from now on finds it favoured, and ends that first.
      if (++patience_ >= Steps::kPatience && barriers_.within_process) {
        patience_ = 0;
        favoured_.store(true, std::memory_order_relaxed);
      }
      entered_.store(false, std::memory_order_release);
    } else {
      inside_.store(false, std::memory_order_release);
    }
  }

  // ------------------------------------------------- any other thread

  // False: somebody is in.
  bool try_enter_beside() noexcept {
    for (;;) {
      if (entered_.exchange(true, std::memory_order_seq_cst)) return false;
      end_favour();
      if (!inside_.load(std::memory_order_acquire)) return true;
      steps_.found_inside();
      entered_.store(false, std::memory_order_seq_cst);
      // The polling thread may have found this one here and asked. Inside again it does that
      // itself.
      if (!asked_.load(std::memory_order_seq_cst) || inside_.load(std::memory_order_seq_cst))
        return false;
    }
  }
  // Waits for who is in.
  void enter_beside() noexcept {
    while (entered_.exchange(true, std::memory_order_seq_cst)) ::sched_yield();
    end_favour();
    while (inside_.load(std::memory_order_acquire)) ::sched_yield();
  }
  template <class Function>
  void leave_beside(Function&& late) noexcept {
    for (;;) {
      entered_.store(false, std::memory_order_seq_cst);
      if (!asked_.load(std::memory_order_seq_cst)) [[likely]]
        return;
      if (!try_enter_beside()) return;  // whoever is there now does it
      // Its value is read: what was posted before it is seen.
      (void)asked_.exchange(false, std::memory_order_seq_cst);
      late();
    }
  }

  // For who would have to end it: a system call, and a moment of every other thread.
  bool favoured() const noexcept { return favoured_.load(std::memory_order_relaxed); }

 private:
  bool try_enter_by_exchange() noexcept {
    // Release: as leave(); who found it true looks again.
    inside_.store(false, std::memory_order_release);
    by_exchange_ = !entered_.exchange(true, std::memory_order_seq_cst);
    return by_exchange_;
  }
  // Whoever has entered_: the polling thread enters by exchange from now on, and inside_ tells
  // whether it is in.
  void end_favour() noexcept {
    if (!favoured_.load(std::memory_order_relaxed)) return;
    favoured_.store(false, std::memory_order_seq_cst);
    barriers_.run_within();
  }

  // The polling thread's: inside without entered_, or about to look whether it may be.
  std::atomic<bool> inside_{false};
  bool by_exchange_ = false;  // of the polling thread: it is inside with entered_
  unsigned patience_ = 0;     // of the polling thread: how often it was, since it was favoured
  Barriers barriers_ = Barriers::register_within();  // without them nobody is favoured
  std::atomic<bool> favoured_{false};                // stored under entered_
  std::atomic<bool> entered_{false};
  std::atomic<bool> asked_{false};  // the polling thread found somebody inside
  [[no_unique_address]] Steps steps_;
};

using PollerGate = BasicPollerGate<>;

}  // namespace tickpath::rdma::detail
