#include "common/trace/reader.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tickpath::trace {
namespace {

struct Mapping {
  void* address;
  std::size_t size_bytes;
};

Mapping map_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw SystemError("cannot open the trace file " + path, errno);
  struct stat status {};
  const int failed = ::fstat(descriptor, &status);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (failed != 0 || size < kPageBytes) {
    ::close(descriptor);
    throw Error(path + ": not a trace file: shorter than its header of " +
                std::to_string(kPageBytes) + " bytes");
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (address == MAP_FAILED) throw SystemError("cannot map the trace file " + path, error);
  return {address, size};
}

std::string complaint(const FileHeader& header, std::size_t size_bytes) {
  if (std::memcmp(header.magic, FileHeader::kMagic, sizeof(header.magic)) != 0) {
    return "not a trace file: it does not begin with \"tktrace1\"";
  }
  if (header.version != 2) {
    return "trace version " + std::to_string(header.version) + ", this tool reads version 2";
  }
  if (size_bytes < kHeaderBytes) return "truncated: it ends among the clocks of its header";
  const std::uint64_t available = (size_bytes - kHeaderBytes) / sizeof(Record);
  if (!std::has_single_bit(header.capacity) || header.capacity > available) {
    return "truncated: its header speaks of " + std::to_string(header.capacity) +
           " records, the file holds " + std::to_string(available);
  }
  // A TSC outside 100 MHz to 100 GHz is damage, not a CPU.
  if (header.tsc_hz < 100'000'000 || header.tsc_hz > 100'000'000'000) {
    return "damaged header: a TSC rate of " + std::to_string(header.tsc_hz) + " Hz";
  }
  return {};
}

}  // namespace

TraceFile::TraceFile(const std::string& path) : path_(path) {
  const Mapping mapping = map_file(path);
  header_ = static_cast<const FileHeader*>(mapping.address);
  mapped_bytes_ = mapping.size_bytes;
  const std::string problem = complaint(*header_, mapped_bytes_);
  if (!problem.empty()) {
    ::munmap(mapping.address, mapped_bytes_);
    throw Error(path + ": " + problem);
  }
  records_ = {reinterpret_cast<const Record*>(static_cast<const std::byte*>(mapping.address) +
                                              kHeaderBytes),
              header_->capacity};
}

TraceFile::TraceFile(const std::string& path, TscTicks since, std::size_t records_max)
    : TraceFile(path) {
  copy_newest(since, records_max);
}

void TraceFile::copy_newest(TscTicks since, std::size_t records_max) {
  // A stamp may be older than the one before it: the time was taken earlier. So many older ones in
  // a row mean that the rest is older, too.
  constexpr std::size_t kOlderInARow = 64;
  // Acquire: the records below were written to the file before the header that counts them.
  const std::uint64_t written = header_->written.load(std::memory_order_acquire);
  const std::uint64_t oldest = written > header_->capacity ? written - header_->capacity : 0;
  std::uint64_t at = written;
  std::size_t older = 0;
  while (at > oldest && newest_.size() < records_max && older < kOlderInARow) {
    const Record& record = records_[--at & (header_->capacity - 1)];
    newest_.push_back(record);
    const Hop hop = static_cast<Hop>(record.key >> 56);
    if (!is_known(hop) || info(hop).realtime_clock) continue;  // no time of this counter
    older = record.time < since.value ? older + 1 : 0;
  }
  // What was overwritten while it was copied stands at the end, for the newest came first.
  const std::uint64_t writing = header_->writing.load(std::memory_order_acquire);
  const std::uint64_t first = writing > header_->capacity ? writing - header_->capacity : 0;
  const std::size_t lost = std::min<std::uint64_t>(first > at ? first - at : 0, newest_.size());
  const std::size_t surplus = older == kOlderInARow ? older : 0;
  newest_.resize(newest_.size() - std::max(lost, surplus));
  cut_short_ = lost > surplus || (surplus == 0 && at > 0);
  std::ranges::reverse(newest_);
  records_ = newest_;
}

TraceFile::~TraceFile() {
  if (header_ != nullptr) ::munmap(const_cast<FileHeader*>(header_), mapped_bytes_);
}

TraceFile::TraceFile(TraceFile&& other) noexcept
    : path_(std::move(other.path_)),
      header_(std::exchange(other.header_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      records_(std::exchange(other.records_, {})),
      newest_(std::move(other.newest_)),
      cut_short_(other.cut_short_),
      progress_(std::move(other.progress_)) {}

std::uint64_t TraceFile::kept() const noexcept {
  return std::min(header_->written.load(std::memory_order_acquire), header_->capacity);
}

// The fence keeps what was copied ahead of this look: the program says so before it writes. Files
// of older versions did not: their value is 0.
std::uint64_t TraceFile::overwritten_to(std::uint64_t written) const noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);
  return std::max(written, header_->writing.load(std::memory_order_relaxed));
}

// The mapping stays: whoever looks again has the page from the page cache.
void TraceFile::release(std::span<const Record> part) noexcept {
  (void)::madvise(const_cast<Record*>(part.data()), part.size_bytes(), MADV_DONTNEED);
}

