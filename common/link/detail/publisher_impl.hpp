// Bodies of publisher.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "common/base/check.hpp"
#include "common/link/publisher.hpp"

namespace tickpath::link {

template <SlotPayload T, ImagePayload Image>
Publisher<T, Image>::Publisher(rdma::Device& device, rdma::CompletionChannel* channel,
                               PublisherOptions options)
    : options_(std::move(options)), peers_(device, channel, options_) {
  if (!options_.multicast.group.empty()) {
    multicast_ = std::make_unique<MulticastSender>(device, options_.name, options_.multicast,
                                                   options_.image_count == 0 ? 0 : sizeof(Record));
    peers_.use(*multicast_);
  }
  if (options_.image_count == 0) return;
  image_region_ = device.allocate(options_.image_count * sizeof(Record),
                                  rdma::kLocalWrite | rdma::kRemoteRead, options_.name + ".images");
  records_ = reinterpret_cast<Record*>(image_region_->data());
  images_.resize(options_.image_count);
  is_dirty_.resize(options_.image_count);
  dirty_.resize(std::bit_ceil(std::size_t{options_.image_count}));
  dirty_mask_ = dirty_.size() - 1;
}

template <SlotPayload T, ImagePayload Image>
LinkPart Publisher<T, Image>::part() const noexcept {
  LinkPart part;
  part.pattern = Pattern::kRing;
  part.payload_bytes = sizeof(T);
  part.image_bytes = sizeof(Record);
  part.image_count = options_.image_count;
  return part;
}

template <SlotPayload T, ImagePayload Image>
std::uint64_t Publisher<T, Image>::publish(const T& update) noexcept {
  RingSlot slot;
  std::memcpy(slot.payload, &update, sizeof(update));
  slot.sequence = ++sequence_;
  if (multicast_) multicast_->append(slot);
  for (PublisherPeer* const peer : peers_.writers()) peers_.post_slot(*peer, slot);
  peers_.counters().published.set(sequence_);
  return sequence_;
}

template <SlotPayload T, ImagePayload Image>
void Publisher<T, Image>::mark_dirty(std::uint32_t index) noexcept {
  TICKPATH_CHECK(index < options_.image_count, "an image that exists");
  if (is_dirty_[index] != 0) return;
  is_dirty_[index] = 1;
  dirty_[dirty_tail_++ & dirty_mask_] = {index, sequence_};
}

template <SlotPayload T, ImagePayload Image>
template <class Fill>
void Publisher<T, Image>::flush(Fill&& fill) noexcept {
  if (multicast_) multicast_->flush();  // updates go ahead of images
  if (dirty_head_ == dirty_tail_ && watermark_sequence_ == sequence_ && !peers_.any_filling())
    return;
  for (std::uint32_t n = 0; n < options_.images_per_flush && dirty_head_ != dirty_tail_; ++n) {
    const std::uint32_t index = dirty_[dirty_head_++ & dirty_mask_].index;
    is_dirty_[index] = 0;
    Image& image = images_[index];
    fill(index, image);
    image.ring_sequence = sequence_;
    records_[index].store(image);
    if (multicast_) multicast_->append_image(index, &records_[index]);
    for (PublisherPeer* const peer : peers_.writers()) write_image(*peer, index);
    peers_.counters().images_flushed.add();
  }
  if (multicast_) multicast_->flush();
  const bool published = std::exchange(flush_sequence_, sequence_) != sequence_;
  if (published && ++flushes_unmarked_ < kFlushesPerWatermark && !peers_.any_filling()) return;
  flushes_unmarked_ = 0;
  watermark_sequence_ = sequence_;
  if (multicast_) tell_state();
  for (PublisherPeer* const peer : peers_.writers()) {
    if (peer->filling) fill_newcomer(*peer);
    if (!peer->filling && !peer->failed)
      peers_.post_watermark(*peer, sequence_, flushed_sequence());
  }
}

template <SlotPayload T, ImagePayload Image>
void Publisher<T, Image>::tell_state() noexcept {
  multicast_->tell({sequence_, flushed_sequence(), multicast_->images(), multicast_->images_used(),
                    peers_.program_word(), peers_.program_place(), 0});
}

template <SlotPayload T, ImagePayload Image>
void Publisher<T, Image>::write_image(PublisherPeer& peer, std::uint64_t index) noexcept {
  if (peer.filling && index >= peer.fill_cursor) return;  // its turn comes
  if (peers_.post_record(peer, peer.layout.image_offset() + index * sizeof(Record),
                         &records_[index], sizeof(Record), image_region_->lkey(),
                         records_[index].version()))
    return;
  // The table may be half written: from here on again, and no watermark before that is done.
  peer.fill_cursor = peer.filling ? std::min(peer.fill_cursor, index) : index;
  peer.filling = true;
}

// After close() no flush() does: who lacks images, because its send queue was full, or because it
// came late, gets them before it is told that it is over. One of them may be half written.
template <SlotPayload T, ImagePayload Image>
void Publisher<T, Image>::finish_images() noexcept {
  for (PublisherPeer* const peer : peers_.active())
    if (peer->filling && !peer->failed) fill_newcomer(*peer);
}

template <SlotPayload T, ImagePayload Image>
void Publisher<T, Image>::fill_newcomer(PublisherPeer& peer) noexcept {
  std::uint32_t written = 0;
  while (peer.fill_cursor < options_.image_count && written < options_.images_per_flush) {
    const std::uint64_t index = peer.fill_cursor++;
    if (records_[index].version() == 0) continue;  // never filled
    write_image(peer, index);
    ++written;
    if (peer.fill_cursor <= index) return;  // the send queue is full
  }
  peer.filling = peer.fill_cursor < options_.image_count;
}

}  // namespace tickpath::link
