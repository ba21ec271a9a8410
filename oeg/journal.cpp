#include "oeg/journal.hpp"

#include <cstdio>
#include <cstring>

#include "common/base/check.hpp"
#include "common/base/error.hpp"
#include "oeg/checkpoint.hpp"

namespace tickpath::oeg {
namespace {

// Records that one tick of the control thread applies: a few milliseconds' worth, so that it can do
// its other work, and more than any load brings in a tick.
constexpr std::uint64_t kFollowedPerTick = 1u << 15;

// Records whose pages stay writable ahead of the datapath: more than any load brings in a tick. The
// call looks at some 100 pages, which takes microseconds.
constexpr std::uint64_t kWritableAhead = 1u << 11;

// A step that failed (a full disk) is tried again after so long.
constexpr std::uint64_t kRetryNs = 1'000'000'000;

}  // namespace

// ---------------------------------------------------------------------------------- datapath

bool Journal::append(JournalRecord& record) noexcept {
  if (used_ == capacity_ && !go_on_in_next()) [[unlikely]]
    return false;
  record.sequence = ++sequence_;
  write(record);
  size_.set(sequence_);
  return true;
}

void Journal::write(const JournalRecord& record) noexcept {
  JournalRecord& slot = records_[used_];
  // All but the sequence, at which the control thread may be looking: it is 0 until now.
  constexpr std::size_t kBehindSequence = offsetof(JournalRecord, event);
  std::memcpy(reinterpret_cast<char*>(&slot) + kBehindSequence,
              reinterpret_cast<const char*>(&record) + kBehindSequence,
              sizeof(record) - kBehindSequence);
  // Release: the sequence says that the record is whole, so it may not be stored before it. Its
  // partners are JournalSegment::written() of the control thread, and the scan of a next run,
  // should this process die here.
  std::atomic_ref<std::uint64_t>(slot.sequence).store(record.sequence, std::memory_order_release);
  // The next record is two cold lines: fetch them while nothing waits for them.
  const JournalRecord& ahead = ++used_ < capacity_ ? records_[used_] : slot;
  __builtin_prefetch(&ahead, 1);
  __builtin_prefetch(reinterpret_cast<const char*>(&ahead) + 64, 1);
}

bool Journal::go_on_in_next() noexcept {
  JournalSegment* const next = next_.load(std::memory_order_acquire);  // see the member
  if (next == nullptr) return false;
  records_ = next->records();
  capacity_ = next->capacity();
  used_ = 0;
  next_.store(nullptr, std::memory_order_release);  // see the member
  return true;
}

// ------------------------------------------------------------------------------ control thread

void Journal::maintain(std::uint64_t now_ns) noexcept {
  if (!problem_.empty() && now_ns < retry_ns_) return;
  try {
    notice_switch();
    rename_switched();
    if (prepared_ == nullptr) prepare();  // first: the datapath may need it soon
    follow(kFollowedPerTick);
    keep_writable();
    problem_.clear();
  } catch (const std::exception& error) {
    fail(error);
    retry_ns_ = now_ns + kRetryNs;
  }
}

void Journal::fail(const std::exception& error) noexcept {
  problem_ = error.what();
  failures_.add();
}

void Journal::notice_switch() {
  // Acquire: see next_. Its records are read from now on.
  if (prepared_ == nullptr || next_.load(std::memory_order_acquire) != nullptr) return;
  if (sealed_ != nullptr) follow(~std::uint64_t{0});  // may throw: then it is tried again
  sealed_ = std::move(current_);
  current_ = std::move(prepared_);
  segments_.add();
  renames_left_ = 2;
}

void Journal::rename_switched() {
  if (renames_left_ == 2) {
    rename(options_.path, archive_path(current_->header().number - 1));
    renames_left_ = 1;
  }
  if (renames_left_ == 1) {
    rename(next_path_, options_.path);
    renames_left_ = 0;
  }
}

void Journal::prepare() {
  options_.step();
  prepared_ = create(next_path_, current_->header().number + 1, current_->end_sequence());
  next_.store(prepared_.get(), std::memory_order_release);  // see the member
}

// A sealed segment to its end, its checkpoint, and only then what follows it.
void Journal::follow(std::uint64_t records_max) {
  if (sealed_ != nullptr) {
    apply(*sealed_, records_max);
    if (followed_ < sealed_->capacity()) return;
    finish_sealed();
  }
  apply(*current_, records_max);
}

void Journal::apply(const JournalSegment& segment, std::uint64_t records_max) {
  const std::uint64_t left = segment.capacity() - followed_;
  const std::uint64_t end = followed_ + (left < records_max ? left : records_max);
  for (; followed_ < end && segment.written(followed_); ++followed_)
    state_->apply(segment.record(followed_));
}

// From where the datapath is: this segment's end, and the next one's beginning.
void Journal::keep_writable() noexcept {
  const std::uint64_t at = size_.get() + 1 - current_->first_sequence();
  const std::uint64_t end = at + kWritableAhead;
  current_->keep_writable(at, end);
  if (prepared_ == nullptr || end <= current_->capacity()) return;
  prepared_->keep_writable(at > current_->capacity() ? at - current_->capacity() : 0,
                           end - current_->capacity());
}

void Journal::finish_sealed() {
  save(current_->header().number);
  sealed_.reset();
  followed_ = 0;
  prune();
}

void Journal::catch_up() {
  try {
    notice_switch();
    rename_switched();
    follow(~std::uint64_t{0});
  } catch (const SystemError& error) {
    fail(error);
    follow_without_files();
  }
}

bool Journal::give_executions(Executions& executions) noexcept {
  if (state_->executions_to_lead == nullptr) return false;
  std::swap(executions, *state_->executions_to_lead);
  given_up_ = std::move(state_->executions_to_lead);
  return true;
}

void Journal::follow_without_files() {
  forgo_sealed();
  notice_switch();  // nothing is sealed: it writes nothing
  forgo_sealed();
  apply(*current_, ~std::uint64_t{0});
}

// Without its checkpoint: a later one stands for its records, too, and none is removed before.
void Journal::forgo_sealed() {
  if (sealed_ == nullptr) return;
  apply(*sealed_, ~std::uint64_t{0});
  sealed_.reset();
  followed_ = 0;
}

std::string Journal::snapshot() {
  catch_up();
  return checkpoint_bytes(*state_, 1, incarnation_);
}

void Journal::close_in_order() noexcept {
  maintain(~std::uint64_t{0});  // the datapath may have switched last of all
  if (records_ != current_->records()) return;
  current_->header().closed = 1;
  if (prepared_ == nullptr) return;
  // Where this one is full, the next one is the newest; else nobody needs its room until then.
  prepared_->header().closed = 1;
  if (used_ == capacity_) return;
  next_.store(nullptr, std::memory_order_relaxed);  // the datapath has ended
  prepared_.reset();
  (void)std::remove(next_path_.c_str());
}

}  // namespace tickpath::oeg
