// A server in a process of its own, for measurements on one host by one command.
#pragma once

#include <string>

#include <sys/types.h>

#include "tools/perf/server.hpp"

namespace tickpath::rdma::perf {

// Anonymous memory that a forked server inherits.
class SharedFloor {
 public:
  SharedFloor();  // throws SystemError
  ~SharedFloor();
  SharedFloor(const SharedFloor&) = delete;
  SharedFloor& operator=(const SharedFloor&) = delete;
  FloorLines* lines() const noexcept { return lines_; }

 private:
  FloorLines* lines_;
};

// Killed if this object goes before the server's end.
class ForkedServer {
 public:
  // Forks; returns once the child listens. Throws Error with what the child said if it cannot.
  explicit ForkedServer(const PerfServeOptions& options);
  ~ForkedServer();
  ForkedServer(const ForkedServer&) = delete;
  ForkedServer& operator=(const ForkedServer&) = delete;

  // Its client has left: waits until it has ended too.
  void finish();
  const std::string& endpoint() const noexcept { return endpoint_; }

 private:
  pid_t pid_ = -1;
  std::string endpoint_;
};

}  // namespace tickpath::rdma::perf
