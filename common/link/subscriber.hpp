// The reading side of update ring and images.
//
// The ring and the images lie in the subscriber's own memory; poll() touches nothing else. A life:
//
//   poll_connect() -> joining: waits for the first watermark
//             -> resyncing: waits until the images include everything up to the position to start
//                from, hands each image that changed to the handler (all of them at first)
//             -> live: hands over updates in order
//   overrun -> counted exactly, back to resyncing at the live position
//   peer closed or lost -> what is still in the ring is handed over first, then on_link()
//
// Invariant once closed: published since join = seen + overrun.
//
// Where the publisher sends by multicast and we can take it, MulticastReceiver puts into ring and
// images what its WRITEs would have put there; all else is the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/link/connection.hpp"
#include "common/link/detail/handover.hpp"
#include "common/link/detail/multicast_receiver.hpp"
#include "common/link/detail/pending.hpp"
#include "common/link/multicast.hpp"
#include "common/link/ring.hpp"
#include "common/link/versioned_record.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

struct SubscriberOptions {
  std::string name = "subscriber";  // of memory regions and in error texts
  RingMode mode = RingMode::kPoll;
  std::uint32_t depth = 1u << 14;  // slots, a power of two; 64 bytes each
  std::uint32_t image_count = 0;  // at least the publisher's; memory that is not used costs nothing
  std::uint32_t images_per_poll = 64;  // bound of one poll() while resyncing
  std::uint32_t peer_timeout_ms = 0;   // 0: the device's; see rdma::QueuePairOptions
  std::string peer_role = {};          // who must answer; see rdma::ConnectParameters
  bool multicast = true;               // to be taken where the publisher has it, and our device
  MulticastLoss loss = {};
};

// One writer, the datapath; any thread reads. Since the newest connection.
struct SubscriberCounters {
  Counter published;     // by the publisher since the join, as far as known; final once closed
  Counter seen;          // handed to the handler
  Counter overrun;       // lost: overwritten, never sent, or superseded by an image
  Counter overruns;      // how often
  Counter resyncs;       // from images, completed; the first one included
  Counter images;        // handed to the handler
  Counter conserved;     // 1 once closed and published = seen + overrun
  Counter by_multicast;  // 1: updates come by multicast, 0: by WRITE
  Counter forged;  // connections that ended because what came by multicast was not the publisher's
  MulticastCounters multicast;
};

enum class SubscriberState : std::uint8_t { kDown, kJoining, kResyncing, kLive };

// What poll() calls; all noexcept. Only on_update is a must; give the others if you use them.
//
//   void on_update(const T& update, std::uint64_t sequence)
//   void on_image(std::uint32_t index, const Image& image)   image.ring_sequence: includes all
//                                                            updates up to that one. If it
//                                                            returns bool, false: not taken, so
//                                                            that no update is superseded by it
//   void on_overrun(std::uint64_t lost)                       images follow
//   void on_live()                                           every image is as new as can be
//   void on_link(LinkEvent event)
//   bool wants_image(std::uint32_t index)                    false: spares the copy
//   std::uint32_t image_index(const T& update)               which image shows it, or kNoImageIndex
// With image_index(), an update that an image already shown includes is not handed over but counted
// as overrun: time never runs backwards for one image.
inline constexpr std::uint32_t kNoImageIndex = 0xffff'ffff;

template <SlotPayload T, ImagePayload Image = NoImage>
class Subscriber {
 public:
  using Record = VersionedRecord<Image>;

  // Control thread. channel: of the datapath thread that parks, or nullptr.
  Subscriber(rdma::Device& device, rdma::CompletionChannel* channel, SubscriberOptions options);

  // ---- control thread

