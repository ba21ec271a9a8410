// The writing side of update ring and images: one publisher, up to 16 subscribers.
//
// Grants. Subscriber to publisher: the ring region (WRITE; RingLayout). Publisher to subscriber:
// 0 a line for returned receives (WRITE), the image table (READ; only with images), what multicast
// subscribers READ (only for those; multicast.hpp), extras.
//
// A datapath turn:   publish(update)..., mark_dirty(image)..., flush(fill), turn()
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/counter.hpp"
#include "common/link/detail/publisher_peers.hpp"
#include "common/link/ring.hpp"
#include "common/link/versioned_record.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// T: one update, 56 bytes. Image: the latest state of one thing, e.g. a book's best ten levels.
template <SlotPayload T, ImagePayload Image = NoImage>
class Publisher {
 public:
  using Record = VersionedRecord<Image>;

  // Control thread. channel: of the datapath thread that parks, or nullptr. Throws
  // rdma::SetupError.
  Publisher(rdma::Device& device, rdma::CompletionChannel* channel, PublisherOptions options);

  // ---- control thread

  // Begins the set-up with one subscriber, without waiting for it. A later collect() hands it to
  // the datapath, which serves it from its next turn() on, or finds that it failed, and calls
  // `accepted`. `name` is the program's, for status and accounts. Throws rdma::SetupError, after
  // rejecting the request with the same text, when depth, sizes or the number of subscribers do not
  // fit. Where all places are taken, the set-up that is under way for longest is given up.
  void start_accept(rdma::ConnectionRequest& request, std::span<const std::byte> program_answer,
                    std::span<const rdma::Grant> extras, std::string name, Accepted accepted) {
    peers_.start_accept(request, program_answer, extras, std::move(name), part(), image_grant(),
                        std::move(accepted));
  }
  // A set-up is under way.
  bool accepting() const noexcept { return peers_.accepting(); }
  // Goes on with set-ups; destroys subscribers that the datapath found dead, and closes their
  // accounts. Call it each tick.
  void collect() {
    peers_.collect();
    if (multicast_) multicast_->keep();
  }
  // Takes `region` back from every subscriber that it was granted to, as an image or an extra; see
  // rdma::QueuePair::revoke(). Set-ups under way are given up. Returns how many grants were taken
  // back.
  std::size_t revoke(const rdma::MemoryRegion& region) { return peers_.revoke(region); }
  std::vector<SubscriberStatus> subscribers() const { return peers_.status(); }
  // Accounts of the peers that collect() destroyed, in the order of their leaving.
  const std::vector<SubscriberAccount>& departed() const noexcept { return peers_.departed(); }
  // Accounts of all peers that ever joined. Final once the datapath thread has ended.
  std::vector<SubscriberAccount> accounts() const { return peers_.accounts(); }

  // The image table, image_count VersionedRecord<Image>, to grant for READ on other connections.
  // region is nullptr without images.
  rdma::Grant image_grant() const noexcept {
    return {image_region_.get(), image_region_ ? rdma::kRemoteRead : 0u};
  }

  // ---- datapath thread; noexcept, no system call, no allocation

  // Writes one slot to every subscriber; never waits. Returns the update's sequence, from 1. By
  // multicast: into a datagram, which is sent when it is full, or with the next flush() or turn().
  std::uint64_t publish(const T& update) noexcept;
  // Sequence of the newest update; 0 before the first.
  std::uint64_t sequence() const noexcept { return sequence_; }

  // What every later joiner learns with its first watermark, and who resynchronises with its next:
  // two words of the program's own, as of the newest update. Who follows hears of a change by
  // updates.
  void set_program_word(std::uint64_t word) noexcept { peers_.set_program_word(word); }
  void set_program_place(std::uint64_t place) noexcept { peers_.set_program_place(place); }

  // Image `index` no longer shows the latest state. Call it after publish() of the update that
  // changed it. Cheap when the image is dirty already.
  void mark_dirty(std::uint32_t index) noexcept;

