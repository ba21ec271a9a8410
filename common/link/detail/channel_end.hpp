// One end of one channel connection, without the message types, and the hand-over of ends between
// control and datapath thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/link/connection.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

inline constexpr std::size_t kMessageBytes = 64;
inline constexpr std::size_t kClientsMax = 64;

enum class SendStatus : std::uint8_t {
  kOk,
  kFull,  // no credit, or the send queue is full: nothing was sent, try after poll()
  kDown,  // no connection
};

// Unique in the life of a server; never 0.
struct ClientId {
  std::uint32_t value = 0;
  friend bool operator==(ClientId, ClientId) = default;
};

struct ChannelOptions {
  std::string name = "channel";        // of memory regions and in error texts
  std::uint32_t depth = 256;           // receives posted, a power of two: messages in flight
  std::uint32_t peer_timeout_ms = 50;  // see rdma::QueuePairOptions
};

// One writer, the datapath; any thread reads. Over all connections.
struct ChannelCounters {
  Counter sent;
  Counter received;
  Counter full;             // send() refused: kFull
  Counter down;             // send() refused: kDown
  Counter credits_written;  // by WRITE, because no message went the other way
  Counter ended;            // connections that ended, in order or not
};

// Datapath thread, but for construction and destruction.
struct ChannelEnd {
  std::unique_ptr<Connection> connection;
  std::unique_ptr<rdma::MemoryRegion> region;  // credit line, then the receive buffers
  ClientId id;
  std::uint64_t tag = 0;

  SendStatus send(const void* message, ChannelCounters& counters) noexcept;
  // deliver(const void* bytes) for each message, at most `batch`.
  template <class Deliver>
  std::size_t receive(Deliver&& deliver, std::size_t batch, ChannelCounters& counters) noexcept;
  std::size_t credits() noexcept;
  void close() noexcept;
  bool arm() noexcept;
  bool ended() const noexcept { return failed_ || peer_closed_; }
  bool pending() const noexcept { return taken_ != arrived_; }
  LinkEvent end_event() const noexcept {
    return peer_closed_ ? LinkEvent::kClosed : LinkEvent::kLost;
  }

  // Set-up: `depth` is ours, `peer_depth` how many receives the peer posted.
  void prepare(std::uint32_t depth, std::uint32_t peer_depth) noexcept;
  std::vector<rdma::ReceiveRequest> initial_receives(std::uint32_t depth) const;

 private:
  void read_completions() noexcept;
  void on_completion(const rdma::Completion& completion) noexcept;
  void recycle(std::uint64_t index) noexcept;
  void return_credits(ChannelCounters& counters) noexcept;
  void refresh_credits() noexcept;
  std::byte* buffer(std::uint64_t index) const noexcept;

  rdma::WorkRequest send_request_;
  rdma::WorkRequest credit_request_;
  std::uint64_t mask_ = 0;  // of our receive buffers
  std::uint64_t peer_depth_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t acknowledged_ = 0;  // of those, receives that the peer recycled
  std::uint64_t arrived_ = 0;       // receive completions read
  std::uint64_t taken_ = 0;         // of those, handed over and recycled
  std::uint64_t returned_ = 0;      // of those, told to the peer
  std::uint32_t unsignaled_ = 0;
  bool failed_ = false;
  bool peer_closed_ = false;
  bool close_sent_ = false;
};

// Makes ends on the control thread, passes them to the datapath and takes them back.
class ChannelEnds {
 public:
  ChannelEnds(rdma::Device& device, rdma::CompletionChannel* channel, ChannelOptions options);
  ~ChannelEnds();

  // Control thread. Sizes are of the messages from client to server and back.
  std::vector<std::byte> connect(const std::string& endpoint,
                                 std::span<const std::byte> program_hello,
                                 std::span<const rdma::Grant> grants, std::uint32_t timeout_ms,
                                 std::size_t out_bytes, std::size_t in_bytes);
  ClientId accept(rdma::ConnectionRequest& request, std::span<const std::byte> program_answer,
                  std::span<const rdma::Grant> grants, std::uint64_t tag, std::size_t in_bytes,
                  std::size_t out_bytes);
  void collect();

  // Datapath thread.
  ChannelEnd* take_new() noexcept {
    ChannelEnd* end = nullptr;
    return to_datapath_.try_pop(end) ? end : nullptr;
  }
  void give_back(ChannelEnd* end) noexcept;
  SendStatus count_down() noexcept {
    counters_.down.add();
    return SendStatus::kDown;
  }
  ChannelCounters& counters() noexcept { return counters_; }
  const ChannelCounters& counters() const noexcept { return counters_; }

 private:
  LinkPart part(std::size_t client_to_server, std::size_t server_to_client,
                std::size_t extras) const noexcept;
  std::unique_ptr<ChannelEnd> make_end();
  void hand_over(std::unique_ptr<ChannelEnd> end);

  rdma::Device& device_;
  rdma::CompletionChannel* channel_;
  ChannelOptions options_;
  std::vector<std::unique_ptr<ChannelEnd>> owned_;  // control thread
  std::uint32_t next_id_ = 1;
  SpscRing<ChannelEnd*> to_datapath_{kClientsMax};
  SpscRing<ChannelEnd*> to_control_{kClientsMax * 2};
  ChannelCounters counters_;
};

template <class Deliver>
std::size_t ChannelEnd::receive(Deliver&& deliver, std::size_t batch,
                                ChannelCounters& counters) noexcept {
  if (taken_ == arrived_) read_completions();
  std::size_t count = 0;
  while (taken_ != arrived_ && count < batch) {
    deliver(static_cast<const void*>(buffer(taken_)));
    recycle(taken_);
    ++taken_;
    ++count;
  }
  if (count != 0) {
    counters.received.add(count);
    return_credits(counters);
  }
  return count;
}

}  // namespace tickpath::link