  // Begins to connect, without waiting for the peer; the attempt fails after timeout_ms. grants:
  // the program's own, for the publisher. Throws rdma::SetupError.
  void start_connect(const std::string& endpoint, std::span<const std::byte> program_hello,
                     std::span<const rdma::Grant> grants = {}, std::uint32_t timeout_ms = 2000);
  // Goes on with it. nullopt: under way. Else the program's bytes of the answer: the connection is
  // handed to the datapath, which uses it from its next poll() on, or as soon as the former one has
  // ended. Throws rdma::SetupError: the attempt is over.
  std::optional<std::vector<std::byte>> poll_connect();
  bool connecting() const noexcept { return connect_.under_way() || joining_ != nullptr; }
  // Destroys what the datapath gave back; ends a connection whose multicast has ended. Call it now
  // and then.
  void collect();
  // Why the next connection would not take multicast, whoever publishes; empty while it would. What
  // was forged once may be forged again, so that stays. After a failed join it stays for a minute.
  std::string multicast_refused() const;
  // Why no datagram comes, as of the last collect(): the network ended the membership, which is
  // being joined again, while updates are READ. Empty while the group is joined.
  const std::string& multicast_lost() const noexcept { return group_lost_; }

  // ---- datapath thread; noexcept, no system call, no allocation

  // Hands over at most `batch` updates. Returns how many updates and images it handed over.
  template <class Handler>
  std::size_t poll(Handler& handler, std::size_t batch = 64) noexcept;

  SubscriberState state() const noexcept { return state_; }
  // The connection in use, to attach sinks to (remote tables, heartbeats); nullptr when down.
  // Changes only within poll(), which then calls on_link(kConnected).
  Connection* connection() noexcept { return current_ ? current_->connection.get() : nullptr; }
  // The newest image as it lies in our memory; it may be ahead of or behind position(). kEmpty also
  // when there is no connection or no such image.
  ReadStatus image(std::uint32_t index, Image& out) const noexcept {
    if (current_ == nullptr || index >= current_->image_count) return ReadStatus::kEmpty;
    return image_records()[index].load(out);
  }
  // Gives sinks their completions now; while updates flow, poll() does so only now and then.
  void poll_sinks() noexcept {
    if (current_ != nullptr) read_completions();
  }
  // The newest sequence handed over, or made known by images. At any time, once joined:
  // position() - join_sequence() = seen + overrun.
  std::uint64_t position() const noexcept { return next_ - 1; }
  std::uint64_t join_sequence() const noexcept { return watermark_.join_sequence; }
  // The publisher's latest word on itself; all zero before the first.
  const Watermark& watermark() const noexcept { return watermark_; }
  // Hands every image over once more, then goes on with the updates behind them. Only when live;
  // else the images to come are those that changed since they were shown.
  void show_images_again() noexcept {
    if (state_ != SubscriberState::kLive) return;
    std::fill(current_->image_version.begin(), current_->image_version.end(), 0);
    start_from(next_);
  }

  // Tells the publisher that we leave of our own will, so that it does not report a loss. Then
  // destroy the subscriber.
  void close() noexcept;

  // Leaves the publisher, but the object stays: the connection ends, on_link(kClosed) is called,
  // and another one may be made.
  template <class Handler>
  void quit(Handler& handler) noexcept {
    if (current_ == nullptr) return;
    close();
    leave(LinkEvent::kClosed, handler);
  }

  // Before sleeping on the channel (immediate mode): arm, poll() once more, then wait, and never
  // without a bound. False: do not sleep, a resynchronisation is under way.
  void arm() noexcept;
  bool may_sleep() const noexcept;

  const SubscriberCounters& counters() const noexcept { return counters_; }

 private:
  // One connection with the memory that its publisher writes.
  struct Session {
    std::unique_ptr<rdma::MemoryRegion> region;   // outlives the queue pair
    std::unique_ptr<MulticastReceiver> receiver;  // likewise; nullptr: it is written to
    std::unique_ptr<Connection> connection;
    RingLayout layout;
    std::uint32_t image_count = 0;  // the publisher's
    rdma::RemoteRegion return_line;
    rdma::RemoteRegion image_table;             // multicast: the publisher's
    rdma::RemoteRegion multicast_ring;          // likewise
    std::vector<std::uint64_t> image_version;   // of each image as shown last
    std::vector<std::uint64_t> image_sequence;  // its ring_sequence
  };

