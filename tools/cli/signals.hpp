// SIGINT, SIGTERM and SIGHUP (the terminal is gone) as something to poll, for commands that end
// what they do in order.
#pragma once

namespace tickpath::cli {

// All are blocked from here on, for every thread that starts later, too. A SIGHUP that whoever
// started us ignores (nohup) stays ignored.
class Signals {
 public:
  Signals();  // throws SystemError
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int file() const noexcept { return file_; }
  // Whether one has come, now or before.
  bool came();

 private:
  int file_ = -1;
  bool came_ = false;
};

}  // namespace tickpath::cli
