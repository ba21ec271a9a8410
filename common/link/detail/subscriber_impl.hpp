// Bodies of subscriber.hpp: set-up. The datapath is in subscriber_datapath.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "common/base/check.hpp"
#include "common/link/capabilities.hpp"
#include "common/link/detail/setup.hpp"
#include "common/link/subscriber.hpp"

namespace tickpath::link {

// An idle ring is looked around (watermark, completions, state of the connection) once in so many
// polls: each costs a line that the publisher may be writing. A closed or lost peer is noticed that
// many polls later, which is microseconds. Where it is this side's library that places what the
// publisher WRITEs (rdma::Progress), every idle poll reads completions: it does so then, sooner
// than its thread would.
inline constexpr std::uint32_t kIdlePollsMask = 31;

// Send requests of a subscriber: returned receives, and what sinks post.
inline constexpr std::uint32_t kSubscriberSendDepth = 64;
// More of one that takes multicast: what it READs.
inline constexpr std::uint32_t kReadingSendDepth =
    kSubscriberSendDepth + 2 * MulticastReceiver::kRequestsMax;
// For the join of a group, behind the connection's set-up.
inline constexpr std::chrono::seconds kJoinPatience{5};
// After a failed join connections ask to be written to for so long; a later one tries again.
inline constexpr std::chrono::seconds kJoinPause{60};

template <SlotPayload T, ImagePayload Image>
Subscriber<T, Image>::Subscriber(rdma::Device& device, rdma::CompletionChannel* channel,
                                 SubscriberOptions options)
    : device_(device),
      channel_(channel),
      options_(std::move(options)),
      idle_polls_mask_(device.info().progress == rdma::Progress::kDevice ? kIdlePollsMask : 0) {
  // In immediate mode, too: its images and counts are polled.
  require_placement(device_, options_.name);
  if (options_.depth < 2 || !std::has_single_bit(options_.depth))
    throw rdma::SetupError(rdma::SetupCause::kLimit,
                           options_.name + ": a ring of " + std::to_string(options_.depth) +
                               " slots; it must be a power of two, at least 2");
}

template <SlotPayload T, ImagePayload Image>
std::size_t Subscriber<T, Image>::usable_depth() const noexcept {
  if (options_.mode == RingMode::kPoll) return options_.depth;
  // Every slot of an immediate ring takes a receive, and the device has only so many.
  const rdma::DeviceInfo& info = device_.info();
  const std::uint32_t most =
      info.receive_depth_max == 0 ? info.queue_depth_max : info.receive_depth_max;
  return std::min(options_.depth, std::bit_floor(most / 2));
}

template <SlotPayload T, ImagePayload Image>
LinkPart Subscriber<T, Image>::part(std::size_t depth, std::size_t extras) const noexcept {
  LinkPart part;
  part.pattern = Pattern::kRing;
  part.mode = options_.mode;
  part.depth = static_cast<std::uint32_t>(depth);
  part.payload_bytes = sizeof(T);
  part.image_bytes = sizeof(Record);
  part.image_count = options_.image_count;
  part.extra_grants = static_cast<std::uint32_t>(extras);
  part.takes_multicast =
      options_.multicast && device_.info().multicast && multicast_refused().empty() ? 1 : 0;
  return part;
}

template <SlotPayload T, ImagePayload Image>
auto Subscriber<T, Image>::make_session(std::size_t depth) -> std::unique_ptr<Session> {
  auto session = std::make_unique<Session>();
  session->layout = {depth, options_.image_count, sizeof(Record)};
  session->region = device_.allocate(session->layout.size_bytes(),
                                     rdma::kLocalWrite | rdma::kRemoteWrite, options_.name);
  session->image_version.resize(options_.image_count);
  session->image_sequence.resize(options_.image_count);
  return session;
}

template <SlotPayload T, ImagePayload Image>
void Subscriber<T, Image>::start_connect(const std::string& endpoint,
                                         std::span<const std::byte> program_hello,
                                         std::span<const rdma::Grant> grants,
                                         std::uint32_t timeout_ms) {
  handover_.require_room(options_.name);
  const std::size_t depth = usable_depth();
  PendingLink<Session> link;
  link.part = part(depth, grants.size());
  link.made = make_session(depth);
  std::vector<rdma::Grant> all{{link.made->region.get(), rdma::kRemoteWrite}};
  all.insert(all.end(), grants.begin(), grants.end());
  const std::vector<std::byte> hello = join_hello(program_hello, link.part);
  const bool immediate = options_.mode == RingMode::kImmediate;
  const std::vector<rdma::ReceiveRequest> receives(immediate ? depth : 0);

  rdma::ConnectParameters parameters;
  parameters.endpoint = endpoint;
  parameters.peer_role = options_.peer_role;
  parameters.hello = hello;
  parameters.grants = all;
  parameters.initial_receives = receives;
  parameters.options.send_depth =
      link.part.takes_multicast != 0 ? kReadingSendDepth : kSubscriberSendDepth;
  parameters.options.receive_depth = immediate ? static_cast<std::uint32_t>(depth) : 1;
  parameters.options.inline_bytes = sizeof(std::uint64_t);
  parameters.options.message_bytes_max = sizeof(RingSlot);
  parameters.options.peer_timeout_ms = options_.peer_timeout_ms;
  parameters.timeout_ms = timeout_ms;
  link.queue = device_.create_queue(
      parameters.options.receive_depth + 2 * parameters.options.send_depth, channel_);
  link.set_up = device_.start_connect(*link.queue, parameters);
  connect_.begin(std::move(link));
}

template <SlotPayload T, ImagePayload Image>
std::vector<std::byte> Subscriber<T, Image>::adopt(PendingLink<Session> link,
                                                   const std::vector<std::byte>& answer) {
  const LinkPart theirs = require_part(answer, link.part);
  const std::size_t with_images = theirs.image_count != 0 ? 1 : 0;
  const std::size_t with_multicast = theirs.multicast_bytes != 0 ? 1 : 0;
  const std::size_t own_grants = 1 + with_images + with_multicast;
  const std::size_t extra = first_extra(*link.pair, theirs, own_grants);
  Session& session = *link.made;
  session.return_line = link.pair->remote_regions()[0];
  require_region(session.return_line, sizeof(ReturnLine), rdma::kRemoteWrite, "return line");
  session.image_count = std::min(theirs.image_count, options_.image_count);
  if (with_multicast != 0) {
    if (with_images != 0) session.image_table = link.pair->remote_regions()[1];
    session.multicast_ring = link.pair->remote_regions()[1 + with_images];
    begin_multicast(session, invitation_part(answer));
  }
  session.connection =
      std::make_unique<Connection>(std::move(link.queue), std::move(link.pair), extra);
  const std::span<const std::byte> program = program_part(answer);
  if (session.receiver)
    joining_ = std::move(link.made);
  else
    handover_.give(std::move(link.made));
  return {program.begin(), program.end()};
}

template <SlotPayload T, ImagePayload Image>
void Subscriber<T, Image>::begin_multicast(Session& session,
                                           std::span<const std::byte> invitation) {
  const MulticastInvitation invited = read_invitation(invitation);
  require_region(session.multicast_ring, MulticastLayout{invited.part.depth}.size_bytes(),
                 rdma::kRemoteRead, "multicast ring");
  if (session.image_count != 0)
    require_region(session.image_table, session.image_count * sizeof(Record), rdma::kRemoteRead,
                   "image table");
  std::byte* const base = session.region->data();
  const MulticastMemory memory{reinterpret_cast<RingSlot*>(base + RingLayout::ring_offset()),
                               session.layout.depth, base + session.layout.image_offset(),
                               sizeof(Record), session.image_count};
  try {
    session.receiver = std::make_unique<MulticastReceiver>(
        device_, channel_, options_.name, invited, memory, options_.loss, counters_.multicast);
  } catch (const rdma::SetupError& error) {
    refuse_join(error.what());
    throw;
  }
  join_until_ = std::chrono::steady_clock::now() + kJoinPatience;
}

template <SlotPayload T, ImagePayload Image>
std::optional<std::vector<std::byte>> Subscriber<T, Image>::poll_connect() {
  if (!joining_) {
    std::optional<std::vector<std::byte>> answer =
        connect_.poll([this](PendingLink<Session> link, const std::vector<std::byte>& bytes) {
          return adopt(std::move(link), bytes);
        });
    if (!answer || !joining_) return answer;
    joining_answer_ = std::move(*answer);
  }
  return poll_join();
}

template <SlotPayload T, ImagePayload Image>
std::optional<std::vector<std::byte>> Subscriber<T, Image>::poll_join() {
  try {
    if (!joining_->receiver->joined()) {
      if (std::chrono::steady_clock::now() < join_until_) return std::nullopt;
      throw rdma::SetupError(rdma::SetupCause::kTimeout, "the network did not answer");
    }
  } catch (const rdma::SetupError& error) {
    joining_.reset();
    refuse_join(options_.name + ": the publisher's multicast could not be joined: " + error.what());
    throw rdma::SetupError(error.cause(), join_error_);
  }
  handover_.give(std::move(joining_));
  return std::move(joining_answer_);
}

// The next attempt asks to be written to.
template <SlotPayload T, ImagePayload Image>
void Subscriber<T, Image>::refuse_join(const std::string& why) {
  join_error_ = why;
  join_again_at_ = std::chrono::steady_clock::now() + kJoinPause;
}

template <SlotPayload T, ImagePayload Image>
void Subscriber<T, Image>::collect() {
  handover_.collect();
  group_lost_.clear();
  for (const std::unique_ptr<Session>& session : handover_.owned()) {
    if (!session->receiver) continue;
    session->receiver->keep();
    group_lost_ = session->receiver->group_lost();
    if (!session->receiver->error_text().empty()) session->connection->queue_pair().disconnect();
  }
}

template <SlotPayload T, ImagePayload Image>
std::string Subscriber<T, Image>::multicast_refused() const {
  // Relaxed: it orders nothing, and the connection that it is of has ended by then.
  if (forged_.load(std::memory_order_relaxed))
    return "what was not the publisher's came by multicast";
  return std::chrono::steady_clock::now() < join_again_at_ ? join_error_ : std::string();
}

}  // namespace tickpath::link

#include "common/link/detail/subscriber_datapath.hpp"
