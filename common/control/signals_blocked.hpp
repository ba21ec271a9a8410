// For the making of a thread that shall get no signal.
#pragma once

#include <csignal>

#include <pthread.h>

namespace tickpath::control {

// Signals are the control thread's: one that interrupted the datapath would cost it microseconds.
// A thread made while this lives inherits the mask.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
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
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace tickpath::control
