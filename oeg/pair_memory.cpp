#include "oeg/pair_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/base/error.hpp"
#include "common/base/memory.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::oeg {
namespace {

static_assert(std::is_trivially_copyable_v<Succession>);

struct Header {
  static constexpr char kMagic[8] = {'t', 'k', 'p', 'a', 'i', 'r', '4', 0};
  char magic[8];  // stored last
  std::uint32_t state_bytes;
  std::uint32_t place;
  std::uint64_t inode;
  std::int64_t born_ns;
};

constexpr std::size_t kSlotsOffset = 64;
constexpr std::size_t kSlotBytes = 256;
constexpr std::size_t kFileBytes = 4096;
static_assert(2 * sizeof(std::uint64_t) + sizeof(Succession) <= kSlotBytes);

}  // namespace

struct PairMemory::Slot {
  std::uint64_t sequence;
  std::uint64_t boot;
  std::byte state[sizeof(Succession)];
};

PairMemory::PairMemory(const std::string& path, std::uint8_t place, std::uint64_t boot)
    : boot_(boot) {
  const net::FileDescriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) throw SystemError("cannot open " + path, errno);
  if (const int error = reserve_on_disk(file.get(), kFileBytes); error != 0)
    throw SystemError("cannot reserve room for " + path, error);
  mapping_ = Mapping(file.get(), kFileBytes, Mapping::Access::kWriteTouched, path);
  auto& header = *mapping_.at<Header>(0);
  if (std::memcmp(header.magic, Header{}.magic, sizeof(header.magic)) == 0) {
    header.state_bytes = sizeof(Succession);
    header.place = place;
    std::memcpy(header.magic, Header::kMagic, sizeof(header.magic));
  }
  if (std::memcmp(header.magic, Header::kMagic, sizeof(header.magic)) != 0 ||
      header.state_bytes != sizeof(Succession))
    throw Error(path + " is not a pair's file of this version; move it away: this oeg then joins " +
                "its peer, or waits for `tickpath pair found` where that has none, either");
  if (header.place != place)
    throw Error(path + " is of pair.place " + std::to_string(header.place) +
                ", the configuration says " + std::to_string(place));
  know_file(file.get(), path);
  sequence_ = std::max(slot(0).sequence, slot(1).sequence);
}

void PairMemory::know_file(int file, const std::string& path) {
  struct statx status {};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0)
    throw SystemError("cannot look at " + path, errno);
  const bool born = (status.stx_mask & STATX_BTIME) != 0;
  const std::int64_t born_ns =
      born ? status.stx_btime.tv_sec * std::int64_t{1'000'000'000} + status.stx_btime.tv_nsec : 0;
  auto& header = *mapping_.at<Header>(0);
  const bool is_new = header.inode == 0;
  if (header.inode == status.stx_ino && header.born_ns == born_ns) return;
  was_copied_ = !is_new;
  for (const std::uint64_t each : {0u, 1u}) slot(each).sequence = 0;
  header.inode = status.stx_ino;
  header.born_ns = born_ns;
}

PairMemory::Slot& PairMemory::slot(std::uint64_t sequence) const noexcept {
  return *mapping_.at<Slot>(kSlotsOffset + sequence % 2 * kSlotBytes);
}

std::optional<Succession> PairMemory::load() const noexcept {
  if (sequence_ == 0) return std::nullopt;
  Succession state(1);
  std::memcpy(static_cast<void*>(&state), slot(sequence_).state, sizeof(state));
  return state;
}

bool PairMemory::is_of_this_boot() const noexcept {
  return sequence_ != 0 && slot(sequence_).boot == boot_;
}

// Acquire: pairs with the release in store(), on the datapath thread. The slot's sequence goes to
// the disk no earlier than its state.
int PairMemory::sync() noexcept {
  std::uint64_t newest = 0;
  for (const std::uint64_t each : {0u, 1u})
    newest = std::max(
        newest,
        std::atomic_ref<std::uint64_t>(slot(each).sequence).load(std::memory_order_acquire));
  if (newest == synced_) return 0;
  const int error = ::msync(mapping_.at<void>(0), kFileBytes, MS_SYNC) == 0 ? 0 : errno;
  saved_.store(newest, std::memory_order_relaxed);
  if (error == 0) synced_ = newest;
  return error;
}

void PairMemory::store(const Succession& state) noexcept {
  Slot& next = slot(sequence_ + 1);
  // Release, twice: whoever reads the file after our end finds a slot that is whole, or one without
  // a sequence.
  std::atomic_ref<std::uint64_t>(next.sequence).store(0, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_release);
  next.boot = boot_;
  std::memcpy(next.state, &state, sizeof(state));
  std::atomic_ref<std::uint64_t>(next.sequence).store(++sequence_, std::memory_order_release);
}

}  // namespace tickpath::oeg
