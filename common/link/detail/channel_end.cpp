#include "common/link/detail/channel_end.hpp"

#include <algorithm>
#include <bit>

#include "common/link/capabilities.hpp"
#include "common/link/detail/setup.hpp"
#include "common/link/words.hpp"

namespace tickpath::link {

namespace {

// Beyond one request for each credit: credit returns, the close, and what sinks post.
constexpr std::uint32_t kSpareSends = 64;

}  // namespace

// ------------------------------------------------------------------------------- control thread

ChannelEnds::ChannelEnds(rdma::Device& device, rdma::CompletionChannel* channel,
                         ChannelOptions options)
    : device_(device), channel_(channel), options_(std::move(options)) {
  require_placement(device_, options_.name);
  if (options_.depth < 2 || !std::has_single_bit(options_.depth))
    throw rdma::SetupError(rdma::SetupCause::kLimit, options_.name + ": depth " +
                                                         std::to_string(options_.depth) +
                                                         " must be a power of two, at least 2");
}

LinkPart ChannelEnds::part(std::size_t extras) const noexcept {
  LinkPart part;
  part.pattern = Pattern::kChannel;
  part.depth = options_.depth;
  part.payload_bytes = kMessageBytes;
  part.reply_bytes = kMessageBytes;
  part.extra_grants = static_cast<std::uint32_t>(extras);
  return part;
}

rdma::QueuePairOptions ChannelEnds::pair_options() const noexcept {
  rdma::QueuePairOptions options;
  options.send_depth = options_.depth + kSpareSends;
  options.receive_depth = options_.depth;
  options.inline_bytes = kMessageBytes;
  options.message_bytes_max = kMessageBytes;
  options.peer_timeout_ms = options_.peer_timeout_ms;
  return options;
}

std::unique_ptr<ChannelEnd> ChannelEnds::make_end(std::span<const rdma::Grant> extras,
                                                  std::vector<rdma::Grant>& grants) {
  handover_.require_room(options_.name);
  auto end = std::make_unique<ChannelEnd>();
  end->depth = options_.depth;
  // The line is in a region of its own: what the peer may WRITE holds no message.
  end->line_region = device_.allocate(kCacheLineBytes, rdma::kLocalWrite | rdma::kRemoteWrite,
                                      options_.name + ".line");
  end->buffers = device_.allocate(options_.depth * kMessageBytes, rdma::kLocalWrite,
                                  options_.name + ".receives");
  grants.assign(1, {end->line_region.get(), rdma::kRemoteWrite});
  grants.insert(grants.end(), extras.begin(), extras.end());
  return end;
}

void ChannelEnds::start_connect(const std::string& endpoint,
                                std::span<const std::byte> program_hello,
                                std::span<const rdma::Grant> extras, std::uint32_t timeout_ms) {
  PendingLink<ChannelEnd> link;
  std::vector<rdma::Grant> grants;
  link.made = make_end(extras, grants);
  link.part = part(extras.size());
  const std::vector<std::byte> hello = join_hello(program_hello, link.part);
  const std::vector<rdma::ReceiveRequest> receives = link.made->initial_receives();
  rdma::ConnectParameters parameters;
  parameters.endpoint = endpoint;
  parameters.peer_role = options_.peer_role;
  parameters.hello = hello;
  parameters.grants = grants;
  parameters.initial_receives = receives;
  parameters.options = pair_options();
  parameters.timeout_ms = timeout_ms;
  link.queue = device_.create_queue(
      parameters.options.send_depth + parameters.options.receive_depth, channel_);
  link.set_up = device_.start_connect(*link.queue, parameters);
  connect_.begin(std::move(link));
}

void ChannelEnds::adopt(PendingLink<ChannelEnd> link, const LinkPart& theirs) {
  handover_.require_room(options_.name);
  const std::size_t extra = first_extra(*link.pair, theirs, 1);
  link.made->prepare(
      std::make_unique<Connection>(std::move(link.queue), std::move(link.pair), extra),
      theirs.depth, pair_options().send_depth);
  handover_.give(std::move(link.made));
}

std::optional<std::vector<std::byte>> ChannelEnds::poll_connect() {
  return connect_.poll([this](PendingLink<ChannelEnd> link, const std::vector<std::byte>& answer) {
    const LinkPart theirs = require_part(answer, link.part);
    adopt(std::move(link), theirs);
    const std::span<const std::byte> program = program_part(answer);
    return std::vector<std::byte>(program.begin(), program.end());
  });
}

void ChannelEnds::start_accept(rdma::ConnectionRequest& request,
                               std::span<const std::byte> program_answer,
                               std::span<const rdma::Grant> extras, std::uint64_t tag,
                               Accepted accepted) {
  PendingLink<ChannelEnd> made = accept_or_reject(request, [&] {
    PendingLink<ChannelEnd> link;
    std::vector<rdma::Grant> grants;
    link.made = make_end(extras, grants);
    link.made->tag = tag;
    if (handover_.owned().size() + accepts_.size() >= kClientsMax) accepts_.drop_oldest();
    const LinkPart ours = part(extras.size());
    link.part = require_part(request.hello(), ours);
    const rdma::QueuePairOptions options = pair_options();
    link.queue = device_.create_queue(options.send_depth + options.receive_depth, channel_);
    link.set_up = request.start_accept(*link.queue, options, join_hello(program_answer, ours),
                                       grants, link.made->initial_receives());
    return link;
  });
  accepts_.add(std::move(made), std::move(accepted));
}

void ChannelEnds::collect() {
  handover_.collect();
  accepts_.step([this](PendingLink<ChannelEnd> link) {
    const std::uint32_t id = next_id_++;
    link.made->id = ClientId{id};
    const LinkPart theirs = link.part;
    adopt(std::move(link), theirs);
    return id;
  });
}

void ChannelEnd::prepare(std::unique_ptr<Connection> made, std::uint32_t peer_depth,
                         std::uint32_t send_depth) {
  connection = std::move(made);
  pair_ = &connection->queue_pair();
  peer_line_ = pair_->remote_regions()[0];
  require_region(peer_line_, sizeof(ChannelLine), rdma::kRemoteWrite, "credit line");
  if (pair_->inline_bytes() < kMessageBytes)
    throw rdma::SetupError(rdma::SetupCause::kLimit,
                           "the device sends only " + std::to_string(pair_->inline_bytes()) +
                               " bytes inline, a channel message needs 64");
  peer_depth_ = std::min(peer_depth, send_depth - kSpareSends);
  // Neither side has more on its way than the smaller depth: a peer of a smaller one would wait for
  // ever for half of ours.
  return_after_ = std::max<std::uint64_t>(1, peer_depth_ / 2);
  signal_interval_ = std::max(1u, send_depth / 4);
  request_.opcode = rdma::Opcode::kSendWithImm;
  request_.flags = rdma::kInline | rdma::kSolicited;
  request_.length_bytes = kMessageBytes;
}

rdma::ReceiveRequest ChannelEnd::receive_request(std::uint64_t index) const noexcept {
  return {0, buffer(index), kMessageBytes, buffers->lkey()};
}

std::vector<rdma::ReceiveRequest> ChannelEnd::initial_receives() const {
  std::vector<rdma::ReceiveRequest> requests;
  for (std::uint64_t i = 0; i < depth; ++i) requests.push_back(receive_request(i));
  return requests;
}

// ------------------------------------------------------------------------------ datapath thread

rdma::PostStatus ChannelEnd::post(rdma::WorkRequest& request) noexcept {
  const bool signal = ++unsignaled_ >= signal_interval_;
  request.flags = static_cast<std::uint8_t>((request.flags & ~unsigned{rdma::kSignaled}) |
                                            (signal ? unsigned{rdma::kSignaled} : 0u));
  rdma::PostStatus status = pair_->post_send(request);
  if (status == rdma::PostStatus::kQueueFull) [[unlikely]] {
    read_completions();
    status = pair_->post_send(request);
  }
  if (status == rdma::PostStatus::kNotReady) failed_ = true;
  if (signal && status == rdma::PostStatus::kOk) unsignaled_ = 0;
  return status;
}

SendStatus ChannelEnd::send(const void* message, ChannelCounters& counters) noexcept {
  if (failed_ || close_wanted_) [[unlikely]] {
    counters.down.add();
    return SendStatus::kDown;
  }
  if (sent_ - acknowledged_ >= peer_depth_ && credits() == 0) [[unlikely]] {
    counters.full.add();
    return SendStatus::kFull;
  }
  request_.local_address = message;
  request_.imm_data = static_cast<std::uint32_t>(taken_);
  const rdma::PostStatus status = post(request_);
  if (status != rdma::PostStatus::kOk) [[unlikely]] {
    const bool full = status == rdma::PostStatus::kQueueFull;
    (full ? counters.full : counters.down).add();
    return full ? SendStatus::kFull : SendStatus::kDown;
  }
  ++sent_;
  returned_ = taken_;  // the immediate told the peer
  counters.sent.add();
  return SendStatus::kOk;
}

std::size_t ChannelEnd::credits() noexcept {
  // The peer's WRITE of the count follows its use of the buffers in its own order; nothing of ours
  // depends on more than the number, but a message sent on it must not pass the load: acquire.
  acknowledged_ = std::max(acknowledged_, load_word(line().recycled, std::memory_order_acquire));
  return peer_depth_ - (sent_ - acknowledged_);
}

std::size_t ChannelEnd::read_completions() noexcept {
  return connection->poll(
      [this](const rdma::Completion& completion) { on_completion(completion); });
}

void ChannelEnd::on_completion(const rdma::Completion& completion) noexcept {
  if (completion.status != rdma::CompletionStatus::kSuccess) [[unlikely]] {
    failed_ = true;
    return;
  }
  if (completion.opcode != rdma::Opcode::kRecvWithImm) return;  // one of ours is done
  if (completion.byte_length != kMessageBytes) [[unlikely]] {
    failed_ = true;  // not our protocol
    pair_->disconnect();
    return;
  }
  ++arrived_;
  // The low half of a count that only grows, by less than 2^32 between two messages.
  const std::uint32_t step = completion.imm_data - static_cast<std::uint32_t>(acknowledged_);
  if (step <= sent_ - acknowledged_) acknowledged_ += step;  // else older than what we know
}

void ChannelEnd::return_credits(ChannelCounters& counters) noexcept {
  if (!write_line(offsetof(ChannelLine, recycled), taken_)) return;  // at the next poll
  returned_ = taken_;
  counters.credits_written.add();
}

bool ChannelEnd::write_line(std::size_t offset, std::uint64_t value) noexcept {
  rdma::WorkRequest request;
  request.flags = rdma::kInline;
  request.local_address = &value;
  request.length_bytes = sizeof(value);
  request.rkey = peer_line_.rkey;
  request.remote_address = peer_line_.address + offset;
  return post(request) == rdma::PostStatus::kOk;
}

void ChannelEnd::close() noexcept {
  close_wanted_ = true;
  if (!close_sent_) close_sent_ = write_line(offsetof(ChannelLine, closed_at), sent_ + 1);
}

// Nothing came for a while, or something failed.
void ChannelEnd::look_around() noexcept {
  if (close_wanted_ && !close_sent_) close();
  if (connection->failed()) failed_ = true;
  // Pairs with the peer's WRITE, which follows its SENDs: their completions are there by now.
  const std::uint64_t closed_at = load_word(line().closed_at, std::memory_order_acquire);
  if (read_completions() != 0) return;
  if (closed_at != 0 && arrived_ + 1 == closed_at) peer_closed_ = true;
  over_ = taken_ == arrived_ && (failed_ || peer_closed_);
}

void ChannelEnd::arm() noexcept {
  connection->completion_queue().arm(true);
  armed_ = true;
}

}  // namespace tickpath::link
