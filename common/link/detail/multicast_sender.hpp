// What a Publisher has for its subscribers by multicast, without the payload types: the group, the
// datagram under way, and the region from which those who missed one READ what was in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/link/detail/group_member.hpp"
#include "common/link/multicast.hpp"
#include "common/rdma/datagram.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

class MulticastSender {
 public:
  // Control thread; waits until it has joined the group. image_bytes: of a VersionedRecord; 0: no
  // images. Throws rdma::SetupError.
  MulticastSender(rdma::Device& device, const std::string& name, const MulticastOptions& options,
                  std::size_t image_bytes);

  // ---- control thread
  const MulticastInvitation& invitation() const noexcept { return invitation_; }
  rdma::Grant grant() const noexcept { return {region_.get(), rdma::kRemoteRead}; }
  // Now and then: joins the group again where the network ended the membership.
  void keep() { member_->keep(); }
  // Why datagrams reach nobody, for good; empty while they may. Any thread.
  std::string error_text() const { return pair_->error_text(); }
  // Why the group is lost, until it is joined again; empty while it is joined. Any thread.
  std::string group_lost() const { return member_->error_text(); }

  // ---- datapath thread
  // Stores the slot, whose sequence is the next, and puts it into the datagram under way.
  void append(const RingSlot& slot) noexcept;
  // Appends an image, which is stored in the publisher's table already.
  void append_image(std::uint32_t index, const void* record) noexcept;
  // Sends what waits. Updates wait for as long as their publisher has more at hand, no longer.
  void flush() noexcept {
    if (count_ != 0) send();
  }
  // Images sent, and the end of those that ever were.
  std::uint64_t images() const noexcept { return images_; }
  std::uint64_t images_used() const noexcept { return images_used_; }
  // Stores the state for who looks, and sends it to all.
  void tell(const MulticastState& state) noexcept;
  // Seldom: reads completions, so that the send queue does not fill before it is looked at.
  void turn() noexcept {
    if (unread_ >= options_.send_depth / 2) read_completions();
  }
  const MulticastSenderCounters& counters() const noexcept { return counters_; }

 private:
  void store_state(const MulticastState& state) noexcept;
  std::byte* room_for(DatagramKind kind, std::uint64_t first, std::size_t bytes) noexcept;
  void send() noexcept;
  void address(const rdma::AddressHandle& group) noexcept;
  void read_completions() noexcept;

  MulticastOptions options_;
  std::size_t image_bytes_;
  MulticastLayout layout_;
  std::uint64_t mask_;
  std::unique_ptr<rdma::MemoryRegion> region_;   // others READ it
  std::unique_ptr<rdma::MemoryRegion> buffers_;  // datagrams under way, one a request and one more
  std::unique_ptr<rdma::CompletionQueue> queue_;
  std::unique_ptr<rdma::DatagramQueuePair> pair_;
  std::unique_ptr<GroupMember> member_;
  MulticastInvitation invitation_;

  MulticastPlace* place_;
  MulticastStateLine* state_;
  std::uint64_t* checks_;
  std::uint64_t* log_;
  RingSlot* slots_;

  rdma::DatagramRequest request_;  // prefilled, for the group as it was joined last
  std::size_t datagram_bytes_;     // the longest
  std::size_t stride_;             // of buffers
  std::size_t buffer_ = 0;         // the one that is filled
  std::byte* filling_;             // its first byte
  std::size_t bytes_ = 0;          // of the datagram under way, with its header
  std::uint32_t count_ = 0;        // of what is in it
  DatagramKind kind_ = DatagramKind::kUpdates;
  std::uint32_t unsignaled_ = 0;
  std::uint32_t unread_ = 0;  // requests since completions were read
  std::uint64_t check_;
  std::uint64_t images_ = 0;
  std::uint64_t images_used_ = 0;
  MulticastSenderCounters counters_;
};

}  // namespace tickpath::link
