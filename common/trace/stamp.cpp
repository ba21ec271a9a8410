#include "common/trace/stamp.hpp"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/write_all.hpp"
#include "common/clock/clock.hpp"
#include "common/clock/host.hpp"

namespace tickpath::trace {
namespace {

template <std::size_t Size>
void copy_text(char (&target)[Size], std::string_view text) noexcept {
  const std::size_t length = text.size() < Size ? text.size() : Size - 1;
  std::memcpy(target, text.data(), length);
  std::memset(target + length, 0, Size - length);
}

// A reader may have the file of the former run mapped, and would end by SIGBUS if it lost its
// pages. So that file is left to its readers; its space is free once they have gone.
void leave_to_its_readers(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (!S_ISREG(status.st_mode))
    throw Error("cannot create the trace file " + path + ": what has that name is no regular file");
  ::unlink(path.c_str());
}

// The file has another name until its header is there, so that readers never see it without one.
std::string name_before(const std::string& path) { return path + ".new"; }

// Its space is reserved: a full disk is an error now, and not when the pipeline runs.
int create_file(const std::string& path, std::size_t bytes) {
  leave_to_its_readers(path);
  const std::string name = name_before(path);
  const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw SystemError("cannot create the trace file " + path, errno);
  const int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == 0) return file;
  ::close(file);
  ::unlink(name.c_str());
  throw SystemError("cannot reserve " + std::to_string(bytes >> 20) + " MB for the trace file " +
                        path +
                        " (make room, or lower trace.capacity, or set trace.enabled = false)",
                    error);
}

}  // namespace

TraceWriter::TraceWriter(const TraceOptions& options) : mask_(0), path_(options.path) {
  if (path_.empty()) return;
  const std::uint64_t capacity = std::bit_ceil(options.capacity < 256 ? 256 : options.capacity);
  memory_bytes_ = kHeaderBytes + capacity * sizeof(Record);
  file_ = create_file(path_, memory_bytes_);
  void* memory = ::mmap(nullptr, memory_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    ::close(file_);
    ::unlink(name_before(path_).c_str());
    throw SystemError("no memory for the trace of " + path_ + " (trace.capacity)", error);
  }
  header_ = new (memory) FileHeader{};
  std::memcpy(header_->magic, FileHeader::kMagic, sizeof(header_->magic));
  header_->version = 2;
  header_->process_id = static_cast<std::uint32_t>(::getpid());
  header_->capacity = capacity;
  header_->tsc_hz = clock::tsc_hz();
  header_->venue = options.venue;
  copy_text(header_->program, options.program);
  copy_text(header_->provider, options.provider);
  copy_text(header_->wait_mode, options.wait_mode);
  copy_text(header_->cores, options.cores);
  header_->host_id = options.host_id != 0 ? options.host_id : clock::host_id();
  copy_text(header_->host_name, clock::host_name());
  copy_text(header_->cpu_model, clock::cpu_model());
  header_->processors = clock::processors();
  records_ = reinterpret_cast<Record*>(static_cast<std::byte*>(memory) + kHeaderBytes);
  mask_ = capacity - 1;
  add_sync_point();
  write_behind();
  if (::rename(name_before(path_).c_str(), path_.c_str()) == 0) return;
  const int error = errno;
  ::munmap(header_, memory_bytes_);
  ::close(file_);
  throw SystemError("cannot name the trace file " + path_, error);
}

TraceWriter::~TraceWriter() {
  if (header_ == nullptr) return;
  add_sync_point();
  write_behind();
  ::munmap(header_, memory_bytes_);
  ::close(file_);
}

void TraceWriter::set_wait_mode(std::string_view mode) noexcept {
  if (header_ == nullptr) return;
  copy_text(header_->wait_mode, mode);
  header_changed_ = true;
}

