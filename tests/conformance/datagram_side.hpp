// One side of a test of datagrams: a queue pair with its memory, and datagrams that carry a number
// and a pattern made from it. The test process drives some directly, peers by commands.
#pragma once

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "common/rdma/datagram.hpp"

namespace tickpath::rdma::conformance {

struct DatagramSideOptions {
  DatagramOptions queue_pair;
  std::uint32_t receives = 64;      // posted from the start, and again once used
  std::uint32_t receive_bytes = 0;  // 0: whatever may come
  bool channel = false;
};

// What receive() found.
struct Heard {
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // numbers
  std::uint64_t last = 0;
  std::uint64_t damaged = 0;     // not as its sender made it
  std::uint64_t disordered = 0;  // not behind the one before
};

class DatagramSide {
 public:
  DatagramSide(Device& device, const DatagramSideOptions& options);

  DatagramQueuePair& queue_pair() { return *queue_pair_; }
  CompletionQueue& queue() { return *queue_; }
  CompletionChannel& channel() { return *channel_; }
  MemoryRegion& memory() { return *memory_; }
  MulticastMembership& membership() { return *membership_; }

  // Both aim what is sent from then on. join() waits until it holds.
  void join(const std::string& group, MulticastRole role);
  void reach(const DatagramAddress& address);
  void leave() { membership_.reset(); }

  // A request for datagram `number`, written to the sending end of memory().
  DatagramRequest request(std::uint64_t number, std::uint32_t length);
  // Posts it and waits for its completion; the text of what went wrong, or empty.
  std::string send(const DatagramRequest& request);
  std::string send(std::uint64_t first, std::uint64_t count, std::uint32_t length);
  // Takes datagrams until `count` came or the (scaled) time is over; posts their receives again.
  Heard receive(std::uint64_t count, int timeout_ms);
  PostStatus post_receive(std::uint64_t index);

  // The completion of the last datagram, and where it lies.
  const Completion& last() const noexcept { return last_; }
  const std::byte* last_buffer() const noexcept { return receive_buffer(last_.wr_id); }
  const std::byte* receive_buffer(std::uint64_t index) const noexcept {
    return memory_->data() + (1 + index) * stride_;
  }
  // What neither was expected nor is a receive, by its text.
  const std::string& failure() const noexcept { return failure_; }

 private:
  void take(const Completion& completion, Heard& heard);
  void poll_some(Heard& heard);

  Device& device_;
  DatagramSideOptions options_;
  std::uint32_t stride_;
  std::unique_ptr<MemoryRegion> memory_;
  std::unique_ptr<CompletionChannel> channel_;
  std::unique_ptr<CompletionQueue> queue_;
  std::unique_ptr<DatagramQueuePair> queue_pair_;
  std::unique_ptr<AddressHandle> handle_;
  std::unique_ptr<MulticastMembership> membership_;
  const AddressHandle* aim_ = nullptr;
  Completion last_;
  Heard early_;  // came while a send was waited for
  std::uint64_t sends_done_ = 0;
  std::string failure_;
};

// As words: "fe80...:17:19088743:0".
std::string to_word(const DatagramAddress& address);
DatagramAddress address_of_word(const std::string& word);

// A peer's commands, behind the word "datagram":
//   open KEY=VALUE ...            -> the address as a word
//   join GROUP ROLE | leave | reach ADDRESS
//   send FIRST COUNT LENGTH
//   flood LENGTH MILLISECONDS     -> how many were sent
//   receive COUNT MILLISECONDS    -> "count first last damaged disordered"
//   park COUNT MILLISECONDS       -> the same, asleep on the channel between datagrams
//   senders                       -> how many the membership hears
class DatagramPeer {
 public:
  explicit DatagramPeer(Device& device) : device_(device) {}
  std::string run(std::istringstream& words);

 private:
  std::string open(std::istringstream& words);
  std::string flood(std::istringstream& words);
  std::string park(std::istringstream& words);
  Device& device_;
  std::unique_ptr<DatagramSide> side_;
};

MulticastRole role_of_word(const std::string& word);
std::string to_words(const Heard& heard);
Heard heard_of_words(const std::string& words);

}  // namespace tickpath::rdma::conformance
