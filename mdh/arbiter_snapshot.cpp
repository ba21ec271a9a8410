// What retransmission cannot bring: bridged by a snapshot.
#include <algorithm>

#include "mdh/arbiter.hpp"
#include "mdh/notes.hpp"

namespace tickpath::mdh {

using itch::mold::PacketHeader;

void Arbiter::begin_snapshot() noexcept {
  snapshotting_ = true;
  asking_ = false;
  snapshot_attempts_ = 0;
  snapshot_due_ = TscTicks{0};
  log_.note(Note::kAskingSnapshot, expected_, held().front().sequence - expected_);
}

void Arbiter::pursue_snapshot(TscTicks now) noexcept {
  switch (snapshots_->poll()) {
    case SnapshotPort::Status::kPending:
      return;
    case SnapshotPort::Status::kNone:
      if (now >= snapshot_due_) snapshots_->request();
      return;
    case SnapshotPort::Status::kFailed:
      snapshots_->release();
      return snapshot_failed(now);
    case SnapshotPort::Status::kReady:
      const bool taken = take_snapshot(now);
      snapshots_->release();
      if (!taken) return snapshot_failed(now);
      return catch_up(now);
  }
}

void Arbiter::snapshot_failed(TscTicks now) noexcept {
  counters_.snapshots_failed.add();
  snapshot_due_ = TscTicks{now.value + snapshot_retry_.value};
  if (++snapshot_attempts_ < options_.snapshot_attempts_max) return;
  log_.note(Note::kSnapshotFailed, expected_, snapshot_attempts_);
  give_up();
}

// False: of another session (one asked for before the session changed), or older than what is here.
bool Arbiter::take_snapshot(TscTicks now) noexcept {
  const Snapshot& snapshot = snapshots_->snapshot();
  const PacketHeader next{snapshot.session, snapshot.next_sequence, 0};
  if (snapshot.session != session_ || snapshot.next_sequence <= expected_ ||
      !Sequencer::plausible(next)) {
    log_.note(Note::kSnapshotOld, snapshot.next_sequence, expected_);
    return false;
  }
  work();  // what comes before it is handled before
  feed_.restore(snapshot, now);
  counters_.snapshots.add();
  expected_ = snapshot.next_sequence;
  return true;
}

void Arbiter::drop_first() noexcept {
  spent_.push_back(held().front().buffer);
  ++held_first_;
  --held_count_;
  counters_.dropped.add();
}

// No hole between what is held.
bool Arbiter::held_is_whole() noexcept {
  std::uint64_t next = expected_;
  for (const Slot& slot : held()) {
    if (slot.sequence > next) return false;
    const PacketHeader header = header_of(feed_.protocol(), buffer(slot.buffer));
    next = std::max(next, slot.sequence + header.messages());
  }
  return true;
}

// Behind the snapshot: what was held meanwhile. Without a hole in it, each instrument is said to be
// good as soon as nothing held concerns it any more; with one, nobody knows which it hit.
void Arbiter::catch_up(TscTicks now) noexcept {
  const bool whole = held_is_whole();
  if (whole) {
    for (const Slot& slot : held()) feed_.expect(buffer(slot.buffer).first(slot.bytes));
    feed_.begin_catch_up();
  }
  while (held_count_ != 0 && held().front().sequence <= expected_) release_first();
  work();
  if (whole) feed_.end_catch_up();
  next_gap();
  // A hole is left: books stay stale, rather than be good for as long as it is waited for.
  if (gap_open_) seek(now);
}

}  // namespace tickpath::mdh
