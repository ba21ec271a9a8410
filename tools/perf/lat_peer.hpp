// One side of the latency measurement: a fabric endpoint and the loops of client and server.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/cpu.hpp"
#include "common/rdma/rdma.hpp"
#include "tools/perf/lat.hpp"

namespace tickpath::rdma::perf {

// Shared by the two processes beside the fabric: commands, and the floor's cache line.
struct LatControl {
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> command{0};  // counts up; client -> server
  LatOperation operation = LatOperation::kFloor;
  std::uint32_t size_bytes = 0;
  std::uint32_t count = 0;
  std::uint32_t pace = 0;  // of the fabric's poll loops, index into kLatPaces
  bool exit = false;
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> ready{0};  // the command that is under way
  std::atomic<bool> failed{false};
  char failure[512] = {};
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> floor{0};
  alignas(2 * kCacheLineBytes) std::atomic<std::uint64_t> floor_there{0};
  alignas(2 * kCacheLineBytes) std::atomic<std::uint64_t> floor_back{0};
};

// Ends a spin that the peer will never end: called now and then, throws if the peer is dead.
class PeerWatch {
 public:
  virtual ~PeerWatch() = default;
  virtual void check() = 0;
};

class LatPeer {
 public:
  LatPeer(const LatOptions& options, LatControl& control, PeerWatch& watch);

  // Server listens, client connects; both return connected.
  void serve(const std::string& endpoint);
  void connect(const std::string& endpoint);

  // How both sides poll from now on. The floor is always tight.
  void set_pace(std::uint32_t pace) noexcept { pace_ = kLatPaces[pace]; }

  // count messages; ticks of each (round trip, or the operation) go to samples.
  void run_client(LatOperation operation, std::uint32_t size_bytes, std::uint32_t count,
                  std::vector<std::uint64_t>& samples);
  // Both sides, before every command.
  void clear_landing(std::uint32_t size_bytes);
  void run_server(LatOperation operation, std::uint32_t size_bytes, std::uint32_t count);

  const Device& device() const noexcept { return *device_; }

 private:
  void client_floor(std::uint32_t count, std::vector<std::uint64_t>& samples);
  void client_write(std::uint32_t size, std::uint32_t count, std::vector<std::uint64_t>& samples);
  void client_send(std::uint32_t size, std::uint32_t count, std::vector<std::uint64_t>& samples);
  void client_read(std::uint32_t size, std::uint32_t count, std::vector<std::uint64_t>& samples);
  void client_atomic(Opcode opcode, std::uint32_t count, std::vector<std::uint64_t>& samples);
  void client_floor_each_way(std::uint32_t count, std::vector<std::uint64_t>& samples);
  void server_floor(std::uint32_t count);
  void server_floor_each_way(std::uint32_t count);
  void server_write(std::uint32_t size, std::uint32_t count);
  void server_send(std::uint32_t size, std::uint32_t count);
  void server_read(std::uint32_t size, std::uint32_t count);
  void server_atomic(Opcode opcode, std::uint32_t count);

  QueuePairOptions queue_pair_options() const;
  WorkRequest request_to(Opcode opcode, std::uint32_t size) const;
  void post(WorkRequest& request);
  void post_atomic(WorkRequest& request, std::uint64_t i);
  void check_completions();
  void await_by_read(WorkRequest& request, std::uint64_t value);
  void store_record(std::uint32_t size, std::uint64_t value);
  void post_receive(std::uint64_t index);
  std::uint64_t await_receive();
  void pause() const noexcept {
    for (std::uint32_t i = 0; i < pace_.fences; ++i) _mm_lfence();
    for (std::uint32_t i = 0; i < pace_.pauses; ++i) cpu_relax();
  }
  void await_word(const std::byte* word, std::uint64_t value);
  void await(std::atomic<std::uint64_t>& word, std::uint64_t value);
  std::byte* landing() const { return memory_->data() + kLandingOffset; }
  std::byte* receive_buffer(std::uint64_t index) const;

  static constexpr std::size_t kLandingOffset = kLatBytesMax;
  static constexpr std::size_t kReceiveOffset = 2 * std::size_t{kLatBytesMax};

  LatControl& control_;
  PeerWatch& watch_;
  std::uint32_t message_bytes_max_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<MemoryRegion> memory_;
  std::unique_ptr<CompletionQueue> queue_;
  std::unique_ptr<QueuePair> queue_pair_;
  std::vector<ReceiveRequest> receives_;
  std::uint64_t posts_ = 0;
  LatPace pace_ = kLatPaces[0];
};

}  // namespace tickpath::rdma::perf
