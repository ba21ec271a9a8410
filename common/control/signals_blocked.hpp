// For the making of a thread that shall get no signal.
#pragma once

#include <csignal>
#include <initializer_list>

#include <pthread.h>

namespace tickpath::control {

// All but those of a thread's own faults: while they are blocked, a fault ends the process without
// a word of the crash handler (crash_report.hpp).
inline sigset_t signals_of_others() {
  sigset_t set;
  sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&set, fault);
  return set;
}

// Signals are the control thread's: one that interrupted the datapath would cost it microseconds.
// A thread made while this lives inherits the mask.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    const sigset_t others = signals_of_others();
    pthread_sigmask(SIG_SETMASK, &others, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// For a program on its way out: a signal that says once more what was acted upon must not kill it
// while it takes itself apart. Called by the control thread; other threads that could get one must
// have ended before its handler is removed.
inline void block_signals_until_exit() {
  const sigset_t others = signals_of_others();
  pthread_sigmask(SIG_BLOCK, &others, nullptr);
}

}  // namespace tickpath::control