std::uint64_t TraceFile::overwritten() const noexcept {
  const std::uint64_t written = header_->written.load(std::memory_order_relaxed);
  return written > header_->capacity ? written - header_->capacity : 0;
}

std::vector<SyncPoint> TraceFile::sync_points() const {
  // Pairs with the release in add_sync_point(): the points counted are written.
  const std::uint32_t count = header_->sync_points.load(std::memory_order_acquire);
  const auto end = std::min<std::size_t>(count, FileHeader::kSyncPointsMax);
  std::vector<SyncPoint> points(header_->sync, header_->sync + end);
  std::sort(points.begin(), points.end(),
            [](const SyncPoint& a, const SyncPoint& b) { return a.tsc < b.tsc; });
  return points;
}

std::vector<PeerClockPoints> TraceFile::peer_clocks() const {
  std::vector<PeerClockPoints> clocks;
  for (std::size_t i = 0; i < kPeerClocksMax; ++i) {
    const auto* const page = reinterpret_cast<const PeerClock*>(
        reinterpret_cast<const std::byte*>(header_) + kPageBytes * (1 + i));
    // Both pair with the releases in TraceWriter: what is counted is written.
    const std::uint64_t host = page->host_id.load(std::memory_order_acquire);
    if (host == 0) break;
    const std::uint32_t count = page->points.load(std::memory_order_acquire);
    const auto end = std::min<std::size_t>(count, PeerClock::kPointsMax);
    PeerClockPoints clock{host, page->stream, {page->point, page->point + end}};
    // A live file may be thinned out while we copy: points out of order or twice are dropped.
    std::sort(clock.points.begin(), clock.points.end(),
              [](const PeerPoint& a, const PeerPoint& b) { return a.local < b.local; });
    const auto same =
        std::unique(clock.points.begin(), clock.points.end(),
                    [](const PeerPoint& a, const PeerPoint& b) { return a.local == b.local; });
    clock.points.erase(same, clock.points.end());
    if (!clock.points.empty()) clocks.push_back(std::move(clock));
  }
  return clocks;
}

namespace {

// The two clocks differ by some parts of a million; beyond this the realtime clock was set.
constexpr double kSetBeyond = 0.01;
// Points closer than this carry more reading error than slope.
constexpr std::int64_t kSlopeMinNs = 100'000'000;

}  // namespace

TimeLine::TimeLine(std::vector<SyncPoint> points, std::uint64_t hz)
    : points_(std::move(points)), ticks_per_ns_(static_cast<double>(hz) * 1e-9) {
  double ticks = 0;
  double span_ns = 0;  // of what was not left out
  for (std::size_t i = 1; i < points_.size(); ++i) {
    const SyncPoint& before = points_[i - 1];
    const SyncPoint& point = points_[i];
    const auto passed = static_cast<double>(point.tsc - before.tsc);
    const auto shown_ns = static_cast<double>(point.realtime_ns - before.realtime_ns);
    const double should_ns = passed / ticks_per_ns_;
    // Points close together must not look as if it was set.
    const double most = std::max(should_ns, static_cast<double>(kSlopeMinNs)) * kSetBeyond;
    if (std::abs(shown_ns - should_ns) > most) {
      // Set back, it shows the times around it twice.
      const std::int64_t twice = shown_ns < should_ns ? static_cast<std::int64_t>(should_ns) : 0;
      unknown_.emplace_back(std::min(before.realtime_ns, point.realtime_ns) - twice,
                            std::max(before.realtime_ns, point.realtime_ns) + twice);
      continue;
    }
    ticks += passed;
    span_ns += shown_ns;
  }
  if (span_ns >= 1e9) ticks_per_ns_ = ticks / span_ns;
  std::stable_sort(points_.begin(), points_.end(), [](const SyncPoint& a, const SyncPoint& b) {
    return a.realtime_ns < b.realtime_ns;
  });
}

double TimeLine::tsc_of_realtime(std::int64_t realtime_ns) const noexcept {
  if (points_.empty()) return 0;
  for (const auto& [from, to] : unknown_)
    if (from < realtime_ns && realtime_ns < to) return std::numeric_limits<double>::quiet_NaN();
  const auto after = std::lower_bound(
      points_.begin(), points_.end(), realtime_ns,
      [](const SyncPoint& point, std::int64_t time) { return point.realtime_ns < time; });
  const SyncPoint& near = after == points_.end() ? points_.back() : *after;
  double slope = ticks_per_ns_;
  if (after != points_.end() && after != points_.begin()) {
    const SyncPoint& before = *(after - 1);
    const auto span_ns = static_cast<double>(near.realtime_ns - before.realtime_ns);
    const double found =
        (static_cast<double>(near.tsc) - static_cast<double>(before.tsc)) / span_ns;
    // Not between a point from before the clock was set and one from after that.
    if (span_ns > static_cast<double>(kSlopeMinNs) &&
        std::abs(found - ticks_per_ns_) <= ticks_per_ns_ * kSetBeyond)
      slope = found;
  }
  return static_cast<double>(near.tsc) +
         slope * static_cast<double>(realtime_ns - near.realtime_ns);
}

}  // namespace tickpath::trace
