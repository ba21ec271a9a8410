// What a Subscriber has to take multicast with, without the payload types. It puts what comes into
// the subscriber's own ring and images, where WRITEs would have put it, and READs what is missing
// from the publisher.
//
// One READ operation is under way at a time. Each ends with a READ of the publisher's place: by it
// what was fetched before is known to have been whole (multicast.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.hpp"
#include "common/link/detail/group_member.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/link/multicast.hpp"
#include "common/rdma/datagram.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// The subscriber's memory, which the receiver fills.
struct MulticastMemory {
  RingSlot* slots;
  std::size_t depth;  // a power of two
  std::byte* images;  // VersionedRecords
  std::size_t image_bytes;
  std::uint32_t image_count;  // the publisher's
};

class MulticastReceiver final : public OneSidedClient {
 public:
  // Requests that it may have posted and not completed.
  static constexpr std::uint32_t kRequestsMax = 64;

  // Control thread. Begins to join. channel: of the datapath thread that parks, or nullptr. Throws
  // rdma::SetupError.
  MulticastReceiver(rdma::Device& device, rdma::CompletionChannel* channel, const std::string& name,
                    const MulticastInvitation& invitation, const MulticastMemory& memory,
                    const MulticastLoss& loss, MulticastCounters& counters);

  // ---- control thread
  // Never blocks. False: still joining. Throws rdma::SetupError.
  bool joined() { return member_->joined(); }
  // Once joined, now and then: joins again where the network ended it. What is missed is READ.
  void keep() { member_->keep(); }
  // Why the queue pair takes nothing any more, for good; empty while it may. Any thread.
  std::string error_text() const { return pair_->error_text(); }
  // Why the group is lost; empty while it is joined. Any thread.
  std::string group_lost() const { return member_->error_text(); }

  // ---- datapath thread
  // ring: the publisher's region; images: its table.
  void attach(Connection& connection, const rdma::RemoteRegion& ring,
              const rdma::RemoteRegion& images) noexcept;
  // The reader goes on at `next`: after the join, and when it was overrun.
  void begin(std::uint64_t next) noexcept;
  // Takes datagrams, and asks for what is missing. next: the reader's, who is done with all before.
  void step(std::uint64_t next) noexcept;
  // An answer is awaited: poll the connection.
  bool waiting() const noexcept { return operation_ != Operation::kNone; }
  // Something that was not the publisher's was among the updates or images.
  bool forged() const noexcept { return forged_; }
  // The last step brought datagrams: there may be more.
  bool busy() const noexcept { return taken_ != 0; }
  // The queue pair for datagrams, or a READ, failed.
  bool failed() const noexcept { return failed_; }
  // Every update before is in the ring.
  std::uint64_t frontier() const noexcept { return frontier_; }
  // The update at frontier() is lost: the publisher's ring has later ones in its place. The newest
  // that it has published; 0: nothing is lost.
  std::uint64_t lost_to() const noexcept { return lost_to_; }
  // As the publisher said over the connection. `flushed` is that of the images here.
  std::uint64_t flushed() const noexcept { return flushed_; }
  const MulticastState& state() const noexcept { return state_; }
  // Images are waited for: the state is looked at as soon as it is worth it.
  void look_soon() noexcept {
    next_look_ = std::min(next_look_, TscTicks{looked_when_.value + look_soon_.value});
  }
  // The publisher has closed, and `last` is its last update: all images are here.
  bool images_settled(std::uint64_t last) noexcept;
  // All updates as well.
  bool settled(std::uint64_t last) noexcept;
  // Before sleeping on the channel.
  void arm() noexcept { queue_->arm(false); }
  bool may_sleep(std::uint64_t next) const noexcept {
    return operation_ == Operation::kNone && !closing_ && next == frontier_ &&
           newest_ < frontier_ && images_newest_ < image_next_;
  }

 private:
  enum class Operation : std::uint8_t {
    kNone,
    kLook,    // at the state, and the check of what was taken
    kFill,    // a stretch of updates
    kLog,     // which images were missed
    kImages,  // some of them
    kTable,   // a stretch of all images
  };
  // What operations are for. They take turns.
  enum class Purpose : std::uint8_t { kState, kUpdates, kImages };
  static constexpr std::size_t kFillMax = 256;    // updates a READ
  static constexpr std::size_t kImagesMax = 16;   // images at once, three READs each
  static constexpr std::size_t kSeenMask = 4095;  // MulticastLayout::kImageLog - 1

  // Where READs land.
  struct Work {
    std::uint64_t check;
    std::uint64_t reserved[7];
    MulticastPlace place;  // behind it the state: one READ fetches both
    MulticastStateLine state;
    std::uint64_t heads[2][kImagesMax];  // of images, before and after
    std::uint64_t log[kImagesMax];
    std::byte bytes[3][kFillMax * sizeof(RingSlot)];  // slots, images, or the table three times
  };

