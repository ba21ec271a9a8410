// What a Publisher keeps for each subscriber, without the payload types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/link/connection.hpp"
#include "common/link/handshake.hpp"
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
  std::uint32_t peer_timeout_ms = 50;    // see rdma::QueuePairOptions
};

// One writer, the datapath; any thread reads.
struct PublisherCounters {
  Counter published;      // updates
  Counter slots_posted;   // over all subscribers
  Counter slots_skipped;  // not written: no receive left (immediate) or send queue full
  Counter images_flushed;
  Counter watermarks;
  Counter subscribers_lost;
};

struct SubscriberStatus {
  std::uint32_t id;
  std::string peer;
  RingMode mode;
  std::uint32_t depth;
  std::uint64_t join_sequence;
  std::uint64_t skipped;
  bool lost;
};

// One subscriber, on the datapath.
struct alignas(kCacheLineBytes) PublisherPeer {
  rdma::WorkRequest slot_request;  // prefilled: only address, flags and immediate change
  rdma::QueuePair* pair = nullptr;
  std::uint64_t ring_address = 0;
  std::uint64_t mask = 0;
  std::uint64_t slots = 0;       // immediate: slots written; the next goes to slots & mask
  std::uint64_t immediates = 0;  // receives used at the subscriber
  std::uint64_t returned = 0;    // of those, given back as far as we looked
  const std::uint64_t* returned_word = nullptr;  // written by the subscriber
  std::uint64_t join_sequence = 0;
  std::uint64_t skipped_sequence = 0;  // newest update that was not written
  std::uint64_t flush_count = 0;
  std::uint64_t watermark_version = 0;
  std::uint64_t fill_cursor = 0;  // first image that a newcomer has not been given
  std::uint32_t unsignaled = 0;
  std::uint32_t signal_interval = 64;
  RingMode mode = RingMode::kPoll;
  bool skipping = false;     // poll: the send queue was full; resume() writes a hole first
  bool notice_owed = false;  // immediate: it lost updates and has not been told
  bool filling = false;
  bool watermark_due = true;
  bool closed_told = false;
  bool failed = false;

  RingLayout layout;
  rdma::RemoteRegion region;
  std::unique_ptr<Connection> connection;
  std::unique_ptr<rdma::MemoryRegion> return_region;
  std::uint32_t id = 0;
  std::string peer_name;
  Counter join_seen, skips, lost;  // for status()
};

class PublisherPeers {
 public:
  PublisherPeers(rdma::Device& device, rdma::CompletionChannel* channel,
                 const PublisherOptions& options);

  // Control thread.
  void accept(rdma::ConnectionRequest& request, std::span<const std::byte> program_answer,
              std::span<const rdma::Grant> extras, const LinkPart& ours, rdma::Grant images);
  void collect();
  std::vector<SubscriberStatus> status() const;

  // Datapath thread.
  std::span<PublisherPeer* const> active() const noexcept { return {active_.data(), count_}; }
  void post_slot(PublisherPeer& peer, const RingSlot& slot) noexcept;
  // bytes of one record whose versions are `version`; false when it could not be posted.
  bool post_record(PublisherPeer& peer, std::size_t offset, const void* record, std::size_t bytes,
                   std::uint32_t lkey, std::uint64_t version) noexcept;
  void post_watermark(PublisherPeer& peer, std::uint64_t published, std::uint64_t flushed) noexcept;
  void turn(std::uint64_t published, std::uint64_t flushed) noexcept;
  void close(std::uint64_t published, std::uint64_t flushed) noexcept;
  bool closed() const noexcept;
  void arm() noexcept;
  PublisherCounters& counters() noexcept { return counters_; }
  const PublisherCounters& counters() const noexcept { return counters_; }

 private:
  rdma::PostStatus post(PublisherPeer& peer, rdma::WorkRequest& request) noexcept;
  void skip(PublisherPeer& peer, std::uint64_t sequence) noexcept;
  void resume(PublisherPeer& peer, std::uint64_t published, std::uint64_t flushed) noexcept;
  bool has_receive(PublisherPeer& peer) noexcept;
  void read_completions(PublisherPeer& peer) noexcept;
  void take_in(std::uint64_t published, std::uint64_t flushed) noexcept;
  void drop_failed() noexcept;

  rdma::Device& device_;
  rdma::CompletionChannel* channel_;
  PublisherOptions options_;
  std::vector<std::unique_ptr<PublisherPeer>> owned_;  // control thread
  std::uint32_t next_id_ = 1;
  SpscRing<PublisherPeer*> to_datapath_{kSubscribersMax * 2};
  SpscRing<PublisherPeer*> to_control_{kSubscribersMax * 2};

  std::array<PublisherPeer*, kSubscribersMax> active_{};  // datapath thread from here on
  std::size_t count_ = 0;
  bool closing_ = false;
  PublisherCounters counters_;
};

}  // namespace tickpath::link
