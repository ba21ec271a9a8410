// Typed errors of the set-up path. Only main() catches them; the datapath returns status instead.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>

namespace tickpath {

// The root of every error that a person should read: what is wrong, where, and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A failed system call: "what: errno text".
class SystemError : public Error {
 public:
  SystemError(const std::string& what, int errno_value)
      : Error(what + ": " + std::strerror(errno_value)), errno_value_(errno_value) {}
  int errno_value() const noexcept { return errno_value_; }

 private:
  int errno_value_;
};

}  // namespace tickpath