  // Datagrams (multicast_receiver.cpp).
  void post_receive(std::uint64_t buffer) noexcept;
  void take(const rdma::Completion& completion) noexcept;
  void take_updates(const DatagramHeader& header, const std::byte* bytes) noexcept;
  void take_images(const DatagramHeader& header, const std::byte* bytes) noexcept;
  void take_state(const std::byte* bytes) noexcept;
  bool put(const RingSlot& slot) noexcept;
  void advance() noexcept;
  void extend_check() noexcept;
  void put_image(std::uint64_t index, const std::byte* record) noexcept;
  void note_image(std::uint64_t number) noexcept;
  RingSlot& held(std::uint64_t sequence) noexcept { return memory_.slots[sequence & ring_mask_]; }

  // READs (multicast_recovery.cpp).
  void on_answer(bool success) noexcept override;
  void start() noexcept;
  bool start_next() noexcept;
  bool start_fill() noexcept;
  bool start_images() noexcept;
  void start_log() noexcept;
  void start_images_read() noexcept;
  void start_table() noexcept;
  bool start_look() noexcept;
  void finish_look() noexcept;
  void finish_fill() noexcept;
  void finish_log() noexcept;
  void finish_images() noexcept;
  void finish_table() noexcept;
  void finish_wanted() noexcept;
  void read_table_again() noexcept;
  void settle() noexcept;
  bool post_all(Operation operation) noexcept;
  void add_read(const rdma::RemoteRegion& from, std::size_t offset, void* to,
                std::size_t bytes) noexcept;
  void add_wrapped(std::size_t offset, std::uint64_t first, std::size_t count, std::size_t slots,
                   std::size_t entry_bytes, std::byte* to) noexcept;
  bool is_whole(const std::byte* record, std::uint64_t before, std::uint64_t after) const noexcept;
  std::uint64_t head_of(const std::byte* record) const noexcept {
    std::uint64_t head;
    std::memcpy(&head, record + memory_.image_bytes - 8, sizeof(head));
    return head;
  }
  Work& work() noexcept { return *reinterpret_cast<Work*>(memory()); }

  MulticastInvitation invitation_;
  MulticastMemory memory_;
  std::uint64_t ring_mask_;
  MulticastLayout layout_;  // the publisher's
  MulticastLoss loss_;
  Random random_;
  MulticastCounters& counters_;
  std::size_t stride_;  // of receive buffers
  std::unique_ptr<rdma::MemoryRegion> buffers_;
  std::unique_ptr<rdma::CompletionQueue> queue_;
  std::unique_ptr<rdma::DatagramQueuePair> pair_;
  std::unique_ptr<GroupMember> member_;
  rdma::RemoteRegion ring_;
  rdma::RemoteRegion table_;

  std::size_t taken_ = 0;
  bool begun_ = false;
  bool forged_ = false;
  bool failed_ = false;
  std::uint64_t next_ = 1;      // the reader's
  std::uint64_t frontier_ = 1;  // the first update that is not here
  std::uint64_t newest_ = 0;    // known to exist, or said to
  std::uint64_t lost_to_ = 0;

  // check_ is of all updates up to checked_, once anchored_.
  bool anchored_ = false;
  std::uint64_t check_ = 0;
  std::uint64_t checked_ = 0;
  std::uint64_t looked_check_ = 0;  // when the look under way began
  std::uint64_t looked_at_ = 0;
  std::uint64_t looked_newest_ = 0;
  std::uint64_t verified_ = 0;
  std::uint64_t gap_at_ = 0;  // where the last stretch ended that was READ

  std::uint64_t image_next_ = 1;  // number of the first image that is not here
  std::uint64_t images_newest_ = 0;
  std::vector<std::uint64_t> seen_;  // numbers, each at number & kSeenMask
  bool table_read_ = false;          // all images, since the join
  std::uint64_t table_cursor_ = 0;
  std::uint64_t table_end_ = 0;     // images_used when it began
  std::uint64_t table_images_ = 0;  // images sent by then
  std::uint64_t compared_ = 0;      // the image that was compared last
  std::uint64_t compared_version_ = 0;

  MulticastState state_{};    // newest, over the connection
  MulticastState awaited_{};  // whose images are waited for
  std::uint64_t flushed_ = 0;
  bool closing_ = false;  // the publisher has closed

  Operation operation_ = Operation::kNone;
  Purpose purpose_ = Purpose::kImages;  // of the newest
  std::array<rdma::WorkRequest, kRequestsMax> requests_;
  std::size_t request_count_ = 0;
  std::uint64_t first_ = 0;  // of the stretch under way
  std::size_t stretch_ = 0;
  std::array<std::uint32_t, kImagesMax> wanted_{};  // indexes
  std::size_t wanted_count_ = 0;
  std::uint64_t wanted_end_ = 0;  // image number behind those
  bool comparing_ = false;        // the one wanted is here already
  bool compare_due_ = false;      // since the last look
  bool looked_ = false;           // state_ is of after the join
  TscTicks next_look_{0};
  TscTicks looked_when_{0};
  TscTicks look_soon_;
  TscTicks look_every_;
  TscTicks look_quiet_;
};

}  // namespace tickpath::link
