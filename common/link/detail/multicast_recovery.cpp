// What a MulticastReceiver READs from the publisher: updates and images that it missed, and the
// publisher's word on what there is.
#include <algorithm>
#include <cstring>
#include <utility>

#include "common/link/detail/multicast_receiver.hpp"

namespace tickpath::link {

// ------------------------------------------------------------------------------------ operations

void MulticastReceiver::add_read(const rdma::RemoteRegion& from, std::size_t offset, void* to,
                                 std::size_t bytes) noexcept {
  rdma::WorkRequest request = read_of(from, bytes);
  request.flags = 0;
  request.local_address = to;
  request.remote_address = from.address + offset;
  requests_[request_count_++] = request;
}

// `count` entries of a ring of `slots`, no more than there are, from number `first` on.
void MulticastReceiver::add_wrapped(std::size_t offset, std::uint64_t first, std::size_t count,
                                    std::size_t slots, std::size_t entry_bytes,
                                    std::byte* to) noexcept {
  const std::size_t at = first % slots;
  const std::size_t before = std::min(count, slots - at);
  add_read(ring_, offset + at * entry_bytes, to, before * entry_bytes);
  if (before < count)
    add_read(ring_, offset, to + before * entry_bytes, (count - before) * entry_bytes);
}

// One doorbell, one completion. A full send queue: at a later step; what was posted of it does no
// harm.
bool MulticastReceiver::post_all(Operation operation) noexcept {
  requests_[request_count_ - 1].flags = rdma::kSignaled;
  std::size_t posted = 0;
  const rdma::PostStatus status = post({requests_.data(), request_count_}, posted);
  request_count_ = 0;
  if (status == rdma::PostStatus::kOk) operation_ = operation;
  if (status == rdma::PostStatus::kNotReady) failed_ = true;
  return status == rdma::PostStatus::kOk;
}

void MulticastReceiver::start() noexcept {
  if (failed_ || forged_) return;
  // In turn. Where a step takes longer than until the next look is due (a busy or an emulated
  // processor), looks before everything else would leave nothing ever READ; likewise updates, of
  // which more are missing by the time that these are here.
  for (int purposes = 0; purposes < 3; ++purposes)
    if (start_next()) return;
}

// Starts a READ for the purpose whose turn it is. False: there is nothing to do for it.
bool MulticastReceiver::start_next() noexcept {
  switch (purpose_) {
    case Purpose::kState:
      purpose_ = Purpose::kUpdates;
      return start_fill();
    case Purpose::kUpdates:
      purpose_ = Purpose::kImages;
      return start_images();
    case Purpose::kImages:
      purpose_ = Purpose::kState;
      return start_look();
  }
  return false;
}

void MulticastReceiver::on_answer(bool success) noexcept {
  const Operation done = std::exchange(operation_, Operation::kNone);
  if (!success) {
    failed_ = true;
    return;
  }
  switch (done) {
    case Operation::kLook:
      return finish_look();
    case Operation::kFill:
      return finish_fill();
    case Operation::kLog:
      return finish_log();
    case Operation::kImages:
      return finish_images();
    case Operation::kTable:
      return finish_table();
    case Operation::kNone:
      return;
  }
}

// ------------------------------------------------------------------------------------------ looks

bool MulticastReceiver::start_look() noexcept {
  if (tsc_now() < next_look_) return false;
  looked_at_ = checked_;
  looked_check_ = check_;
  looked_newest_ = newest_;
  add_read(ring_, MulticastLayout::check_offset() + (looked_at_ & (layout_.depth - 1)) * 8,
           &work().check, 8);
  add_read(ring_, MulticastLayout::place_offset(), &work().place,
           sizeof(MulticastPlace) + sizeof(MulticastStateLine));
  (void)post_all(Operation::kLook);
  return true;
}

void MulticastReceiver::finish_look() noexcept {
  const MulticastPlace& place = work().place;
  const bool quiet = place.published == state_.published && frontier_ > place.published;
  looked_when_ = tsc_now();
  next_look_ = TscTicks{looked_when_.value + (quiet ? look_quiet_ : look_every_).value};
  // Asked for after it came: what the publisher has not published is not the publisher's.
  if (looked_newest_ > place.published || looked_at_ > place.published) forged_ = true;
  // The check word is of that update still.
  if (place.writing < looked_at_ + layout_.depth) {
    if (!anchored_) {
      anchored_ = true;
      check_ = work().check;
      checked_ = looked_at_;
      extend_check();
    } else if (work().check != looked_check_) {
      forged_ = true;
    } else {
      counters_.verified.add(looked_at_ - std::min(looked_at_, verified_));
    }
    verified_ = looked_at_;
  } else if (!anchored_) {
    checked_ = frontier_ - 1;
  }
  newest_ = std::max(newest_, place.published);
  images_newest_ = std::max(images_newest_, place.images);
  const MulticastStateLine& line = work().state;
  if (check_word(line.state) != line.check) return;  // it was being written
  looked_ = true;
  state_ = line.state;
  compare_due_ = true;
  settle();
}

// ---------------------------------------------------------------------------------------- updates

bool MulticastReceiver::start_fill() noexcept {
  if (newest_ < frontier_ || lost_to_ != 0) return false;
  const std::uint64_t most = std::min<std::uint64_t>(kFillMax, layout_.depth);
  const std::uint64_t end = std::min({newest_ + 1, frontier_ + most, next_ + memory_.depth - 1});
  std::uint64_t last = frontier_;
  while (last < end && held(last).sequence != last) ++last;
  if (last == frontier_) return false;  // the ring is full
  first_ = frontier_;
  stretch_ = last - first_;
  add_wrapped(layout_.slots_offset(), first_, stretch_, layout_.depth, sizeof(RingSlot),
              work().bytes[0]);
  add_read(ring_, MulticastLayout::place_offset(), &work().place, sizeof(MulticastPlace));
  if (!post_all(Operation::kFill)) return false;
  if (gap_at_ != first_) counters_.gaps.add();
  gap_at_ = first_ + stretch_;
  return true;
}

void MulticastReceiver::finish_fill() noexcept {
  const MulticastPlace& place = work().place;
  for (std::size_t i = 0; i < stretch_; ++i) {
    RingSlot slot;
    std::memcpy(&slot, work().bytes[0] + i * sizeof(slot), sizeof(slot));
    const std::uint64_t sequence = first_ + i;
    // From here on it was, or may have been, overwritten while it was fetched.
    if (place.writing >= sequence + layout_.depth) {
      if (sequence == frontier_) lost_to_ = place.published;
      continue;
    }
    if (place.published < sequence || slot.sequence != sequence) {
      forged_ = true;  // whoever said that it exists
      return;
    }
    if (put(slot)) counters_.recovered.add();
  }
}

// ----------------------------------------------------------------------------------------- images

bool MulticastReceiver::start_images() noexcept {
  if (memory_.image_count == 0 || !looked_) return false;
  if (!table_read_) {
    start_table();
    return true;
  }
  if (images_newest_ >= image_next_) {
    // The log does not reach back so far: all of them, from a state that is looked at first.
    if (images_newest_ - image_next_ >= MulticastLayout::kImageLog - kImagesMax) {
      read_table_again();
      return true;
    }
    if (wanted_count_ == 0)
      start_log();
    else
      start_images_read();
    return true;
  }
  if (!compare_due_ || state_.images_used == 0) return false;
  compare_due_ = false;
  comparing_ = true;
  compared_ = (compared_ + 1) % std::min<std::uint64_t>(state_.images_used, memory_.image_count);
  compared_version_ = head_of(memory_.images + compared_ * memory_.image_bytes);
  wanted_[0] = static_cast<std::uint32_t>(compared_);
  wanted_count_ = 1;
  start_images_read();
  return true;
}

void MulticastReceiver::read_table_again() noexcept {
  table_read_ = false;
  table_cursor_ = 0;
  looked_ = false;
  wanted_count_ = 0;
  next_look_ = TscTicks{0};
}

void MulticastReceiver::start_log() noexcept {
  first_ = image_next_;
  stretch_ = std::min<std::size_t>(kImagesMax, images_newest_ + 1 - first_);
  add_wrapped(layout_.log_offset(), first_, stretch_, MulticastLayout::kImageLog, 8,
              reinterpret_cast<std::byte*>(work().log));
  add_read(ring_, MulticastLayout::place_offset(), &work().place, sizeof(MulticastPlace));
  (void)post_all(Operation::kLog);
}

void MulticastReceiver::finish_log() noexcept {
  if (work().place.image_writing >= first_ + MulticastLayout::kImageLog) return read_table_again();
  const std::size_t most = std::min(kImagesMax, sizeof(work().bytes[0]) / memory_.image_bytes);
  std::uint64_t number = first_;
  for (std::size_t i = 0; i < stretch_ && wanted_count_ < most; ++i, ++number) {
    if (number > work().place.images) {
      forged_ = true;  // whoever said that it exists
      return;
    }
    if (seen_[number & kSeenMask] == number) continue;
    const std::uint64_t word = work().log[i];
    const auto index = static_cast<std::uint32_t>(word);
    if (word != image_log_word(number, index) || index >= memory_.image_count) {
      failed_ = true;  // no log of images
      return;
    }
    const auto end = wanted_.begin() + static_cast<std::ptrdiff_t>(wanted_count_);
    if (std::find(wanted_.begin(), end, index) == end) wanted_[wanted_count_++] = index;
  }
  wanted_end_ = number;
  if (wanted_count_ == 0) finish_wanted();
}

// Each framed by its head: equal before and after, nothing was stored in between.
void MulticastReceiver::start_images_read() noexcept {
  for (std::size_t i = 0; i < wanted_count_; ++i) {
    const std::size_t offset = wanted_[i] * memory_.image_bytes;
    const std::size_t head = offset + memory_.image_bytes - 8;
    add_read(table_, head, &work().heads[0][i], 8);
    add_read(table_, offset, work().bytes[0] + i * memory_.image_bytes, memory_.image_bytes);
    add_read(table_, head, &work().heads[1][i], 8);
  }
  (void)post_all(Operation::kImages);
}

void MulticastReceiver::finish_images() noexcept {
  std::size_t torn = 0;
  for (std::size_t i = 0; i < wanted_count_; ++i) {
    const std::byte* const record = work().bytes[0] + i * memory_.image_bytes;
    if (!is_whole(record, work().heads[0][i], work().heads[1][i])) {
      wanted_[torn++] = wanted_[i];
      continue;
    }
    // One that was newer here when the publisher was asked is nobody's.
    if (comparing_ && compared_version_ > head_of(record)) forged_ = true;
    put_image(wanted_[i], record);
    if (!comparing_) counters_.images_recovered.add();
  }
  wanted_count_ = comparing_ ? 0 : torn;
  if (!std::exchange(comparing_, false) && wanted_count_ == 0) finish_wanted();
}

void MulticastReceiver::finish_wanted() noexcept {
  image_next_ = std::max(image_next_, wanted_end_);
  while (seen_[image_next_ & kSeenMask] == image_next_) ++image_next_;
  settle();
}

// A stretch of the table, three times: the first copy's heads came before, the last one's after.
void MulticastReceiver::start_table() noexcept {
  if (table_cursor_ == 0) {
    table_end_ = std::min<std::uint64_t>(state_.images_used, memory_.image_count);
    table_images_ = state_.images;
  }
  if (table_cursor_ >= table_end_) {
    table_read_ = true;
    wanted_end_ = table_images_ + 1;
    return finish_wanted();
  }
  stretch_ = std::min<std::size_t>(table_end_ - table_cursor_,
                                   sizeof(work().bytes[0]) / memory_.image_bytes);
  for (auto& copy : work().bytes)
    add_read(table_, table_cursor_ * memory_.image_bytes, copy, stretch_ * memory_.image_bytes);
  (void)post_all(Operation::kTable);
}

void MulticastReceiver::finish_table() noexcept {
  for (std::size_t i = 0; i < stretch_; ++i, ++table_cursor_) {
    const std::size_t at = i * memory_.image_bytes;
    const std::uint64_t before = head_of(work().bytes[0] + at);
    const std::uint64_t after = head_of(work().bytes[2] + at);
    if (before == 0 && after == 0) continue;                     // never filled
    if (!is_whole(work().bytes[1] + at, before, after)) return;  // from here on once more
    put_image(table_cursor_, work().bytes[1] + at);
  }
}

}  // namespace tickpath::link
