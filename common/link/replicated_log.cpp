#include "common/link/replicated_log.hpp"

#include "common/base/check.hpp"
#include "common/link/capabilities.hpp"

namespace tickpath::link {
namespace {

constexpr std::size_t kRingBytesMin = 4096;
// What a READ of the standby's line brings.
constexpr std::size_t kStandbyBytes =
    offsetof(LogStandbyLine, acknowledged) + sizeof(LogStandbyLine::acknowledged);

std::size_t checked(std::size_t ring_bytes) noexcept {
  TICKPATH_CHECK(ring_bytes >= kRingBytesMin && (ring_bytes & (ring_bytes - 1)) == 0,
                 "a replicated log is a power of two of bytes, 4096 and more");
  return ring_bytes;
}

}  // namespace

// --------------------------------------------------------------------------------- the standby

ReplicatedLog::ReplicatedLog(rdma::Device& device, std::size_t ring_bytes, const std::string& name)
    : ring_bytes_(checked(ring_bytes)),
      region_(device.allocate(sizeof(LogHeader) + ring_bytes,
                              rdma::kLocalWrite | rdma::kRemoteWrite | rdma::kRemoteRead, name)) {
  require_placement(device, name);
}

void ReplicatedLog::clear() noexcept {
  store_word(header().writer.tail, 0, std::memory_order_relaxed);
  store_word(header().standby.taken, 0, std::memory_order_relaxed);
  store_word(header().standby.acknowledged, 0, std::memory_order_relaxed);
  store_word(header().standby.fence, 0, std::memory_order_release);
  taken_ = end_ = sequence_ = 0;
  fenced_ = damaged_ = false;
}

void ReplicatedLog::fence() noexcept {
  if (fenced_) return;
  fenced_ = true;
  // Sequentially consistent, and a full barrier on x86: the tail is read after the fence is there
  // for every READ to come. The writer's WRITE, then READ, is the other half: of "it sees our
  // fence" and "we see its tail" at least one is true. Without the barrier the load below could be
  // taken before the store is visible, and an entry be confirmed that we miss.
  std::atomic_ref<std::uint64_t>(header().standby.fence).exchange(1, std::memory_order_seq_cst);
  end_ = load_word(header().writer.tail, std::memory_order_seq_cst);
}

// The peer has proven who it is; that it is right it has not.
bool ReplicatedLog::entry_at(std::uint64_t at, LogEntryHeader& entry) const noexcept {
  if (at % kLogAlignment != 0 || end_ - at > ring_bytes_ || end_ - at < sizeof(entry)) return false;
  const std::size_t offset = at & (ring_bytes_ - 1);
  std::memcpy(&entry, ring() + offset, sizeof(entry));
  const std::size_t bytes = log_entry_bytes(entry.length);
  return entry.sequence == sequence_ + 1 && bytes <= end_ - at && bytes <= ring_bytes_ - offset;
}

// ---------------------------------------------------------------------------------- the writer

LogReplicator::LogReplicator(rdma::Device& device, std::size_t ring_bytes, const std::string& name)
    : OneSidedClient(device, kReadsMax * sizeof(LogStandbyLine) + checked(ring_bytes), name),
      ring_bytes_(ring_bytes) {}

bool LogReplicator::attach(Connection& connection, const rdma::RemoteRegion& region) noexcept {
  detach();
  if (region.length_bytes < sizeof(LogHeader) + ring_bytes_) return false;
  use(connection);
  remote_ = region;
  sequence_ = appended_ = posted_to_ = confirmed_ = taken_ = acknowledged_ = 0;
  state_ = State::kReplicating;
  return true;
}

void LogReplicator::detach() noexcept {
  leave();
  state_ = State::kDetached;
}

bool LogReplicator::append(std::uint32_t kind, std::span<const std::byte> first,
                           std::span<const std::byte> second) noexcept {
  const std::size_t length = first.size() + second.size();
  const std::size_t bytes = log_entry_bytes(length);
  if (!has_room(bytes)) [[unlikely]]
    return false;
  const std::size_t left = ring_bytes_ - (appended_ & (ring_bytes_ - 1));
  if (left < bytes) [[unlikely]]
    stage({static_cast<std::uint32_t>(left - sizeof(LogEntryHeader)), 0, ++sequence_}, {}, {});
  stage({static_cast<std::uint32_t>(length), kind, ++sequence_}, first, second);
  return true;
}

void LogReplicator::stage(const LogEntryHeader& entry, std::span<const std::byte> first,
                          std::span<const std::byte> second) noexcept {
  std::byte* place = ring() + (appended_ & (ring_bytes_ - 1));
  std::memcpy(place, &entry, sizeof(entry));
  place += sizeof(entry);
  if (!first.empty()) std::memcpy(place, first.data(), first.size());
  if (!second.empty()) std::memcpy(place + first.size(), second.data(), second.size());
  appended_ += log_entry_bytes(entry.length);
}

bool LogReplicator::flush() noexcept {
  return state_ != State::kReplicating || posted_to_ == appended_ || post_all();
}

bool LogReplicator::probe() noexcept {
  return state_ != State::kReplicating || under_way() != 0 || post_all();
}

// Where part of it is refused all is posted again: the same bytes to the same places.
bool LogReplicator::post_all() noexcept {
  if (under_way() == kReadsMax) return false;
  std::array<rdma::WorkRequest, 4> requests;
  std::size_t count = 0;
  const rdma::WorkRequest base = read_of(remote_, 0);
  for (std::uint64_t at = posted_to_; at != appended_;) {
    const std::size_t offset = at & (ring_bytes_ - 1);
    const std::size_t left = ring_bytes_ - offset;
    const std::size_t bytes = appended_ - at < left ? appended_ - at : left;
    rdma::WorkRequest& write = requests[count++] = base;
    write.opcode = rdma::Opcode::kWrite;
    write.flags = {};
    write.local_address = ring() + offset;
    write.length_bytes = static_cast<std::uint32_t>(bytes);
    write.remote_address += sizeof(LogHeader) + offset;
    at += bytes;
  }
  if (count != 0) {
    rdma::WorkRequest& tail = requests[count++] = base;
    tail.opcode = rdma::Opcode::kWrite;
    tail.flags = rdma::kInline;
    tail.local_address = &appended_;
    tail.length_bytes = sizeof(appended_);
    tail.remote_address += offsetof(LogHeader, writer);
  }
  const std::uint64_t number = posts() + 1;
  rdma::WorkRequest& read = requests[count++] = base;
  read.local_address = memory() + number % kReadsMax * sizeof(LogStandbyLine);
  read.length_bytes = kStandbyBytes;
  read.remote_address += offsetof(LogHeader, standby);
  std::size_t posted = 0;
  const rdma::PostStatus status = post(std::span(requests).first(count), posted);
  if (status != rdma::PostStatus::kOk) {
    if (status != rdma::PostStatus::kQueueFull) state_ = State::kFailed;
    return false;
  }
  vouches_for_[number % kReadsMax] = appended_;
  posted_to_ = appended_;
  return true;
}

void LogReplicator::on_answer(bool success) noexcept {
  if (state_ != State::kReplicating) return;
  if (!success) {
    state_ = State::kFailed;
    return;
  }
  const std::uint64_t number = posts() - under_way();
  // Placed by our own READ, whose completion was just polled.
  LogStandbyLine line;
  std::memcpy(&line, memory() + number % kReadsMax * sizeof(LogStandbyLine), kStandbyBytes);
  if (line.fence != 0) {
    state_ = State::kFenced;  // what this READ vouches for is not confirmed
    return;
  }
  if (line.taken > appended_ || line.taken < taken_) {  // of no log that we write
    state_ = State::kFailed;
    return;
  }
  taken_ = line.taken;
  acknowledged_ = line.acknowledged;
  confirmed_ = vouches_for_[number % kReadsMax];
}

}  // namespace tickpath::link
