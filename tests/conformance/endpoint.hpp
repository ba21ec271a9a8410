// One side of a conformance test: a device with the regions, queues and queue pairs that the tests
// use. The test process drives one directly, the peer process by commands (peer_main.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::conformance {

// What every connection grants to its peer, in this order.
enum RemoteIndex : std::size_t {
  kFull,       // the main region: write, read, atomics
  kNarrowed,   // the same region, for reading only
  kReadOnly,   // a region that was never writable for peers
  kWriteOnly,  // may be written, not read, no atomics
  kRemoteCount,
};

struct EndpointOptions {
  QueuePairOptions queue_pair;
  std::uint32_t completion_depth = 4096;
  bool channel = false;
  std::uint32_t initial_receives = 0;  // of kReceiveBytes each, wr_id 1000, 1001, ...
};

inline constexpr std::size_t kMainBytes = std::size_t{1} << 20;
inline constexpr std::size_t kSmallBytes = 8192;
inline constexpr std::uint32_t kReceiveBytes = 256;
inline constexpr std::size_t kReceiveOffset = kMainBytes / 2;  // of initial receives, main region
inline constexpr std::uint64_t kFirstReceiveId = 1000;

class Endpoint {
 public:
  explicit Endpoint(const std::string& provider);

  void listen(const std::string& address);
  void prepare(const EndpointOptions& options);  // completion queue and channel, once
  // Waits for a request (at most timeout_ms; nullptr after that).
  std::unique_ptr<ConnectionRequest> next_request(int timeout_ms);
  QueuePair& accept(const EndpointOptions& options, const std::string& answer);
  QueuePair& connect(const std::string& address, const EndpointOptions& options,
                     const std::string& hello, std::uint32_t timeout_ms = 0);  // 0: enough
  std::vector<Grant> grants() const;

  // On the queue pair in use (the last one connected, or the one chosen).
  void use(std::size_t index) { current_ = index; }
  QueuePair& queue_pair() { return *queue_pairs_.at(current_); }
  // A request on the main region's bytes at `offset`, towards remote region `remote`.
  WorkRequest request(Opcode opcode, std::uint64_t wr_id, std::size_t offset, std::uint32_t length,
                      std::size_t remote, std::uint64_t remote_offset, std::uint8_t flags);
  PostStatus post_receive(std::uint64_t wr_id, std::size_t offset, std::uint32_t length);
  // Up to `count` completions, waiting at most scaled_ms(timeout_ms) for them.
  std::vector<Completion> poll(std::size_t count, int timeout_ms);

  Device& device() { return *device_; }
  MemoryRegion& memory() { return *main_; }
  MemoryRegion& read_only() { return *read_only_; }
  MemoryRegion& write_only() { return *write_only_; }
  MemoryRegion& unwritable() { return *unwritable_; }
  CompletionQueue& queue() { return *queue_; }
  CompletionChannel& channel() { return *channel_; }
  Listener& listener() { return *listener_; }
  std::vector<std::unique_ptr<QueuePair>>& queue_pairs() { return queue_pairs_; }
  const std::string& last_hello() const { return last_hello_; }
  const std::string& last_answer() const { return last_answer_; }
  // Destroys the main region while peers may still have it mapped.
  void destroy_memory() { main_.reset(); }

 private:
  std::vector<ReceiveRequest> initial_receives(const EndpointOptions& options) const;

  std::unique_ptr<Device> device_;
  std::unique_ptr<MemoryRegion> main_;
  std::unique_ptr<MemoryRegion> read_only_;
  std::unique_ptr<MemoryRegion> write_only_;
  std::unique_ptr<MemoryRegion> unwritable_;  // not even locally
  std::unique_ptr<CompletionChannel> channel_;
  std::unique_ptr<CompletionQueue> queue_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
  std::size_t current_ = 0;
  std::string last_hello_;
  std::string last_answer_;
};

// The provider's device as the tests want it. provider: as DeviceOptions', "ofi_CORE" for one of
// libfabric's.
std::unique_ptr<Device> open_test_device(const std::string& provider);

// A waiting time of a fast machine, as long as it may take here: times TICKPATH_TIME_SCALE (1).
int scaled_ms(int milliseconds);

// Reads the options of a command: take(key, value) for each "key=value" that follows.
template <class Take>
void read_options(std::istringstream& words, Take&& take) {
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    take(word.substr(0, equals), static_cast<std::uint32_t>(std::stoul(word.substr(equals + 1))));
  }
}

// Waits on a channel's descriptor; false after timeout_ms (not scaled).
bool wait_readable(int fd, int timeout_ms);

// Depends on every byte and its place (FNV-1a). Of memory that peers write, too.
std::uint64_t checksum(const std::byte* data, std::size_t length);

}  // namespace tickpath::rdma::conformance
