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
  header_->version = 1;
  header_->process_id = static_cast<std::uint32_t>(::getpid());
  header_->capacity = capacity;
  header_->tsc_hz = clock::tsc_hz();
  copy_text(header_->program, options.program);
  copy_text(header_->provider, options.provider);
  copy_text(header_->wait_mode, options.wait_mode);
  copy_text(header_->cores, options.cores);
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
