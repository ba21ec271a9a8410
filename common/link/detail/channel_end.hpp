// One end of one channel connection, without the message types, and the hand-over of ends between
// control and datapath thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/cpu.hpp"
#include "common/link/connection.hpp"
#include "common/link/detail/handover.hpp"
#include "common/link/detail/pending.hpp"
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
  std::string name = "channel";       // of memory regions and in error texts
  std::uint32_t depth = 256;          // receives posted, a power of two: messages in flight
  std::uint32_t peer_timeout_ms = 0;  // 0: the device's; see rdma::QueuePairOptions
  std::string peer_role = {};         // who must answer; see rdma::ConnectParameters
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

// What the peer WRITEs into our first line.
//  0 recycled | 8 closed_at
struct ChannelLine {
  std::uint64_t recycled;   // of its receives: so many messages of ours it is done with
  std::uint64_t closed_at;  // 1 + messages it sent in all, once it closed; else 0
};

// Datapath thread, but for construction and destruction.
class ChannelEnd {
 public:
  // Control thread. peer_depth: receives that the peer posted.
  void prepare(std::unique_ptr<Connection> made, std::uint32_t peer_depth,
               std::uint32_t send_depth);
  std::vector<rdma::ReceiveRequest> initial_receives() const;

  SendStatus send(const void* message, ChannelCounters& counters) noexcept;
  // deliver(const void* bytes) for each message, at most `batch`.
  template <class Deliver>
  std::size_t receive(Deliver&& deliver, std::size_t batch, ChannelCounters& counters) noexcept;
  // Messages that may be sent now.
  std::size_t credits() noexcept;
  void close() noexcept;
  void arm() noexcept;
  // After arm() and a look that found nothing. An end that was taken over between the two is not
  // armed: its messages would wake nobody.
  bool may_sleep() const noexcept { return armed_ && taken_ == arrived_ && !failed_ && !over_; }
  // Nothing will come any more, and all that came was delivered.
  bool over() const noexcept { return over_; }
  // Its end was seen; what arrived before may still have to be delivered.
  bool leaving() const noexcept { return failed_ || peer_closed_; }
  LinkEvent end_event() const noexcept {
    return peer_closed_ || close_sent_ ? LinkEvent::kClosed : LinkEvent::kLost;
  }

  std::unique_ptr<rdma::MemoryRegion> line_region;  // both outlive the queue pair
  std::unique_ptr<rdma::MemoryRegion> buffers;
  std::unique_ptr<Connection> connection;
  ClientId id;
  std::uint64_t tag = 0;
  std::uint32_t depth = 0;  // receives that we post

 private:
  std::size_t read_completions() noexcept;
  void on_completion(const rdma::Completion& completion) noexcept;
  void return_credits(ChannelCounters& counters) noexcept;
  void look_around() noexcept;
  rdma::PostStatus post(rdma::WorkRequest& request) noexcept;
  bool write_line(std::size_t offset, std::uint64_t value) noexcept;
  rdma::ReceiveRequest receive_request(std::uint64_t index) const noexcept;
  std::byte* buffer(std::uint64_t index) const noexcept {
    return buffers->data() + (index & (depth - 1)) * kMessageBytes;
  }
  const ChannelLine& line() const noexcept {
    return *reinterpret_cast<const ChannelLine*>(line_region->data());
  }

  rdma::WorkRequest request_;  // prefilled SEND
  rdma::QueuePair* pair_ = nullptr;
  rdma::RemoteRegion peer_line_;
  std::uint64_t peer_depth_ = 0;
  std::uint64_t return_after_ = 1;  // messages taken, before their credits are written
  std::uint64_t sent_ = 0;
  std::uint64_t acknowledged_ = 0;  // of those, receives that the peer recycled
  std::uint64_t arrived_ = 0;       // receive completions read
  std::uint64_t taken_ = 0;         // of those, delivered and recycled
  std::uint64_t returned_ = 0;      // of those, told to the peer
  std::uint32_t unsignaled_ = 0;
  std::uint32_t signal_interval_ = 1;
  std::uint32_t idle_polls_ = 0;
  bool armed_ = false;  // at least once, so by every arm() of its owner since
  bool failed_ = false;
  bool peer_closed_ = false;
  bool close_wanted_ = false;
  bool close_sent_ = false;
  bool over_ = false;
};

// Makes ends on the control thread, passes them to the datapath and takes them back.
class ChannelEnds {
 public:
  ChannelEnds(rdma::Device& device, rdma::CompletionChannel* channel, ChannelOptions options);

  // Control thread. Throw rdma::SetupError.
  void start_connect(const std::string& endpoint, std::span<const std::byte> program_hello,
                     std::span<const rdma::Grant> grants, std::uint32_t timeout_ms);
  std::optional<std::vector<std::byte>> poll_connect();
  bool connecting() const noexcept { return connect_.under_way(); }
  void start_accept(rdma::ConnectionRequest& request, std::span<const std::byte> program_answer,
                    std::span<const rdma::Grant> grants, std::uint64_t tag, Accepted accepted);
  void collect();

  // Datapath thread.
  ChannelEnd* take_new() noexcept { return handover_.take(); }
  void give_back(ChannelEnd* end) noexcept {
    counters_.ended.add();
    handover_.give_back(end);
  }
  SendStatus count_down() noexcept {
    counters_.down.add();
    return SendStatus::kDown;
  }
  ChannelCounters& counters() noexcept { return counters_; }
  const ChannelCounters& counters() const noexcept { return counters_; }

 private:
  LinkPart part(std::size_t extras) const noexcept;
  std::unique_ptr<ChannelEnd> make_end(std::span<const rdma::Grant> extras,
                                       std::vector<rdma::Grant>& grants);
  void adopt(PendingLink<ChannelEnd> link, const LinkPart& theirs);
  rdma::QueuePairOptions pair_options() const noexcept;

  rdma::Device& device_;
  rdma::CompletionChannel* channel_;
  ChannelOptions options_;
  Handover<ChannelEnd> handover_{kClientsMax};
  PendingConnect<ChannelEnd> connect_;
  PendingAccepts<ChannelEnd> accepts_;
  std::uint32_t next_id_ = 1;  // control thread
  ChannelCounters counters_;
};

// Idle polls between looks at the peer's line and the connection's state.
inline constexpr std::uint32_t kChannelIdleMask = 31;

template <class Deliver>
std::size_t ChannelEnd::receive(Deliver&& deliver, std::size_t batch,
                                ChannelCounters& counters) noexcept {
  if (batch == 0) [[unlikely]] {
    // What is not taken tells our credits all the same: without this both sides could wait.
    read_completions();
    if ((++idle_polls_ & kChannelIdleMask) == 0) look_around();
    return 0;
  }
  if (taken_ == arrived_ && read_completions() == 0) {
    if (failed_ || (++idle_polls_ & kChannelIdleMask) == 0) [[unlikely]]
      look_around();
    return 0;
  }
  std::size_t count = 0;
  while (taken_ != arrived_ && count < batch) {
    deliver(static_cast<const void*>(buffer(taken_)));
    if (pair_->post_receive(receive_request(taken_)) != rdma::PostStatus::kOk) failed_ = true;
    ++taken_;
    ++count;
  }
  counters.received.add(count);
  if (taken_ - returned_ >= return_after_) return_credits(counters);
  return count;
}

}  // namespace tickpath::link
