// `tickpath up --detach`: a command that goes on in the background once it has got somewhere.
#pragma once

#include <string>

namespace tickpath::cli {

// Divides the process when constructed, before any thread of it has begun. Only the child returns
// from the constructor; the process that was called waits there until the child calls ready() or
// ends, and then throws Exit with 0 or with the child's status. Until ready() both belong to the
// terminal: Ctrl-C reaches the child. One thread.
class Detached {
 public:
  Detached();
  ~Detached();
  Detached(const Detached&) = delete;
  Detached& operator=(const Detached&) = delete;

  // From here on in the background: a session of its own, output appended to `log`, nothing to
  // read. Throws SystemError where the log cannot be opened.
  void ready(const std::string& log);

 private:
  int told_ = -1;  // the pipe's end to write to
};

}  // namespace tickpath::cli
