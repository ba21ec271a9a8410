// What a Publisher keeps for each subscriber, without the payload types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/cpu.hpp"
#include "common/link/connection.hpp"
#include "common/link/detail/handover.hpp"
#include "common/link/detail/multicast_sender.hpp"
#include "common/link/detail/pending.hpp"
#include "common/link/handshake.hpp"
#include "common/link/multicast.hpp"
#include "common/link/ring.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

inline constexpr std::size_t kSubscribersMax = 16;

struct PublisherOptions {
  std::string name = "publisher";        // of memory regions and in error texts
  std::uint32_t image_count = 0;         // 0: no images
  std::uint32_t depth_max = 1u << 16;    // slots; a subscriber asking for more is refused
  std::uint32_t images_per_flush = 256;  // bound of one flush(), and of one newcomer's first fill
  std::uint32_t send_depth = 256;        // of each queue pair
  std::uint32_t peer_timeout_ms = 0;     // 0: the device's; see rdma::QueuePairOptions
  MulticastOptions multicast = {};       // with a group: of all who can take it
};

// One writer, the datapath; any thread reads.
struct PublisherCounters {
  Counter published;      // updates
  Counter slots_posted;   // over all subscribers, but for multicast
  Counter slots_skipped;  // not written: no receive left (immediate) or send queue full
  Counter images_flushed;
  Counter watermarks;
  Counter subscribers_lost;  // died, or were cut off
  Counter subscribers_left;  // of their own will
};

struct SubscriberStatus {
  std::uint32_t id;
  std::string name;  // of the program, as given to start_accept()
  std::string peer;
  RingMode mode;
  std::uint32_t depth;
  std::uint64_t join_sequence;
  std::uint64_t skipped;
  bool lost;
  bool multicast;  // it takes datagrams, and is not written to
};

// What one subscriber was sent between joining and leaving: its side finds as many seen or overrun,
// unless updates were published while it left.
struct SubscriberAccount {
  std::uint32_t id;
  std::string name;
  std::uint64_t published;
  bool lost;  // it died or was cut off: nobody can say how far it came
};

// One subscriber. The datapath thread's, from take_in() until it is given back.
struct alignas(kCacheLineBytes) PublisherPeer {
  rdma::WorkRequest slot_request;  // prefilled: only address, flags and immediate change
  rdma::QueuePair* pair = nullptr;
  std::uint64_t ring_address = 0;
  std::uint64_t mask = 0;
  std::uint64_t slots = 0;       // immediate: slots written; the next goes to slots & mask
  std::uint64_t immediates = 0;  // receives used at the subscriber
  std::uint64_t returned = 0;    // of those, given back as far as we looked
  const ReturnLine* return_line = nullptr;  // written by the subscriber
  std::uint32_t unsignaled = 0;
  std::uint32_t signal_interval = 1;
  RingMode mode = RingMode::kPoll;
  bool skipping = false;       // poll: the send queue was full; resume() writes a hole first
  bool notice_owed = false;    // immediate: it lost updates and has not been told
  bool filling = false;        // it has not been given all images yet
  bool watermark_due = false;  // one could not be posted, or something new must be said
  bool close_posted = false;
  bool close_done = false;
  bool failed = false;
  bool multicast = false;  // nothing is written to it but what joining and leaving need

  std::uint64_t join_sequence = 0;
  std::uint64_t skipped_sequence = 0;  // newest update that was not written
  std::uint64_t fill_cursor = 0;       // the next image that a newcomer is given
  std::uint64_t watermark_version = 0;
  RingLayout layout;
  rdma::RemoteRegion region;
  std::unique_ptr<rdma::MemoryRegion> return_region;  // outlives the queue pair
  std::unique_ptr<Connection> connection;

  std::uint32_t id = 0;  // for status(), which reads the counters while the datapath runs
  std::string name;
  std::string peer_name;
  Counter taken_in;
  Counter joined_at;
  Counter left_at;
  Counter skips;
  Counter lost;  // failed: `left` says whether of its own will
  Counter left;
};

class PublisherPeers {
 public:
  PublisherPeers(rdma::Device& device, rdma::CompletionChannel* channel,
                 const PublisherOptions& options);
  // Before anything else: what subscribers that take multicast are told of.
  void use(const MulticastSender& multicast) noexcept { multicast_ = &multicast; }

  // ---- control thread
  void start_accept(rdma::ConnectionRequest& request, std::span<const std::byte> program_answer,
                    std::span<const rdma::Grant> extras, std::string name, LinkPart ours,
                    rdma::Grant images, Accepted accepted);
  bool accepting() const noexcept { return !accepts_.empty(); }
  void collect();
  std::size_t revoke(const rdma::MemoryRegion& region);
  std::vector<SubscriberStatus> status() const;
  const std::vector<SubscriberAccount>& departed() const noexcept { return departed_; }
  std::vector<SubscriberAccount> accounts() const;

