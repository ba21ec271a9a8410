// A standby's half of the pair's log. Takes what the leader replicates into its own journal and FIX
// store, and fences the log before it leads. Datapath thread, where nothing else is said.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "common/base/spsc_ring.hpp"
#include "common/fix/session_mirror.hpp"
#include "common/link/replicated_log.hpp"
#include "common/log/hot_log.hpp"
#include "common/wire/control_block.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/journal.hpp"
#include "oeg/log_spool.hpp"
#include "oeg/pair_entry.hpp"
#include "oeg/pair_notes.hpp"
#include "oeg/pair_options.hpp"
#include "oeg/replication_lag.hpp"
#include "oeg/takeover.hpp"

namespace tickpath::oeg {

class LogFollower {
 public:
  LogFollower(const PairOptions& options, Journal& journal, fix::MirroredStore& session,
              Takeover& takeover, ReplicationLag& lag, PairCounters& counters,
              log::HotLog& hot_log) noexcept
      : options_(options),
        journal_(journal),
        session_(session),
        takeover_(takeover),
        lag_(lag),
        counters_(counters),
        hot_log_(hot_log) {}

  // ---- control thread

  // Before the datapath starts: the log that this one stands by, and what takes its entries until
  // the datapath has caught up, if anything does.
  void follow(std::unique_ptr<link::ReplicatedLog> log, std::unique_ptr<LogSpool> spool) noexcept {
    log_ = std::move(log);
    spool_ = std::move(spool);
    spooled_ = spool_.get();
  }
  // Each tick: the spool goes once it is needed no more. Its end waits for a thread.
  void collect() noexcept {
    // Acquire: pairs with the release in leave_spool(). Without it the spool could go while the
    // datapath still takes its last entries.
    if (caught_up_.load(std::memory_order_acquire)) spool_.reset();
  }
  // Exceptions that were cleared at the leader, in order; false: none.
  bool pop_cleared(ClearedException& cleared) noexcept { return cleared_.try_pop(cleared); }
  // The memory that the leader may WRITE into. nullptr: there is no log.
  rdma::MemoryRegion* region() const noexcept {
    return log_ == nullptr ? nullptr : log_->grant().region;
  }

  // ---- datapath thread

  // False: this one has followed nobody since its start.
  bool has_log() const noexcept { return log_ != nullptr; }
  // Takes what is there, up to a bound. A newer kill switch goes into `kills`; of an entry with a
  // word on_word(PairEntry, const WordEntry&) is called.
  template <class OnWord>
  void take(wire::ControlBlock& kills, OnWord&& on_word) noexcept;
  // The log is read by this thread, and not by way of the spool.
  bool takes_itself() const noexcept { return spooled_ == nullptr; }
  // From now on this thread sees a full disk and the leader's death: it may be made a standby. The
  // joiner acknowledges that once. A standby has done so before.
  void tell_takes_itself(bool joins) noexcept;
  void acknowledge(std::uint64_t number) noexcept { log_->acknowledge(number); }

  // The log takes no more from now on, and is read to its end: at_fence().
  void fence() noexcept;
  bool fenced() const noexcept;
  bool at_fence() const noexcept;
  bool is_damaged() const noexcept { return log_->status() != link::LogStatus::kOk; }
  // A standby that cannot write its journal takes nothing, and the leader would soon wait for it.
  // True: that lasts. It renounces only once it has read its log to the end: the leader may have
  // handed over to it.
  bool cannot_follow(std::uint64_t now_ns) noexcept;
  // cannot_follow() has been true.
  bool stands_down() const noexcept { return stands_down_; }
  bool may_sleep() const noexcept {
    return spooled_ == nullptr && (log_ == nullptr || log_->behind() == 0);
  }

 private:
  static constexpr std::size_t kEntriesPerTurn = 256;

  std::size_t entries_max() const noexcept;
  void leave_spool() noexcept;
  template <class OnWord>
  void take_entry(PairEntry kind, std::span<const std::byte> payload, wire::ControlBlock& kills,
                  OnWord& on_word) noexcept;
  bool take_record(std::span<const std::byte> payload) noexcept;
  bool take_stored(PairEntry kind, std::span<const std::byte> payload) noexcept;
  bool take_kills(std::span<const std::byte> payload, wire::ControlBlock& kills) const noexcept;
  bool take_cleared(std::span<const std::byte> payload) noexcept;
  void refuse() noexcept;
  void count_taken(std::size_t taken) noexcept;

  const PairOptions& options_;
  Journal& journal_;
  fix::MirroredStore& session_;
  Takeover& takeover_;
  ReplicationLag& lag_;
  PairCounters& counters_;
  log::HotLog& hot_log_;
  std::unique_ptr<link::ReplicatedLog> log_;
  std::unique_ptr<LogSpool> spool_;  // the control thread's
  LogSpool* spooled_ = nullptr;      // the log is taken by way of it; nullptr: it is not
  std::atomic<bool> caught_up_{false};
  bool told_takes_itself_ = false;
  bool refused_ = false;                     // an entry that says nothing
  std::uint64_t journal_full_since_ns_ = 0;  // 0: it is not
  bool stands_down_ = false;                 // at the fence this one renounces
  // One that finds no room is open here still: a person clears it once more.
  SpscRing<ClearedException> cleared_{1024};
};

// False: the payload is too short to be one.
template <class T>
bool read_entry(std::span<const std::byte> payload, T& value) noexcept {
  if (payload.size() < sizeof(value)) return false;
  std::memcpy(&value, payload.data(), sizeof(value));
  return true;
}

template <class OnWord>
void LogFollower::take(wire::ControlBlock& kills, OnWord&& on_word) noexcept {
  const std::size_t most = entries_max();
  if (most == 0) return;
  const auto each = [&](std::uint32_t kind, std::span<const std::byte> payload) {
    if (!refused_) take_entry(static_cast<PairEntry>(kind), payload, kills, on_word);
  };
  const std::size_t taken =
      spooled_ == nullptr ? log_->poll(each, most) : spooled_->poll(each, most);
  if (spooled_ != nullptr && (taken < most || refused_)) leave_spool();
  if (taken != 0) count_taken(taken);
}

template <class OnWord>
void LogFollower::take_entry(PairEntry kind, std::span<const std::byte> payload,
                             wire::ControlBlock& kills, OnWord& on_word) noexcept {
  WordEntry word;
  bool good = false;
  switch (kind) {
    case PairEntry::kRecord:
      good = take_record(payload);
      break;
    case PairEntry::kStored:
    case PairEntry::kNumbers:
    case PairEntry::kStoreReset:
      good = take_stored(kind, payload);
      break;
    case PairEntry::kOffer:
    case PairEntry::kMove:
    case PairEntry::kHandedOver:
      good = read_entry(payload, word);
      if (good) on_word(kind, word);
      break;
    case PairEntry::kKills:
      good = take_kills(payload, kills);
      break;
    case PairEntry::kCleared:
      good = take_cleared(payload);
      break;
  }
  if (!good) refuse();
}

}  // namespace tickpath::oeg
