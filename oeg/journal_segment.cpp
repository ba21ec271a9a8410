#include "oeg/journal_segment.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/memory.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::oeg {
namespace {

constexpr std::size_t kHeaderBytes = 4096;
static_assert(sizeof(SegmentHeader) <= kHeaderBytes);
// In one call of the control thread, a millisecond's work; more records than come in its tick.
constexpr std::uint64_t kTouchedAtOnce = 1u << 14;
constexpr char kMagicOfVersion1[8] = {'t', 'k', 'j', 'o', 'u', 'r', 'n', '1'};
constexpr char kMagicOfVersion2[8] = {'t', 'k', 'j', 'o', 'u', 'r', 'n', '2'};
constexpr char kNoMagic[8] = {};

std::size_t file_bytes(std::uint64_t capacity) {
  return kHeaderBytes + static_cast<std::size_t>(capacity) * sizeof(JournalRecord);
}

bool is(const SegmentHeader& header, const char (&magic)[8]) {
  return std::memcmp(header.magic, magic, sizeof(magic)) == 0;
}

}  // namespace

SegmentKind JournalSegment::examine(const std::string& path, SegmentHeader& header) {
  const net::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw SystemError("cannot open journal " + path, errno);
  header = {};
  if (::pread(file.get(), &header, sizeof(header), 0) < 0)
    throw SystemError("cannot read journal " + path, errno);
  if (is(header, SegmentHeader::kMagic) || is(header, kMagicOfVersion2))
    return header.record_bytes == sizeof(JournalRecord) ? SegmentKind::kSegment
                                                        : SegmentKind::kForeign;
  if (is(header, kMagicOfVersion1)) return SegmentKind::kOldVersion;
  return is(header, kNoMagic) ? SegmentKind::kUnfinished : SegmentKind::kForeign;
}

std::unique_ptr<JournalSegment> JournalSegment::create(const std::string& path,
                                                       SegmentHeader header) {
  const net::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0) throw SystemError("cannot create journal " + path, errno);
  if (const int error = reserve_on_disk(file.get(), file_bytes(header.capacity)); error != 0) {
    ::unlink(path.c_str());
    throw SystemError("cannot reserve space for journal " + path, error);
  }
  std::unique_ptr<JournalSegment> segment(new JournalSegment(path, file.get(), header.capacity));
  // Touched for writing: no append takes a page fault.
  segment->touched_ = std::min(header.capacity, kTouchedAhead);
  for (std::uint64_t at = 0; at < segment->touched_; at += 4096 / sizeof(JournalRecord))
    segment->records_[at].sequence = 0;
  std::memset(header.magic, 0, sizeof(header.magic));
  header.record_bytes = sizeof(JournalRecord);
  *segment->header_ = header;
  // Release: whoever finds the magic after a crash of this process finds the header, too.
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(segment->header_->magic, SegmentHeader::kMagic, sizeof(SegmentHeader::kMagic));
  return segment;
}

std::unique_ptr<JournalSegment> JournalSegment::open(const std::string& path) {
  const net::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) throw SystemError("cannot open journal " + path, errno);
  SegmentHeader header;
  if (examine(path, header) != SegmentKind::kSegment ||
      header.record_bytes != sizeof(JournalRecord) || header.capacity == 0 ||
      header.capacity > std::uint64_t{1} << 32)
    throw Error(path + " is not an order journal of this version; move it away to start empty");
  return std::unique_ptr<JournalSegment>(new JournalSegment(path, file.get(), header.capacity));
}

void JournalSegment::shrink(const std::string& path) {
  const std::uint64_t count = open(path)->count();
  if (::truncate(path.c_str(), static_cast<off_t>(file_bytes(count))) != 0)
    throw SystemError("cannot shorten journal " + path, errno);
}

JournalSegment::JournalSegment(const std::string& path, int file, std::uint64_t capacity) {
  const std::size_t bytes = file_bytes(capacity);
  struct stat status {};
  if (::fstat(file, &status) != 0) throw SystemError("cannot stat journal " + path, errno);
  if (static_cast<std::size_t>(status.st_size) < bytes)
    throw Error("journal " + path + " is cut short; move it away to start empty");
  mapping_ = Mapping(file, bytes, Mapping::Access::kWrite, "journal " + path);
  header_ = mapping_.at<SegmentHeader>(0);
  records_ = mapping_.at<JournalRecord>(kHeaderBytes);
}

void JournalSegment::keep_writable(std::uint64_t begin, std::uint64_t end) noexcept {
  const auto touch = [this](std::uint64_t from, std::uint64_t to) {
    if (from < to) (void)prefault_for_writing(records_ + from, (to - from) * sizeof(JournalRecord));
  };
  end = std::min(end, capacity());
  touch(begin, end);
  touched_ = std::max(touched_, end);
  const std::uint64_t wanted = std::min(begin + kTouchedAhead, capacity());
  if (touched_ >= wanted) return;
  const std::uint64_t next = std::min(touched_ + kTouchedAtOnce, wanted);
  touch(touched_, next);
  touched_ = next;
}

std::uint64_t JournalSegment::count() const noexcept {
  std::uint64_t count = 0;
  while (count < capacity() && written(count)) ++count;
  return count;
}

}  // namespace tickpath::oeg
