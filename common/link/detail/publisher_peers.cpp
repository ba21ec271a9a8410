#include "common/link/detail/publisher_peers.hpp"

#include <algorithm>
#include <utility>

#include "common/clock/clock.hpp"
#include "common/link/capabilities.hpp"
#include "common/link/detail/setup.hpp"

namespace tickpath::link {

namespace {

// wr_ids of the pattern itself (tag 0).
constexpr std::uint64_t kOrdinary = 0;
constexpr std::uint64_t kCloseWatermark = 1;

// After close(): so long a subscriber may READ what it missed of the multicast. A stopped one must
// not keep its publisher from ending.
constexpr std::uint64_t kClosePatienceNs = 300'000'000;

}  // namespace

PublisherPeers::PublisherPeers(rdma::Device& device, rdma::CompletionChannel* channel,
                               const PublisherOptions& options)
    : device_(device), channel_(channel), options_(options) {
  require_placement(device_, options_.name);
}

// ---------------------------------------------------------------------------- control thread

void PublisherPeers::check(const LinkPart& theirs, const LinkPart& ours) const {
  if (theirs.depth < 2 || !std::has_single_bit(theirs.depth) || theirs.depth > options_.depth_max)
    throw rdma::SetupError(rdma::SetupCause::kLimit,
                           options_.name + ": a ring of " + std::to_string(theirs.depth) +
                               " slots was asked for; a power of two from 2 to " +
                               std::to_string(options_.depth_max) + " is possible");
  if (theirs.image_count < ours.image_count)
    throw rdma::SetupError(rdma::SetupCause::kLimit,
                           options_.name + ": the subscriber has room for " +
                               std::to_string(theirs.image_count) + " images, needed are " +
                               std::to_string(ours.image_count));
  if (theirs.mode != RingMode::kPoll && theirs.mode != RingMode::kImmediate)
    throw rdma::SetupError(rdma::SetupCause::kProtocol, options_.name + ": unknown ring mode");
}

// Everything that can be refused with a text, and our half.
PendingLink<PublisherPeer> PublisherPeers::begin(rdma::ConnectionRequest& request,
                                                 std::span<const std::byte> program_answer,
                                                 std::span<const rdma::Grant> extras,
                                                 std::string name, LinkPart ours,
                                                 rdma::Grant images) {
  ours.extra_grants = static_cast<std::uint32_t>(extras.size());
  PendingLink<PublisherPeer> link;
  link.part = require_part(request.hello(), ours);
  check(link.part, ours);
  handover_.require_room(options_.name);
  if (handover_.owned().size() + accepts_.size() >= kSubscribersMax) accepts_.drop_oldest();
  link.made = std::make_unique<PublisherPeer>();
  PublisherPeer& peer = *link.made;
  peer.name = std::move(name);
  peer.peer_name = request.peer();
  peer.multicast = multicast_ != nullptr && link.part.takes_multicast != 0;
  peer.filling = ours.image_count != 0 && !peer.multicast;
  peer.return_region = device_.allocate(kCacheLineBytes, rdma::kLocalWrite | rdma::kRemoteWrite,
                                        options_.name + ".returned");
  std::vector<rdma::Grant> grants{{peer.return_region.get(), rdma::kRemoteWrite}};
  if (images.region != nullptr) grants.push_back(images);
  std::vector<std::byte> invitation;
  if (peer.multicast) {
    grants.push_back(multicast_->grant());
    invitation = invitation_bytes(multicast_->invitation());
    ours.multicast_bytes = static_cast<std::uint32_t>(invitation.size());
  }
  grants.insert(grants.end(), extras.begin(), extras.end());

  rdma::QueuePairOptions options;
  options.send_depth = options_.send_depth;
  options.receive_depth = 1;  // nobody sends to a publisher
  options.inline_bytes = sizeof(RingSlot);
  options.message_bytes_max = sizeof(RingSlot);
  options.peer_timeout_ms = options_.peer_timeout_ms;
  link.queue = device_.create_queue(options_.send_depth * 2, channel_);
  link.set_up = request.start_accept(*link.queue, options,
                                     join_hello(program_answer, invitation, ours), grants, {});
  return link;
}

// The peer's half is here: checked, and handed to the datapath.
std::uint32_t PublisherPeers::adopt(PendingLink<PublisherPeer> link) {
  handover_.require_room(options_.name);
  const LinkPart& theirs = link.part;
  PublisherPeer& peer = *link.made;
  const std::size_t extra = first_extra(*link.pair, theirs, 1);
  peer.layout = {theirs.depth, theirs.image_count, theirs.image_bytes};
  peer.region = link.pair->remote_regions()[0];
  require_region(peer.region, peer.layout.size_bytes(), rdma::kRemoteWrite, "ring region");
  if (link.pair->inline_bytes() < sizeof(RingSlot))
    throw rdma::SetupError(rdma::SetupCause::kLimit, options_.name + ": the device sends only " +
                                                         std::to_string(link.pair->inline_bytes()) +
                                                         " bytes inline, a ring slot needs 64");
  peer.mode = theirs.mode;
  peer.mask = theirs.depth - 1;
  peer.pair = link.pair.get();
  peer.connection =
      std::make_unique<Connection>(std::move(link.queue), std::move(link.pair), extra);
  peer.id = next_id_++;
  peer.ring_address = peer.region.address + RingLayout::ring_offset();
  peer.return_line = reinterpret_cast<const ReturnLine*>(peer.return_region->data());
  peer.signal_interval = std::max(1u, options_.send_depth / 4);
  peer.watermark_due = true;
  peer.slot_request.opcode =
      peer.mode == RingMode::kImmediate ? rdma::Opcode::kWriteWithImm : rdma::Opcode::kWrite;
  // Solicited: wakes a subscriber that sleeps.
  peer.slot_request.flags = static_cast<std::uint8_t>(
      rdma::kInline | (peer.mode == RingMode::kImmediate ? unsigned{rdma::kSolicited} : 0u));
  peer.slot_request.length_bytes = sizeof(RingSlot);
  peer.slot_request.rkey = peer.region.rkey;
  peer.slot_request.wr_id = kOrdinary;
  const std::uint32_t id = peer.id;
  handover_.give(std::move(link.made));
  return id;
}

void PublisherPeers::start_accept(rdma::ConnectionRequest& request,
                                  std::span<const std::byte> program_answer,
                                  std::span<const rdma::Grant> extras, std::string name,
                                  LinkPart ours, rdma::Grant images, Accepted accepted) {
  accepts_.add(
      accept_or_reject(
          request,
          [&] { return begin(request, program_answer, extras, std::move(name), ours, images); }),
      std::move(accepted));
}

void PublisherPeers::collect() {
  handover_.collect();
  accepts_.step([this](PendingLink<PublisherPeer> link) { return adopt(std::move(link)); });
}

std::size_t PublisherPeers::revoke(const rdma::MemoryRegion& region) {
  accepts_.drop_all("rights were revoked meanwhile");
  std::size_t count = 0;
  for (const std::unique_ptr<PublisherPeer>& peer : handover_.owned())
    count += peer->pair->revoke(region);
  return count;
}

std::vector<SubscriberStatus> PublisherPeers::status() const {
  std::vector<SubscriberStatus> result;
  for (const std::unique_ptr<PublisherPeer>& peer : handover_.owned())
    result.push_back({peer->id, peer->name, peer->peer_name, peer->mode,
                      static_cast<std::uint32_t>(peer->layout.depth), peer->joined_at.get(),
                      peer->skips.get(), peer->lost.get() != 0, peer->multicast});
  return result;
}

void PublisherPeers::close_account(const PublisherPeer& peer) {
  departed_.push_back(
      {peer.id, peer.name, peer.left_at.get() - peer.joined_at.get(), peer.left.get() == 0});
}

std::vector<SubscriberAccount> PublisherPeers::accounts() const {
  std::vector<SubscriberAccount> result = departed_;
  for (const std::unique_ptr<PublisherPeer>& peer : handover_.owned()) {
    if (peer->taken_in.get() == 0) continue;
    const bool gone = peer->lost.get() != 0;
    const std::uint64_t until = gone ? peer->left_at.get() : counters_.published.get();
    result.push_back(
        {peer->id, peer->name, until - peer->joined_at.get(), gone && peer->left.get() == 0});
  }
  return result;
}

// ---------------------------------------------------------------------------- datapath thread

rdma::PostStatus PublisherPeers::post_slow(PublisherPeer& peer, rdma::WorkRequest& request,
                                           rdma::PostStatus status) noexcept {
  if (status == rdma::PostStatus::kQueueFull) {
    read_completions(peer);
    status = peer.pair->post_send(request);
  }
  if (status == rdma::PostStatus::kOk && (request.flags & rdma::kSignaled) != 0)
    peer.unsignaled = 0;
  if (status == rdma::PostStatus::kNotReady) peer.failed = true;
  return status;
}

void PublisherPeers::skip(PublisherPeer& peer, std::uint64_t sequence) noexcept {
  peer.skipped_sequence = sequence;
  if (peer.mode == RingMode::kPoll)
    peer.skipping = true;
  else
    peer.notice_owed = true;
  peer.skips.add();
  counters_.slots_skipped.add();
}

void PublisherPeers::resume(PublisherPeer& peer, std::uint64_t published) noexcept {
  RingSlot hole{};
  hole.sequence = published | kHole;
  rdma::WorkRequest& request = peer.slot_request;
  request.local_address = &hole;
  request.remote_address = peer.ring_address + (published & peer.mask) * sizeof(RingSlot);
  if (post(peer, request) != rdma::PostStatus::kOk) return;
  peer.skipping = false;
  peer.skipped_sequence = published;
  peer.watermark_due = true;
}

bool PublisherPeers::post_record(PublisherPeer& peer, std::size_t offset, const void* record,
                                 std::size_t bytes, std::uint32_t lkey,
                                 std::uint64_t version) noexcept {
  const std::uint64_t odd = version - 1;
  rdma::WorkRequest request;
  request.wr_id = kOrdinary;
  request.rkey = peer.region.rkey;
  request.flags = rdma::kInline;
  request.local_address = &odd;
  request.length_bytes = sizeof(odd);
  request.remote_address = peer.region.address + offset + bytes - sizeof(odd);
  if (post(peer, request) != rdma::PostStatus::kOk) return false;
  request.flags = static_cast<std::uint8_t>(bytes <= sizeof(RecordLine) ? rdma::kInline : 0);
  request.local_address = record;
  request.length_bytes = static_cast<std::uint32_t>(bytes);
  request.lkey = lkey;
  request.remote_address = peer.region.address + offset;
  return post(peer, request) == rdma::PostStatus::kOk;
}

void PublisherPeers::post_watermark(PublisherPeer& peer, std::uint64_t published,
                                    std::uint64_t flushed) noexcept {
  VersionedRecord<Watermark> record(peer.watermark_version);
  record.store({peer.join_sequence, flushed, published, peer.skipped_sequence,
                closing_ ? 1ull : 0ull, program_word_, program_place_});
  peer.watermark_version += 2;
  peer.watermark_due = true;  // until all of it is posted
  if (!post_record(peer, RingLayout::watermark_offset(), &record, sizeof(record), 0,
                   peer.watermark_version))
    return;
  if (closing_ || peer.notice_owed) {
    // Nothing but a completion: it tells the subscriber to look, and us that it all arrived.
    rdma::WorkRequest request;
    request.wr_id = closing_ ? kCloseWatermark : kOrdinary;
    request.rkey = peer.region.rkey;
    request.remote_address = peer.region.address;
    request.flags = rdma::kInline;
    if (peer.mode == RingMode::kImmediate && has_receive(peer)) {
      request.opcode = rdma::Opcode::kWriteWithImm;
      request.imm_data = kNoticeImmediate;
      request.flags |= rdma::kSolicited;
    } else if (!closing_) {
      return;  // no receive left: watermark_due stays, the next turn tries again
    }
    if (closing_) peer.unsignaled = peer.signal_interval;  // makes post() ask for a completion
    if (post(peer, request) != rdma::PostStatus::kOk) return;
    if (request.opcode == rdma::Opcode::kWriteWithImm) ++peer.immediates;
    peer.notice_owed = false;
    peer.close_posted = closing_;
  }
  peer.watermark_due = false;
  counters_.watermarks.add();
}

void PublisherPeers::read_completions(PublisherPeer& peer) noexcept {
  peer.connection->poll([&peer](const rdma::Completion& completion) {
    if (completion.status != rdma::CompletionStatus::kSuccess)
      peer.failed = true;
    else if (completion.wr_id == kCloseWatermark)
      peer.close_done = true;
  });
  if (peer.connection->failed()) peer.failed = true;
}

void PublisherPeers::take_in(std::uint64_t published) noexcept {
  while (count_ < kSubscribersMax) {
    PublisherPeer* const peer = handover_.take();
    if (peer == nullptr) return;
    peer->join_sequence = published;
    peer->joined_at.set(published);
    peer->taken_in.set(1);
    if (closing_) peer->filling = false;  // too late for images, it is only told so
    active_[count_++] = peer;
    if (!peer->multicast) writers_[writer_count_++] = peer;
  }
}

void PublisherPeers::turn(std::uint64_t published, std::uint64_t flushed) noexcept {
  take_in(published);
  for (PublisherPeer* const peer : writers()) serve(*peer, published, flushed);
  if (writer_count_ != count_) {
    // The others have next to nothing to be looked for: one a turn, so that a turn costs the same
    // for any number of them.
    const bool all = std::exchange(serve_all_, false) || closing_;
    for (std::size_t i = 0; i < (all ? count_ : 1); ++i) {
      served_ = served_ + 1 < count_ ? served_ + 1 : 0;
      if (active_[served_]->multicast) serve(*active_[served_], published, flushed);
    }
  }
  drop_failed();
}

void PublisherPeers::serve(PublisherPeer& peer, std::uint64_t published,
                           std::uint64_t flushed) noexcept {
  read_completions(peer);
  if (peer.failed) return;
  if (peer.skipping) resume(peer, published);
  const bool due = peer.watermark_due || peer.notice_owed || (closing_ && !peer.close_posted);
  if (due && !peer.filling) post_watermark(peer, published, flushed);
}

void PublisherPeers::end(std::uint32_t id) noexcept {
  for (PublisherPeer* const peer : active())
    if (peer->id == id) peer->failed = true;
  drop_failed();
}

void PublisherPeers::drop_failed() noexcept {
  for (std::size_t i = 0; i < count_;) {
    PublisherPeer* const peer = active_[i];
    if (!peer->failed) {
      ++i;
      continue;
    }
    active_[i] = active_[--count_];
    PublisherPeer** const end = writers_.data() + writer_count_;
    writer_count_ =
        static_cast<std::size_t>(std::remove(writers_.data(), end, peer) - writers_.data());
    drop(*peer);
  }
}

void PublisherPeers::drop(PublisherPeer& peer) noexcept {
  peer.left_at.set(counters_.published.get());
  // Written before the queue pair failed, so it is there; orders nothing else. One that has been
  // told the final count has no more to wait for.
  const std::uint64_t leaving = load_word(peer.return_line->leaving, std::memory_order_relaxed);
  // The subscriber may have left after the message of the end reached it, before its
  // acknowledgement came.
  const bool left = peer.close_done || peer.close_posted || leaving != 0;
  // A foreign word, so it counts between joining and now.
  if (leaving != 0)
    peer.left_at.set(
        std::max(peer.joined_at.get(), std::min(leaving - 1, counters_.published.get())));
  peer.left.set(left ? 1 : 0);
  peer.lost.set(1);
  (left ? counters_.subscribers_left : counters_.subscribers_lost).add();
  handover_.give_back(&peer);
}

void PublisherPeers::close(std::uint64_t published, std::uint64_t flushed) noexcept {
  if (!closing_)
    close_until_ = {tsc_now().value + clock::TickConverter().from_ns(kClosePatienceNs).value};
  closing_ = true;
  turn(published, flushed);
}

bool PublisherPeers::closed() const noexcept {
  return closing_ && std::all_of(active_.begin(), active_.begin() + static_cast<long>(count_),
                                 [this](const PublisherPeer* peer) { return has_all(*peer); });
}

// The subscriber needs nothing of ours any more.
bool PublisherPeers::has_all(const PublisherPeer& peer) const noexcept {
  if (!peer.close_done) return false;
  // Relaxed: it orders nothing; the subscriber has READ what it wanted before it wrote the word.
  return !peer.multicast || load_word(peer.return_line->returned, std::memory_order_relaxed) != 0 ||
         tsc_now() >= close_until_;
}

void PublisherPeers::arm() noexcept {
  serve_all_ = true;  // in the look that follows: whoever wakes us may be any of them
  for (PublisherPeer* const peer : active()) peer->connection->completion_queue().arm(false);
}

}  // namespace tickpath::link
