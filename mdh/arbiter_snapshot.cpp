// What retransmission cannot bring: bridged by a snapshot.
#include <algorithm>

#include "mdh/arbiter.hpp"
#include "mdh/notes.hpp"

namespace tickpath::mdh {

void Arbiter::begin_snapshot() noexcept {
  snapshotting_ = true;
  asking_ = false;
  snapshot_attempts_ = 0;
  snapshot_due_ = TscTicks{0};
  log_.note(Note::kAskingSnapshot, expected_, missing());
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
  if (snapshot.session != session_ || snapshot.next_sequence <= expected_ || !plausible(next)) {
    log_.note(Note::kSnapshotOld, snapshot.next_sequence, expected_);
    return false;
  }
  work();  // what comes before it is handled before
  feed_.restore(snapshot, now);
  counters_.snapshots.add();
  expected_ = snapshot.next_sequence;
  return true;
}

// No hole between what is held.
bool Arbiter::held_is_whole() noexcept {
  std::uint64_t next = expected_;
  bool whole = true;
  held_.for_each([&](const Packet& packet) noexcept {
    const std::uint64_t first = packet.header.sequence_number;
    whole &= first <= next;
    next = std::max(next, first + packet.header.messages());
  });
  return whole;
}

// Behind the snapshot: what was held meanwhile. Without a hole in it, each instrument is said to be
// good as soon as nothing held concerns it any more; with one, nobody knows which it hit.
void Arbiter::catch_up(TscTicks now) noexcept {
  const bool whole = held_is_whole();
  if (whole) {
    held_.for_each([this](const Packet& packet) noexcept {
      std::uint64_t sequence = packet.header.sequence_number;
      (void)for_each_message(packet, [&](Message message) noexcept {
        if (sequence++ >= expected_) feed_.expect(message);
      });
    });
    feed_.begin_catch_up();
  }
  while (next_is_held()) hand_on(held_.pop());
  work();
  if (whole) feed_.end_catch_up();
  next_gap();
  // A hole is left: books stay stale, rather than be good for as long as it is waited for.
  if (gap_open_) seek(now);
}

}  // namespace tickpath::mdh