void TraceWriter::write_behind() noexcept {
  if (header_ == nullptr) return;
  for (clock::PeerTime time; peer_times_.try_pop(time);) keep(time);
  const std::uint64_t head = head_.load(std::memory_order_acquire);  // see put()
  if (head == behind_ && !header_changed_) return;
  const std::uint64_t capacity = mask_ + 1;
  // What was overwritten before it was written is gone, as in the ring of the file.
  const std::uint64_t from = head - behind_ > capacity ? head - capacity : behind_;
  // Relaxed, both: the file's readers are other processes, or come after the close. They see what
  // is written to it in this order.
  header_->writing.store(head, std::memory_order_relaxed);
  if (!write_at(offsetof(FileHeader, writing), sizeof(header_->writing)) ||
      !write_records(from, head))
    return;
  header_->written.store(head, std::memory_order_relaxed);
  // The clocks of other hosts change with the header, about once a second.
  if (!write_at(0, header_changed_ ? kHeaderBytes : kPageBytes)) return;
  behind_ = head;
  header_changed_ = false;
  problem_.clear();
}

bool TraceWriter::write_records(std::uint64_t from, std::uint64_t to) noexcept {
  while (from != to) {
    const std::uint64_t until_wrap = mask_ + 1 - (from & mask_);
    const std::uint64_t count = to - from < until_wrap ? to - from : until_wrap;
    if (!write_at(kHeaderBytes + (from & mask_) * sizeof(Record), count * sizeof(Record)))
      return false;
    from += count;
  }
  return true;
}

// The same place in memory and file.
bool TraceWriter::write_at(std::size_t offset, std::size_t bytes) noexcept {
  const char* const memory = reinterpret_cast<const char*>(header_);
  if (write_all_at(file_, {memory + offset, bytes}, offset)) return true;
  problem_ = "cannot write the trace file " + path_ + ": " + std::strerror(errno);
  return false;
}

PeerClock* TraceWriter::peer_clock(std::uint64_t host, std::uint32_t stream) noexcept {
  for (std::size_t i = 0; i < kPeerClocksMax; ++i) {
    auto* const page =
        reinterpret_cast<PeerClock*>(reinterpret_cast<std::byte*>(header_) + kPageBytes * (1 + i));
    // Relaxed, here and in keep(): this thread alone has the memory; readers have the file.
    const std::uint64_t owner = page->host_id.load(std::memory_order_relaxed);
    if (owner == host && page->stream == stream) return page;
    if (owner != 0) continue;
    page->stream = stream;
    page->host_id.store(host, std::memory_order_relaxed);
    return page;
  }
  return nullptr;
}

void TraceWriter::on_peer_time(const clock::PeerTime& time) noexcept {
  if (header_ != nullptr && !peer_times_.try_push(time)) peer_times_crowded_.add();
}

void TraceWriter::keep(const clock::PeerTime& time) noexcept {
  PeerClock* const page = peer_clock(time.host, time.stream);
  if (page == nullptr) {
    peer_times_without_page_.add();
    return;
  }
  std::uint32_t count = page->points.load(std::memory_order_relaxed);  // as above
  if (count == PeerClock::kPointsMax) {
    // As in add_sync_point().
    for (std::uint32_t i = 0; i < count / 2; ++i) page->point[i] = page->point[2 * i];
    count /= 2;
  }
  page->point[count] = {time.local.value, time.peer.value, time.error_ns};
  page->points.store(count + 1, std::memory_order_relaxed);
}

void TraceWriter::add_sync_point() noexcept {
  if (header_ == nullptr) return;
  const clock::Pair pair = clock::read_pair();
  std::uint32_t count = header_->sync_points.load(std::memory_order_relaxed);
  if (count == FileHeader::kSyncPointsMax) {
    // Thin out to every second point; a reader that races sees duplicates at worst, which are valid
    // points all the same.
    for (std::uint32_t i = 0; i < count / 2; ++i) header_->sync[i] = header_->sync[2 * i];
    count /= 2;
  }
  header_->sync[count] = {pair.tsc.value, pair.realtime_ns};
  header_->sync_points.store(count + 1, std::memory_order_relaxed);  // this thread writes the file
  header_changed_ = true;
}

}  // namespace tickpath::trace
