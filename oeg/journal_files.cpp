// The journal's files: how it is opened after whatever happened to the last run, and archived.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "oeg/checkpoint.hpp"
#include "oeg/journal.hpp"

namespace tickpath::oeg {
namespace {

namespace fs = std::filesystem;

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    throw SystemError("cannot remove " + path, errno);
}

// The number in an archive's name; 0: it is none.
std::uint64_t number_in(const std::string& name, const std::string& base) {
  if (!name.starts_with(base + ".")) return 0;
  std::uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + base.size() + 1, end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? number : 0;
}

// Held as long as it is open. Throws Error: another one holds it; SystemError.
net::FileDescriptor lock_of(const std::string& journal) {
  const std::string path = journal + ".lock";
  net::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) throw SystemError("cannot open " + path, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error("journal " + journal + " is in use by another oeg; end that one first");
  return file;
}

[[noreturn]] void refuse(const std::string& path, SegmentKind kind) {
  if (kind == SegmentKind::kOldVersion)
    throw Error("journal " + path +
                " is of version 1, of an oeg without segments: end that oeg's run with the program "
                "that began it, note its positions, then move the file away to start empty");
  throw Error(path + " is not an order journal; move it away to start empty");
}

}  // namespace

Journal::Journal(const JournalOptions& options)
    : options_(options),
      next_path_(options.path + ".next"),
      checkpoint_path_(options.path + ".checkpoint") {
  if (options.records < 64)
    throw Error("journal " + options.path + ": segments of at least 64 records are needed");
  lock_ = lock_of(options.path);
  open();
  if (options.to_lead)
    state_->executions_to_lead = std::make_unique<Executions>(state_->executions);
}

void Journal::move_all(const std::string& path, const std::string& folder) {
  const net::FileDescriptor lock = lock_of(path);
  const fs::path own(path);
  const std::string base = own.filename();
  fs::create_directories(folder);
  for (const fs::directory_entry& entry :
       fs::directory_iterator(own.has_parent_path() ? own.parent_path() : fs::path("."))) {
    const std::string name = entry.path().filename();
    const bool ours = name == base || name == base + ".next" || name == base + ".checkpoint" ||
                      number_in(name, base) != 0;
    if (ours) fs::rename(entry.path(), fs::path(folder) / name);
  }
}

// ------------------------------------------------------------------------------------- opening

void Journal::open() {
  Files files;
  CheckpointHeader checkpoint{};
  bool saved = false;
  const auto look = [&] {
    files = survey();
    saved = read_checkpoint_header(checkpoint_path_, checkpoint);
  };
  const bool forgets = options_.start == JournalStart::kFresh && !options_.carry_positions;
  try {
    look();
  } catch (const Error&) {
    if (!forgets) throw;
    set_aside();  // nothing of it is wanted, readable or not
    look();
  }
  const std::uint64_t from = saved ? checkpoint.segment : 1;
  drop_prepared(files, from);
  const std::uint64_t newest = files.empty() ? 0 : files.rbegin()->first;
  SegmentHeader last{};
  if (newest != 0) (void)JournalSegment::examine(files.rbegin()->second, last);
  incarnation_ = std::max(last.incarnation, checkpoint.incarnation) + 1;

  const bool closed = newest >= from && last.closed == 1;
  const bool new_day =
      options_.start == JournalStart::kFresh || (options_.start == JournalStart::kAuto && closed);
  state_ = std::make_unique<JournalState>(options_.sizes);
  if (new_day && !options_.carry_positions) {
    state_->sequence = std::max(checkpoint.sequence, last.first_sequence + last.capacity);
  } else {
    if (saved) read_checkpoint(checkpoint_path_, *state_);
    replay(files, from);
  }
  const bool exists = newest != 0 || saved;
  if (exists && new_day) {
    begin_day(files, std::max(newest + 1, from));
  } else if (newest >= from) {
    use(take_over(files, newest));
  } else {
    clear_paths(files, 0);
    use(create(options_.path, from, state_->sequence + 1));
  }
  prune();
}

// Every finished segment of this journal. What was never finished is removed.
Journal::Files Journal::survey() const {
  Files files;
  const fs::path path(options_.path);
  const std::string base = path.filename();
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;  // a folder that is not there is told by who creates the first file
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_regular_file(error)) continue;
    const std::string name = entry.path().filename();
    const bool is_base = name == base;
    const bool is_next = name == base + ".next";
    if (!is_base && !is_next && number_in(name, base) == 0) continue;
    SegmentHeader header;
    const SegmentKind kind = JournalSegment::examine(entry.path(), header);
    if (kind == SegmentKind::kSegment) {
      if (!files.emplace(header.number, entry.path()).second)
        throw Error("journal " + options_.path + ": " + entry.path().string() + " and " +
                    files[header.number] + " are the same segment; remove the one that is a copy");
    } else if (is_next || (is_base && kind == SegmentKind::kUnfinished)) {
      remove_file(entry.path());
    } else if (is_base) {
      refuse(options_.path, kind);
    }
  }
  return files;
}

