// Records in one peer's memory that several write and any number read, by READ, WRITE and
// COMPARE_SWAP alone: without the owner's CPU, without locks, from any host.
//
// Each writer has a *lane*: a region of its own, in which it has two slots for each record. It
// WRITEs a new version into the slot that is not in use, then puts the record's *guard* from the
// version that it knows to the new one by COMPARE_SWAP. Where that fails, another was first: READ
// again, and try anew. The guard says which slot of which lane holds the record.
//
//   guards   one 64-byte line a record; its first word, changed by RDMA atomics only:
//            63-52 reserved, 0 | 51 slot | 50-48 lane | 47-0 version, 0: never written
//   lane     [record][slot 0, slot 1][lines], payload only, whole 64-byte lines
//
// A reader asks for guard, slots (or the one that it expects), guard again in one doorbell. RC
// executes READs in order, so two equal guards say that nothing was written into that slot in
// between (DESIGN.md has the argument): whatever order the bytes of a READ have, the record is
// whole, and it was the record's content while the READ was under way. A writer that dies, or is
// stopped, at any place leaves the last version there; what a stopped one WRITEs when it goes on is
// in a slot that no guard names, and its COMPARE_SWAP fails if anybody wrote meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/cpu.hpp"
#include "common/link/capabilities.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/link/words.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

inline constexpr std::size_t kLanesMax = 8;

class SharedGuard {
 public:
  SharedGuard() = default;  // never written
  explicit SharedGuard(std::uint64_t word) noexcept : word_(word) {}

  std::uint64_t word() const noexcept { return word_; }
  // Rises by one with each publication, from 1; at ten million a second for 325 days.
  std::uint64_t version() const noexcept { return word_ & kVersionMask; }
  std::uint32_t lane() const noexcept { return word_ >> 48 & 7; }
  std::uint32_t slot() const noexcept { return word_ >> 51 & 1; }
  bool written() const noexcept { return version() != 0; }
  SharedGuard next(std::uint32_t lane, std::uint32_t slot) const noexcept {
    return SharedGuard(((version() + 1) & kVersionMask) | std::uint64_t{lane} << 48 |
                       std::uint64_t{slot} << 51);
  }
  friend bool operator==(SharedGuard, SharedGuard) = default;

 private:
  static constexpr std::uint64_t kVersionMask = (std::uint64_t{1} << 48) - 1;
  std::uint64_t word_ = 0;
};

// Sizes of what the owner allocates, in bytes.
template <Payload T>
struct SharedSize {
  static constexpr std::size_t kGuardBytes = kCacheLineBytes;
  static constexpr std::size_t kLines = (sizeof(T) + kCacheLineBytes - 1) / kCacheLineBytes;
  static constexpr std::size_t kSlotBytes = kLines * kCacheLineBytes;
  static constexpr std::size_t guards(std::size_t records) noexcept {
    return records * kGuardBytes;
  }
  static constexpr std::size_t lane(std::size_t records) noexcept {
    return records * 2 * kSlotBytes;
  }
};

// Where the records of one kind are in what the owner has granted. Regions may hold other things in
// front and behind.
struct SharedPlace {
  rdma::RemoteRegion guards;  // READ; who writes: atomics
  std::uint64_t guards_offset = 0;
  std::array<rdma::RemoteRegion, kLanesMax> lanes;  // READ; length 0: there is no such lane
  rdma::RemoteRegion own_lane;                      // WRITE
  std::uint64_t lanes_offset = 0;
  std::uint32_t own = kLanesMax;  // the lane to write in; kLanesMax: this one only reads
  std::size_t records = 0;
  // Records that a lane has slots for; record r has those of r mod lane_records. As many as there
  // are records, unless each lane is for a part of them.
  std::size_t lane_records = 0;
};

// What a connection to such memory was granted: a header to READ, a region of words, the lanes, and
// for a writer its own lane once more.
struct SharedRegions {
  rdma::RemoteRegion header;
  rdma::RemoteRegion words;
  std::array<rdma::RemoteRegion, kLanesMax> lanes;
  rdma::RemoteRegion own_lane;
  std::uint32_t own = kLanesMax;  // kLanesMax: a reader

  // False: these are none.
  static bool of(std::span<const rdma::RemoteRegion> extras, bool writer,
                 SharedRegions& out) noexcept;
  // Records whose guards begin at `guards` in the words, and slots at `in_lane` in each lane.
  SharedPlace place(std::size_t guards, std::size_t in_lane, std::size_t records,
                    std::size_t lane_records) const noexcept;
  // Whether each of so many lanes, and the words, have so many bytes.
  bool hold(std::size_t words_bytes, std::size_t lane_count, std::size_t lane_bytes) const noexcept;
};

enum class SharedStatus : std::uint8_t {
  kOk,
  kEmpty,  // a read: never written
  kTorn,   // a read: a writer was quicker at every attempt
  kLost,   // a publication: another was first; read again
  // The connection failed, or its queue had no room for a read's next attempt. Whether a
  // publication took place is not known. A queue with kRequestsMax for each operation has room.
  kFailed,
};

struct SharedResult {
  std::uint64_t cookie = 0;  // the caller's
  std::size_t record = 0;
  SharedStatus status = SharedStatus::kFailed;
  bool publication = false;
  SharedGuard guard;  // reads: of the value; publications: as it is now, as far as we know
};

// Which slots of a record a read fetches with its guard.
enum class SharedFetch : std::uint8_t {
  kBoth,      // one round trip, whichever holds it
  kExpected,  // half the bytes: the one that held it last; another round trip where that is over
};
inline SharedFetch best_fetch(const rdma::Device& device) noexcept {
  return device.info().reads_by_copy ? SharedFetch::kExpected : SharedFetch::kBoth;
}

