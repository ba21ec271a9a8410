// A joiner's log until its datapath takes entries. Opening the journal and making the tables takes
// seconds, in which a busy leader writes more than the log has room for. So a thread of its own
// moves the entries into memory meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "common/link/replicated_log.hpp"

namespace tickpath::oeg {

class LogSpool {
 public:
  // Control thread. Nobody else uses the log until end() has returned true.
  explicit LogSpool(link::ReplicatedLog& log);
  ~LogSpool();
  LogSpool(const LogSpool&) = delete;
  LogSpool& operator=(const LogSpool&) = delete;

  // ---- the log's polling thread, once it is there

  // Asks the thread to end. True: it has, and the log and poll() are the caller's.
  bool end() noexcept {
    // Relaxed: nothing but the end of the loop follows from it.
    wanted_end_.store(true, std::memory_order_relaxed);
    // Acquire: pairs with the release at the thread's end. Without it the caller could miss entries
    // that the thread has moved, and take from the log behind them.
    return ended_.load(std::memory_order_acquire);
  }
  // As ReplicatedLog::poll(), of what was moved.
  template <class OnEntry>
  std::size_t poll(OnEntry&& on_entry, std::size_t entries_max) noexcept;
  bool empty() const noexcept { return at_ == bytes_.size(); }

 private:
  struct Entry {
    std::uint32_t length;
    std::uint32_t kind;
  };

  void run();
  bool move_entries();

  link::ReplicatedLog& log_;
  std::vector<std::byte> bytes_;  // entries, one behind the other
  std::size_t at_ = 0;            // poll() has handed over what is before
  std::atomic<bool> wanted_end_{false};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

template <class OnEntry>
std::size_t LogSpool::poll(OnEntry&& on_entry, std::size_t entries_max) noexcept {
  std::size_t count = 0;
  for (; count < entries_max && !empty(); ++count) {
    Entry entry;
    std::memcpy(&entry, bytes_.data() + at_, sizeof(entry));
    on_entry(entry.kind,
             std::span<const std::byte>(bytes_).subspan(at_ + sizeof(entry), entry.length));
    at_ += sizeof(entry) + entry.length;
  }
  return count;
}

}  // namespace tickpath::oeg
