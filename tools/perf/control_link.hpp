// The control connection of a measurement: one short message at a time each way, never while a run
// is being timed on this thread.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "common/rdma/rdma.hpp"
#include "tools/perf/protocol.hpp"

namespace tickpath::rdma::perf {

// One thread.
class ControlLink {
 public:
  explicit ControlLink(Device& device);

  // For connect() or accept(), then bind().
  CompletionQueue& queue() noexcept { return *queue_; }
  QueuePairOptions options() const;
  std::span<const ReceiveRequest> receives() const noexcept { return receives_; }
  void bind(std::unique_ptr<QueuePair> queue_pair) { queue_pair_ = std::move(queue_pair); }
  bool bound() const noexcept { return queue_pair_ != nullptr; }

  // Returns when the peer's side has it: the device says so, or the peer has answered. Throws Error
  // when the peer is gone.
  template <class T>
  void send(const T& message) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMessageBytes);
    send_bytes(std::as_bytes(std::span(&message, 1)));
  }
  // The last message of all. A peer that has it leaves, perhaps before its device could acknowledge
  // it, and one that left earlier has no use for it: neither is an error.
  template <class T>
  void farewell(const T& message) {
    try {
      send(message);
    } catch (const Error&) {
      if (!failed_) throw;
    }
  }
  // Returns when the peer has left, or after `limit`. For who got the last message: its device
  // acknowledges it for as long as this queue pair lives.
  void await_departure(std::chrono::milliseconds limit);
  // False: nothing came yet. What had arrived before the peer left is still handed over. Throws
  // Error when the peer is gone or sends something else.
  template <class T>
  bool try_receive(T& message) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMessageBytes);
    return try_receive_bytes(std::as_writable_bytes(std::span(&message, 1)));
  }
  // Throws Error after `limit`.
  template <class T>
  T receive(std::chrono::milliseconds limit, const char* what) {
    T message;
    const auto end = std::chrono::steady_clock::now() + limit;
    for (std::uint32_t looks = 0; !try_receive(message); ++looks) {
      if (looks >= kLooksAwake) await_more(end, what);
    }
    return message;
  }

  // Between two runs: so many looks (some 100 us) without a nap, after which the CPU and its caches
  // would not be as the run before left them.
  static constexpr std::uint32_t kLooksAwake = 4096;

 private:
  static constexpr std::size_t kMessageBytes = 256;
  static constexpr std::size_t kReceives = 8;

  void send_bytes(std::span<const std::byte> bytes);
  bool try_receive_bytes(std::span<std::byte> bytes);
  void poll();
  void check_alive() const;
  static void await_more(std::chrono::steady_clock::time_point end, const char* what);

  std::unique_ptr<MemoryRegion> memory_;
  std::unique_ptr<CompletionQueue> queue_;
  std::unique_ptr<QueuePair> queue_pair_;
  std::vector<ReceiveRequest> receives_;
  std::vector<Completion> arrived_;  // receives not taken yet, oldest first
  std::uint64_t sends_done_ = 0;
  std::uint64_t sends_ = 0;
  bool failed_ = false;  // no more will come, or go
};

}  // namespace tickpath::rdma::perf