  // ---- datapath thread
  std::span<PublisherPeer* const> active() const noexcept { return {active_.data(), count_}; }
  // The peers that are written to: an update costs nothing for the others.
  std::span<PublisherPeer* const> writers() const noexcept {
    return {writers_.data(), writer_count_};
  }
  bool any_filling() const noexcept {
    for (const PublisherPeer* const peer : writers())
      if (peer->filling) return true;
    return false;
  }
  // Writes a slot, or notes that this subscriber does not get it.
  void post_slot(PublisherPeer& peer, const RingSlot& slot) noexcept;
  // WRITEs one VersionedRecord of `bytes`, whose head is `version`, to `offset` in the subscriber's
  // region. False: it may be half there; write it again.
  bool post_record(PublisherPeer& peer, std::size_t offset, const void* record, std::size_t bytes,
                   std::uint32_t lkey, std::uint64_t version) noexcept;
  void post_watermark(PublisherPeer& peer, std::uint64_t published, std::uint64_t flushed) noexcept;
  void set_program_word(std::uint64_t word) noexcept { program_word_ = word; }
  void set_program_place(std::uint64_t place) noexcept { program_place_ = place; }
  std::uint64_t program_word() const noexcept { return program_word_; }
  std::uint64_t program_place() const noexcept { return program_place_; }
  void turn(std::uint64_t published, std::uint64_t flushed) noexcept;
  void close(std::uint64_t published, std::uint64_t flushed) noexcept;
  bool closing() const noexcept { return closing_; }
  bool closed() const noexcept;
  void end(std::uint32_t id) noexcept;
  void arm() noexcept;
  PublisherCounters& counters() noexcept { return counters_; }
  const PublisherCounters& counters() const noexcept { return counters_; }

 private:
  PendingLink<PublisherPeer> begin(rdma::ConnectionRequest& request,
                                   std::span<const std::byte> program_answer,
                                   std::span<const rdma::Grant> extras, std::string name,
                                   LinkPart ours, rdma::Grant images);
  std::uint32_t adopt(PendingLink<PublisherPeer> link);
  void check(const LinkPart& theirs, const LinkPart& ours) const;
  void close_account(const PublisherPeer& peer);
  rdma::PostStatus post(PublisherPeer& peer, rdma::WorkRequest& request) noexcept;
  rdma::PostStatus post_slow(PublisherPeer& peer, rdma::WorkRequest& request,
                             rdma::PostStatus status) noexcept;
  void skip(PublisherPeer& peer, std::uint64_t sequence) noexcept;
  void resume(PublisherPeer& peer, std::uint64_t published) noexcept;
  bool has_receive(PublisherPeer& peer) noexcept;
  void read_completions(PublisherPeer& peer) noexcept;
  void take_in(std::uint64_t published) noexcept;
  void serve(PublisherPeer& peer, std::uint64_t published, std::uint64_t flushed) noexcept;
  void drop_failed() noexcept;
  void drop(PublisherPeer& peer) noexcept;
  bool has_all(const PublisherPeer& peer) const noexcept;

  rdma::Device& device_;
  rdma::CompletionChannel* channel_;
  PublisherOptions options_;
  Handover<PublisherPeer> handover_{kSubscribersMax,
                                    [this](const PublisherPeer& peer) { close_account(peer); }};
  PendingAccepts<PublisherPeer> accepts_;
  std::uint32_t next_id_ = 1;  // control thread
  std::vector<SubscriberAccount> departed_;

  std::array<PublisherPeer*, kSubscribersMax> active_{};  // datapath thread from here on
  std::size_t count_ = 0;
  std::array<PublisherPeer*, kSubscribersMax> writers_{};
  std::size_t writer_count_ = 0;
  const MulticastSender* multicast_ = nullptr;
  std::size_t served_ = 0;  // of those with multicast: whose turn it was
  bool serve_all_ = false;
  TscTicks close_until_{0};
  bool closing_ = false;
  std::uint64_t program_word_ = 0;
  std::uint64_t program_place_ = 0;
  PublisherCounters counters_;
};

inline rdma::PostStatus PublisherPeers::post(PublisherPeer& peer,
                                             rdma::WorkRequest& request) noexcept {
  // One completion for every signal_interval requests: enough to free the send queue in time, and
  // cheap. Failures complete without it.
  const bool signal = ++peer.unsignaled >= peer.signal_interval;
  request.flags = static_cast<std::uint8_t>((request.flags & ~unsigned{rdma::kSignaled}) |
                                            (signal ? unsigned{rdma::kSignaled} : 0u));
  const rdma::PostStatus status = peer.pair->post_send(request);
  if (status != rdma::PostStatus::kOk) [[unlikely]]
    return post_slow(peer, request, status);
  if (signal) peer.unsignaled = 0;
  return status;
}

// A receive that the subscriber posted and that is not used up: a slot that it is done with.
inline bool PublisherPeers::has_receive(PublisherPeer& peer) noexcept {
  if (peer.immediates - peer.returned <= peer.mask) [[likely]]
    return true;
  // Pairs with the subscriber's WRITE of the count, which follows its copy of the slot: without
  // acquire a slot could be overwritten that it still reads.
  peer.returned = load_word(peer.return_line->returned, std::memory_order_acquire);
  return peer.immediates - peer.returned <= peer.mask;
}

inline void PublisherPeers::post_slot(PublisherPeer& peer, const RingSlot& slot) noexcept {
  rdma::WorkRequest& request = peer.slot_request;
  std::uint64_t index = slot.sequence;
  const bool immediate = peer.mode == RingMode::kImmediate;
  if (immediate) {
    index = peer.slots;
    request.imm_data = static_cast<std::uint32_t>(index) & ~kNoticeImmediate;
    if (!has_receive(peer)) [[unlikely]]
      return skip(peer, slot.sequence);
  } else if (peer.skipping) [[unlikely]] {
    return skip(peer, slot.sequence);
  }
  request.local_address = &slot;
  request.remote_address = peer.ring_address + (index & peer.mask) * sizeof(RingSlot);
  if (post(peer, request) != rdma::PostStatus::kOk) [[unlikely]]
    return skip(peer, slot.sequence);
  if (immediate) {
    ++peer.slots;
    ++peer.immediates;
  }
  counters_.slots_posted.add();
}

}  // namespace tickpath::link
