#include "oeg/journal.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace tickpath::oeg {
namespace {

constexpr std::size_t kHeaderBytes = 4096;
static_assert(sizeof(JournalHeader) <= kHeaderBytes);

std::size_t file_bytes(std::uint64_t capacity) {
  return kHeaderBytes + static_cast<std::size_t>(capacity) * sizeof(JournalRecord);
}

}  // namespace

Journal::Journal(const std::string& path, std::uint64_t capacity, JournalStart start)
    : capacity_(capacity), new_order_limit_(capacity - capacity / 8) {
  if (capacity < 64) throw Error("journal " + path + ": a capacity of at least 64 is needed");
  try {
    if (!open_existing(path, start)) create(path);
  } catch (...) {
    release();  // a destructor does not run for what was never constructed
    throw;
  }
  header_->closed = 0;
  ++header_->incarnation;
}

Journal::~Journal() { release(); }

void Journal::release() noexcept {
  if (header_ != nullptr) ::munmap(header_, file_bytes(capacity_));
  if (file_ >= 0) ::close(file_);
}

// True: the last run's journal is mapped and goes on.
bool Journal::open_existing(const std::string& path, JournalStart start) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT) return false;
    throw SystemError("cannot open journal " + path, errno);
  }
  file_ = file;
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    throw Error("journal " + path + " is in use by another oeg; end that one first");
  JournalHeader header{};
  const bool readable = ::pread(file, &header, sizeof(header), 0) == sizeof(header) &&
                        std::memcmp(header.magic, JournalHeader::kMagic, sizeof(header.magic)) == 0;
  const bool fresh = start == JournalStart::kFresh ||
                     (start == JournalStart::kAuto && readable && header.closed == 1);
  if (fresh) {
    if (std::rename(path.c_str(), (path + ".previous").c_str()) != 0)
      throw SystemError("cannot set the old journal " + path + " aside", errno);
    ::close(file);
    file_ = -1;
    return false;
  }
  if (!readable || header.record_bytes != sizeof(JournalRecord))
    throw Error(path + " is not an order journal of this version; move it away to start empty");
  if (header.capacity != capacity_)
    throw Error("journal " + path + " has room for " + std::to_string(header.capacity) +
                " records, the configuration asks for " + std::to_string(capacity_) +
                "; set journal.records back, or move the file away");
  map(path, file);
  while (recovered_ < capacity_ && records_[recovered_].sequence == recovered_ + 1) ++recovered_;
  size_.set(recovered_);
  return true;
}

void Journal::create(const std::string& path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file_ < 0) throw SystemError("cannot create journal " + path, errno);
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0)
    throw Error("journal " + path + " is in use by another oeg; end that one first");
  // Space is reserved now: a full disk must not raise SIGBUS in the middle of trading.
  const int error = ::posix_fallocate(file_, 0, static_cast<off_t>(file_bytes(capacity_)));
  if (error != 0) throw SystemError("cannot reserve space for journal " + path, error);
  map(path, file_);
  *header_ = {};
  header_->capacity = capacity_;
  header_->record_bytes = sizeof(JournalRecord);
  // Touched for writing: no append takes a page fault.
  for (std::uint64_t at = 0; at < capacity_; at += 4096 / sizeof(JournalRecord))
    records_[at].sequence = 0;
  std::memcpy(header_->magic, JournalHeader::kMagic, sizeof(JournalHeader::kMagic));
}

void Journal::map(const std::string& path, int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) throw SystemError("cannot stat journal " + path, errno);
  if (static_cast<std::size_t>(status.st_size) < file_bytes(capacity_))
    throw Error("journal " + path + " is cut short; move it away to start empty");
  void* base = ::mmap(nullptr, file_bytes(capacity_), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_POPULATE, file, 0);
  if (base == MAP_FAILED) throw SystemError("cannot map journal " + path, errno);
  header_ = static_cast<JournalHeader*>(base);
  records_ = reinterpret_cast<JournalRecord*>(static_cast<char*>(base) + kHeaderBytes);
}

bool Journal::append(JournalRecord& record) noexcept {
  const std::uint64_t at = size_.get();
  if (at == capacity_) return false;
  record.sequence = 0;
  records_[at] = record;
  record.sequence = at + 1;
  // Release: the sequence says that the record is whole, so it may not be stored before it. Its
  // partner is the scan of a next run, should this process die here.
  std::atomic_ref<std::uint64_t>(records_[at].sequence)
      .store(record.sequence, std::memory_order_release);
  size_.set(at + 1);
  // The next record is two cold lines: fetch them while nothing waits for them.
  __builtin_prefetch(&records_[at + 1 < capacity_ ? at + 1 : at], 1);
  __builtin_prefetch(
      reinterpret_cast<const char*>(&records_[at + 1 < capacity_ ? at + 1 : at]) + 64, 1);
  return true;
}

}  // namespace tickpath::oeg
