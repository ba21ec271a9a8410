// The order journal: memory-mapped files to which every change of state is appended before it takes
// effect outside. What is written survives the end of the process, not a power cut.
//
// The journal has no end but the disk's. Files, `path` being journal.file:
//
//   path              the segment in use (journal_segment.hpp): a header page, then JournalRecords
//   path.next         the one after it, made ahead of time, still without a record
//   path.000007       a former one, full, or closed early by a new day; so many are kept
//   path.checkpoint   the state before the first record of a segment (checkpoint.hpp)
//   path.lock         held by the oeg that has the journal open
//
// A segment is known by the number in its header, whatever its name. A restart reads the checkpoint
// and applies the records of its segment and of those after it.
//
// The datapath appends; when a segment is full it goes on in the next one, which is
// there, reserved on the disk, its beginning touched: the change of one pointer. Everything else is
// the control thread's: it makes the next segment, renames, follows the datapath by applying each
// record to a state of its own (JournalState, the code that a restart runs), and writes that state
// as the checkpoint when it has come to the end of a full segment. The other way, the datapath
// writing its own tables into the new segment in pieces of a turn, would cost every turn a look and
// each order of those turns a wait, and would have to deal with tables that change between the
// pieces; here the checkpoint is checked against the records by construction. The price is memory:
// the ledger twice.
//
// Crash, at any moment: a segment is complete or has no magic; a record is complete or has no
// sequence; a checkpoint is complete or has not its name; a segment is only deleted once a
// checkpoint after it has its name. So the same records are there, and give the same state. Several
// records of one message count together or not at all (journal_entry.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/cpu.hpp"
#include "common/net/file_descriptor.hpp"
#include "oeg/journal_segment.hpp"
#include "oeg/journal_state.hpp"
#include "oeg/ports.hpp"

namespace tickpath::oeg {

// What to do with what the last run left.
enum class JournalStart : std::uint8_t {
  kResume,  // go on with it: orders, positions, counts
  kAuto,    // go on with it if its owner did not end in order; else a new day
  kFresh,   // a new day
};

struct JournalOptions {
  std::string path;
  std::uint64_t records = std::uint64_t{1} << 18;  // of each segment, at least 64
  JournalStart start = JournalStart::kResume;
  // A new day begins with the positions of the last one. Without it, with nothing.
  bool carry_positions = true;
  std::uint32_t archived_max = 16;  // former segments kept
  bool to_lead = false;             // somebody may have to begin with it at any moment
  std::uint64_t log_records = 0;    // a standby's: its log has room for so many (left_to_follow())
  JournalSizes sizes{};
  // For tests: called before each step that changes files.
  std::function<void()> step = [] {};
};

class Journal final : public JournalPort {
 public:
  // Control thread. Throws SystemError, Error (not a journal, of another version, in use, a part is
  // missing, no room for what it holds).
  explicit Journal(const JournalOptions& options);

  // Control thread, before the datapath starts: what there is to go on from.
  const JournalState& state() const noexcept { return *state_; }
  // Control thread: of the records followed so far, the exceptions that are not taken off yet.
  std::vector<JournalRecord>& exceptions() noexcept { return state_->exceptions; }
  // Control thread: swaps the executions into `executions`, which has the same size, where they are
  // kept ready (JournalOptions::to_lead). False: they are not.
  bool give_executions(Executions& executions) noexcept;
  std::uint16_t incarnation() const noexcept { return static_cast<std::uint16_t>(incarnation_); }

  // Datapath thread. Without a next segment (the disk is full, the control thread is late), an
  // eighth of this one is kept for what becomes of the orders already sent, ...
  bool has_room() const noexcept override { return has_left(8); }
  // ... half of that for reports alone, ...
  bool has_room_for_changes() const noexcept override { return has_left(16); }
  // ... when a quarter of it is left, what the venue says waits in its socket, ...
  bool has_room_for_reports() const noexcept override { return has_left(32); }
  // ... and the last eighth is for cancels by oeg itself.
  bool has_room_for_own_cancels() const noexcept override { return has_left(64); }
  // So many records find room, at least.
  std::uint64_t left() const noexcept {
    return capacity_ - used_ + (next_.load(std::memory_order_relaxed) != nullptr ? capacity_ : 0);
  }
  // A standby takes so many more records of its log. Besides them there is room for all that its
  // log can hold. When the leader dies a standby reads its log to the end, whatever the disk does.
  // An eighth of a segment is left then for what becomes of the orders.
  std::uint64_t left_to_follow() const noexcept {
    const std::uint64_t kept = options_.log_records + capacity_ / 8;
    return left() > kept ? left() - kept : 0;
  }
  bool append(JournalRecord& record) noexcept override;

