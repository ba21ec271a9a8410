// One-shot timers of all plugins: a preallocated heap ordered by deadline. Each plugin has a share
// of its own, so that none can take what the others need.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tickpath::strategy {

struct Timer {
  std::uint64_t deadline_ns;
  std::uint64_t id;
  std::uint64_t cookie;
  std::uint32_t owner;  // index of the instance
};

// Datapath thread, but for add_owner().
class Timers {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  // each: that one owner can have set at a time.
  explicit Timers(std::size_t each) : each_(each) {}

  // Before the datapath starts: room for the next owner, whose index is the number of those before.
  void add_owner() {
    set_of_.push_back(0);
    const std::size_t capacity = each_ * set_of_.size();
    const std::size_t used = heap_.size();
    heap_.resize(capacity);  // touched, so that the datapath meets no page fault
    heap_.resize(used);
    free_.reserve(capacity);
    for (std::size_t at = places_.size(); at < capacity; ++at)
      free_.push_back(static_cast<std::uint32_t>(at));
    places_.resize(capacity);
  }

  // 0 when the owner has as many as it may; ids are never reused.
  std::uint64_t set(std::uint64_t deadline_ns, std::uint64_t cookie, std::uint32_t owner) noexcept {
    if (owner >= set_of_.size() || set_of_[owner] == each_) return 0;
    ++set_of_[owner];
    const std::uint32_t place = free_.back();
    free_.pop_back();
    const std::uint64_t id = ++last_id_ << kPlaceBits | place;
    places_[place] = {{deadline_ns, id, cookie, owner}, static_cast<std::uint32_t>(heap_.size())};
    heap_.push_back(place);
    sift_up(heap_.size() - 1);
    return id;
  }

  // False when it has fired, was cancelled, or belongs to another.
  bool cancel(std::uint64_t id, std::uint32_t owner) noexcept {
    const std::uint64_t place = id & ((std::uint64_t{1} << kPlaceBits) - 1);
    if (place >= places_.size()) return false;
    const Timer& timer = places_[place].timer;
    if (id == 0 || timer.id != id || timer.owner != owner) return false;
    remove(places_[place].at);
    return true;
  }

  // All of one owner, which is not called any more.
  void drop(std::uint32_t owner) noexcept {
    for (const Place& place : places_)
      if (place.timer.id != 0 && place.timer.owner == owner) remove(place.at);
  }

  // Takes out the earliest timer that is due.
  bool take_due(std::uint64_t now_ns, Timer& timer) noexcept {
    if (next_deadline_ns() > now_ns) return false;
    timer = places_[heap_.front()].timer;
    remove(0);
    return true;
  }

  std::uint64_t next_deadline_ns() const noexcept {
    return heap_.empty() ? kNever : places_[heap_.front()].timer.deadline_ns;
  }

 private:
  // The low bits of an id say where its timer is: 65,536 of each of 64 plugins.
  static constexpr unsigned kPlaceBits = 22;

  struct Place {
    Timer timer{};         // id 0: free
    std::uint32_t at = 0;  // in the heap
  };

  // Ids break ties, so that timers of one deadline fire in the order in which they were set.
  bool earlier(std::uint32_t a, std::uint32_t b) const noexcept {
    const Timer& x = places_[a].timer;
    const Timer& y = places_[b].timer;
    return x.deadline_ns != y.deadline_ns ? x.deadline_ns < y.deadline_ns : x.id < y.id;
  }
  void put(std::size_t at, std::uint32_t place) noexcept {
    heap_[at] = place;
    places_[place].at = static_cast<std::uint32_t>(at);
  }
  void swap(std::size_t a, std::size_t b) noexcept {
    const std::uint32_t place = heap_[a];
    put(a, heap_[b]);
    put(b, place);
  }
  void sift_up(std::size_t at) noexcept {
    for (; at != 0 && earlier(heap_[at], heap_[(at - 1) / 2]); at = (at - 1) / 2)
      swap(at, (at - 1) / 2);
  }
  void sift_down(std::size_t at) noexcept {
    for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
      if (child + 1 < heap_.size() && earlier(heap_[child + 1], heap_[child])) ++child;
      if (!earlier(heap_[child], heap_[at])) return;
      swap(at, child);
      at = child;
    }
  }
  void remove(std::size_t at) noexcept {
    const std::uint32_t place = heap_[at];
    --set_of_[places_[place].timer.owner];
    places_[place].timer.id = 0;
    free_.push_back(place);
    const std::uint32_t last = heap_.back();
    heap_.pop_back();
    if (last == place) return;
    put(at, last);
    sift_up(at);
    sift_down(places_[last].at);
  }

  std::size_t each_;
  std::vector<std::size_t> set_of_;  // by owner
  std::vector<Place> places_;
  std::vector<std::uint32_t> heap_;  // of places
  std::vector<std::uint32_t> free_;
  std::uint64_t last_id_ = 0;
};

}  // namespace tickpath::strategy
