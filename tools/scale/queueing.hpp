// What the simulation is made of: a clock in picoseconds, an event queue, first-in-first-out
// stations, and histograms of delays. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace tickpath::scale {

// A WRITE of 64 bytes takes 3.2 ns at 400 Gb/s: nanoseconds would round that by 6 %. 64 bits hold
// 213 days.
using Picoseconds = std::uint64_t;
inline constexpr Picoseconds kPicosecondsPerNs = 1'000;
inline constexpr double kPicosecondsPerSecond = 1e12;

inline Picoseconds picoseconds(double seconds) noexcept {
  return static_cast<Picoseconds>(std::llround(seconds * kPicosecondsPerSecond));
}
inline constexpr Picoseconds picoseconds_of_ns(std::int64_t ns) noexcept {
  return static_cast<Picoseconds>(ns) * kPicosecondsPerNs;
}

// One server, any queue, in the order of arrival. As each service is known when its job arrives, so
// is its end: a job is one event, not two.
class Station {
 public:
  struct Served {
    Picoseconds start;
    Picoseconds end;
  };

  // now: not before that of the call before.
  Served take(Picoseconds now, Picoseconds service) {
    while (!ends_.empty() && ends_.front() <= now) ends_.pop_front();
    const Picoseconds start = std::max(now, free_at_);
    free_at_ = start + service;
    ends_.push_back(free_at_);
    ++jobs_;
    busy_ += service;
    wait_sum_ += static_cast<double>(start - now);
    wait_max_ = std::max(wait_max_, start - now);
    queue_max_ = std::max(queue_max_, ends_.size());
    return {start, free_at_};
  }
  // Jobs that have come and not ended, the one in service among them.
  std::size_t queue(Picoseconds now) {
    while (!ends_.empty() && ends_.front() <= now) ends_.pop_front();
    return ends_.size();
  }

  std::uint64_t jobs() const noexcept { return jobs_; }
  Picoseconds busy() const noexcept { return busy_; }
  Picoseconds last_end() const noexcept { return free_at_; }
  // In the queue, before service.
  Picoseconds wait_max() const noexcept { return wait_max_; }
  double wait_mean() const noexcept {
    return jobs_ == 0 ? 0 : wait_sum_ / static_cast<double>(jobs_);
  }
  std::size_t queue_max() const noexcept { return queue_max_; }

 private:
  std::deque<Picoseconds> ends_;
  Picoseconds free_at_ = 0;
  std::uint64_t jobs_ = 0;
  Picoseconds busy_ = 0;
  double wait_sum_ = 0;
  Picoseconds wait_max_ = 0;
  std::size_t queue_max_ = 0;
};

// The earliest first; of one moment, in the order in which they were added, so that a run depends
// on its seed alone.
template <class Event>
class EventQueue {
 public:
  bool empty() const noexcept { return heap_.empty(); }
  Picoseconds next_at() const noexcept { return heap_.front().at; }
  void add(Picoseconds at, const Event& event) {
    heap_.push_back({at, added_++, event});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  Event take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event event = heap_.back().event;
    heap_.pop_back();
    return event;
  }

 private:
  struct Entry {
    Picoseconds at;
    std::uint64_t number;
    Event event;
  };
  static bool later(const Entry& a, const Entry& b) noexcept {
    return a.at != b.at ? a.at > b.at : a.number > b.number;
  }
  std::vector<Entry> heap_;
  std::uint64_t added_ = 0;
};

// Counts by value, 64 steps to each doubling: a quantile is right to 1.6 %, the largest exactly.
class DelayHistogram {
 public:
  void add(Picoseconds value) noexcept {
    ++counts_[index_of(value)];
    ++count_;
    max_ = std::max(max_, value);
  }
  std::uint64_t count() const noexcept { return count_; }
  Picoseconds max() const noexcept { return max_; }
  // part: 0 to 1. The upper end of the step in which it lies; 0 of nothing.
  Picoseconds quantile(double part) const noexcept {
    const auto rank = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen != 0 && seen >= rank) return std::min(upper_end(i), max_);
    }
    return max_;
  }

 private:
  static constexpr unsigned kStepBits = 6;

  // Values below 128 have a step each; above, the seven highest bits decide.
  static std::size_t index_of(Picoseconds value) noexcept {
    const unsigned bits = static_cast<unsigned>(std::bit_width(value));
    if (bits <= kStepBits + 1) return static_cast<std::size_t>(value);
    const unsigned shift = bits - kStepBits - 1;
    return (std::size_t{shift} << kStepBits) + static_cast<std::size_t>(value >> shift);
  }
  static Picoseconds upper_end(std::size_t index) noexcept {
    if (index < (std::size_t{2} << kStepBits)) return index;
    const std::size_t shift = (index >> kStepBits) - 1;
    const Picoseconds value = index - (shift << kStepBits);
    return ((value + 1) << shift) - 1;
  }

  std::array<std::uint64_t, (64 - kStepBits + 1) << kStepBits> counts_{};
  std::uint64_t count_ = 0;
  Picoseconds max_ = 0;
};

}  // namespace tickpath::scale