void Journal::set_aside() const {
  for (const std::string& path : {options_.path, checkpoint_path_})
    if (std::rename(path.c_str(), (path + ".previous").c_str()) != 0 && errno != ENOENT)
      throw SystemError("cannot set the old " + path + " aside", errno);
}

// The segment that was made ahead of time and never used, while the one before it has room.
void Journal::drop_prepared(Files& files, std::uint64_t from) const {
  if (files.size() < 2) return;
  const auto newest = std::prev(files.end());
  const auto before = std::prev(newest);
  if (before->first + 1 != newest->first) return;
  // One before the checkpoint is a former one, whether it is full or a day ended early in it.
  if (from > before->first) return;
  if (JournalSegment::open(newest->second)->written(0)) return;
  const auto active = JournalSegment::open(before->second);
  if (active->count() == active->capacity()) return;
  remove_file(newest->second);
  files.erase(newest);
}

void Journal::replay(const Files& files, std::uint64_t from) {
  const std::uint64_t newest = files.empty() ? 0 : files.rbegin()->first;
  for (std::uint64_t number = from; number <= newest; ++number) {
    const auto file = files.find(number);
    if (file == files.end())
      throw Error("journal " + options_.path + ": segment " + std::to_string(number) +
                  " is missing, or the checkpoint is (" + checkpoint_path_ +
                  "); restore what is missing, or move all of it away to start empty");
    const auto segment = JournalSegment::open(file->second);
    if (number == newest && number != from) save(number);
    followed_ = 0;
    if (segment->first_sequence() == state_->sequence + 1) apply(*segment, segment->capacity());
    if (segment->first_sequence() + followed_ != state_->sequence + 1 ||
        (number != newest && followed_ != segment->capacity()))
      throw Error("journal " + options_.path + ": segment " + file->second +
                  " does not follow the one before it; restore what is missing, or move all of it "
                  "away to start empty");
  }
}

// The first step makes the day: should the process die after it, the state is the new one.
void Journal::begin_day(const Files& files, std::uint64_t number) {
  state_ = state_->next_day(options_.carry_positions);
  save(number);
  clear_paths(files, 0);
  options_.step();
  use(create(options_.path, number, state_->sequence + 1));
  shrink_last_of(files);
}

// A day may end early in its last segment, which is of full size: a demo's, day after day.
void Journal::shrink_last_of(const Files& files) noexcept {
  try {
    if (!files.empty()) JournalSegment::shrink(archive_path(files.rbegin()->first));
  } catch (const std::exception& error) {
    fail(error);  // nothing is lost by it but room
  }
}

// Whatever other segment stands under a name that is needed becomes a former one.
void Journal::clear_paths(const Files& files, std::uint64_t but) const {
  for (const auto& [number, path] : files)
    if (number != but && (path == options_.path || path == next_path_))
      rename(path, archive_path(number));
}

std::unique_ptr<JournalSegment> Journal::take_over(const Files& files, std::uint64_t number) {
  const std::string& path = files.at(number);
  clear_paths(files, number);
  if (path != options_.path) rename(path, options_.path);
  return JournalSegment::open(options_.path);
}

std::unique_ptr<JournalSegment> Journal::create(const std::string& path, std::uint64_t number,
                                                std::uint64_t first_sequence) const {
  SegmentHeader header{};
  header.number = number;
  header.first_sequence = first_sequence;
  header.capacity = options_.records;
  header.incarnation = incarnation_;
  return JournalSegment::create(path, header);
}

void Journal::use(std::unique_ptr<JournalSegment> segment) {
  current_ = std::move(segment);
  current_->header().closed = 0;
  std::memcpy(current_->header().magic, SegmentHeader::kMagic, sizeof(SegmentHeader::kMagic));
  current_->header().incarnation = incarnation_;
  records_ = current_->records();
  capacity_ = current_->capacity();
  used_ = followed_ = state_->sequence + 1 - current_->first_sequence();
  sequence_ = state_->sequence;
  size_.set(sequence_);
  segments_.add();
}

// ----------------------------------------------------------------------------------- archiving

void Journal::save(std::uint64_t segment) {
  options_.step();
  write_checkpoint(checkpoint_path_, *state_, segment, incarnation_, options_.step);
}

void Journal::rename(const std::string& from, const std::string& to) const {
  options_.step();
  if (std::rename(from.c_str(), to.c_str()) != 0)
    throw SystemError("cannot rename " + from + " to " + to, errno);
}

std::string Journal::archive_path(std::uint64_t number) const {
  std::string digits = std::to_string(number);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return options_.path + "." + digits;
}

// Former segments beyond the bound, the oldest first. The checkpoint stands for all of them.
void Journal::prune() noexcept {
  try {
    Files former = survey();
    former.erase(former.lower_bound(current_->header().number), former.end());
    while (former.size() > options_.archived_max) {
      options_.step();
      remove_file(former.begin()->second);
      former.erase(former.begin());
    }
    archived_.set(former.size());
  } catch (const std::exception& error) {
    fail(error);  // nothing is lost by it but room
  }
}

}  // namespace tickpath::oeg
