// One file of the order journal: a header page, then room for JournalRecords, reserved on the disk
// when it is made. In memory is what the datapath is near: a segment of any size costs no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/mapping.hpp"
#include "oeg/journal_record.hpp"

namespace tickpath::oeg {

// First page of a segment, host order, version 3. Version 2 is read, too: its records are entries
// by themselves, and a segment that is gone on with becomes one of version 3.
//  0 magic | 8 number | 16 first_sequence | 24 capacity | 32 record_bytes | 36 incarnation
// 40 closed                                                                          (48 bytes)
struct SegmentHeader {
  static constexpr char kMagic[8] = {'t', 'k', 'j', 'o', 'u', 'r', 'n', '3'};
  char magic[8];                 // stored last: a file without it was never finished
  std::uint64_t number;          // from 1, without gaps
  std::uint64_t first_sequence;  // of its first record; sequences run on over all segments
  std::uint64_t capacity;        // records
  std::uint32_t record_bytes;
  std::uint32_t incarnation;  // of oeg, raised at every opening of the journal
  std::uint64_t closed;       // 1: its last owner ended in order
};
static_assert(sizeof(SegmentHeader) == 48);

// What a file says that it is.
enum class SegmentKind : std::uint8_t { kSegment, kUnfinished, kOldVersion, kForeign };

class JournalSegment {
 public:
  // Reads a header alone. kUnfinished: the process that made it died before it was usable, which
  // the header page being empty shows. Throws SystemError.
  static SegmentKind examine(const std::string& path, SegmentHeader& header);

  // Records from the datapath's place on whose pages are in memory: 32 MiB, hours of a busy day.
  static constexpr std::uint64_t kTouchedAhead = 1u << 18;

  // A new, empty one; the file's space is reserved, its first kTouchedAhead records are touched.
  // Throws SystemError; then the file is not left behind.
  static std::unique_ptr<JournalSegment> create(const std::string& path, SegmentHeader header);
  // An existing one. Throws SystemError, Error.
  static std::unique_ptr<JournalSegment> open(const std::string& path);

  // Gives back what a former segment has reserved behind its last record; it cannot be opened then.
  // Throws SystemError, Error.
  static void shrink(const std::string& path);

  SegmentHeader& header() noexcept { return *header_; }
  const SegmentHeader& header() const noexcept { return *header_; }
  std::uint64_t capacity() const noexcept { return header_->capacity; }
  std::uint64_t first_sequence() const noexcept { return header_->first_sequence; }
  // The sequence after that of its last record, once it is full.
  std::uint64_t end_sequence() const noexcept { return first_sequence() + capacity(); }

  JournalRecord* records() noexcept { return records_; }
  const JournalRecord& record(std::uint64_t index) const noexcept { return records_[index]; }
  // Any thread. Acquire: pairs with the release in Journal::append(); without it the record's bytes
  // could be read before they are whole.
  bool written(std::uint64_t index) const noexcept {
    return std::atomic_ref<std::uint64_t>(records_[index].sequence)
               .load(std::memory_order_acquire) == first_sequence() + index;
  }
  // Control thread: the datapath appends to these records without a page fault, until the kernel
  // writes their pages back (prefault_for_writing()). Brings some of those behind into memory,
  // until there are kTouchedAhead of them.
  void keep_writable(std::uint64_t begin, std::uint64_t end) noexcept;
  // Records written; they stand at its beginning. Not while another thread writes.
  std::uint64_t count() const noexcept;

 private:
  JournalSegment(const std::string& path, int file, std::uint64_t capacity);

  Mapping mapping_;
  SegmentHeader* header_ = nullptr;
  JournalRecord* records_ = nullptr;
  std::uint64_t touched_ = 0;  // control thread: records up to here have been in memory
};

}  // namespace tickpath::oeg