  // Control thread.
  std::unique_ptr<Session> make_session(std::size_t depth);
  std::vector<std::byte> adopt(PendingLink<Session> link, const std::vector<std::byte>& answer);
  void begin_multicast(Session& session, std::span<const std::byte> invitation);
  std::optional<std::vector<std::byte>> poll_join();
  void refuse_join(const std::string& why);
  LinkPart part(std::size_t depth, std::size_t extras) const noexcept;
  std::size_t usable_depth() const noexcept;

  // Datapath thread.
  template <class Handler>
  bool turn_multicast(Handler& handler) noexcept;
  void confirm_close() noexcept;
  // Slots are looked for in the ring: no completion tells of them.
  bool polls_ring() const noexcept {
    return options_.mode == RingMode::kPoll || receiver_ != nullptr;
  }
  template <class Handler>
  void adopt(Session& session, Handler& handler) noexcept;
  template <class Handler>
  void leave(LinkEvent event, Handler& handler) noexcept;
  template <class Handler>
  std::size_t poll_ring(Handler& handler, std::size_t batch) noexcept;
  template <class Handler>
  std::size_t poll_immediate(Handler& handler, std::size_t batch) noexcept;
  template <class Handler>
  std::size_t resynchronise(Handler& handler) noexcept;
  template <class Handler>
  void hand_over(const T& update, Handler& handler) noexcept;
  template <class Handler>
  void overrun(std::uint64_t new_next, Handler& handler) noexcept;
  template <class Handler>
  void look_around(Handler& handler) noexcept;
  bool update_waits() noexcept;
  void finish_counts() noexcept;
  void start_from(std::uint64_t next) noexcept;
  void read_completions() noexcept;
  void return_receives() noexcept;
  bool read_watermark() noexcept;
  const VersionedRecord<Watermark>& watermark_record() const noexcept;
  const Record* image_records() const noexcept;

  rdma::Device& device_;
  rdma::CompletionChannel* channel_;
  SubscriberOptions options_;
  Handover<Session> handover_{4};
  PendingConnect<Session> connect_;
  std::unique_ptr<Session> joining_;  // connected; its multicast is being joined
  std::vector<std::byte> joining_answer_;
  std::chrono::steady_clock::time_point join_until_;
  std::string join_error_;  // of the last join that failed
  std::chrono::steady_clock::time_point join_again_at_;
  std::string group_lost_;
  std::atomic<bool> forged_{false};

  Session* current_ = nullptr;  // datapath thread from here on
  MulticastReceiver* receiver_ = nullptr;
  RingReader ring_;
  SubscriberState state_ = SubscriberState::kDown;
  bool failed_ = false;              // the connection; what has landed is still read
  bool images_complete_ = false;     // while resyncing: the watermark has been reached
  bool armed_ = false;               // the connection, at least once
  std::uint64_t next_ = 1;           // the sequence to come
  std::uint64_t resync_target_ = 0;  // images must include everything up to here
  std::uint64_t image_cursor_ = 0;
  std::uint64_t image_sequence_max_ = 0;  // newest of those shown
  std::uint64_t arrived_ = 0;             // immediate: slot completions read
  std::uint64_t taken_ = 0;               // of those, done with
  std::uint64_t notices_ = 0;             // immediate: other completions
  std::uint64_t returned_ = 0;            // receives posted again
  std::uint64_t reported_ = 0;            // of those, reported to the publisher
  std::uint64_t watermark_version_ = 0;
  std::uint32_t idle_polls_ = 0;
  std::uint32_t idle_polls_mask_;
  std::uint32_t busy_polls_ = 0;
  Watermark watermark_{};
  SubscriberCounters counters_;
};

}  // namespace tickpath::link

#include "common/link/detail/subscriber_impl.hpp"
