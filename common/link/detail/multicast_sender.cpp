#include "common/link/detail/multicast_sender.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "common/base/check.hpp"

namespace tickpath::link {
namespace {

std::uint64_t random_epoch() {
  std::random_device entropy;
  return std::uint64_t{entropy()} << 32 | entropy();
}

void require_multicast(const rdma::Device& device, const std::string& name,
                       const MulticastOptions& options) {
  if (!device.info().multicast)
    throw rdma::SetupError(rdma::SetupCause::kLimit,
                           name + ": device " + device.info().name + " (" + device.info().provider +
                               ") has no multicast; publish by WRITE, or use another device");
  if (options.depth < 2 || !std::has_single_bit(options.depth))
    throw rdma::SetupError(rdma::SetupCause::kLimit,
                           name + ": a ring of " + std::to_string(options.depth) +
                               " updates to be READ; it must be a power of two, at least 2");
}

rdma::DatagramOptions pair_options(const rdma::Device& device, const MulticastOptions& options) {
  rdma::DatagramOptions result;
  result.send_depth = options.send_depth;
  result.receive_depth = 1;  // nobody sends to a publisher
  result.datagram_bytes_max =
      std::min(options.datagram_bytes_max, device.info().datagram_bytes_max);
  result.inline_bytes = std::min(device.info().inline_bytes_max, result.datagram_bytes_max);
  return result;
}

}  // namespace

MulticastSender::MulticastSender(rdma::Device& device, const std::string& name,
                                 const MulticastOptions& options, std::size_t image_bytes)
    : options_(options), image_bytes_(image_bytes), layout_{options.depth} {
  require_multicast(device, name, options);
  mask_ = options.depth - 1;
  region_ = device.allocate(layout_.size_bytes(), rdma::kLocalWrite | rdma::kRemoteRead,
                            name + ".multicast");
  std::byte* const base = region_->data();
  place_ = reinterpret_cast<MulticastPlace*>(base + MulticastLayout::place_offset());
  state_ = reinterpret_cast<MulticastStateLine*>(base + MulticastLayout::state_offset());
  checks_ = reinterpret_cast<std::uint64_t*>(base + MulticastLayout::check_offset());
  log_ = reinterpret_cast<std::uint64_t*>(base + layout_.log_offset());
  slots_ = reinterpret_cast<RingSlot*>(base + layout_.slots_offset());

  queue_ = device.create_queue(2 * options.send_depth, nullptr);
  pair_ = device.create_datagram_queue_pair(*queue_, pair_options(device, options));
  member_ = std::make_unique<GroupMember>(*pair_, options.group, rdma::MulticastRole::kSender);
  member_->wait();
  datagram_bytes_ =
      std::min<std::size_t>(member_->datagram_bytes_max(),
                            std::min(options.datagram_bytes_max, device.info().datagram_bytes_max));
  const std::size_t needed =
      sizeof(DatagramHeader) + std::max(sizeof(RingSlot), image_bytes == 0 ? 0 : 8 + image_bytes);
  if (datagram_bytes_ < needed)
    throw rdma::SetupError(rdma::SetupCause::kLimit,
                           name + ": a datagram to " + options.group + " takes " +
                               std::to_string(datagram_bytes_) + " bytes, needed are " +
                               std::to_string(needed) + "; a port with a larger MTU has room");
  stride_ = (datagram_bytes_ + kCacheLineBytes - 1) & ~(kCacheLineBytes - 1);
  buffers_ =
      device.allocate((options.send_depth + 1) * stride_, rdma::kLocalWrite, name + ".datagrams");
  filling_ = buffers_->data();
  address(*member_->group());

  invitation_.part.epoch = random_epoch();
  invitation_.part.sender = pair_->address();
  invitation_.part.depth = options.depth;
  invitation_.part.datagram_bytes = static_cast<std::uint32_t>(datagram_bytes_);
  invitation_.group = options.group;
  check_ = invitation_.part.epoch;
  checks_[0] = check_;  // of no updates
  store_state({});
}

// Joined anew, the group may be at another place of the adapter's tables, with another Q_Key.
void MulticastSender::address(const rdma::AddressHandle& group) noexcept {
  request_ = rdma::datagram_to(group);
  request_.lkey = buffers_->lkey();
}

// Where the next `bytes` of the datagram go; one that is full, or of another kind, is sent first.
std::byte* MulticastSender::room_for(DatagramKind kind, std::uint64_t first,
                                     std::size_t bytes) noexcept {
  if (count_ != 0 && (kind_ != kind || bytes_ + bytes > datagram_bytes_)) send();
  if (count_ == 0) {
    kind_ = kind;
    bytes_ = sizeof(DatagramHeader);
    const DatagramHeader header{invitation_.part.epoch, first, kind, 0, {}};
    std::memcpy(filling_, &header, sizeof(header));
  }
  std::byte* const room = filling_ + bytes_;
  bytes_ += bytes;
  ++count_;
  return room;
}

void MulticastSender::append(const RingSlot& slot) noexcept {
  // In this order (release stores, which the readers' order of READs pairs with): `writing`, the
  // slot, its check, `published`. Who READs a slot and then a `writing` that is less than a ring
  // ahead of it has all of it; who READs `published` first finds what it promises.
  store_word(place_->writing, slot.sequence, std::memory_order_relaxed);
  RingSlot& kept = slots_[slot.sequence & mask_];
  store_words(kept.payload, slot.payload, 7);
  store_word(kept.sequence, slot.sequence, std::memory_order_release);
  check_ = chain_check(check_, slot);
  store_word(checks_[slot.sequence & mask_], check_, std::memory_order_release);
  store_word(place_->published, slot.sequence, std::memory_order_release);
  std::memcpy(room_for(DatagramKind::kUpdates, slot.sequence, sizeof(slot)), &slot, sizeof(slot));
  if (bytes_ + sizeof(slot) > datagram_bytes_) send();
}

void MulticastSender::append_image(std::uint32_t index, const void* record) noexcept {
  const std::uint64_t number = ++images_;
  images_used_ = std::max<std::uint64_t>(images_used_, std::uint64_t{index} + 1);
  // As in append(): announced, stored, there.
  store_word(place_->image_writing, number, std::memory_order_relaxed);
  store_word(log_[number % MulticastLayout::kImageLog], image_log_word(number, index),
             std::memory_order_release);
  store_word(place_->images, number, std::memory_order_release);
  std::byte* const room = room_for(DatagramKind::kImages, number, 8 + image_bytes_);
  const std::uint64_t word = index;
  std::memcpy(room, &word, 8);
  std::memcpy(room + 8, record, image_bytes_);
}

// In any order: the check word tells who READs it whether it is one state's.
void MulticastSender::store_state(const MulticastState& state) noexcept {
  Words<MulticastState> words;
  std::memcpy(words.data(), &state, sizeof(state));
  store_words(reinterpret_cast<std::uint64_t*>(&state_->state), words.data(), words.size());
  store_word(state_->check, check_word(state), std::memory_order_release);
}

void MulticastSender::tell(const MulticastState& state) noexcept {
  store_state(state);
  std::memcpy(room_for(DatagramKind::kState, state.published, sizeof(state)), &state,
              sizeof(state));
  send();
}

// A datagram that cannot be sent is lost, as any other may be: nobody waits, and who misses it
// READs what was in it.
void MulticastSender::send() noexcept {
  const std::uint8_t count = static_cast<std::uint8_t>(count_);
  std::memcpy(filling_ + offsetof(DatagramHeader, count), &count, 1);
  const bool in_line = bytes_ <= pair_->inline_bytes();
  const bool signal = ++unsignaled_ >= std::max(1u, options_.send_depth / 4);
  const rdma::AddressHandle* const group = member_->group();
  if (group != request_.destination) [[unlikely]]
    address(*group);
  request_.local_address = filling_;
  request_.length_bytes = static_cast<std::uint32_t>(bytes_);
  request_.flags = static_cast<std::uint8_t>((in_line ? unsigned{rdma::kInline} : 0u) |
                                             (signal ? unsigned{rdma::kSignaled} : 0u));
  count_ = 0;
  rdma::PostStatus status = pair_->post_send(request_);
  if (status == rdma::PostStatus::kQueueFull) [[unlikely]] {
    read_completions();
    status = pair_->post_send(request_);
  }
  if (status != rdma::PostStatus::kOk) [[unlikely]] {
    --unsignaled_;
    return counters_.datagrams_skipped.add();
  }
  ++unread_;
  if (signal) unsignaled_ = 0;
  counters_.datagrams.add();
  if (in_line) return;  // the buffer is free at once
  // The queue holds send_depth requests at most, so of one buffer more the next is free.
  buffer_ = buffer_ == options_.send_depth ? 0 : buffer_ + 1;
  filling_ = buffers_->data() + buffer_ * stride_;
}

// What failed is lost, and READ by who misses it; a queue pair in error says so to error_text().
void MulticastSender::read_completions() noexcept {
  rdma::Completion completions[16];
  while (queue_->poll(completions) == std::size(completions)) {
  }
  unread_ = 0;
}

}  // namespace tickpath::link