  // Calls fill(std::uint32_t index, Image& out) for each dirty image, oldest first, at most
  // images_per_flush of them, and writes it once to each subscriber. `out` comes with its former
  // contents; link sets ring_sequence. Costs next to nothing when nothing is dirty. The watermark
  // follows in the first flush behind which nothing was published, or with each
  // kFlushesPerWatermark-th: only who resynchronises waits for it, and updates do not wait for two
  // more WRITEs to each subscriber.
  template <class Fill>
  void flush(Fill&& fill) noexcept;

  // Takes in new subscribers, reads completions, finds the dead, tells those who lost updates.
  void turn() noexcept {
    if (multicast_) {
      multicast_->flush();
      multicast_->turn();
    }
    if (peers_.closing()) finish_images();
    peers_.turn(sequence_, flushed_sequence());
  }

  // Tells every subscriber the final count; publish() is over. Call turn() until closed() or until
  // a bound of your own, then drop the publisher.
  void close() noexcept {
    if (multicast_) tell_state();
    peers_.close(sequence_, flushed_sequence());
  }
  // True once every living subscriber has been sent the close (its send queue had room).
  bool closed() const noexcept { return peers_.closed(); }

  // Before sleeping on the channel: arm, turn() once more, then wait, unless busy().
  void arm() noexcept { peers_.arm(); }
  // Images or the watermark wait for another flush(), or a newcomer has not been given all of them.
  bool busy() const noexcept {
    return dirty_head_ != dirty_tail_ || watermark_sequence_ != sequence_ || peers_.any_filling();
  }
  std::size_t subscriber_count() const noexcept { return peers_.active().size(); }
  // One of them, for sinks (its heartbeat); index < subscriber_count(). They come and go within
  // turn() only.
  struct SubscriberConnection {
    std::uint32_t id;
    Connection* connection;
  };
  SubscriberConnection subscriber(std::size_t index) const noexcept {
    const PublisherPeer* const peer = peers_.active()[index];
    return {peer->id, peer->connection.get()};
  }

  // Ends the connection with one of them, which then counts as lost; nothing more is written to it.
  void end(std::uint32_t id) noexcept { peers_.end(id); }

  const PublisherCounters& counters() const noexcept { return peers_.counters(); }
  // nullptr: every subscriber is written to.
  const MulticastSender* multicast() const noexcept { return multicast_.get(); }

 private:
  LinkPart part() const noexcept;
  // Every image includes all updates up to here.
  std::uint64_t flushed_sequence() const noexcept {
    return dirty_head_ == dirty_tail_ ? sequence_ : dirty_[dirty_head_ & dirty_mask_].sequence - 1;
  }
  // Writes record `index` to one subscriber.
  void write_image(PublisherPeer& peer, std::uint64_t index) noexcept;
  void finish_images() noexcept;
  void fill_newcomer(PublisherPeer& peer) noexcept;
  void tell_state() noexcept;

  static constexpr std::uint32_t kFlushesPerWatermark = 16;

  struct Dirty {
    std::uint32_t index;
    std::uint64_t sequence;  // newest update when it became dirty
  };

  PublisherOptions options_;
  std::unique_ptr<rdma::MemoryRegion> image_region_;
  Record* records_ = nullptr;
  std::unique_ptr<MulticastSender> multicast_;
  PublisherPeers peers_;
  std::uint64_t sequence_ = 0;
  // First in, first out, each image at most once; room for all.
  std::vector<Dirty> dirty_;
  std::vector<std::uint8_t> is_dirty_;
  std::vector<Image> images_;
  std::uint64_t dirty_mask_ = 0;
  std::uint64_t dirty_head_ = 0;
  std::uint64_t dirty_tail_ = 0;
  std::uint64_t watermark_sequence_ = 0;  // sequence_ when flush() last wrote watermarks
  std::uint64_t flush_sequence_ = 0;      // sequence_ at the last flush()
  std::uint32_t flushes_unmarked_ = 0;    // since watermarks were written
  bool filling_ = false;
};

}  // namespace tickpath::link

#include "common/link/detail/publisher_impl.hpp"
