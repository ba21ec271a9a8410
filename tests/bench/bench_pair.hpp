// A pair of oegs in one process, for benchmarks: the leader's Pair, and on a thread of its own the
// standby's, which takes the log into a journal and a store as the program does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "common/link/heartbeat.hpp"
#include "common/log/hot_log.hpp"
#include "common/rdma/rdma.hpp"
#include "oeg/pair.hpp"
#include "risk/witness.hpp"
#include "tests/bench/order_path.hpp"

namespace tickpath::oeg {

class BenchPair {
 public:
  // leader: nothing is recorded on it yet; it will send so many orders. standby_cpu: where that
  // one's thread runs; -1: anywhere. Returns once the word is "paired": nothing takes effect any
  // more that the standby has not. Throws Error.
  BenchPair(const BenchFolder& folder, rdma::Device& device, OrderPath& leader,
            std::uint32_t orders, int standby_cpu);
  ~BenchPair();

  Pair& leader() noexcept { return leader_; }
  // Between orders, now and then.
  void beat() noexcept;
  // Turns the leader until the standby has everything, and ends that one's thread. False: the two
  // have not the same, or are no pair any more.
  bool finish();
  std::uint64_t entries_taken() const noexcept { return standby_.counters().entries_taken.get(); }

 private:
  // What one side has of its own.
  struct Side {
    Side(const BenchFolder& folder, rdma::Device& device, std::uint8_t place);
    PairOptions options;
    PairMemory memory;
    Succession rules;
    link::Heartbeat heartbeat;
    log::HotLog hot_log;
    std::uint64_t next_beat_ns = 0;
    void beat(std::uint64_t now_ns) noexcept;
  };

  void turn_leader();
  template <class Done>
  void turn_leader_until(const char* what, Done&& done);
  void connect_witness(const std::string& endpoint);
  void connect_standby(rdma::Device& device, const std::string& endpoint);
  void run_standby(int cpu);
  void end_standby();

  OrderPath& path_;
  risk::Witness witness_;
  Side leading_;
  Side following_;
  OrderPath standby_path_;
  Pair leader_;
  Pair standby_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tickpath::oeg
