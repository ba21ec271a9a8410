// Bodies of subscriber.hpp: set-up. The datapath is in subscriber_datapath.hpp.
#pragma once

#include <algorithm>
#include <bit>

#include "common/base/check.hpp"
#include "common/link/detail/setup.hpp"
#include "common/link/subscriber.hpp"

namespace tickpath::link {

// Send requests of a subscriber: returned receives, and what sinks post.
inline constexpr std::uint32_t kSubscriberSendDepth = 64;

template <SlotPayload T, ImagePayload Image>
Subscriber<T, Image>::Subscriber(rdma::Device& device, rdma::CompletionChannel* channel,
                                 SubscriberOptions options)
    : device_(device), channel_(channel), options_(std::move(options)) {
  if (options_.depth < 2 || !std::has_single_bit(options_.depth))
    throw rdma::SetupError(rdma::SetupCause::kLimit,
                           options_.name + ": a ring of " + std::to_string(options_.depth) +
                               " slots; it must be a power of two, at least 2");
}

template <SlotPayload T, ImagePayload Image>
std::size_t Subscriber<T, Image>::usable_depth() const noexcept {
  if (options_.mode == RingMode::kPoll) return options_.depth;
  // Every slot of an immediate ring takes a receive, and the device has only so many.
  return std::min(options_.depth, std::bit_floor(device_.info().queue_depth_max / 2));
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
  parameters.options.send_depth = kSubscriberSendDepth;
  parameters.options.receive_depth = immediate ? static_cast<std::uint32_t>(depth) : 1;
  parameters.options.inline_bytes = sizeof(std::uint64_t);
  parameters.options.message_bytes_max = sizeof(RingSlot);
  parameters.options.peer_timeout_ms = options_.peer_timeout_ms;
  parameters.timeout_ms = timeout_ms;
  link.queue =
      device_.create_queue(parameters.options.receive_depth + 2 * kSubscriberSendDepth, channel_);
  link.set_up = device_.start_connect(*link.queue, parameters);
  connect_.begin(std::move(link));
}

template <SlotPayload T, ImagePayload Image>
std::vector<std::byte> Subscriber<T, Image>::adopt(PendingLink<Session> link,
                                                   const std::vector<std::byte>& answer) {
  const LinkPart theirs = require_part(answer, link.part);
  const std::size_t own_grants = theirs.image_count != 0 ? 2 : 1;
  const std::size_t extra = first_extra(*link.pair, theirs, own_grants);
  Session& session = *link.made;
  session.return_line = link.pair->remote_regions()[0];
  require_region(session.return_line, sizeof(ReturnLine), rdma::kRemoteWrite, "return line");
  session.image_count = std::min(theirs.image_count, options_.image_count);
  session.connection =
      std::make_unique<Connection>(std::move(link.queue), std::move(link.pair), extra);
  handover_.give(std::move(link.made));
  const std::span<const std::byte> program = program_part(answer);
  return {program.begin(), program.end()};
}

template <SlotPayload T, ImagePayload Image>
std::optional<std::vector<std::byte>> Subscriber<T, Image>::poll_connect() {
  return connect_.poll([this](PendingLink<Session> link, const std::vector<std::byte>& answer) {
    return adopt(std::move(link), answer);
  });
}

}  // namespace tickpath::link

#include "common/link/detail/subscriber_datapath.hpp"
