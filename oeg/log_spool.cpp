#include "oeg/log_spool.hpp"

#include <chrono>

namespace tickpath::oeg {
namespace {

// An entry a microsecond fills a quarter of the smallest log in this time.
constexpr std::chrono::microseconds kPause{50};
// Further entries stay in the log, and when that is full the leader drops the joiner: a start that
// lasts so long has gone wrong.
constexpr std::size_t kBytesMax = std::size_t{1} << 30;

}  // namespace

LogSpool::LogSpool(link::ReplicatedLog& log) : log_(log), thread_([this] { run(); }) {}

LogSpool::~LogSpool() {
  wanted_end_.store(true, std::memory_order_relaxed);  // see end()
  thread_.join();
}

void LogSpool::run() {
  while (!wanted_end_.load(std::memory_order_relaxed))
    if (!move_entries()) std::this_thread::sleep_for(kPause);
  ended_.store(true, std::memory_order_release);  // see end()
}

// False: there is nothing more for now.
bool LogSpool::move_entries() {
  if (bytes_.size() >= kBytesMax) return false;
  const auto move = [this](std::uint32_t kind, std::span<const std::byte> payload) {
    const Entry entry{static_cast<std::uint32_t>(payload.size()), kind};
    const auto header = std::as_bytes(std::span(&entry, 1));
    bytes_.insert(bytes_.end(), header.begin(), header.end());
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
  };
  return log_.poll(move) != 0;
}

}  // namespace tickpath::oeg
