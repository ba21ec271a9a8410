// The connection that is measured: memory, queues and the loops of either side. One thread.
#pragma once

#include <atomic>
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

// The floor: cache lines that two processes of one host share beside the fabric.
struct FloorLines {
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> word{0};  // both directions
  alignas(2 * kCacheLineBytes) std::atomic<std::uint64_t> there{0};
  alignas(2 * kCacheLineBytes) std::atomic<std::uint64_t> back{0};
};

class DataLink {
 public:
  // Allocates by the hello's parameters. floor: both sides', or nullptr: floors are not measured.
  // Throws SetupError, Error.
  DataLink(Device& device, const PerfHello& parameters, FloorLines* floor = nullptr);

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
  // Returns at once where the operation needs no peer (READ, atomics; not beside the floor).
  void run_latency_server();
  // This side sends and receives as many messages as said; receives count for SEND only.
  PerfRates run_bandwidth(std::uint32_t sends, std::uint32_t receives);

 private:
  // A wait for the peer: how long it lasts, so that one that never ends is noticed.
  struct Wait {
    std::uint32_t spins = 0;
    std::uint64_t since_tsc = 0;
  };

  template <class Send, class Arrived>
  void run_closed(std::vector<std::uint64_t>& samples, Send&& send, Arrived&& arrived);
  template <class Send, class Arrived>
  void run_scheduled(double interval_ticks, std::vector<std::uint64_t>& samples, Send&& send,
                     Arrived&& arrived);
  template <class Send, class Arrived>
  void run_echo(Send&& send, Arrived&& arrived);
  template <class Run>
  void by_operation(bool client, Run&& run);
  void finish();

  void post(std::uint64_t message);
  void throw_if_gone() const;
  void refused(PostStatus status, Wait& wait);
  std::uint32_t post_batch(std::uint64_t sent, std::uint32_t count, std::uint32_t total);
  template <std::size_t kMost = 8>
  std::size_t reap();
  void failed(const Completion& completion);
  void repost_receives() {
    while (reposted_ != received_) repost_receive();
  }
  void repost_receive();
  void pause() const noexcept {
    for (std::uint32_t i = 0; i < pace_.fences; ++i) load_fence();
    for (std::uint32_t i = 0; i < pace_.pauses; ++i) cpu_relax();
  }
  void idle(Wait& wait) {
    pause();
    if ((++wait.spins & (kSpinsBeforeCheck - 1)) == 0) [[unlikely]]
      check(wait);
  }
  // idle() until it has arrived; counts in a register, so that a poll stores nothing.
  template <class Arrived>
  void await(std::uint64_t message, Arrived&& arrived) {
    Wait wait;
    for (std::uint32_t spins = 1; !arrived(message); ++spins) {
      pause();
      if ((spins & (kSpinsBeforeCheck - 1)) == 0) [[unlikely]]
        check(wait);
    }
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
  void store_record(std::uint64_t message) noexcept;
  bool read_shows(std::uint64_t message);
  bool echoed_by_receive() const noexcept {
    return command_.operation == PerfOperation::kSend ||
           command_.operation == PerfOperation::kWriteWithImm;
  }
  // Beside the floor everything is a ping-pong.
  bool ping_pong() const noexcept { return command_.tool == PerfTool::kBesideFloor; }
  // What arrives is seen where it lands.
  bool polls_memory() const noexcept {
    return command_.operation == PerfOperation::kWrite ||
           (ping_pong() && is_atomic(command_.operation));
  }

  // Power of two: after some 50 us of waiting, look whether the peer lives and let others run.
  static constexpr std::uint32_t kSpinsBeforeCheck = 1u << 14;

  PerfHello parameters_;
  FloorLines* floor_;
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
  std::uint64_t signal_next_ = 0;  // the message that is signalled next
  std::uint64_t posted_ = 0;       // messages posted, in this run
  std::uint64_t done_ = 0;         // ... known to be complete
  std::uint64_t received_ = 0;
  std::uint64_t reposted_ = 0;
};

}  // namespace tickpath::rdma::perf
