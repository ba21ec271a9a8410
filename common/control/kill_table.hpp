// Which strategies are killed. The datapath thread of risk or oeg knows it; its control thread
// shows it and keeps it in a file.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/clock/clock.hpp"
#include "common/link/versioned_record.hpp"
#include "common/wire/control_block.hpp"
#include "common/wire/kill.hpp"

namespace tickpath::control {

// Where the kill switch stands.
struct KillState {
  std::uint64_t version;  // of the switch, as in wire::ControlBlock
  std::uint64_t changes;  // of any record since the start of the program
  std::uint64_t command;  // the newest command that was carried out
};

class KillTable {
 public:
  // ---- datapath thread

  const wire::KillRecord& operator[](std::uint32_t id) const noexcept { return own_[id]; }
  bool killed(std::uint32_t id) const noexcept { return own_[id].cause != wire::KillCause::kNone; }
  // What is changed is shown by publish(). record.cause is not kNone.
  void set(const wire::KillRecord& record) noexcept {
    own_[record.id] = record;
    change(record.id);
  }
  void clear(std::uint32_t id) noexcept {
    own_[id] = {};
    change(id);
  }
  void publish(std::uint64_t version, std::uint64_t command) noexcept {
    state_.version = version;
    state_.command = command;
    // After the records, with release: who sees this state sees records as new, or newer ones.
    shown_state_.store(state_);
  }
  // Takes over what a control block says; changed(id, killed) is called for each difference.
  // Records of kills that the block does not describe (yet) have no reason.
  template <class Changed>
  void follow(const wire::ControlBlock& block, Changed&& changed) noexcept {
    for (std::uint32_t id = 0; id < wire::kKillIds; ++id) {
      const bool kill = block.kill_bit(id);
      if (kill == killed(id)) continue;
      if (kill)
        set(undescribed(id, !block.cancel_bit(id)));
      else
        clear(id);
      changed(id, kill);
    }
    const std::uint32_t described = block.kill.id;
    if (block.kill.cause != wire::KillCause::kNone && described < wire::kKillIds &&
        killed(described) && std::memcmp(&block.kill, &own_[described], sizeof(block.kill)) != 0)
      set(block.kill);
    publish(block.kill_version, 0);
  }

  // A kill of which nobody here knows the reason.
  static wire::KillRecord undescribed(std::uint32_t id, bool keep_orders) noexcept {
    wire::KillRecord record{};
    record.since_ns = clock::realtime_ns();
    record.id = static_cast<std::uint16_t>(id);
    record.cause = wire::KillCause::kUnknown;
    record.keep_orders = keep_orders ? 1 : 0;
    return record;
  }
  // The first killed id from `id` on, around; wire::kKillIds: nobody is killed.
  std::uint32_t next_killed(std::uint32_t id) const noexcept {
    for (std::uint32_t i = 0; killed_ != 0 && i < wire::kKillIds; ++i)
      if (killed((id + i) % wire::kKillIds)) return (id + i) % wire::kKillIds;
    return wire::kKillIds;
  }

  // ---- any thread

  // False: it is just being written; try again.
  bool state(KillState& out) const noexcept {
    out = {};
    return shown_state_.load(out) != link::ReadStatus::kTorn;
  }
  // All that are killed, by id, as they were when state() gave `changes`. False: as above, or a
  // record has changed since. Control threads.
  bool kills(std::vector<wire::KillRecord>& out, std::uint64_t changes) const {
    out.clear();
    for (const Shown& shown : shown_) {
      wire::KillRecord record{};
      const link::ReadStatus status = shown.load(record);
      if (status == link::ReadStatus::kTorn) return false;
      if (status == link::ReadStatus::kOk && record.cause != wire::KillCause::kNone)
        out.push_back(record);
    }
    // Pairs with the release fence in change(): whoever has seen a newer record sees here that its
    // change had begun. Without it a kill could be kept under the version before it.
    std::atomic_thread_fence(std::memory_order_acquire);
    return changes_begun_.load(std::memory_order_relaxed) == changes;
  }

 private:
  using Shown = link::VersionedRecord<wire::KillRecord>;

  void change(std::uint32_t id) noexcept {
    const bool was = shown_killed_[id];
    shown_killed_[id] = killed(id);
    killed_ += (killed(id) ? 1u : 0u) - (was ? 1u : 0u);
    changes_begun_.store(++state_.changes, std::memory_order_relaxed);
    // Pairs with the acquire fence in kills(): the record is not seen before its number.
    std::atomic_thread_fence(std::memory_order_release);
    shown_[id].store(own_[id]);
  }

  std::array<wire::KillRecord, wire::kKillIds> own_{};
  std::array<bool, wire::kKillIds> shown_killed_{};
  std::uint32_t killed_ = 0;
  KillState state_{};
  std::atomic<std::uint64_t> changes_begun_{0};  // KillState::changes, ahead of the record
  std::array<Shown, wire::kKillIds> shown_{};
  link::VersionedRecord<KillState> shown_state_{};
};

}  // namespace tickpath::control
