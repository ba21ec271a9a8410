// Reads the trace files that TraceWriter leaves behind. Tools only; not for a datapath.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/trace/stamp.hpp"

namespace tickpath::trace {

// What one connection measured of another host's clock, ascending.
struct PeerClockPoints {
  std::uint64_t host_id;
  std::uint64_t stream;
  std::vector<PeerPoint> points;
};

// One trace file, mapped read-only. May be read while its program still writes.
class TraceFile {
 public:
  // Throws Error naming the path: not there, not a trace file, another version, shorter than its
  // header says.
  explicit TraceFile(const std::string& path);
  // Only the newest records, in the order in which they were written, at most `records_max`. They
  // begin with the first one that is stamped at `since` or later, by the counter of the file's
  // host. The program cannot change them any more, because they are a copy. Throws as above.
  TraceFile(const std::string& path, TscTicks since, std::size_t records_max);
  ~TraceFile();
  TraceFile(TraceFile&& other) noexcept;
  TraceFile& operator=(TraceFile&&) = delete;
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  const FileHeader& header() const noexcept { return *header_; }
  // Every slot of the ring, in no particular order; a key of 0 was never written. Of a file of
  // which the newest records were asked for, these.
  std::span<const Record> records() const noexcept { return records_; }
  // Records that are in the file; while its program runs there may soon be more.
  std::uint64_t kept() const noexcept;
  // Each of them, in no particular order. Those that the program is just writing, or was when it
  // died, are left out: they may be half of one and half of another. What was visited leaves this
  // process's memory again, so that a file of any size takes none of it.
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (!newest_.empty()) {
      for (const Record& record : newest_) visit(record);
      return;
    }
    std::vector<Record> copy;
    for (std::size_t first = 0; first < records_.size(); first += kRecordsAtOnce) {
      const std::uint64_t written = header_->written.load(std::memory_order_acquire);
      if (first >= written) break;  // the rest was never written
      const std::size_t count =
          std::min({kRecordsAtOnce, records_.size() - first, std::size_t{written} - first});
      const auto part = records_.subspan(first, count);
      copy.assign(part.begin(), part.end());
      release(part);
      const std::uint64_t writing = overwritten_to(written);
      for (std::size_t i = 0; i < count; ++i)
        if (is_whole(first + i, written, writing)) visit(copy[i]);
      if (progress_) progress_(count);
    }
  }
  // Called by for_each() with the number of records that it has visited since the last call.
  void on_progress(std::function<void(std::uint64_t records)> progress) {
    progress_ = std::move(progress);
  }
  // Records that were overwritten because the ring was smaller than the run.
  std::uint64_t overwritten() const noexcept;
  // Newest records were asked for, and some that are younger than `since` are not here: there were
  // more than `records_max`, or they were overwritten.
  bool cut_short() const noexcept { return cut_short_; }
  std::vector<SyncPoint> sync_points() const;
  std::vector<PeerClockPoints> peer_clocks() const;

 private:
  static constexpr std::size_t kRecordsAtOnce = 1u << 18;  // 4 MiB: whole pages, few system calls
  static void release(std::span<const Record> part) noexcept;
  void copy_newest(TscTicks since, std::size_t records_max);
  // Up to which record the program may have begun to write, when everything before this call was
  // read.
  std::uint64_t overwritten_to(std::uint64_t written) const noexcept;
  // Whether the newest record of a slot that was complete when `written` were is still there.
  bool is_whole(std::size_t slot, std::uint64_t written, std::uint64_t writing) const noexcept {
    const std::uint64_t rounds = (written - 1 - slot) / records_.size();
    return slot + (rounds + 1) * records_.size() >= writing;
  }

  std::string path_;
  const FileHeader* header_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::span<const Record> records_;
  std::vector<Record> newest_;
  bool cut_short_ = false;
  std::function<void(std::uint64_t)> progress_;
};

// Puts CLOCK_REALTIME readings of one host on that host's TSC line.
class TimeLine {
 public:
  // hz: the nominal rate, used outside the points and when there is only one.
  TimeLine(std::vector<SyncPoint> points, std::uint64_t hz);

  // Not a number where the realtime clock was set meanwhile: no time, or two, belong to it.
  double tsc_of_realtime(std::int64_t realtime_ns) const noexcept;
  // Measured, where the points span a second at least; else nominal. Seconds in which the realtime
  // clock was set do not count.
  double ticks_per_ns() const noexcept { return ticks_per_ns_; }
  // How often it was set, by `date -s`, a step of NTP or a pause of the machine.
  std::size_t clock_steps() const noexcept { return unknown_.size(); }

 private:
  std::vector<SyncPoint> points_;                               // by realtime
  std::vector<std::pair<std::int64_t, std::int64_t>> unknown_;  // realtime, both not included
  double ticks_per_ns_;
};

}  // namespace tickpath::trace
