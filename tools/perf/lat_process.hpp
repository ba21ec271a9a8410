// The two processes of the latency measurement, and the memory they share beside the fabric.
#pragma once

#include <string>

#include <sys/types.h>

#include "tools/perf/lat_peer.hpp"

namespace tickpath::rdma::perf {

// Anonymous memory that the forked peer inherits.
class SharedControl {
 public:
  SharedControl();  // throws SystemError
  ~SharedControl();
  SharedControl(const SharedControl&) = delete;
  SharedControl& operator=(const SharedControl&) = delete;
  LatControl& operator*() const { return *control_; }
  LatControl* operator->() const { return control_; }

 private:
  LatControl* control_;
};

// The client's view of the forked server; killed if the measurement fails.
class ServerProcess final : public PeerWatch {
 public:
  // Forks: the child listens on `endpoint`, serves commands on `cpu`, and never returns from here.
  ServerProcess(const LatOptions& options, LatControl& control, int cpu,
                const std::string& endpoint);
  ~ServerProcess() override;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  void check() override;
  void finish();

 private:
  LatControl& control_;
  pid_t pid_;
};

}  // namespace tickpath::rdma::perf
