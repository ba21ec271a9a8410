#include "oeg/pair.hpp"

#include <algorithm>
#include <utility>

namespace tickpath::oeg {

using link::LogReplicator;
using Role = Succession::Role;

namespace {

// An answer of another host takes a few microseconds; what takes longer is looked for next turn.
constexpr std::uint64_t kConfirmNs = 20'000;
constexpr std::uint64_t kSavedNs = 1'000'000'000;

// A leader READs the word again so often: another one that leads since, whatever went wrong, is
// noticed after so long.
constexpr std::uint64_t kLookAgainNs = 250'000'000;

// The witness has answered, and that has settled nothing: it is asked the same so much later.
constexpr std::uint64_t kAskAgainNs = 5'000'000;

// So long a word is waited for before the other one is asked who leads: longer, too.
constexpr std::uint64_t kWaitsNs = 500'000'000;

// The witness may hold a claim of the other one, which may have given it up and be starting again
// to join. It is waited for so long: longer than that start takes.
constexpr std::uint64_t kOtherAnswersNs = 1'000'000'000;

// The other one is looked at so much more often than any other peer: what its death costs begins
// with that.
constexpr std::uint64_t kLooks = 10;

link::HeartbeatOptions watch_options(link::HeartbeatOptions options) noexcept {
  options.interval_ns /= kLooks;
  options.by_life = true;
  return options;
}

template <class T>
std::span<const std::byte> bytes(const T& value) noexcept {
  return std::as_bytes(std::span(&value, 1));
}

StoredEntry entry_of(std::uint32_t seq, const fix::SessionNumbers& numbers) noexcept {
  return {seq, numbers.next_sender, numbers.next_target, 0, numbers.began_ns};
}

}  // namespace

Pair::Pair(const PairOptions& options, const link::HeartbeatOptions& heartbeat,
           rdma::Device& device, rdma::CompletionChannel* channel, Journal& journal,
           fix::MirroredStore& session, PairMemory& memory, const Succession& rules,
           log::HotLog& hot_log)
    : options_(options),
      journal_(journal),
      session_(session),
      memory_(memory),
      hot_log_(hot_log),
      confirm_ticks_(clock::TickConverter{}.from_ns(kConfirmNs).value),
      probe_ns_(heartbeat.interval_ns),
      device_revokes_(device.info().revokes),
      rules_(rules),
      stored_(rules),
      connections_(device, channel),
      word_(device, "oeg.witness"),
      writer_(device, options.log_bytes, "oeg.replication"),
      // A quarter of the bound: a turn that comes late is no sign of the standby.
      confirmed_(static_cast<std::uint64_t>(options.confirm_max_ns) / 4),
      taken_(static_cast<std::uint64_t>(options.confirm_max_ns) / 4),
      acknowledged_(static_cast<std::uint64_t>(options.confirm_max_ns) / 4),
      peer_watch_(device, watch_options(heartbeat), "oeg.peer_heartbeat"),
      stage_(rules.role() == Role::kOutsider ? Stage::kFollowing : Stage::kLeading) {
  // A claimant of a former life follows nobody any more, and leads once the witness says so.
  if (rules.role() == Role::kClaimant) stage_ = Stage::kFollowing;
  kills_confirmed_.set(1);
  show();
}

// A process that was stopped meanwhile has not waited in that time: it counts from the first look
// that finds it waiting.
bool Pair::waits_in_vain(std::uint64_t now_ns) noexcept {
  if (!waits_for_word())
    waits_since_ns_ = 0;
  else if (waits_since_ns_ == 0)
    waits_since_ns_ = now_ns;
  const bool long_enough =
      shown_other_came_first_.get() != 0 || now_ns - waits_since_ns_ >= kWaitsNs;
  return waits_since_ns_ != 0 && long_enough;
}

// ------------------------------------------------------------------------------ what is recorded

bool Pair::append(JournalRecord& record) noexcept {
  if (!journal_.append(record)) return false;
  if (replicates()) send(PairEntry::kRecord, bytes(record));
  at(Step::kRecorded);
  return true;
}

void Pair::on_stored(std::uint32_t seq, std::string_view message,
                     const fix::SessionNumbers& numbers) noexcept {
  if (!replicates()) return;
  const StoredEntry entry = entry_of(seq, numbers);
  send(PairEntry::kStored, bytes(entry), std::as_bytes(std::span(message.data(), message.size())));
}

void Pair::on_numbers(const fix::SessionNumbers& numbers) noexcept {
  if (!replicates()) return;
  const StoredEntry entry = entry_of(0, numbers);
  send(PairEntry::kNumbers, bytes(entry));
}

void Pair::on_store_reset() noexcept {
  if (replicates()) send(PairEntry::kStoreReset, {});
}

// A log with a hole would be none: without room the standby is lost, which the next turn settles.
// Until then nothing takes effect.
void Pair::send(PairEntry kind, std::span<const std::byte> first,
                std::span<const std::byte> second) noexcept {
  if (writer_.append(static_cast<std::uint32_t>(kind), first, second)) [[likely]] {
    counters_.entries_sent.add();
    return;
  }
  counters_.log_full.add();
  writer_.detach();
}

void Pair::send_word(PairEntry kind, wire::Leadership word) noexcept {
  const WordEntry entry{word.word(),
                        kind == PairEntry::kMove ? rules_.moving_to() : rules_.witness()};
  send(kind, bytes(entry));
}

void Pair::tell_kills(const wire::ControlBlock& block) noexcept {
  if (block.kill_version <= kills_.kill_version) return;
  kills_ = block;
  send_kills();
}

void Pair::send_kills() noexcept {
  if (!replicates() || kills_.kill_version == 0) return;
  // Before the caller shows the change: who has seen that, sees this.
  kills_confirmed_.set(0);
  send(PairEntry::kKills, bytes(kills_));
  kills_at_ = writer_.appended();
}

void Pair::settle_kills() noexcept {
  if (kills_at_ == 0 || (replicates() && writer_.confirmed() < kills_at_)) return;
  kills_at_ = 0;
  kills_confirmed_.set(1);
}

bool Pair::confirm() noexcept {
  if (peer_ == nullptr || !replicates()) return false;
  const TscTicks begun = tsc_now();
  while (!writer_.all_confirmed()) {
    (void)writer_.flush();
    at(Step::kPosted);
    peer_->connection->poll();
    if (!replicates()) return false;
    if ((tsc_now() - begun).value > confirm_ticks_ && !writer_.all_confirmed()) {
      counters_.waits.add();
      return false;
    }
  }
  at(Step::kConfirmed);
  return true;
}

// ------------------------------------------------------------------------------------- the turn

bool Pair::turn(std::uint64_t now_ns) noexcept {
  const Stage before = stage();
  now_ns_ = now_ns;
  take_connections(now_ns);
  turn_witness();
  hear_others();
  end_vain_claim();
  switch (before) {
    case Stage::kFollowing:
      turn_standby(now_ns);
      break;
    case Stage::kTakingOver:
      if (!recovered_.load(std::memory_order_acquire)) break;
      drop(former_);
      stage_ = Stage::kLeading;
      break;
    case Stage::kLeading:
      turn_leader(now_ns);
      break;
    case Stage::kRetired:
      break;
  }
  settle();
  await_memory(now_ns);
  return stage() != before;
}

// What the control thread has heard from the other one, or from a person, is of a moment ago: a
// witness may have decided since.
void Pair::hear_others() noexcept {
  const std::uint64_t leads = other_leads_.load(std::memory_order_relaxed);
  // Acquire: pairs with the release in found().
  const bool founds = founds_.load(std::memory_order_acquire);
  if (leads == 0 && !founds && !gives_way_.load(std::memory_order_relaxed)) [[likely]]
    return;
  other_leads_.store(0, std::memory_order_relaxed);
  founds_.store(false, std::memory_order_relaxed);
  const bool gives_way = gives_way_.exchange(false, std::memory_order_relaxed);
  if (!waits_for_word()) return;
  const auto theirs = wire::Leadership::of_word(leads);
  if (gives_way || Succession::is_lost(rules_.word(), theirs)) return rules_.renounce();
  const std::uint64_t over = found_over_.load(std::memory_order_relaxed);
  if (founds) rules_.found(wire::Leadership::of_word(over));
}

// The other one leads, most likely, and cannot be asked. What this one holds, such as the
// connection to the exchange, is in its way.
void Pair::end_vain_claim() noexcept {
  if (!rules_.other_came_first())
    other_first_since_ns_ = 0;
  else if (other_first_since_ns_ == 0)
    other_first_since_ns_ = now_ns_;
  else if (now_ns_ - other_first_since_ns_ > kOtherAnswersNs)
    rules_.renounce();
}

// What has changed is written down before anything follows from it.
void Pair::settle() noexcept {
  if (rules_ == stored_) return;
  const Role before = stored_.role();
  memory_.store(rules_);
  if (rules_.leads_alone() && !stored_.leads_alone() && stage() == Stage::kLeading) {
    alone_unsaved_ = true;
    alone_since_ns_ = now_ns_;
  }
  stored_ = rules_;
  show();
  if (rules_.role() == Role::kLeader && stage() == Stage::kFollowing) {
    times_.decided_ns.set(time_of_step());
    peer_watch_.detach(true);
    former_ = std::exchange(peer_, nullptr);
    hot_log_.note(PairNote::kTakesOver, rules_.word().epoch);
    at(Step::kDecided);
    // Release: the control thread reads the journal and the store that this thread has written.
    stage_.store(Stage::kTakingOver, std::memory_order_release);
  }
  if (rules_.role() == Role::kOutsider && (before == Role::kLeader || before == Role::kClaimant)) {
    if (before == Role::kLeader && replicates() && rules_.word().leader != rules_.self()) {
      send_word(PairEntry::kHandedOver, rules_.word());
      (void)writer_.flush();
    }
    hot_log_.note(PairNote::kRetires, rules_.word().epoch);
    stage_.store(Stage::kRetired, std::memory_order_release);
  }
}

// A leader that goes on alone acts once its memory says so on the disk. Otherwise a loss of power
// could make it forget that, and it would renounce what it had led. A disk that does not answer
// holds nothing back for long.
void Pair::await_memory(std::uint64_t now_ns) noexcept {
  if (!alone_unsaved_) [[likely]]
    return;
  const bool saved = memory_.is_saved();
  if (!saved && now_ns - alone_since_ns_ < kSavedNs) return;
  alone_unsaved_ = false;
  if (!saved) hot_log_.note(PairNote::kUnsaved, rules_.word().epoch);
}

void Pair::show() noexcept {
  shown_word_.set(rules_.word().word());
  shown_blocked_.set(rules_.blocked() ? 1 : 0);
  shown_waits_.set(rules_.blocked() || rules_.role() == Role::kClaimant ? 1 : 0);
  shown_books_may_be_cut_.set(rules_.books_may_be_cut() ? 1 : 0);
  shown_other_came_first_.set(rules_.other_came_first() ? 1 : 0);
  shown_stands_by_.set(rules_.role() == Role::kStandby ? 1 : 0);
  shown_standby_.set(rules_.needs_confirmation() ? 1 : 0);
}

void Pair::take_connections(std::uint64_t now_ns) noexcept {
  while (link::BareConnection* const taken = connections_.take()) {
    const auto extras = taken->connection->extras();
    if (taken->tag == kWitness) uses_witness_.set(extras.empty() ? uses_witness_.get() : 1);
    // After what is said of it: the keeper looks at this first.
    if (taken->tag == kWitness) witnesses_taken_.add();
    if (extras.empty()) {
      connections_.give_back(taken);
      continue;
    }
    if (taken->tag == kWitness) {
      drop(witness_);
      witness_ = taken;
      asked_.reset();  // its answer would come by the former connection
      witness_read_ = looks_again_ = false;
      answered_.reset();
      witness_idle_ns_ = now_ns;
      word_.attach(*taken->connection, extras[0]);
    } else if (taken->tag == kStandby || taken->tag == kNewcomer) {
      begin_streaming(*taken, now_ns);
    } else {
      drop(peer_);
      peer_ = taken;
      peer_watch_.attach(*taken->connection, extras[0], now_ns);
    }
  }
}

void Pair::drop(link::BareConnection*& connection) noexcept {
  if (connection != nullptr) connections_.give_back(std::exchange(connection, nullptr));
}

// ---------------------------------------------------------------------------------- the witness

void Pair::turn_witness() noexcept {
  if (witness_ != nullptr) {
    witness_->connection->poll();
    if (word_.state() == link::RemoteWord::State::kFailed || witness_->connection->failed()) {
      asked_.reset();  // whether it was made is not known; it is asked for again
      drop_witness();
    } else if (word_.state() == link::RemoteWord::State::kIdle) {
      witness_idle_ns_ = now_ns_;
      on_witness();
    } else if (now_ns_ - witness_idle_ns_ > kWaitsNs) {
      shown_serves_.set(0);  // stopped: over ofi a program that does not run executes nothing
    }
  }
}

void Pair::drop_witness() noexcept {
  word_.detach();
  looks_again_ = false;
  drop(witness_);
  show_witness(false);
  shown_serves_.set(0);
  uses_witness_.set(0);
}

// One that is left again at once, because the other one decides, is no news.
void Pair::show_witness(bool there) noexcept {
  witness_read_ = there;
  if (there == (shown_witness_.get() != 0)) return;
  shown_witness_.set(there ? 1 : 0);
  if (there)
    hot_log_.note(PairNote::kWitnessUp, holds_.epoch, holds_.leader);
  else
    hot_log_.note(PairNote::kWitnessDown);
}

// Also where another life was asked, which is gone.
bool Pair::may_enrol() const noexcept {
  const std::optional<Succession::Change> wanted = rules_.wanted();
  if (wanted) return wanted->witness != word_.second();
  return rules_.witness() != word_.second() || holds_ != rules_.word();
}

void Pair::on_witness() noexcept {
  const bool looked = std::exchange(looks_again_, false);
  if (looked) looked_ns_ = look_posted_ns_;
  if (!witness_read_ || looked) {
    holds_ = wire::Leadership::of_word(word_.value());
    rules_.on_word(holds_);
    settle();
  }
  witness_read_ = true;
  if (asked_) {
    const Succession::Change change = *std::exchange(asked_, std::nullopt);
    const auto found = wire::Leadership::of_word(word_.value());
    holds_ = found == change.expected ? change.desired : found;
    rules_.on_answer(change, broken(Rule::kEpoch) ? change.expected : found);
    answered_ = change;
    settle();
  }
  if (rules_.role() == Role::kLeader) {
    if (!rules_.move(word_.second(), holds_) && may_enrol())
      (void)rules_.enrol(word_.second(), holds_);
    settle();
  }
  // Where there are two witnesses the other one may be the one that decides.
  if (!options_.witness_standby.empty() && !rules_.serves(word_.second())) return drop_witness();
  show_witness(true);
  const std::optional<Succession::Change> wanted = rules_.wanted();
  const bool in_vain = wanted && wanted == answered_;
  shown_serves_.set(rules_.serves(word_.second()) && !in_vain ? 1 : 0);
  const bool due = !in_vain || now_ns_ - asked_at_ns_ >= kAskAgainNs;
  if (wanted && due && wanted->witness == word_.second() &&
      word_.compare_swap(wanted->expected.word(), wanted->desired.word())) {
    asked_ = wanted;
    asked_at_ns_ = now_ns_;
    at(Step::kAsked);
  }
  if (rules_.role() != Role::kLeader || now_ns_ < next_look_ns_ || !word_.read()) return;
  looks_again_ = true;
  look_posted_ns_ = now_ns_;
  next_look_ns_ = now_ns_ + kLookAgainNs;
}

// The one that decides, about the lead alone: what else is asked for is settled by renunciation.
bool Pair::witness_may_answer(std::uint64_t now_ns) const noexcept {
  const std::optional<Succession::Change> wanted = rules_.wanted();
  if (!wanted || wanted == answered_ || !rules_.asks_to_lead_alone()) return false;
  if (now_ns - renounced_since_ns_ > kWitnessAnswersNs) return false;
  return !witness_read_ || wanted->witness == word_.second();
}

// Another host may ask to join that has the place of a leader which still runs. So this oeg asks
// the witness, where it answers. Where none does, the renunciation decides.
void Pair::settle_renunciation(std::uint64_t now_ns) noexcept {
  if (renounced_since_ns_ == 0) renounced_since_ns_ = now_ns;
  if (witness_may_answer(now_ns)) return;
  renounced_since_ns_ = 0;
  renounced_.store(false, std::memory_order_relaxed);
  rules_.on_peer_renounced(renounced_by_peer());
}

}  // namespace tickpath::oeg
