// The connection that is measured: memory, queues and the loops of either side. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/cpu.hpp"
#include "common/rdma/rdma.hpp"
#include "tools/perf/protocol.hpp"

namespace tickpath::rdma::perf {

// What a bandwidth run gave on one side.
struct PerfRates {
  std::uint64_t elapsed_ticks = 0;
  double peak_bytes_per_tick = 0;  // the fastest stretch of at least tx_depth messages
};

class DataLink {
 public:
  // Allocates by the hello's parameters. Throws SetupError, Error.
  DataLink(Device& device, const PerfHello& parameters);

  // For connect() or accept(), then bind().
  CompletionQueue& queue() noexcept { return *queue_; }
  QueuePairOptions options() const;
  Grant grant() const noexcept {
    return {memory_.get(), kRemoteWrite | kRemoteRead | kRemoteAtomic};
  }
  std::span<const ReceiveRequest> receives() const noexcept { return receives_; }
  void bind(std::unique_ptr<QueuePair> queue_pair);  // throws Error: no region was granted
  std::uint32_t inline_bytes() const noexcept { return queue_pair_->inline_bytes(); }
  std::uint64_t rnr_waits() const noexcept { return queue_pair_->counters().rnr_waits; }

  // Both sides, before the peer may start the run.
  void prepare(const PerfCommand& command);

  // Ticks of each message: whole round trips, or posted to completed. interval_ticks > 0: messages
  // start by schedule, and their time counts from there. Throws Error when the peer fails.
  void run_latency_client(double interval_ticks, std::vector<std::uint64_t>& samples);
  // Returns at once where the operation needs no peer (READ, atomics).
  void run_latency_server();
  // This side sends and receives as many messages as said; receives count for SEND only.
  PerfRates run_bandwidth(std::uint32_t sends, std::uint32_t receives);

 private:
  // A wait for the peer: how long it lasts, so that one that never ends is noticed.
  struct Wait {
    std::uint32_t spins = 0;
    std::uint64_t since_tsc = 0;
  };

  template <class Arrived>
  void run_closed(std::vector<std::uint64_t>& samples, Arrived&& arrived);
  template <class Arrived>
  void run_scheduled(double interval_ticks, std::vector<std::uint64_t>& samples, Arrived&& arrived);
  template <class Arrived>
  void run_echo(Arrived&& arrived);
  void finish();

  void post(std::uint64_t message);
  void refused(PostStatus status, Wait& wait);
  std::uint32_t post_batch(std::uint64_t sent, std::uint32_t count, std::uint32_t total);
  std::size_t reap();
  void failed(const Completion& completion);
  void repost_receives();
  void idle(Wait& wait) {
    for (std::uint32_t i = 0; i < pace_.fences; ++i) _mm_lfence();
    for (std::uint32_t i = 0; i < pace_.pauses; ++i) cpu_relax();
    if ((++wait.spins & (kSpinsBeforeCheck - 1)) == 0) [[unlikely]]
      check(wait);
  }
  void check(Wait& wait);

  std::size_t place_of(std::uint64_t message) const noexcept {
    return command_.window == 1 ? 0 : message % command_.window * stride_;
  }
  std::uint64_t stamp_of(std::uint64_t message) const noexcept {
    return whole_words_ ? message + 1 : message / command_.window % 255 + 1;
  }
  void stamp(std::uint64_t message) noexcept;
  bool landed(std::uint64_t message) const noexcept;
  bool echoed_by_receive() const noexcept {
    return command_.operation == PerfOperation::kSend ||
           command_.operation == PerfOperation::kWriteWithImm;
  }

  // Power of two: after some 50 us of waiting, look whether the peer lives and let others run.
  static constexpr std::uint32_t kSpinsBeforeCheck = 1u << 14;

  PerfHello parameters_;
  std::unique_ptr<MemoryRegion> memory_;
  std::unique_ptr<CompletionQueue> queue_;
  std::unique_ptr<QueuePair> queue_pair_;
  std::vector<ReceiveRequest> receives_;
  std::vector<WorkRequest> batch_;
  std::byte* source_;
  std::byte* landing_;

  // The run under way.
  PerfCommand command_;
  WorkRequest request_;
  LatPace pace_ = kLatPaces[0];
  std::size_t stride_ = 0;
  bool whole_words_ = true;  // the message's last 8 bytes are polled; else its last byte
  std::uint64_t base_remote_ = 0;
  std::uint64_t posted_ = 0;  // messages posted, in this run
  std::uint64_t done_ = 0;    // ... known to be complete
  std::uint64_t received_ = 0;
  std::uint64_t reposted_ = 0;
};

}  // namespace tickpath::rdma::perf
