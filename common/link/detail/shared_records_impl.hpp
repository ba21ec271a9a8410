// Bodies of shared_records.hpp.
#pragma once

#include <algorithm>

#include "common/link/shared_records.hpp"

namespace tickpath::link {

template <Payload T>
void SharedRecords<T>::attach(Connection& connection, const SharedPlace& place) noexcept {
  detach();
  use(connection);
  place_ = place;
  place_.records = std::min(place.records, known_.size());
}

template <Payload T>
void SharedRecords<T>::detach() noexcept {
  leave();
  for (; taken_ != started_; ++taken_) release(queue_[taken_ % kOperationsMax]);
  answered_ = started_;
  place_ = {};
  // The owner may have been started anew: nothing of its memory is known.
  std::fill(known_.begin(), known_.end(), Known{});
}

template <Payload T>
bool SharedRecords<T>::read(std::size_t record, std::uint64_t cookie) noexcept {
  if (free_count_ == 0 || record >= place_.records) return false;
  const std::uint32_t operation = free_[free_count_ - 1];
  all_[operation] = {.cookie = cookie,
                     .record = record,
                     .expected = {},
                     .desired = {},
                     .lane = known_[record].lane,
                     .slot = known_[record].slot,
                     .attempts = 0,
                     .publication = false,
                     .failed = false};
  if (!post_read(operation)) return false;
  --free_count_;
  return true;
}

template <Payload T>
bool SharedRecords<T>::post_read(std::uint32_t operation) noexcept {
  Operation& op = all_[operation];
  Buffers& own = buffers(operation);
  // A lane that this table has not: what would be read there is what no guard names.
  if (place_.lanes[op.lane].length_bytes == 0) op.lane = 0;
  rdma::WorkRequest before = read_of(place_.guards, sizeof(std::uint64_t));
  before.flags = 0;
  before.local_address = &own.before;
  before.remote_address = guard_address(op.record);
  const bool both = fetch_ == SharedFetch::kBoth;
  const std::uint32_t first = both ? 0 : op.slot;
  rdma::WorkRequest slots =
      read_of(place_.lanes[op.lane], both ? sizeof(own.slots) : Size::kSlotBytes);
  slots.flags = 0;
  slots.local_address = own.slots[first];
  slots.remote_address += slot_offset(op.record, first);
  rdma::WorkRequest after = before;
  after.flags = rdma::kSignaled;
  after.local_address = &own.after;
  std::array<rdma::WorkRequest, 3> requests{before, slots, after};
  std::size_t posted = 0;
  if (post(requests, posted) != rdma::PostStatus::kOk) return false;
  ++op.attempts;
  enqueue(operation);
  return true;
}

template <Payload T>
bool SharedRecords<T>::publish(std::size_t record, SharedGuard based_on, const T& value,
                               std::uint64_t cookie) noexcept {
  if (free_count_ == 0 || record >= place_.records || place_.own >= kLanesMax) return false;
  const std::uint8_t live = known_[record].live;
  if (live == kUnseen) return false;
  const std::uint32_t operation = free_[free_count_ - 1];
  const std::uint32_t slot = live == 0 ? 1 : 0;
  Operation& op = all_[operation];
  op = {.cookie = cookie,
        .record = record,
        .expected = based_on,
        .desired = based_on.next(place_.own, slot),
        .lane = place_.own,
        .slot = slot,
        .attempts = 0,
        .publication = true,
        .failed = false};
  Buffers& own = buffers(operation);
  std::memcpy(own.out, &value, sizeof(T));
  rdma::WorkRequest write = read_of(place_.own_lane, Size::kSlotBytes);
  write.opcode = rdma::Opcode::kWrite;
  write.flags = 0;
  write.local_address = own.out;
  write.remote_address += slot_offset(record, slot);
  rdma::WorkRequest swap = read_of(place_.guards, sizeof(std::uint64_t));
  swap.opcode = rdma::Opcode::kCompareSwap;
  swap.local_address = &own.swapped;
  swap.remote_address = guard_address(record);
  swap.compare_add = op.expected.word();
  swap.swap = op.desired.word();
  std::array<rdma::WorkRequest, 2> requests{write, swap};
  std::size_t posted = 0;
  if (post(requests, posted) != rdma::PostStatus::kOk) return false;
  --free_count_;
  enqueue(operation);
  return true;
}

// Completions of one queue pair come in the order of its requests.
template <Payload T>
void SharedRecords<T>::on_answer(bool success) noexcept {
  if (answered_ == started_) return;
  all_[queue_[answered_++ % kOperationsMax]].failed = !success;
}

template <Payload T>
bool SharedRecords<T>::take(SharedResult& result, T& value) noexcept {
  while (taken_ != answered_) {
    const std::uint32_t index = queue_[taken_++ % kOperationsMax];
    const Operation& op = all_[index];
    result = {.cookie = op.cookie,
              .record = op.record,
              .status = SharedStatus::kFailed,
              .publication = op.publication,
              .guard = {}};
    if (op.failed) {
      // A publication may have taken place: which of our slots is live has to be read again.
      if (op.publication) known_[op.record].live = kUnseen;
    } else if (op.publication) {
      settle_publication(index, result);
    } else if (!settle_read(index, result, value)) {
      continue;  // asked for once more
    }
    release(index);
    return true;
  }
  return false;
}

// False: it goes on.
template <Payload T>
bool SharedRecords<T>::settle_read(std::uint32_t index, SharedResult& result, T& value) noexcept {
  Operation& op = all_[index];
  // Placed by our own READs, whose completion we have: nothing else writes here.
  const Buffers& own = buffers(index);
  const SharedGuard guard(own.after);
  const bool still = own.before == own.after;
  result.guard = guard;
  if (still && !guard.written()) {
    see(op.record, guard);
    result.status = SharedStatus::kEmpty;
    return true;
  }
  const bool fetched =
      guard.lane() == op.lane && (fetch_ == SharedFetch::kBoth || guard.slot() == op.slot);
  if (still && fetched) {
    see(op.record, guard);
    std::memcpy(&value, own.slots[guard.slot()], sizeof(T));
    result.status = SharedStatus::kOk;
    return true;
  }
  (fetched ? torn_ : other_slots_).add();
  op.lane = guard.lane();
  op.slot = guard.slot();
  result.status = SharedStatus::kTorn;
  if (op.attempts >= kAttemptsMax) return true;
  if (post_read(index)) return false;
  result.status = SharedStatus::kFailed;
  return true;
}

template <Payload T>
void SharedRecords<T>::settle_publication(std::uint32_t index, SharedResult& result) noexcept {
  const Operation& op = all_[index];
  const SharedGuard found(buffers(index).swapped);
  const bool done = found == op.expected;
  result.status = done ? SharedStatus::kOk : SharedStatus::kLost;
  result.guard = done ? op.desired : found;
  see(op.record, result.guard);
}

}  // namespace tickpath::link
