// A log that its writer replicates into the memory of a standby, entry by entry, by WRITE, and
// whose writer knows of each entry whether it stands there.
//
// Standby: ReplicatedLog; grant() goes to the one connection that may write.
// Writer:  LogReplicator, attached to that connection.
//
//   line 0   0 tail                bytes ever appended; the writer's
//   line 1   0 fence               the standby's: not 0 once it takes no more
//            8 taken               bytes ever taken
//            16 acknowledged       a number of the program's own
//   line 2   the ring of entries: entry, entry, ...
//   entry    0 length | 4 kind | 8 sequence | 16 payload, to a multiple of 16 bytes
//
// A flush is one doorbell: WRITE of the new entries, WRITE of the tail, READ of line 1. The READ is
// executed behind the WRITEs (common/rdma/ordering.hpp), so what it returns was so after they were
// placed: its completion, and not that of the WRITEs, is what confirms them. DESIGN.md has the
// argument why a standby that has stored its fence and then reads to the tail has all that was
// ever confirmed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "common/base/counter.hpp"
#include "common/base/cpu.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/link/words.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// 0 tail
struct alignas(kCacheLineBytes) LogTailLine {
  std::uint64_t tail;
};
// 0 fence | 8 taken | 16 acknowledged
struct alignas(kCacheLineBytes) LogStandbyLine {
  std::uint64_t fence;
  std::uint64_t taken;
  std::uint64_t acknowledged;
};
struct LogHeader {
  LogTailLine writer;
  LogStandbyLine standby;
};
static_assert(sizeof(LogHeader) == 2 * kCacheLineBytes && offsetof(LogHeader, standby) == 64);

// 0 length | 4 kind | 8 sequence
struct LogEntryHeader {
  std::uint32_t length;    // of the payload, bytes
  std::uint32_t kind;      // the program's, from 1; 0: nothing follows before the ring's end
  std::uint64_t sequence;  // from 1, without gaps; fillers have one, too
};
inline constexpr std::size_t kLogAlignment = 16;
static_assert(sizeof(LogEntryHeader) == kLogAlignment);
constexpr std::size_t log_entry_bytes(std::size_t payload) noexcept {
  return sizeof(LogEntryHeader) + (payload + kLogAlignment - 1) / kLogAlignment * kLogAlignment;
}

enum class LogStatus : std::uint8_t {
  kOk,
  kDamaged,  // what stands there is no log; nothing more of it is taken
};

// The standby's memory. Polling thread, but for construction.
class ReplicatedLog {
 public:
  // Control thread. ring_bytes: a power of two, at least 4096. Throws rdma::SetupError.
  ReplicatedLog(rdma::Device& device, std::size_t ring_bytes, const std::string& name);

  // WRITE and READ, for one writer and for one connection: a writer begins with an empty log.
  rdma::Grant grant() const noexcept {
    return {region_.get(), rdma::kRemoteWrite | rdma::kRemoteRead};
  }
  // Control thread, before grant() is given to another connection. The one before must be gone.
  void clear() noexcept;

  // on_entry(kind, std::span<const std::byte>) for each, at most entries_max; the bytes stay until
  // it returns. Returns how many.
  template <class OnEntry>
  std::size_t poll(OnEntry&& on_entry, std::size_t entries_max = 64) noexcept;
  // Any thread: the program has acted on an entry. 0: on none yet.
  void acknowledge(std::uint64_t number) noexcept {
    // Release: pairs with the writer's READ. What the program did before, it has done by then.
    store_word(header().standby.acknowledged, number, std::memory_order_release);
  }
  // By the handler of poll(), for an entry that says nothing: the log is kDamaged.
  void refuse() noexcept { damaged_ = true; }
  LogStatus status() const noexcept { return damaged_ ? LogStatus::kDamaged : LogStatus::kOk; }
  // Bytes that stand there and were not taken, as of now.
  std::uint64_t behind() const noexcept {
    return load_word(header().writer.tail, std::memory_order_relaxed) - taken_;
  }

  // From now on the writer confirms nothing more. Whatever it has confirmed is handed over by
  // poll() until at_fence(); what it WRITEs after that is never looked at.
  void fence() noexcept;
  bool fenced() const noexcept { return fenced_; }
  bool at_fence() const noexcept { return fenced_ && (damaged_ || taken_ == end_); }

 private:
  LogHeader& header() const noexcept { return *reinterpret_cast<LogHeader*>(region_->data()); }
  const std::byte* ring() const noexcept { return region_->data() + sizeof(LogHeader); }
  bool entry_at(std::uint64_t at, LogEntryHeader& entry) const noexcept;