  // Control thread, every tick: follows the datapath, makes the next segment, archives. Never
  // throws; problem() says what failed, and it is tried again after a second.
  void maintain(std::uint64_t now_ns) noexcept;
  // Control thread: follows to where the datapath is. A file that cannot be written or renamed
  // does not keep it from that: maintain() tries again. Throws Error (no room in the tables).
  void catch_up();
  // Control thread: follows to here; what it comes to, as a checkpoint's file, for a journal that
  // begins with the record behind it. Throws likewise.
  std::string snapshot();
  // Control thread: moves every file of a journal into `folder`, beside it. Throws SystemError,
  // Error (in use).
  static void move_all(const std::string& path, const std::string& folder);
  bool has_next() const noexcept { return next_.load(std::memory_order_relaxed) != nullptr; }
  std::uint64_t number() const noexcept { return current_->header().number; }
  // Empty: nothing.
  const std::string& problem() const noexcept { return problem_; }

  // Control thread, the datapath has ended: nothing is open that a next run must know of.
  void close_in_order() noexcept;

  // Any thread.
  const Counter& size() const noexcept { return size_; }
  const Counter& segments() const noexcept { return segments_; }
  const Counter& archived() const noexcept { return archived_; }
  const Counter& failures() const noexcept { return failures_; }

 private:
  using Files = std::map<std::uint64_t, std::string>;  // by number

  void open();
  Files survey() const;
  void set_aside() const;
  void drop_prepared(Files& files, std::uint64_t from) const;
  void replay(const Files& files, std::uint64_t from);
  void begin_day(const Files& files, std::uint64_t number);
  void clear_paths(const Files& files, std::uint64_t but) const;
  void shrink_last_of(const Files& files) noexcept;
  void use(std::unique_ptr<JournalSegment> segment);
  std::unique_ptr<JournalSegment> take_over(const Files& files, std::uint64_t number);
  std::unique_ptr<JournalSegment> create(const std::string& path, std::uint64_t number,
                                         std::uint64_t first_sequence) const;
  void save(std::uint64_t segment);
  void notice_switch();
  void rename_switched();
  void prepare();
  void follow(std::uint64_t records_max);
  void apply(const JournalSegment& segment, std::uint64_t records_max);
  void finish_sealed();
  void follow_without_files();
  void forgo_sealed();
  void prune() noexcept;
  void keep_writable() noexcept;
  void rename(const std::string& from, const std::string& to) const;
  std::string archive_path(std::uint64_t number) const;

  bool has_left(std::uint64_t part) const noexcept {
    // Relaxed: whether there is one is all that matters here; append() orders what it uses.
    return capacity_ - used_ > capacity_ / part || next_.load(std::memory_order_relaxed) != nullptr;
  }
  bool go_on_in_next() noexcept;
  void write(const JournalRecord& record) noexcept;
  void fail(const std::exception& error) noexcept;

  // Control thread.
  const JournalOptions options_;
  const std::string next_path_;
  const std::string checkpoint_path_;
  net::FileDescriptor lock_;
  std::uint32_t incarnation_ = 0;
  std::unique_ptr<JournalState> state_;
  std::uint64_t followed_ = 0;                // records of sealed_, or else current_, in state_
  std::unique_ptr<JournalSegment> sealed_;    // full, not yet in a checkpoint
  std::unique_ptr<JournalSegment> current_;   // the datapath is in it, or has just left it
  std::unique_ptr<JournalSegment> prepared_;  // given to the datapath, which may be in it
  int renames_left_ = 0;                      // of the two after a switch
  std::string problem_;
  std::uint64_t retry_ns_ = 0;

  // Set by the control thread, taken (to nullptr) by the datapath. Release and acquire, both ways:
  // the datapath must see the whole segment, the control thread all records of the one it left.
  alignas(kCacheLineBytes) std::atomic<JournalSegment*> next_{nullptr};

  // Datapath thread.
  alignas(kCacheLineBytes) JournalRecord* records_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t sequence_ = 0;  // of the last record
  // What a gateway had before give_executions(): to free it would take as long as to copy.
  std::unique_ptr<Executions> given_up_;
  Counter size_;      // records in all, over all segments
  Counter segments_;  // in use or left, since the start
  Counter archived_;
  Counter failures_;
};

}  // namespace tickpath::oeg
