// A stamp: one TSC read and one store into the thread's own memory, which the control thread writes
// to the trace file behind it: a mapped file's pages are write-protected each time the kernel has
// written them back, and the next stamp would take a page fault.
//
// File: one header page (FileHeader), kPeerClocksMax pages of other hosts' clocks (PeerClock), then
// `capacity` records of 16 bytes, written as a ring.
// Conversion to time, joining and statistics happen in readers, never here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <emmintrin.h>

#include "common/base/counter.hpp"
#include "common/base/cpu.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/clock/offset.hpp"
#include "common/trace/hop.hpp"

namespace tickpath::trace {

// 0 time (TSC ticks; CLOCK_REALTIME ns for mdh.kernel_rx) | 8 key: hop in bits 63-56, id below
// A key of 0 is a slot never written.
struct alignas(16) Record {
  std::uint64_t time;
  std::uint64_t key;
};
static_assert(sizeof(Record) == 16);

inline constexpr std::uint64_t kIdMask = (std::uint64_t{1} << 56) - 1;

// Feeds of several venues have the same sequence numbers. Of a tick the id's upper byte is the
// venue's number, 0 where there is one venue; the rest is the place in that venue's feed. A file's
// header says of which venue its ticks are (sim, mdh); where a program hears several, its stamps do
// (strategy).
inline constexpr unsigned kVenueShift = 48;
constexpr std::uint64_t tick_id(std::uint8_t venue, std::uint64_t sequence) noexcept {
  return std::uint64_t{venue} << kVenueShift | sequence;
}
constexpr std::uint8_t venue_of_tick(std::uint64_t id) noexcept {
  return static_cast<std::uint8_t>(id >> kVenueShift);
}
constexpr std::uint64_t sequence_of_tick(std::uint64_t id) noexcept {
  return id & ((std::uint64_t{1} << kVenueShift) - 1);
}
// Whether a tick may be of that venue; venue 0: there is one venue.
constexpr bool is_of_venue(std::uint64_t id, std::uint8_t venue) noexcept {
  return venue == 0 || venue_of_tick(id) == 0 || venue_of_tick(id) == venue;
}

// One pair of simultaneous clock readings; the control thread adds one a second.
struct SyncPoint {
  std::uint64_t tsc;
  std::int64_t realtime_ns;
};

// The first page of a trace file, host order, version 2 (version 1 had no hosts).
struct FileHeader {
  static constexpr char kMagic[8] = {'t', 'k', 't', 'r', 'a', 'c', 'e', '1'};
  // As many as fit the page. When full, every second one is dropped, so that they always span the
  // whole run.
  static constexpr std::size_t kSyncPointsMax = 200;

  char magic[8];
  std::uint32_t version;
  std::uint32_t process_id;
  std::uint64_t capacity;  // records, a power of two
  std::uint64_t tsc_hz;
  std::atomic<std::uint64_t> written;  // records ever
  char program[32];
  char provider[16];   // "shm", "verbs", ...: the fabric it ran on
  char wait_mode[16];  // in effect: "spin", "yield", "park"
  char cores[64];      // where the datapath thread ran: "cpu 1", "cpus 0-1 (unpinned)"
  std::atomic<std::uint32_t> sync_points;
  std::uint32_t venue;  // of its ticks; 0: as each says, or there is one
  SyncPoint sync[kSyncPointsMax];
  std::uint64_t host_id;  // clock::host_id(): files of one id share a TSC
  char host_name[64];
  // Set before records are written: their slots may hold records up to here already. A reader that
  // has copied a record looks here whether the slot was still that record's. Less than `written`:
  // the writer is of an older version.
  std::atomic<std::uint64_t> writing;
  // Files from before these two fields have zeros there: not known.
  char cpu_model[64];        // clock::cpu_model()
  std::uint32_t processors;  // of the machine, online when the program started
  std::uint32_t reserved;
};
inline constexpr std::size_t kPageBytes = 4096;
static_assert(sizeof(FileHeader) <= kPageBytes);

// When this host's counter showed `local`, the peer's showed `peer`, give or take `error_ns`.
struct PeerPoint {
  std::uint64_t local;
  std::uint64_t peer;
  std::uint64_t error_ns;
};

// A page: what one connection of the program measured of another host's clock.
struct PeerClock {
  // As many as fit. When full, every second one is dropped, as with sync points.
  static constexpr std::size_t kPointsMax = 168;