  const std::size_t ring_bytes_;
  std::unique_ptr<rdma::MemoryRegion> region_;
  std::uint64_t taken_ = 0;
  std::uint64_t end_ = 0;  // the tail when it was looked at last
  std::uint64_t sequence_ = 0;
  bool fenced_ = false;
  bool damaged_ = false;
};

// The writer's end. Polling thread of the connection, but for construction. Nothing waits.
class LogReplicator final : public OneSidedClient {
 public:
  enum class State : std::uint8_t {
    kDetached,
    kReplicating,
    kFenced,  // the standby takes no more: whatever is not confirmed may not take effect
    kFailed,  // the connection, or a request on it
  };

  // Control thread: memory to send from. ring_bytes: the standby's. Throws rdma::SetupError.
  LogReplicator(rdma::Device& device, std::size_t ring_bytes, const std::string& name);

  // Starts to use a connection to an empty log (after its LinkEvent::kConnected, or the like).
  // False: what was granted is no log of ring_bytes.
  bool attach(Connection& connection, const rdma::RemoteRegion& region) noexcept;
  void detach() noexcept;
  State state() const noexcept { return state_; }

  // Appends an entry; it leaves with the next flush(). False: the standby has not taken enough yet
  // (see has_room()), or nothing is replicated.
  bool append(std::uint32_t kind, std::span<const std::byte> payload) noexcept {
    return append(kind, payload, {});
  }
  // One whose payload stands in two places.
  bool append(std::uint32_t kind, std::span<const std::byte> first,
              std::span<const std::byte> second) noexcept;
  // Room for so many bytes of entries (log_entry_bytes), whatever their number.
  bool has_room(std::size_t bytes) const noexcept {
    // At most one entry's worth is lost where the ring ends.
    return state_ == State::kReplicating && appended_ - taken_ + 2 * bytes <= ring_bytes_;
  }

  // Posts what was appended, if anything, and a READ behind it. False: the queue has no room for it
  // now; poll the connection and call again.
  bool flush() noexcept;
  // A READ alone, where nothing was appended: what the standby has taken, and whether it is fenced.
  bool probe() noexcept;

  // Bytes ever appended on this connection, those that stand at the standby by the transport's
  // word, and those that it has taken. appended() == confirmed(): all that was appended is safe.
  std::uint64_t appended() const noexcept { return appended_; }
  std::uint64_t confirmed() const noexcept { return confirmed_; }
  std::uint64_t taken() const noexcept { return taken_; }
  bool all_confirmed() const noexcept { return confirmed_ == appended_; }
  // The number that the standby has acknowledged last; 0: none.
  std::uint64_t acknowledged() const noexcept { return acknowledged_; }

 private:
  // READs under way at once, each with a line of its own for its answer.
  static constexpr std::uint64_t kReadsMax = 8;

  void on_answer(bool success) noexcept override;
  std::byte* ring() noexcept { return memory() + kReadsMax * sizeof(LogStandbyLine); }
  void stage(const LogEntryHeader& entry, std::span<const std::byte> first,
             std::span<const std::byte> second) noexcept;
  bool post_all() noexcept;

  const std::size_t ring_bytes_;
  State state_ = State::kDetached;
  rdma::RemoteRegion remote_;
  std::uint64_t sequence_ = 0;
  std::uint64_t appended_ = 0;
  std::uint64_t posted_to_ = 0;  // of appended_: so much has left
  std::uint64_t confirmed_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::array<std::uint64_t, kReadsMax> vouches_for_{};  // by READ: bytes that it confirms
};

template <class OnEntry>
std::size_t ReplicatedLog::poll(OnEntry&& on_entry, std::size_t entries_max) noexcept {
  // Acquire: pairs with the placement of the tail, which lands after the entries before it. Without
  // it their bytes could be read before they were there.
  if (!fenced_) end_ = load_word(header().writer.tail, std::memory_order_acquire);
  std::size_t count = 0;
  while (count < entries_max && taken_ != end_ && !damaged_) {
    LogEntryHeader entry;
    if (!entry_at(taken_, entry)) {
      damaged_ = true;
      break;
    }
    const std::size_t offset = taken_ & (ring_bytes_ - 1);
    if (entry.kind != 0) {
      on_entry(entry.kind, std::span(ring() + offset + sizeof(entry), entry.length));
      ++count;
    }
    sequence_ = entry.sequence;
    taken_ += log_entry_bytes(entry.length);
    // Release: the writer fills these bytes again once it has READ this.
    store_word(header().standby.taken, taken_, std::memory_order_release);
  }
  return count;
}

}  // namespace tickpath::link
