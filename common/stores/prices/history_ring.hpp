// The rings of the price store: how one is written, and which entries of a copy are whole.
// DESIGN.md has the argument.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/link/words.hpp"
#include "common/wire/prices.hpp"

namespace tickpath::prices {

// Which of the entries [begin, end) are whole. They were fetched from the ring at `location`
// between two looks at its head.
struct WholeEntries {
  std::uint64_t begin = 0;  // those from here on are whole; what is before was overwritten
  std::uint64_t end = 0;    // at most what was asked for; begin == end: none
  bool moved = false;       // the ring is elsewhere by now: none of them can be trusted
};

// The oldest entry of a ring that can still be there, as a look at its head says.
inline std::uint64_t oldest_entry(const wire::RingHead& head) noexcept {
  const std::uint64_t depth = wire::RingHead::depth_of(head.location);
  // Entry `written` may be being written, over the one `depth` before it.
  return std::max(head.first, head.written + 1 > depth ? head.written + 1 - depth : 0);
}

// before, after: the head as it was seen before the first and after the last of the lines; within
// either its words may have been fetched in any order.
inline WholeEntries whole_entries(std::uint64_t location, std::uint64_t begin, std::uint64_t end,
                                  const wire::RingHead& before,
                                  const wire::RingHead& after) noexcept {
  WholeEntries whole;
  whole.moved = before.location != location || after.location != location;
  if (whole.moved) return whole;
  whole.end = std::min(end, before.written);
  whole.begin = std::min(std::max(begin, oldest_entry(after)), whole.end);
  return whole;
}

// A look at a head, of this process's own memory or of a copy of it.
inline wire::RingHead load_head(const wire::RingHead& head) noexcept {
  // Acquire, each: no line is loaded before the look that comes first; see store_line() for the one
  // that comes last.
  return {link::load_word(head.location, std::memory_order_acquire),
          link::load_word(head.first, std::memory_order_acquire),
          link::load_word(head.written, std::memory_order_acquire),
          link::load_word(head.day_first, std::memory_order_acquire)};
}

// The one writer.
inline void store_line(wire::HistoryLine& line, const wire::HistoryLine& value) noexcept {
  // Release, each: whoever sees one of these words (by an acquire load or a READ) sees the head as
  // it was stored before it when he looks at that afterwards. Without it he could take a word of
  // the entry that overwrites his, and still find the head from before it.
  link::store_words(line.payload.data(), value.payload.data(), value.payload.size());
  link::store_word(line.number, value.number, std::memory_order_release);
}

inline wire::HistoryLine load_line(const wire::HistoryLine& line) noexcept {
  wire::HistoryLine value;
  // Pairs with store_line(): acquire keeps the look at the head behind these loads.
  link::load_words(value.payload.data(), line.payload.data(), value.payload.size());
  value.number = link::load_word(line.number, std::memory_order_acquire);
  return value;
}

// Blocks of lines, their number a power of two, out of one stretch; nothing is allocated. What is
// given back serves those who ask for as much or less; blocks are not joined again, for rings only
// grow. One thread.
class LinePool {
 public:
  static constexpr unsigned kClasses = 40;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  // A pool of the lines [begin, end) of `lines`, which outlives it.
  LinePool(wire::HistoryLine* lines, std::uint64_t begin, std::uint64_t end) noexcept
      : lines_(lines), next_(begin), end_(end) {
    free_.fill(kNone);
  }

  // First line of a block of 2^size_log2 lines; kNone: there is no room.
  std::uint64_t take(unsigned size_log2) noexcept {
    if (free_[size_log2] != kNone) return pop(size_log2);
    const std::uint64_t size = std::uint64_t{1} << size_log2;
    if (end_ - next_ >= size) {
      next_ += size;
      return next_ - size;
    }
    for (unsigned larger = size_log2 + 1; larger < kClasses; ++larger) {
      if (free_[larger] == kNone) continue;
      const std::uint64_t block = pop(larger);
      while (larger > size_log2) {
        --larger;
        give(block + (std::uint64_t{1} << larger), larger);
      }
      return block;
    }
    return kNone;
  }
  void give(std::uint64_t line, unsigned size_log2) noexcept {
    // The list is in the blocks themselves. Release: a reader who still reads the ring that was
    // here finds at its next look that the ring has moved, as that was stored before.
    link::store_word(lines_[line].payload[0], free_[size_log2], std::memory_order_release);
    free_[size_log2] = line;
  }

 private:
  std::uint64_t pop(unsigned size_log2) noexcept {
    const std::uint64_t line = free_[size_log2];
    free_[size_log2] = lines_[line].payload[0];
    return line;
  }

  wire::HistoryLine* lines_;
  std::uint64_t next_;
  std::uint64_t end_;
  std::array<std::uint64_t, kClasses> free_;
};

// The lines of one kind: a small ring for each instrument, which moves to one twice as large
// whenever it would overwrite what is younger than it is to keep, as long as the pool has one.
// One writing thread; noexcept, and nothing is allocated after construction.
class RingWriter {
 public:
  // What a ring that is about to move has beside its head.
  struct Move {
    std::uint64_t to = 0;     // location; 0: it does not move
    std::uint64_t begin = 0;  // the oldest entry that will be there
    std::uint64_t next = 0;   // those before it are there
  };