// Reads and writes them. Polling thread of the connection, but for construction. Nothing waits:
// start, poll the connection, take() what has come of it.
template <Payload T>
class SharedRecords final : public OneSidedClient {
 public:
  using Size = SharedSize<T>;
  static constexpr std::uint32_t kAttemptsMax = 64;
  static constexpr std::uint32_t kRequestsMax = 3;  // of one operation, in the connection's queue

  // Control thread. operations: how many may be under way at once, 1 to 64; the connection's queue
  // has room for three requests of each. fetch: best_fetch(), unless told. Throws rdma::SetupError.
  SharedRecords(rdma::Device& device, std::size_t records, std::uint32_t operations,
                const std::string& name)
      : SharedRecords(device, records, operations, name, best_fetch(device)) {}
  SharedRecords(rdma::Device& device, std::size_t records, std::uint32_t operations,
                const std::string& name, SharedFetch fetch)
      : OneSidedClient(device, operations * sizeof(Buffers), name),
        fetch_(fetch),
        operations_(operations),
        known_(records) {
    require_atomics(device, name);
    for (std::uint32_t i = 0; i < operations; ++i) free_[free_count_++] = i;
  }

  // After the connection was made. What was under way on another is forgotten. Records beyond what
  // was constructed for are not reachable.
  void attach(Connection& connection, const SharedPlace& place) noexcept;
  void detach() noexcept;
  bool attached() const noexcept { return OneSidedClient::attached(); }
  std::size_t records() const noexcept { return place_.records; }

  // False: all operations are under way, the queue is full, or there is no such record: later.
  bool read(std::size_t record, std::uint64_t cookie) noexcept;
  // Puts `value` in the place of the version `based_on`, as a read or the last publication gave it;
  // never written: a guard of nothing, as a read found it. One publication of a record at a time;
  // false also while this record was neither read nor published since attach().
  bool publish(std::size_t record, SharedGuard based_on, const T& value,
               std::uint64_t cookie) noexcept;
  // What is done, oldest first; false: nothing is. `value` is filled by reads that are kOk.
  bool take(SharedResult& result, T& value) noexcept;
  std::uint32_t under_way() const noexcept { return started_ - taken_; }

  std::uint64_t torn_reads() const noexcept { return torn_.get(); }
  std::uint64_t other_slots() const noexcept { return other_slots_.get(); }

 private:
  // What the device reads from and writes to, for one operation.
  struct alignas(kCacheLineBytes) Buffers {
    std::uint64_t before;
    std::uint64_t after;
    std::uint64_t swapped;
    alignas(kCacheLineBytes) std::byte slots[2][Size::kSlotBytes];
    alignas(kCacheLineBytes) std::byte out[Size::kSlotBytes];
  };
  struct Operation {
    std::uint64_t cookie;
    std::size_t record;
    SharedGuard expected;  // publications
    SharedGuard desired;
    std::uint32_t lane;  // reads: whose slots were asked for, and with kExpected which
    std::uint32_t slot;
    std::uint32_t attempts;
    bool publication;
    bool failed;
  };
  // What is known of a record: where it was, and which of our own slots must not be touched.
  struct Known {
    std::uint8_t lane = 0;
    std::uint8_t slot = 0;
    std::uint8_t live = kUnseen;
  };
  static constexpr std::uint8_t kUnseen = 3;
  static constexpr std::uint8_t kNone = 2;  // neither of ours is

  static constexpr std::uint32_t kOperationsMax = 64;

  void on_answer(bool success) noexcept override;
  Buffers& buffers(std::uint32_t operation) noexcept {
    return reinterpret_cast<Buffers*>(memory())[operation];
  }
  std::uint64_t guard_address(std::size_t record) const noexcept {
    return place_.guards.address + place_.guards_offset + record * Size::kGuardBytes;
  }
  std::uint64_t slot_offset(std::size_t record, std::uint32_t slot) const noexcept {
    return place_.lanes_offset + (record % place_.lane_records * 2 + slot) * Size::kSlotBytes;
  }
  void see(std::size_t record, SharedGuard guard) noexcept {
    known_[record].lane = static_cast<std::uint8_t>(guard.lane());
    known_[record].slot = static_cast<std::uint8_t>(guard.slot());
    known_[record].live = guard.written() && guard.lane() == place_.own
                              ? static_cast<std::uint8_t>(guard.slot())
                              : kNone;
  }
  bool post_read(std::uint32_t operation) noexcept;
  void enqueue(std::uint32_t operation) noexcept {
    queue_[started_++ % kOperationsMax] = operation;
  }
  bool settle_read(std::uint32_t index, SharedResult& result, T& value) noexcept;
  void settle_publication(std::uint32_t index, SharedResult& result) noexcept;
  void release(std::uint32_t operation) noexcept { free_[free_count_++] = operation; }

  SharedFetch fetch_;
  std::uint32_t operations_;
  std::vector<Known> known_;
  SharedPlace place_;
  std::array<Operation, kOperationsMax> all_{};
  std::array<std::uint32_t, kOperationsMax> free_{};
  std::uint32_t free_count_ = 0;
  // Posted, in order; [taken_, answered_) are done.
  std::array<std::uint32_t, kOperationsMax> queue_{};
  std::uint32_t started_ = 0;
  std::uint32_t answered_ = 0;
  std::uint32_t taken_ = 0;
  Counter torn_;
  Counter other_slots_;  // reads that had to ask for others than those of before
};

}  // namespace tickpath::link

#include "common/link/detail/shared_records_impl.hpp"
