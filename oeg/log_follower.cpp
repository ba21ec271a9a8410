#include "oeg/log_follower.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "oeg/steps.hpp"

namespace tickpath::oeg {
namespace {

fix::SessionNumbers numbers_of(const StoredEntry& entry) noexcept {
  return {entry.next_sender, entry.next_target, entry.began_ns};
}

}  // namespace

// A log that is fenced is read to its end: the journal's room for all of it was kept. Before, what
// would need that room stays in the ring.
std::size_t LogFollower::entries_max() const noexcept {
  return fenced() ? kEntriesPerTurn
                  : std::min<std::size_t>(kEntriesPerTurn, journal_.left_to_follow());
}

void LogFollower::count_taken(std::size_t taken) noexcept {
  counters_.entries_taken.add(taken);
  if (spooled_ == nullptr) lag_.show_behind(log_->behind());
  stamp_step(takeover_.times().last_entry_ns);
}

// Caught up: the log is this thread's from now on. A damaged one is left to it as well.
void LogFollower::leave_spool() noexcept {
  if (!spooled_->take_log() || (!refused_ && spooled_->has_more())) return;
  if (refused_) log_->refuse();
  spooled_ = nullptr;
  caught_up_.store(true, std::memory_order_release);  // see collect()
}

void LogFollower::tell_takes_itself(bool joins) noexcept {
  if (!std::exchange(told_takes_itself_, true) && joins) log_->acknowledge(kTakesItself);
}

// ------------------------------------------------------------------------------------ its entries

// What the snapshot has comes again.
bool LogFollower::take_record(std::span<const std::byte> payload) noexcept {
  JournalRecord record;
  if (!read_entry(payload, record)) return false;
  if (record.sequence <= journal_.size().get()) return true;
  return record.sequence == journal_.size().get() + 1 && journal_.append(record);
}

bool LogFollower::take_stored(PairEntry kind, std::span<const std::byte> payload) noexcept {
  if (kind == PairEntry::kStoreReset) {
    session_.adopt_reset();
    return true;
  }
  StoredEntry stored;
  if (!read_entry(payload, stored)) return false;
  if (kind == PairEntry::kNumbers) {
    session_.adopt_numbers(numbers_of(stored));
    return true;
  }
  const auto text = payload.subspan(sizeof(stored));
  return session_.adopt_message(
      stored.seq, {reinterpret_cast<const char*>(text.data()), text.size()}, numbers_of(stored));
}

bool LogFollower::take_kills(std::span<const std::byte> payload,
                             wire::ControlBlock& kills) const noexcept {
  wire::ControlBlock told;
  if (!read_entry(payload, told)) return false;
  if (told.kill_version > kills.kill_version) kills = told;
  return true;
}

bool LogFollower::take_cleared(std::span<const std::byte> payload) noexcept {
  ClearedException cleared;
  if (!read_entry(payload, cleared)) return false;
  (void)cleared_.try_push(cleared);
  return true;
}

void LogFollower::refuse() noexcept {
  refused_ = true;
  if (spooled_ == nullptr) log_->refuse();
}

// --------------------------------------------------------------------------------------- its end

void LogFollower::fence() noexcept {
  stamp_step(takeover_.times().suspected_ns);
  if (!broken(Rule::kFence)) log_->fence();
  stamp_step(takeover_.times().fenced_ns);
  at(Step::kFenced);
}

bool LogFollower::fenced() const noexcept {
  return broken(Rule::kFence) ? takeover_.times().fenced_ns.get() != 0 : log_->fenced();
}

bool LogFollower::at_fence() const noexcept {
  return broken(Rule::kFence) ? log_->behind() == 0 : log_->at_fence();
}

bool LogFollower::cannot_follow(std::uint64_t now_ns) noexcept {
  if (journal_.left_to_follow() != 0 || broken(Rule::kFollows)) {
    journal_full_since_ns_ = 0;
    return false;
  }
  if (journal_full_since_ns_ == 0) journal_full_since_ns_ = now_ns;
  if (now_ns - journal_full_since_ns_ <= static_cast<std::uint64_t>(options_.confirm_max_ns))
    return false;
  hot_log_.note(PairNote::kJournalFull);
  stands_down_ = true;
  return true;
}

}  // namespace tickpath::oeg
