// The expensive half of handshakes whose other half is on a datapath.
#pragma once

namespace tickpath::rdma::detail {

// membarrier(2): one thread runs a full barrier on every core where a thread of the registered
// processes runs, so that the frequent side of a handshake needs no fence of its own.
struct Barriers {
  bool within_process = false;    // MEMBARRIER_CMD_PRIVATE_EXPEDITED works
  bool across_processes = false;  // MEMBARRIER_CMD_GLOBAL_EXPEDITED works, and we are registered

  static Barriers register_process() noexcept;
  static Barriers register_within() noexcept;  // for handshakes of this process's own threads
  void run_within() const noexcept;
  void run_across() const noexcept;
};

}  // namespace tickpath::rdma::detail
