// The order journal: a memory-mapped file to which every change of state is appended before it
// takes effect outside. What is written survives the end of the process, not a power cut.
//
// File: one header page, then `capacity` JournalRecords.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/counter.hpp"
#include "oeg/journal_record.hpp"
#include "oeg/ports.hpp"

namespace tickpath::oeg {

// First page, host order, version 1.
struct JournalHeader {
  static constexpr char kMagic[8] = {'t', 'k', 'j', 'o', 'u', 'r', 'n', '1'};
  char magic[8];
  std::uint64_t capacity;
  std::uint32_t record_bytes;
  std::uint32_t incarnation;  // raised at every opening
  std::uint64_t closed;       // 1: its last owner ended in order
};

// What to do with the journal that the last run left.
enum class JournalStart : std::uint8_t {
  kResume,  // go on with it: positions are carried over
  kAuto,    // go on only if its owner did not end in order; else start empty
  kFresh,   // start empty
};

class Journal final : public JournalPort {
 public:
  // Control thread. An old journal that is not resumed is kept as `path`.previous. capacity:
  // records of 128 bytes, at least 64; the file's space is reserved and touched. Throws
  // SystemError, Error (not a journal, another capacity, in use).
  Journal(const std::string& path, std::uint64_t capacity, JournalStart start);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Control thread, before the datapath starts: the records that the last run left.
  std::uint64_t recovered() const noexcept { return recovered_; }
  const JournalRecord& record(std::uint64_t index) const noexcept { return records_[index]; }
  std::uint16_t incarnation() const noexcept {
    return static_cast<std::uint16_t>(header_->incarnation);
  }

  // Datapath thread. An eighth of the file is kept for what becomes of the orders already sent.
  bool has_room() const noexcept override { return size_.get() < new_order_limit_; }
  bool append(JournalRecord& record) noexcept override;

  // Control thread, the datapath has ended: nothing is open that a next run must know of.
  void close_in_order() noexcept { header_->closed = 1; }

  const Counter& size() const noexcept { return size_; }
  std::uint64_t capacity() const noexcept { return capacity_; }

 private:
  bool open_existing(const std::string& path, JournalStart start);
  void create(const std::string& path);
  void map(const std::string& path, int file);
  void release() noexcept;

  std::uint64_t capacity_;
  std::uint64_t new_order_limit_;
  std::uint64_t recovered_ = 0;
  Counter size_;
  int file_ = -1;
  JournalHeader* header_ = nullptr;
  JournalRecord* records_ = nullptr;
};

}  // namespace tickpath::oeg