  std::atomic<std::uint64_t> host_id;  // 0: not used
  std::uint64_t stream;                // clock::PeerTime::stream
  std::atomic<std::uint32_t> points;
  std::uint32_t reserved[3];
  PeerPoint point[kPointsMax];
};
static_assert(sizeof(PeerClock) <= kPageBytes);

// Connections to other hosts that one program measures; a strategy engine has one for mdh and one
// for each of its strategies. What has no page is counted and not kept.
inline constexpr std::size_t kPeerClocksMax = 32;
inline constexpr std::size_t kHeaderBytes = kPageBytes * (1 + kPeerClocksMax);

struct TraceOptions {
  std::string path;                   // empty: tracing off, a stamp is a branch not taken
  std::uint64_t capacity = 1u << 20;  // records; rounded up to a power of two
  std::string program;
  std::string provider;
  std::string wait_mode;
  std::string cores;
  std::uint64_t host_id = 0;  // 0: this host's; tests write files of other hosts
  std::uint8_t venue = 0;     // FileHeader::venue
};

// Set-up and close on a control thread; stamps by the one datapath thread that owns it.
class TraceWriter final : public clock::OffsetSink {
 public:
  // Creates the file, in place of an older one. Its header is there before its name is. Its space
  // on the disk is reserved, and its memory touched, so that no stamp takes a page fault. Throws
  // SystemError naming the path (a full disk), Error where that name is no regular file's.
  explicit TraceWriter(const TraceOptions& options);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Datapath thread. id: feed sequence or order id, below 2^56.
  void stamp(Hop hop, std::uint64_t id) noexcept {
    if (on()) stamp_at(hop, id, tsc_now());
  }
  void stamp_at(Hop hop, std::uint64_t id, TscTicks at) noexcept { put(hop, id, at.value); }
  void stamp_realtime(Hop hop, std::uint64_t id, std::int64_t realtime_ns) noexcept {
    put(hop, id, static_cast<std::uint64_t>(realtime_ns));
  }
  // The tick `trace_id` caused the request `order_id`.
  void link_order(std::uint64_t order_id, std::uint64_t trace_id) noexcept {
    put(Hop::kOrderLink, order_id, trace_id);
  }

  // Datapath thread, about once a second for each connection that crosses hosts. write_behind()
  // puts it into the file.
  void on_peer_time(const clock::PeerTime& time) noexcept override;

  // Control thread, every tick: appends what was stamped since to the file, so that it is complete
  // up to here for readers, and should the process die. problem(): why the last call failed; the
  // stamps stay in memory, and are tried again.
  void write_behind() noexcept;
  const std::string& problem() const noexcept { return problem_; }

  // Times that were dropped: of more connections than kPeerClocksMax, or more than fit between two
  // write_behind().
  std::uint64_t peer_times_lost() const noexcept {
    return peer_times_without_page_.get() + peer_times_crowded_.get();
  }

  // Control thread, about once a second: pairs TSC with CLOCK_REALTIME.
  void add_sync_point() noexcept;
  // Control thread, once the wait mode in effect is known (auto may change it).
  void set_wait_mode(std::string_view mode) noexcept;

 private:
  bool on() const noexcept { return records_ != nullptr; }
  void put(Hop hop, std::uint64_t id, std::uint64_t time) noexcept {
    if (!on()) return;
    const std::uint64_t key = static_cast<std::uint64_t>(hop) << 56 | (id & kIdMask);
    const std::uint64_t head = head_.load(std::memory_order_relaxed);  // its only writer is here
    // One 16-byte store: x86 with AVX makes aligned ones atomic, so whoever copies a record that is
    // just being overwritten never has a time with another record's key.
    _mm_store_si128(reinterpret_cast<__m128i*>(&records_[head & mask_]),
                    _mm_set_epi64x(static_cast<long long>(key), static_cast<long long>(time)));
    // Pairs with the acquire in write_behind(): a record that is counted is whole.
    head_.store(head + 1, std::memory_order_release);
  }
  bool write_records(std::uint64_t from, std::uint64_t to) noexcept;
  bool write_at(std::size_t offset, std::size_t bytes) noexcept;
  PeerClock* peer_clock(std::uint64_t host, std::uint32_t stream) noexcept;
  void keep(const clock::PeerTime& time) noexcept;

  // A second of them, for every connection that has a page, several times over.
  static constexpr std::size_t kPeerTimesWaiting = 256;

  Record* records_ = nullptr;  // nullptr: tracing off
  std::uint64_t mask_;
  std::atomic<std::uint64_t> head_{0};
  Counter peer_times_crowded_;
  SpscRing<clock::PeerTime> peer_times_{kPeerTimesWaiting};  // to the control thread
  FileHeader* header_ = nullptr;  // null: tracing off; the memory that becomes the file
  std::size_t memory_bytes_ = 0;
  std::string path_;  // control thread from here on
  int file_ = -1;
  std::uint64_t behind_ = 0;     // records that are in the file
  bool header_changed_ = false;  // since it was written
  std::string problem_;
  Counter peer_times_without_page_;
};

}  // namespace tickpath::trace
