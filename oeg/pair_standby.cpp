// The standby's half of a pair: it takes the leader's log, and leads once the leader is gone.
#include <algorithm>
#include <cstring>
#include <utility>

#include "oeg/pair.hpp"

namespace tickpath::oeg {

using Role = Succession::Role;

namespace {

constexpr std::size_t kEntriesPerTurn = 256;

fix::SessionNumbers numbers_of(const StoredEntry& entry) noexcept {
  return {entry.next_sender, entry.next_target, entry.began_ns};
}

}  // namespace

FenceResult Pair::revoke_former() noexcept {
  FenceResult result = FenceResult::kNone;
  if (former_ != nullptr && log_ != nullptr) {
    rdma::QueuePair& pair = former_->connection->queue_pair();
    const std::size_t revoked = pair.revoke(*log_->grant().region);
    result = !device_revokes_ ? FenceResult::kLogAlone
             : revoked != 0   ? FenceResult::kRevoked
                              : FenceResult::kEndedOnly;
    pair.disconnect();
  }
  fence_result_.store(result, std::memory_order_relaxed);
  return result;
}

void Pair::turn_standby(std::uint64_t now_ns) noexcept {
  if (peer_ != nullptr) peer_->connection->poll();
  if (log_ == nullptr) {  // a claimant since its start
    if (renounced_.load(std::memory_order_acquire)) settle_renunciation(now_ns);
    return;
  }
  take_entries(kEntriesPerTurn);
  if (stage() != Stage::kFollowing || spooled_ != nullptr) return;
  // From now on this thread sees a full disk and the leader's death: it may be made a standby.
  if (!std::exchange(told_takes_itself_, true) && rules_.role() == Role::kOutsider)
    log_->acknowledge(kTakesItself);
  if (!fenced()) {
    const bool renounced = renounced_.load(std::memory_order_acquire);
    if (log_->status() == link::LogStatus::kOk && !renounced && !suspects_leader(now_ns) &&
        !cannot_follow(now_ns))
      return;
    times_.suspected_ns.set(time_of_step());
    if (!broken(Rule::kFence)) log_->fence();
    times_.fenced_ns.set(time_of_step());
    at(Step::kFenced);
  }
  if (!at_fence()) return;
  const bool damaged = log_->status() != link::LogStatus::kOk;
  // This oeg has not joined yet, or its copy is damaged, or its journal is full.
  if (rules_.role() == Role::kOutsider || damaged || stands_down_) {
    if (damaged) {
      counters_.damaged.add();
      hot_log_.note(PairNote::kLogDamaged);
    }
    rules_.renounce();
    settle();
    stage_.store(Stage::kRetired, std::memory_order_release);
    return;
  }
  if (rules_.role() == Role::kStandby) claim_lead();
  if (renounced_.load(std::memory_order_acquire)) settle_renunciation(now_ns);
}

void Pair::claim_lead() noexcept {
  hot_log_.note(PairNote::kSuspects, rules_.word().epoch);
  rules_.on_leader_lost();
  if (broken(Rule::kWitness) && rules_.wanted())
    rules_.on_answer(*rules_.wanted(), rules_.wanted()->expected);
}

bool Pair::fenced() const noexcept {
  return broken(Rule::kFence) ? times_.fenced_ns.get() != 0 : log_->fenced();
}

bool Pair::at_fence() const noexcept {
  return broken(Rule::kFence) ? log_->behind() == 0 : log_->at_fence();
}

bool Pair::suspects_leader(std::uint64_t now_ns) noexcept {
  return peer_ == nullptr ||  // its connection was there when the log was
         peer_->connection->failed() || peer_watch_.evaluate(now_ns) == link::Liveness::kDead;
}

// A standby that cannot write its journal takes nothing, and the leader would soon wait for it.
// True: that lasts, and the leader lives. It renounces only once it has read its log to the end:
// the leader may have handed over to it.
bool Pair::cannot_follow(std::uint64_t now_ns) noexcept {
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

// A log that is fenced is read to its end: the journal's room for all of it was kept. Before, what
// would need that room stays in the ring.
void Pair::take_entries(std::size_t entries_max) noexcept {
  if (!fenced()) entries_max = std::min<std::size_t>(entries_max, journal_.left_to_follow());
  if (entries_max == 0) return;
  const auto each = [this](std::uint32_t kind, std::span<const std::byte> payload) {
    if (!refused_) take(static_cast<PairEntry>(kind), payload);
  };
  const std::size_t taken =
      spooled_ == nullptr ? log_->poll(each, entries_max) : spooled_->poll(each, entries_max);
  if (spooled_ != nullptr && (taken < entries_max || refused_)) leave_spool();
  if (taken == 0) return;
  counters_.entries_taken.add(taken);
  if (spooled_ == nullptr) lag_bytes_.set(log_->behind());
  times_.last_entry_ns.set(time_of_step());
}

// Caught up: the log is this thread's from now on. Likewise where it is damaged.
void Pair::leave_spool() noexcept {
  if (!spooled_->take_log() || (!refused_ && spooled_->has_more())) return;
  if (refused_) log_->refuse();
  spooled_ = nullptr;
  caught_up_.store(true, std::memory_order_release);  // see collect()
}

void Pair::take(PairEntry kind, std::span<const std::byte> payload) noexcept {
  const auto read = [&](auto& value) {
    if (payload.size() < sizeof(value)) return false;
    std::memcpy(&value, payload.data(), sizeof(value));
    return true;
  };
  JournalRecord record;
  StoredEntry stored;
  WordEntry word;
  bool good = true;
  switch (kind) {
    case PairEntry::kRecord:
      good = read(record);
      // What the snapshot has comes again.
      if (!good || record.sequence <= journal_.size().get()) break;
      good = record.sequence == journal_.size().get() + 1 && journal_.append(record);
      break;
    case PairEntry::kStored:
      good = read(stored);
      if (good) {
        const auto text = payload.subspan(sizeof(stored));
        good = session_.adopt_message(stored.seq,
                                      {reinterpret_cast<const char*>(text.data()), text.size()},
                                      numbers_of(stored));
      }
      break;
    case PairEntry::kNumbers:
      good = read(stored);
      if (good) session_.adopt_numbers(numbers_of(stored));
      break;
    case PairEntry::kStoreReset:
      session_.adopt_reset();
      break;
    case PairEntry::kOffer:
      good = read(word);
      if (!good) break;
      rules_.on_offer(wire::Leadership::of_word(word.word), word.witness);
      hot_log_.note(PairNote::kStandbyReady, rules_.word().epoch);
      settle();
      log_->acknowledge(rules_.word().epoch);  // remembered: the witness may hold it
      break;
    case PairEntry::kMove:
      good = read(word);
      if (good) rules_.on_move(word.witness);
      settle();
      break;
    case PairEntry::kHandedOver:
      good = read(word);
      if (good) rules_.on_handed_over(wire::Leadership::of_word(word.word));
      settle();
      break;
    case PairEntry::kKills: {
      wire::ControlBlock told;
      good = read(told);
      if (good && told.kill_version > kills_.kill_version) kills_ = told;
      break;
    }
    case PairEntry::kCleared: {
      ClearedException cleared;
      good = read(cleared);
      if (good) (void)cleared_.try_push(cleared);
      break;
    }
    default:
      good = false;
  }
  if (good) return;
  refused_ = true;
  if (spooled_ == nullptr) log_->refuse();
}

}  // namespace tickpath::oeg
