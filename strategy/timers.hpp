// One-shot timers of all plugins: a preallocated heap ordered by deadline.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/base/memory.hpp"

namespace tickpath::strategy {

struct Timer {
  std::uint64_t deadline_ns;
  std::uint64_t id;
  std::uint64_t cookie;
  std::uint32_t owner;  // index of the instance
};

// Datapath thread.
class Timers {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  explicit Timers(std::size_t capacity) : capacity_(capacity) { reserve_touched(heap_, capacity); }

  // 0 when full; ids are never reused.
  std::uint64_t set(std::uint64_t deadline_ns, std::uint64_t cookie, std::uint32_t owner) noexcept {
    if (heap_.size() == capacity_) return 0;
    heap_.push_back({deadline_ns, ++last_id_, cookie, owner});
    std::push_heap(heap_.begin(), heap_.end(), later);
    return last_id_;
  }

  // False when it has fired, was cancelled, or belongs to another. Linear: there are few.
  bool cancel(std::uint64_t id, std::uint32_t owner) noexcept {
    const auto found = std::find_if(heap_.begin(), heap_.end(), [&](const Timer& timer) {
      return timer.id == id && timer.owner == owner;
    });
    if (found == heap_.end()) return false;
    *found = heap_.back();
    heap_.pop_back();
    std::make_heap(heap_.begin(), heap_.end(), later);
    return true;
  }

  // Takes out the earliest timer that is due.
  bool take_due(std::uint64_t now_ns, Timer& timer) noexcept {
    if (next_deadline_ns() > now_ns) return false;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    timer = heap_.back();
    heap_.pop_back();
    return true;
  }

  std::uint64_t next_deadline_ns() const noexcept {
    return heap_.empty() ? kNever : heap_.front().deadline_ns;
  }

 private:
  // Ids break ties, so that timers of one deadline fire in the order in which they were set.
  static bool later(const Timer& a, const Timer& b) noexcept {
    return a.deadline_ns != b.deadline_ns ? a.deadline_ns > b.deadline_ns : a.id > b.id;
  }

  std::size_t capacity_;
  std::vector<Timer> heap_;
  std::uint64_t last_id_ = 0;
};

}  // namespace tickpath::strategy
