// Bodies of subscriber.hpp: what runs on the datapath thread.
#pragma once

#include "common/link/subscriber.hpp"

namespace tickpath::link {

// A busy one reads completions that seldom: sinks (heartbeats, tables) can wait, not for ever.
inline constexpr std::uint32_t kBusyPollsMask = 63;

template <SlotPayload T, ImagePayload Image>
template <class Handler>
std::size_t Subscriber<T, Image>::poll(Handler& handler, std::size_t batch) noexcept {
  if (receiver_ != nullptr && !turn_multicast(handler)) return 0;
  if (state_ == SubscriberState::kLive) [[likely]] {
    const std::size_t count =
        polls_ring() ? poll_ring(handler, batch) : poll_immediate(handler, batch);
    if (count != 0) {
      if ((++busy_polls_ & kBusyPollsMask) == 0) read_completions();
      return count;
    }
    if ((++idle_polls_ & idle_polls_mask_) == 0 || options_.mode == RingMode::kImmediate)
      look_around(handler);
    return 0;
  }
  if (current_ == nullptr) {
    Session* const session = handover_.take();
    if (session == nullptr) return 0;
    adopt(*session, handler);
  }
  read_completions();
  if (current_->connection->failed()) failed_ = true;
  read_watermark();
  if (state_ == SubscriberState::kJoining) {
    if (watermark_version_ == 0) {
      if (failed_) leave(LinkEvent::kLost, handler);
      return 0;
    }
    next_ = watermark_.join_sequence + 1;
    start_from(next_);
    if (receiver_ != nullptr) receiver_->begin(next_);
  }
  return resynchronise(handler);
}

template <SlotPayload T, ImagePayload Image>
template <class Handler>
void Subscriber<T, Image>::adopt(Session& session, Handler& handler) noexcept {
  current_ = &session;
  receiver_ = session.receiver.get();
  if (receiver_ != nullptr)
    receiver_->attach(*session.connection, session.multicast_ring, session.image_table);
  counters_.by_multicast.set(receiver_ != nullptr ? 1 : 0);
  ring_ = RingReader(
      reinterpret_cast<const RingSlot*>(session.region->data() + RingLayout::ring_offset()),
      session.layout.depth);
  state_ = SubscriberState::kJoining;
  failed_ = false;
  armed_ = false;
  image_sequence_max_ = 0;
  arrived_ = taken_ = notices_ = returned_ = reported_ = 0;
  watermark_ = {};
  watermark_version_ = 0;
  MulticastCounters& multicast = counters_.multicast;
  for (Counter* counter :
       {&counters_.published, &counters_.seen, &counters_.overrun, &counters_.overruns,
        &counters_.resyncs, &counters_.images, &counters_.conserved, &multicast.datagrams,
        &multicast.duplicates, &multicast.gaps, &multicast.recovered, &multicast.images_recovered,
        &multicast.verified, &multicast.foreign, &multicast.malformed, &multicast.dropped})
    counter->set(0);
  if constexpr (requires { handler.on_link(LinkEvent::kConnected); })
    handler.on_link(LinkEvent::kConnected);
}

template <SlotPayload T, ImagePayload Image>
template <class Handler>
void Subscriber<T, Image>::leave(LinkEvent event, Handler& handler) noexcept {
  finish_counts();
  if constexpr (requires { handler.on_link(event); }) handler.on_link(event);
  handover_.give_back(current_);
  current_ = nullptr;
  receiver_ = nullptr;
  state_ = SubscriberState::kDown;
}

// -------------------------------------------------------------------------------------- multicast

// False: the connection has ended.
template <SlotPayload T, ImagePayload Image>
template <class Handler>
bool Subscriber<T, Image>::turn_multicast(Handler& handler) noexcept {
  receiver_->step(next_);
  if (receiver_->waiting()) read_completions();
  if (receiver_->forged()) [[unlikely]] {
    counters_.forged.add();
    forged_.store(true, std::memory_order_relaxed);  // see multicast_refused()
    leave(LinkEvent::kLost, handler);
    return false;
  }
  if (receiver_->failed()) [[unlikely]]
    failed_ = true;
  // What came before it is handed over first; images that are being shown are shown to the end.
  if (receiver_->lost_to() != 0 && state_ == SubscriberState::kLive &&
      next_ == receiver_->frontier()) [[unlikely]] {
    overrun(std::max(receiver_->lost_to(), next_) + 1, handler);
    receiver_->begin(next_);
  }
  return true;
}

// The publisher waits for this, a moment, before it ends.
template <SlotPayload T, ImagePayload Image>
void Subscriber<T, Image>::confirm_close() noexcept {
  const std::uint64_t word = 1;
  rdma::WorkRequest request;
  request.flags = rdma::kInline | rdma::kSignaled;
  request.local_address = &word;
  request.length_bytes = sizeof(word);
  request.rkey = current_->return_line.rkey;
  request.remote_address = current_->return_line.address + offsetof(ReturnLine, returned);
  (void)current_->connection->queue_pair().post_send(request);  // refused: it waits in vain
}

// ----------------------------------------------------------------------------- live: handing over

template <SlotPayload T, ImagePayload Image>
template <class Handler>
std::size_t Subscriber<T, Image>::poll_ring(Handler& handler, std::size_t batch) noexcept {
  std::size_t count = 0;
  for (; count < batch; ++count) {
    T update;
    const SlotStatus status = ring_.read(next_, update);
    if (status == SlotStatus::kNone) [[likely]]
      break;
    if (status == SlotStatus::kOverrun) [[unlikely]] {
      overrun(ring_.live_position(next_) + 1, handler);
      return count + 1;
    }
    hand_over(update, handler);
  }
  return count;
}

template <SlotPayload T, ImagePayload Image>
template <class Handler>
std::size_t Subscriber<T, Image>::poll_immediate(Handler& handler, std::size_t batch) noexcept {
  read_completions();
  std::size_t count = 0;
  while (count < batch && taken_ != arrived_) {
    T update;
    const std::uint64_t sequence = ring_.take(taken_, update);
    if (sequence > next_) [[unlikely]] {
      overrun(sequence, handler);  // the publisher had no receive of ours for those between
      if (state_ != SubscriberState::kLive) return count + 1;
    }
    ++taken_;
    ++count;
    hand_over(update, handler);
  }
  return_receives();
  return count;
}

template <SlotPayload T, ImagePayload Image>
template <class Handler>
void Subscriber<T, Image>::hand_over(const T& update, Handler& handler) noexcept {
  const std::uint64_t sequence = next_++;
  if constexpr (requires { handler.image_index(update); }) {
    if (sequence <= image_sequence_max_) [[unlikely]] {
      const std::uint32_t index = handler.image_index(update);
      if (index < current_->image_count && sequence <= current_->image_sequence[index]) {
        counters_.overrun.add();  // the image that was shown includes it
        return;
      }
    }
  }
  counters_.seen.add();
  handler.on_update(update, sequence);
}

// Everything from next_ to new_next - 1 is lost.
template <SlotPayload T, ImagePayload Image>
template <class Handler>
void Subscriber<T, Image>::overrun(std::uint64_t new_next, Handler& handler) noexcept {
  const std::uint64_t lost = new_next - next_;
  next_ = new_next;
  counters_.overrun.add(lost);
  counters_.overruns.add();
  if constexpr (requires { handler.on_overrun(lost); }) handler.on_overrun(lost);
  if (current_->image_count != 0) start_from(next_);
}

// ------------------------------------------------------------------------------ resynchronisation

template <SlotPayload T, ImagePayload Image>
void Subscriber<T, Image>::start_from(std::uint64_t next) noexcept {
  state_ = SubscriberState::kResyncing;
  resync_target_ = next - 1;
  images_complete_ = false;
  image_cursor_ = 0;
}

template <SlotPayload T, ImagePayload Image>
template <class Handler>
std::size_t Subscriber<T, Image>::resynchronise(Handler& handler) noexcept {
  // A publisher that has ended flushes no more: what there is must do.
  const bool final =
      failed_ ||
      (watermark_.closed != 0 &&
       (receiver_ == nullptr || receiver_->images_settled(watermark_.published_sequence)));
  if (!images_complete_ && watermark_.flushed_sequence < resync_target_ && !final) {
    if (receiver_ != nullptr) receiver_->look_soon();
    return 0;
  }
  images_complete_ = true;
  std::size_t shown = 0;
  const Record* const records = image_records();
  // Images that did not change cost a cache miss each: eight are passed for one that may be shown.
  const std::uint64_t end = std::min<std::uint64_t>(
      current_->image_count, image_cursor_ + std::uint64_t{8} * options_.images_per_poll);
  for (; image_cursor_ < end && shown < options_.images_per_poll; ++image_cursor_) {
    if constexpr (requires { handler.on_image(std::uint32_t{}, std::declval<const Image&>()); }) {
      const std::uint32_t index = static_cast<std::uint32_t>(image_cursor_);
      if constexpr (requires { handler.wants_image(index); })
        if (!handler.wants_image(index)) continue;
      Image image;
      const ReadStatus status = records[index].read_newer(image, current_->image_version[index]);
      if (status == ReadStatus::kTorn && !failed_) return shown;  // being written: next poll
      if (status != ReadStatus::kOk) continue;
      counters_.images.add();
      ++shown;
      if constexpr (std::is_same_v<decltype(handler.on_image(index, image)), bool>) {
        if (!handler.on_image(index, image)) continue;
      } else {
        handler.on_image(index, image);
      }
      current_->image_sequence[index] = image.ring_sequence;
      image_sequence_max_ = std::max(image_sequence_max_, image.ring_sequence);
    }
  }
  if (image_cursor_ < current_->image_count) return shown;
  state_ = SubscriberState::kLive;
  counters_.resyncs.add();
  if constexpr (requires { handler.on_live(); }) handler.on_live();
  return shown;
}

// ------------------------------------------------------------------------------------------- idle

// Nothing was there: has the peer skipped, closed, or died?
template <SlotPayload T, ImagePayload Image>
template <class Handler>
void Subscriber<T, Image>::look_around(Handler& handler) noexcept {
  read_completions();
  const bool lost = current_->connection->failed() || failed_;
  const bool changed = read_watermark();
  // A skip may have been told while updates before it still waited: it counts until next_ is past
  // it.
  const bool skipped = watermark_.skipped_sequence >= next_;
  if (!lost && !changed && !skipped && watermark_.closed == 0) return;
  // By multicast the close may be here before what it counts.
  if (receiver_ != nullptr && watermark_.closed != 0 && !lost &&
      !receiver_->settled(watermark_.published_sequence))
    return;
  if (receiver_ != nullptr && lost && receiver_->busy()) return;
  // All that landed before the watermark is visible now (RC ordering), so look once more: what is
  // still missing was never sent.
  if (update_waits()) return;
  if (watermark_.closed != 0) {
    if (next_ <= watermark_.published_sequence)
      return overrun(watermark_.published_sequence + 1, handler);  // images once more, then the end
    if (receiver_ != nullptr) confirm_close();
    return leave(LinkEvent::kClosed, handler);
  }
  if (skipped) return overrun(watermark_.skipped_sequence + 1, handler);
  if (lost) leave(LinkEvent::kLost, handler);
}

template <SlotPayload T, ImagePayload Image>
bool Subscriber<T, Image>::update_waits() noexcept {
  if (!polls_ring()) {
    read_completions();
    return taken_ != arrived_;
  }
  T update;
  return ring_.read(next_, update) != SlotStatus::kNone;
}

template <SlotPayload T, ImagePayload Image>
void Subscriber<T, Image>::finish_counts() noexcept {
  const std::uint64_t known = std::max(watermark_.published_sequence, next_ - 1);
  if (watermark_version_ == 0) return;  // it never joined
  counters_.published.set(known - watermark_.join_sequence);
  const bool whole = counters_.published.get() == counters_.seen.get() + counters_.overrun.get();
  counters_.conserved.set(watermark_.closed != 0 && whole ? 1 : 0);
}

template <SlotPayload T, ImagePayload Image>
bool Subscriber<T, Image>::read_watermark() noexcept {
  bool changed = watermark_record().read_newer(watermark_, watermark_version_) == ReadStatus::kOk;
  if (receiver_ != nullptr && watermark_version_ != 0) {
    // What is written is of the join and of the close; in between the state is looked at.
    const MulticastState& state = receiver_->state();
    if (current_->image_count != 0) watermark_.flushed_sequence = receiver_->flushed();
    if (state.published > watermark_.published_sequence) {
      watermark_.published_sequence = state.published;
      watermark_.program_word = state.program_word;
      watermark_.program_place = state.program_place;
      changed = true;
    }
  }
  if (!changed) return false;
  counters_.published.set(watermark_.published_sequence - watermark_.join_sequence);
  return true;
}

template <SlotPayload T, ImagePayload Image>
void Subscriber<T, Image>::read_completions() noexcept {
  current_->connection->poll([this](const rdma::Completion& completion) {
    if (completion.status != rdma::CompletionStatus::kSuccess)
      failed_ = true;
    else if (completion.opcode == rdma::Opcode::kRecvWithImm)
      ++((completion.imm_data & kNoticeImmediate) != 0 ? notices_ : arrived_);
  });
}

// Posts receives again for slots that are done with, and tells the publisher by the quarter ring.
template <SlotPayload T, ImagePayload Image>
void Subscriber<T, Image>::return_receives() noexcept {
  const std::uint64_t used = taken_ + notices_;
  if (used - reported_ < (ring_.depth() + 3) / 4 || failed_) return;
  rdma::QueuePair& pair = current_->connection->queue_pair();
  for (; returned_ != used; ++returned_)
    if (pair.post_receive({}) != rdma::PostStatus::kOk) {
      failed_ = true;
      return;
    }
  rdma::WorkRequest request;
  request.flags = rdma::kInline | rdma::kSignaled;  // seldom, so each may complete
  request.local_address = &used;
  request.length_bytes = sizeof(used);
  request.rkey = current_->return_line.rkey;
  request.remote_address = current_->return_line.address;
  const rdma::PostStatus status = pair.post_send(request);
  if (status == rdma::PostStatus::kOk) reported_ = used;  // a full send queue: at the next poll
  if (status == rdma::PostStatus::kNotReady) failed_ = true;
}

template <SlotPayload T, ImagePayload Image>
void Subscriber<T, Image>::close() noexcept {
  if (current_ == nullptr) return;
  // A subscriber that waited for images to the end has lost all updates that it knows of.
  if (state_ == SubscriberState::kResyncing && next_ <= watermark_.published_sequence) {
    counters_.overrun.add(watermark_.published_sequence + 1 - next_);
    next_ = watermark_.published_sequence + 1;
  }
  // What is published from here on, while it goes, is in nobody's account.
  const std::uint64_t leaving = std::max<std::uint64_t>(next_, 1);
  rdma::WorkRequest request;
  request.flags = rdma::kInline | rdma::kSignaled;
  request.local_address = &leaving;
  request.length_bytes = sizeof(leaving);
  request.rkey = current_->return_line.rkey;
  request.remote_address = current_->return_line.address + offsetof(ReturnLine, leaving);
  // Refused: the publisher will call it a loss, which is all that is at stake.
  (void)current_->connection->queue_pair().post_send(request);
}

template <SlotPayload T, ImagePayload Image>
void Subscriber<T, Image>::arm() noexcept {
  if (current_ == nullptr) return;
  current_->connection->completion_queue().arm(true);
  if (receiver_ != nullptr) receiver_->arm();
  armed_ = true;
}

// Asked after the look: it may have taken over a connection that is not armed, or found that the
// images must be read again, of which no completion tells.
template <SlotPayload T, ImagePayload Image>
bool Subscriber<T, Image>::may_sleep() const noexcept {
  if (current_ == nullptr) return true;
  if (!armed_ || state_ != SubscriberState::kLive) return false;
  if (receiver_ != nullptr) return receiver_->may_sleep(next_);
  return options_.mode == RingMode::kImmediate && taken_ == arrived_;
}

template <SlotPayload T, ImagePayload Image>
const VersionedRecord<Watermark>& Subscriber<T, Image>::watermark_record() const noexcept {
  return *reinterpret_cast<const VersionedRecord<Watermark>*>(current_->region->data() +
                                                              RingLayout::watermark_offset());
}

template <SlotPayload T, ImagePayload Image>
auto Subscriber<T, Image>::image_records() const noexcept -> const Record* {
  return reinterpret_cast<const Record*>(current_->region->data() +
                                         current_->layout.image_offset());
}

}  // namespace tickpath::link
