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

}  // namespace tickpath::control
