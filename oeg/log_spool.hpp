// Holds the entries of a joiner's log until its datapath has caught up. A joiner needs seconds to
// open its journal and to make its tables. In that time a busy leader writes more than the log has
// room for. So a thread copies the entries into memory, and the datapath takes them from there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <thread>

#include "common/base/cpu.hpp"
#include "common/link/replicated_log.hpp"

namespace tickpath::oeg {

class LogSpool {
 public:
  // Control thread. Nobody else uses the log until take_log() has returned true.
  explicit LogSpool(link::ReplicatedLog& log);
  ~LogSpool();
  LogSpool(const LogSpool&) = delete;
  LogSpool& operator=(const LogSpool&) = delete;

  // ---- the log's polling thread, once it is there

  // As ReplicatedLog::poll(), of what was moved.
  template <class OnEntry>
  std::size_t poll(OnEntry&& on_entry, std::size_t entries_max) noexcept;
  bool has_more() noexcept;
  // The caller takes the log over, unless the thread is moving entries at this moment. True: it
  // has; the log goes on behind what poll() still hands over.
  bool take_log() noexcept;

 private:
  enum class Owner : std::uint8_t { kNobody, kThread, kPoller };
  struct Entry {
    std::uint32_t length;
    std::uint32_t kind;
  };
  // Entries, one behind the other.
  struct Block {
    static constexpr std::size_t kBytes = std::size_t{1} << 20;
    std::atomic<std::size_t> filled{0};
    // The thread fills no more of this one once there is a next.
    std::atomic<Block*> next{nullptr};
    std::byte bytes[kBytes];
  };

  void run();
  bool move_entries();
  void put(std::uint32_t kind, std::span<const std::byte> payload);
  void free_taken() noexcept;

  link::ReplicatedLog& log_;
  std::atomic<Owner> owner_{Owner::kNobody};  // of log_

  // The thread's.
  Block* first_;  // not freed yet
  Block* last_;
  std::size_t blocks_ = 1;  // from first_ to last_

  // The poller's; the thread frees what is before.
  alignas(kCacheLineBytes) std::atomic<Block*> taking_;
  std::size_t at_ = 0;  // poll() has handed over what is before, in taking_

  std::thread thread_;
};

template <class OnEntry>
std::size_t LogSpool::poll(OnEntry&& on_entry, std::size_t entries_max) noexcept {
  std::size_t count = 0;
  for (; count < entries_max && has_more(); ++count) {
    const std::byte* const bytes = taking_.load(std::memory_order_relaxed)->bytes;
    Entry entry;
    std::memcpy(&entry, bytes + at_, sizeof(entry));
    on_entry(entry.kind, std::span(bytes + at_ + sizeof(entry), entry.length));
    at_ += sizeof(entry) + entry.length;
  }
  return count;
}

}  // namespace tickpath::oeg
