#include "common/trace/stamp.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.hpp"
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

}  // namespace

TraceWriter::TraceWriter(const TraceOptions& options) : records_(&scratch_), mask_(0) {
  if (options.path.empty()) return;
  const std::uint64_t capacity = std::bit_ceil(options.capacity < 256 ? 256 : options.capacity);
  mapped_bytes_ = kHeaderBytes + capacity * sizeof(Record);
  const int descriptor = ::open(options.path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) throw SystemError("cannot create the trace file " + options.path, errno);
  if (::ftruncate(descriptor, static_cast<off_t>(mapped_bytes_)) != 0) {
    const int error = errno;
    ::close(descriptor);
    throw SystemError("cannot size the trace file " + options.path, error);
  }
  void* mapped = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (mapped == MAP_FAILED) throw SystemError("cannot map the trace file " + options.path, error);
  // Populating maps the pages for reading; the first write of each would still fault. Touch them.
  auto* bytes = static_cast<volatile char*>(mapped);
  for (std::size_t offset = 0; offset < mapped_bytes_; offset += 4096) bytes[offset] = 0;

  header_ = new (mapped) FileHeader{};
  std::memcpy(header_->magic, FileHeader::kMagic, sizeof(header_->magic));
  header_->version = 2;
  header_->process_id = static_cast<std::uint32_t>(::getpid());
  header_->capacity = capacity;
  header_->tsc_hz = clock::tsc_hz();
  copy_text(header_->program, options.program);
  copy_text(header_->provider, options.provider);
  copy_text(header_->wait_mode, options.wait_mode);
  copy_text(header_->cores, options.cores);
  header_->host_id = options.host_id != 0 ? options.host_id : clock::host_id();
  copy_text(header_->host_name, clock::host_name());
  records_ = reinterpret_cast<Record*>(static_cast<std::byte*>(mapped) + kHeaderBytes);
  mask_ = capacity - 1;
  add_sync_point();
}

TraceWriter::~TraceWriter() {
  if (header_ == nullptr) return;
  publish_head();
  add_sync_point();
  ::munmap(header_, mapped_bytes_);
}

void TraceWriter::publish_head() noexcept {
  // Relaxed: a reader of a live file validates each record by its key, not by this count.
  if (header_ != nullptr) header_->written.store(head_, std::memory_order_relaxed);
}

void TraceWriter::set_wait_mode(std::string_view mode) noexcept {
  if (header_ != nullptr) copy_text(header_->wait_mode, mode);
}

PeerClock* TraceWriter::peer_clock(std::uint64_t host, std::uint32_t stream) noexcept {
  for (std::size_t i = 0; i < kPeerClocksMax; ++i) {
    auto* const page =
        reinterpret_cast<PeerClock*>(reinterpret_cast<std::byte*>(header_) + kPageBytes * (1 + i));
    // Relaxed: this thread is the one that writes it.
    const std::uint64_t owner = page->host_id.load(std::memory_order_relaxed);
    if (owner == host && page->stream == stream) return page;
    if (owner != 0) continue;
    page->stream = stream;
    // Pairs with the acquire in the reader: a page that is used has its stream.
    page->host_id.store(host, std::memory_order_release);
    return page;
  }
  return nullptr;
}

void TraceWriter::on_peer_time(const clock::PeerTime& time) noexcept {
  if (header_ == nullptr) return;
  PeerClock* const page = peer_clock(time.host, time.stream);
  if (page == nullptr) {
    peer_times_lost_.add();
    return;
  }
  std::uint32_t count = page->points.load(std::memory_order_relaxed);  // as above
  if (count == PeerClock::kPointsMax) {
    // As in add_sync_point().
    for (std::uint32_t i = 0; i < count / 2; ++i) page->point[i] = page->point[2 * i];
    count /= 2;
  }
  page->point[count] = {time.local.value, time.peer.value, time.error_ns};
  // Pairs with the acquire in the reader: the count must not precede the point.
  page->points.store(count + 1, std::memory_order_release);
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
  // Pairs with the acquire in the reader: the count must not precede the point.
  header_->sync_points.store(count + 1, std::memory_order_release);
}

}  // namespace tickpath::trace
