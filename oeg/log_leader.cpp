#include "oeg/log_leader.hpp"

#include <algorithm>

#include "common/clock/clock.hpp"

namespace tickpath::oeg {
namespace {

// An answer of another host takes a few microseconds; what takes longer is looked for next turn.
constexpr std::uint64_t kConfirmNs = 20'000;

// A standby that takes nothing for so long is stuck, though its heart beats and its log has room.
// Nothing waits for it yet, but it could not take over either.
constexpr std::uint64_t kTakesNothingNs = 1'000'000'000;
// A joiner that has all but so much has caught up: the rest is on its way in a turn or two.
constexpr std::uint64_t kCaughtUpBytes = 1u << 16;

template <class T>
std::span<const std::byte> bytes(const T& value) noexcept {
  return std::as_bytes(std::span(&value, 1));
}

StoredEntry entry_of(std::uint32_t seq, const fix::SessionNumbers& numbers) noexcept {
  return {seq, numbers.next_sender, numbers.next_target, 0, numbers.began_ns};
}

// A quarter of the bound: a turn that comes late is no sign of the standby.
std::uint64_t step_of(const PairOptions& options) noexcept {
  return static_cast<std::uint64_t>(options.confirm_max_ns) / 4;
}

}  // namespace

LogLeader::LogLeader(const PairOptions& options, std::uint64_t probe_ns, rdma::Device& device,
                     Journal& journal, const RememberedSuccession& rules, PairPeer& standby,
                     ReplicationLag& lag, PairCounters& counters)
    : options_(options),
      probe_ns_(probe_ns),
      confirm_ticks_(clock::TickConverter{}.from_ns(kConfirmNs).value),
      journal_(journal),
      rules_(rules),
      standby_(standby),
      lag_(lag),
      counters_(counters),
      writer_(device, options.log_bytes, "oeg.replication"),
      confirmed_(step_of(options)),
      taken_(step_of(options)),
      acknowledged_(step_of(options)) {
  kills_confirmed_.set(1);
}

// ------------------------------------------------------------------------------ what is recorded

bool LogLeader::append(JournalRecord& record) noexcept {
  if (!journal_.append(record)) return false;
  if (replicates()) send(PairEntry::kRecord, bytes(record));
  at(Step::kRecorded);
  return true;
}

void LogLeader::on_stored(std::uint32_t seq, std::string_view message,
                          const fix::SessionNumbers& numbers) noexcept {
  if (!replicates()) return;
  const StoredEntry entry = entry_of(seq, numbers);
  send(PairEntry::kStored, bytes(entry), std::as_bytes(std::span(message.data(), message.size())));
}

void LogLeader::on_numbers(const fix::SessionNumbers& numbers) noexcept {
  if (!replicates()) return;
  const StoredEntry entry = entry_of(0, numbers);
  send(PairEntry::kNumbers, bytes(entry));
}

void LogLeader::on_store_reset() noexcept {
  if (replicates()) send(PairEntry::kStoreReset, {});
}

// A log with a hole would be none: without room the standby is lost, which the next turn settles.
// Until then nothing takes effect.
void LogLeader::send(PairEntry kind, std::span<const std::byte> first,
                     std::span<const std::byte> second) noexcept {
  if (writer_.append(static_cast<std::uint32_t>(kind), first, second)) [[likely]] {
    counters_.entries_sent.add();
    return;
  }
  counters_.log_full.add();
  writer_.detach();
}

void LogLeader::send_word(PairEntry kind, wire::Leadership word) noexcept {
  const WordEntry entry{word.word(),
                        kind == PairEntry::kMove ? rules_->moving_to() : rules_->witness()};
  send(kind, bytes(entry));
}

bool LogLeader::confirm() noexcept {
  if (!standby_.is_there() || !replicates()) return false;
  const TscTicks begun = tsc_now();
  while (!writer_.all_confirmed()) {
    (void)writer_.flush();
    at(Step::kPosted);
    standby_.connection().poll();
    if (!replicates()) return false;
    if ((tsc_now() - begun).value > confirm_ticks_ && !writer_.all_confirmed()) {
      counters_.waits.add();
      return false;
    }
  }
  at(Step::kConfirmed);
  return true;
}

void LogLeader::tell_cleared(const ClearedException& cleared) noexcept {
  if (replicates()) send(PairEntry::kCleared, bytes(cleared));
}

void LogLeader::tell_kills(const wire::ControlBlock& kills) noexcept {
  if (!replicates() || kills.kill_version == 0) return;
  // Before the caller shows the change: who has seen that, sees this.
  kills_confirmed_.set(0);
  send(PairEntry::kKills, bytes(kills));
  kills_at_ = writer_.appended();
}

void LogLeader::settle_kills() noexcept {
  if (kills_at_ == 0 || (replicates() && writer_.confirmed() < kills_at_)) return;
  kills_at_ = 0;
  kills_confirmed_.set(1);
}

// ------------------------------------------------------------------------------ a standby's life

bool LogLeader::attach(const rdma::RemoteRegion& log, std::uint64_t now_ns) noexcept {
  if (!writer_.attach(standby_.connection(), log)) return false;
  confirmed_.restart(now_ns);
  taken_.restart(now_ns);
  acknowledged_.restart(now_ns);
  lag_.begin(counters_.entries_sent.get());
  return true;
}

void LogLeader::begin(const fix::SessionNumbers& numbers,
                      const wire::ControlBlock& kills) noexcept {
  on_numbers(numbers);
  tell_kills(kills);
  streams_from_.store(journal_.size().get() + 1, std::memory_order_release);
}

void LogLeader::turn(std::uint64_t now_ns) noexcept {
  (void)writer_.flush();
  standby_.connection().poll();
  settle_kills();
  if (now_ns >= next_probe_ns_ || offered_) {
    next_probe_ns_ = now_ns + probe_ns_;
    (void)writer_.probe();
  }
  lag_.measure(writer_.appended(), writer_.taken(), counters_.entries_sent.get(), now_ns);
  watch_progress(now_ns);
}

void LogLeader::watch_progress(std::uint64_t now_ns) noexcept {
  const std::uint64_t confirmed = broken(Rule::kProgress) ? 0 : writer_.confirmed();
  confirmed_.see(confirmed, writer_.all_confirmed(), now_ns);
  taken_.see(writer_.taken(), writer_.taken() == writer_.appended(), now_ns);
  acknowledged_.see(writer_.acknowledged(), !offered_, now_ns);
}

// The transport confirms also for a standby that takes nothing: its log fills, and then everything
// would wait for it. A joiner has as long as it wants until it is offered the place of a standby,
// for nothing waits for it.
bool LogLeader::is_overdue() const noexcept {
  const auto bound = static_cast<std::uint64_t>(options_.confirm_max_ns);
  if (confirmed_.idle_ns() > bound) return true;
  if (acknowledged_.idle_ns() > std::max(bound, kTakesNothingNs)) return true;
  if (!rules_->needs_confirmation() || broken(Rule::kTaken)) return false;
  const std::uint64_t idle = taken_.idle_ns();
  return idle > std::max(bound, kTakesNothingNs) ||
         (idle > bound && !writer_.has_room(kStepBytes + options_.log_bytes / 8));
}

void LogLeader::advance_offer(Succession& rules, bool witness_holds_word) noexcept {
  if (offered_ && writer_.acknowledged() == offered_->epoch) {
    rules.on_offer_taken(*offered_);
    offered_.reset();
  }
  if (rules.moved()) {
    send_word(PairEntry::kMove, rules.word());
    moved_at_ = writer_.appended();
    rules.on_move_told();
  }
  if (moved_at_ != 0 && writer_.confirmed() >= moved_at_) {
    moved_at_ = 0;
    rules.on_move_confirmed();
  }
  const bool caught_up = writer_.acknowledged() != 0 &&  // its datapath reads the log
                         writer_.appended() - writer_.taken() <= kCaughtUpBytes;
  if (!caught_up || !standby_.is_alive() || !rules.word().alone || rules.needs_confirmation() ||
      !witness_holds_word)
    return;
  offered_ = rules.offer();
  if (!offered_) return;
  send_word(PairEntry::kOffer, *offered_);
  at(Step::kOffered);
}

void LogLeader::tell_successor() noexcept {
  if (!replicates()) return;
  send_word(PairEntry::kHandedOver, rules_->word());
  (void)writer_.flush();
}

void LogLeader::detach() noexcept {
  writer_.detach();
  offered_.reset();
  moved_at_ = 0;
}

void LogLeader::end() noexcept {
  streams_from_.store(0, std::memory_order_release);
  detach();
  lag_.end();
}

}  // namespace tickpath::oeg
