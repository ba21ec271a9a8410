#include "oeg/log_spool.hpp"

#include <chrono>
#include <utility>

namespace tickpath::oeg {
namespace {

// An entry a microsecond fills a quarter of the smallest log in this time.
constexpr std::chrono::microseconds kPause{50};
// Further entries stay in the log, and when that is full the leader drops the joiner: a start that
// lasts so long has gone wrong.
constexpr std::size_t kBlocksMax = 1024;
constexpr std::size_t kEntriesPerMove = 1024;

}  // namespace

LogSpool::LogSpool(link::ReplicatedLog& log)
    : log_(log), first_(new Block), last_(first_), taking_(first_), thread_([this] { run(); }) {}

LogSpool::~LogSpool() {
  while (!take_log()) std::this_thread::yield();  // the thread finds that, and ends
  thread_.join();
  while (first_ != nullptr)
    delete std::exchange(first_, first_->next.load(std::memory_order_relaxed));
}

bool LogSpool::take_log() noexcept {
  Owner found = Owner::kNobody;
  // Acquire: pairs with the release in run(). Without it entries that the thread has moved last
  // could be missed, and the log's own state be an old one.
  return owner_.compare_exchange_strong(found, Owner::kPoller, std::memory_order_acquire) ||
         found == Owner::kPoller;
}

// Goes on to the next block where this one is read to its end.
bool LogSpool::has_more() noexcept {
  Block* const block = taking_.load(std::memory_order_relaxed);
  // Acquire, twice: pair with the releases in put(). Without the first an entry could be read
  // before it is whole; without the second a last entry of the block be missed.
  if (at_ != block->filled.load(std::memory_order_acquire)) return true;
  Block* const next = block->next.load(std::memory_order_acquire);
  if (next == nullptr || at_ != block->filled.load(std::memory_order_relaxed))
    return next != nullptr;
  at_ = 0;
  // Release: pairs with the acquire in free_taken(). Without it the block could be freed while its
  // last entry is still being read.
  taking_.store(next, std::memory_order_release);
  return next->filled.load(std::memory_order_acquire) != 0;
}

// --------------------------------------------------------------------------------- the thread

void LogSpool::run() {
  for (;;) {
    Owner expected = Owner::kNobody;
    // Relaxed: only the poller takes the log for good, and this thread looks at nothing of it then.
    if (!owner_.compare_exchange_strong(expected, Owner::kThread, std::memory_order_relaxed))
      return;
    const bool moved = move_entries();
    owner_.store(Owner::kNobody, std::memory_order_release);  // see take_log()
    if (!moved) std::this_thread::sleep_for(kPause);
  }
}

// False: there is nothing more for now.
bool LogSpool::move_entries() {
  free_taken();
  if (blocks_ >= kBlocksMax) return false;
  return log_.poll(
             [this](std::uint32_t kind, std::span<const std::byte> payload) { put(kind, payload); },
             kEntriesPerMove) != 0;
}

void LogSpool::put(std::uint32_t kind, std::span<const std::byte> payload) {
  const Entry entry{static_cast<std::uint32_t>(payload.size()), kind};
  const std::size_t bytes = sizeof(entry) + payload.size();
  if (bytes > Block::kBytes) return log_.refuse();  // no leader writes such an entry
  std::size_t at = last_->filled.load(std::memory_order_relaxed);
  if (at + bytes > Block::kBytes) {
    auto* const next = new Block;
    last_->next.store(next, std::memory_order_release);  // see has_more()
    last_ = next;
    ++blocks_;
    at = 0;
  }
  std::memcpy(last_->bytes + at, &entry, sizeof(entry));
  std::memcpy(last_->bytes + at + sizeof(entry), payload.data(), payload.size());
  last_->filled.store(at + bytes, std::memory_order_release);  // see has_more()
}

void LogSpool::free_taken() noexcept {
  const Block* const taking = taking_.load(std::memory_order_acquire);  // see has_more()
  for (; first_ != taking; --blocks_)
    delete std::exchange(first_, first_->next.load(std::memory_order_relaxed));
}

}  // namespace tickpath::oeg