  // lines: of which instrument `row` has 2^home_log2 from row << home_log2 on; the rest is the
  // pool's.
  RingWriter(wire::HistoryLine* lines, std::uint64_t count, std::uint64_t instruments,
             unsigned home_log2, std::uint64_t keep_ns) noexcept
      : lines_(lines),
        home_log2_(home_log2),
        keep_ns_(keep_ns),
        pool_(lines, instruments << home_log2, count) {}

  // Appends an entry whose first word is its time; its number is given here. Returns true where an
  // entry was overwritten that was younger than what is to be kept: the pool had no room.
  bool append(wire::RingHead& head, Move& move, std::uint64_t row,
              wire::HistoryLine& entry) noexcept {
    if (head.location == 0) [[unlikely]]
      link::store_word(head.location, wire::RingHead::locate(row << home_log2_, home_log2_),
                       std::memory_order_release);
    const std::uint64_t index = head.written;
    const std::uint64_t depth = wire::RingHead::depth_of(head.location);
    entry.number = index + 1;
    if (move.to != 0) [[unlikely]]
      step(head, move, entry);
    wire::HistoryLine& line = line_of(head.location, index);
    const bool lost = move.to == 0 && index - head.first >= depth &&
                      entry.payload[0] - line.payload[0] < keep_ns_;
    store_line(line, entry);
    // Release: who sees the entry counted finds all of it in its line.
    link::store_word(head.written, index + 1, std::memory_order_release);
    if (move.to != 0) [[unlikely]]
      finish(head, move);
    else if (((index + 1) & (look_every(depth) - 1)) == 0)
      consider(head, move, entry.payload[0]);
    return lost;
  }

  // A new day: what was before is no longer shown.
  void forget(wire::RingHead& head) noexcept {
    // Release, before the first entry of the day: who sees one of those sees this.
    link::store_word(head.first, head.written, std::memory_order_release);
    link::store_word(head.day_first, head.written, std::memory_order_release);
  }

  const wire::HistoryLine& line_of(std::uint64_t location, std::uint64_t index) const noexcept {
    return lines_[wire::RingHead::line_of(location) +
                  (index & (wire::RingHead::depth_of(location) - 1))];
  }

 private:
  // Entries copied for each that is appended: one keeps pace with what is appended, so a full ring
  // has moved after an eighth of its depth.
  static constexpr std::uint64_t kCopies = 9;
  static constexpr std::uint64_t moves_within(std::uint64_t depth) noexcept {
    return depth / (kCopies - 1) + 1;
  }
  static constexpr std::uint64_t look_every(std::uint64_t depth) noexcept {
    return std::max<std::uint64_t>(depth / 16, 1);
  }

  wire::HistoryLine& line_of(std::uint64_t location, std::uint64_t index) noexcept {
    return const_cast<wire::HistoryLine&>(std::as_const(*this).line_of(location, index));
  }

  // Will what comes until the next look, and then while the ring would move, overwrite what is to
  // be kept? Whatever the rate: an entry is no younger when it is overwritten than it is now. So
  // readers, who look into the old ring until it has moved, never do without one.
  void consider(const wire::RingHead& head, Move& move, std::uint64_t now_ns) noexcept {
    const std::uint64_t depth = wire::RingHead::depth_of(head.location);
    const std::uint64_t held = std::min(head.written - head.first, depth);
    const std::uint64_t then = held + look_every(depth) + moves_within(depth);
    if (then <= depth) return;
    const std::uint64_t oldest = head.written - held;
    const std::uint64_t last = std::min(oldest + (then - depth), head.written) - 1;
    if (now_ns - line_of(head.location, last).payload[0] >= keep_ns_) return;
    const auto larger = static_cast<unsigned>(head.location & 0x3f) + 1;
    const std::uint64_t line = pool_.take(larger);
    if (line == LinePool::kNone) return;
    move = {wire::RingHead::locate(line, larger), oldest, oldest};
  }

  // Before an entry is appended to a ring that moves: nobody reads where it moves to yet.
  void step(const wire::RingHead& head, Move& move, const wire::HistoryLine& entry) noexcept {
    const std::uint64_t until = std::min(move.next + kCopies, head.written);
    for (; move.next < until; ++move.next)
      store_line(line_of(move.to, move.next), line_of(head.location, move.next));
    store_line(line_of(move.to, head.written), entry);
  }

  // After that: once everything is there, the head says so.
  void finish(wire::RingHead& head, Move& move) noexcept {
    if (move.next + 1 != head.written) return;
    const std::uint64_t old = head.location;
    // Release, in this order: who sees the new location sees what `first` is there, and the lines;
    // and whatever is written over the old lines later is seen after the new location.
    link::store_word(head.first, std::max(head.first, move.begin), std::memory_order_release);
    link::store_word(head.location, move.to, std::memory_order_release);
    const auto size = static_cast<unsigned>(old & 0x3f);
    if (size > home_log2_) pool_.give(wire::RingHead::line_of(old), size);
    move = {};
  }

  wire::HistoryLine* lines_;
  unsigned home_log2_;
  std::uint64_t keep_ns_;
  LinePool pool_;
};

}  // namespace tickpath::prices
