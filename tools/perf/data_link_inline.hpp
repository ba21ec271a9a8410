// The hot pieces of DataLink that both of its source files use.
#pragma once

#include <array>
#include <atomic>
#include <cstring>

#include "common/rdma/ordering.hpp"
#include "tools/perf/data_link.hpp"

namespace tickpath::rdma::perf {

inline constexpr std::uint64_t kReceiveMark = std::uint64_t{1} << 63;  // wr_ids of receives

// kMost: a latency loop waits for one, and every one more costs it time.
template <std::size_t kMost>
inline std::size_t DataLink::reap() {
  std::array<Completion, kMost> completions;
  const std::size_t count = queue_->poll(completions);
  for (std::size_t i = 0; i < count; ++i) {
    const Completion& completion = completions[i];
    if (completion.status != CompletionStatus::kSuccess) [[unlikely]]
      failed(completion);
    if ((completion.wr_id & kReceiveMark) != 0) {
      ++received_;
    } else {
      done_ = completion.wr_id;
    }
  }
  return count;
}

inline void DataLink::stamp(std::uint64_t message) noexcept {
  std::byte* end = source_ + place_of(message) + command_.size_bytes;
  const std::uint64_t value = stamp_of(message);
  if (whole_words_) {
    std::memcpy(end - 8, &value, 8);
  } else {
    *(end - 1) = static_cast<std::byte>(value);
  }
}

inline bool DataLink::landed(std::uint64_t message) const noexcept {
  std::byte* end = landing_ + place_of(message) + command_.size_bytes;
  if (whole_words_) {
    return load_placed(*reinterpret_cast<std::uint64_t*>(end - 8)) == stamp_of(message);
  }
  // Acquire, as load_placed(): nothing of the message is read, but the next one must not be posted
  // before this one was seen.
  return std::atomic_ref<std::byte>(*(end - 1)).load(std::memory_order_acquire) ==
         static_cast<std::byte>(stamp_of(message));
}

}  // namespace tickpath::rdma::perf
