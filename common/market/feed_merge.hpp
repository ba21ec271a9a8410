// Which of two mdh's update is handed on: two copies of one feed as one, each message once and in
// order, from whichever has it first.
//
// The place of an update is the feed's own sequence number, and its index among those that mdh
// publishes of that message. Both mdh's hear the same, so both have the same places; what differs
// is what they lost.
//
//   behind or at the last place handed on   another copy: dropped
//   the next place                          handed on
//   further ahead                           the other mdh will have what is between: dropped. If it
//                                           cannot, this one's is handed on, or, where what is
//                                           between is not known from this one either, all of its
//                                           images are shown first (`adoption`)
//
// An mdh can be gone by, as long as it lives, calls its feed good, and does not lead the places
// handed on by something that was dropped. Of one that cannot, nothing is handed on while the other
// can: not its gaps, not that it is stale.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/counter.hpp"
#include "common/wire/book_image.hpp"
#include "common/wire/book_update.hpp"

namespace tickpath::market {

// One writer, the polling thread; any thread reads.
struct MergeCounters {
  TICKPATH_COUNTERS(taken_a,     // updates handed on from the first mdh
                    taken_b,     // and from the second
                    duplicates,  // the other had handed on the same before
                    passed_by,   // dropped as the other was gone by, and had still to bring them
                    adoptions);  // times that one's images had to be shown, the first included
};

// Knows no fabric. The polling thread alone; allocates in the constructor only.
class FeedMerge {
 public:
  static constexpr std::size_t kSources = 2;
  static constexpr std::size_t kNone = kSources;

  // patience_ns: how long nobody can be gone by before an mdh that is in another session than the
  // last one is.
  FeedMerge(std::uint32_t instruments_max, std::uint64_t patience_ns);

  // ---- what is known of an mdh

  // Connected, or not any more: nothing of before is known.
  void reset(std::size_t source) noexcept;
  void set_alive(std::size_t source, bool alive) noexcept { at(source).alive = alive; }
  // Its images are complete, its directory is read and agrees with the other's.
  void set_ready(std::size_t source, bool ready) noexcept { at(source).ready = ready; }
  // The source lost updates: its place is not known before the next one, nor its numbering.
  void overrun(std::size_t source) noexcept;
  // wire::feed_word() and the trace id of its newest update, as of that.
  void set_word(std::size_t source, std::uint64_t word, std::uint64_t trace_id) noexcept;
  bool numbered(std::size_t source) const noexcept { return at(source).numbered; }

  // ---- what it publishes; true: to be handed on

  bool on_update(std::size_t source, const wire::BookUpdate& update) noexcept;
  bool on_image(std::size_t source, const wire::BookImage& image) noexcept;
  void on_numbering(std::size_t source, const wire::BookUpdate& update) noexcept;

  // ---- each turn

  // An mdh whose images are to be shown now, all of them, between begin_adoption() and
  // end_adoption(); kNone: no need, or nobody is there.
  std::size_t to_adopt(std::uint64_t now_ns) noexcept;
  void begin_adoption(std::size_t source) noexcept;
  void end_adoption(std::size_t source) noexcept;
  // The state of the whole feed as it is handed on.
  wire::FeedState state() const noexcept;
  // Instruments that the images of the last adoption showed as not good.
  const std::vector<std::uint32_t>& doubtful() const noexcept { return doubtful_; }

  bool can_follow(std::size_t source) const noexcept;
  bool alive() const noexcept { return sources_[0].alive || sources_[1].alive; }
  std::uint64_t last_trace_id() const noexcept { return last_.trace; }
  // An image of it is as new as what was handed on of that instrument.
  bool current(std::size_t source, const wire::BookImage& image) const noexcept;
  const MergeCounters& counters() const noexcept { return counters_; }  // any thread

 private:
  struct Place {
    std::uint64_t trace = 0;
    std::uint32_t index = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Source {
    bool alive = false;
    bool ready = false;
    bool numbered = false;  // numbering and state are known
    bool placed = false;    // place is
    bool adopting = false;
    bool adopted = false;   // its images were shown, and nothing of it since
    bool starting = false;  // a numbering: it says which books it drops
    bool holed = false;     // something was handed on past which it must not simply go on
    wire::FeedState state = wire::FeedState::kUnknown;
    std::uint64_t numbering = 0;
    Place place;  // of its newest update, handed on or not
  };
  // What was handed on of an instrument: the newest trace id, whether as an image, and whose.
  class Known {
   public:
    Known() = default;
    Known(std::uint64_t trace, bool image, std::size_t source) noexcept
        : word_(trace << 2 | (image ? 2u : 0u) | source) {}
    std::uint64_t trace() const noexcept { return word_ >> 2; }
    bool image() const noexcept { return (word_ & 2) != 0; }
    std::size_t source() const noexcept { return word_ & 1; }

   private:
    std::uint64_t word_ = 0;
  };

  Source& at(std::size_t source) noexcept { return sources_[source]; }
  const Source& at(std::size_t source) const noexcept { return sources_[source]; }
  const Source& other(std::size_t source) const noexcept { return sources_[1 - source]; }
  // The source is in the session that is handed on.
  bool here(const Source& source) const noexcept {
    return source.numbered && entered_ && source.numbering == numbering_;
  }
  // What it publishes next follows what was handed on.
  bool synced(const Source& source) const noexcept;
  bool covered(std::size_t source, const wire::BookUpdate& update, Place place) const noexcept;
  // Which sources live while none can be followed.
  struct Others {
    bool here = false;    // one is in the session that is handed on
    bool led = false;     // one is gone by, though it is not good
    bool begins = false;  // and has only not said so in its new session
  };
  int rank(const Source& source, const Others& others, bool patient) const noexcept;
  bool clears(const Source& source, const wire::BookUpdate& update) noexcept;
  void enter(std::uint64_t numbering) noexcept;

  std::array<Source, kSources> sources_;
  std::vector<Known> known_;
  std::vector<std::uint32_t> doubtful_;
  Place last_;
  Place high_;            // the highest last_ before an adoption went back
  bool any_ = false;      // last_ is known
  bool entered_ = false;  // numbering_ is
  bool holes_ = false;    // messages of this numbering were not handed on
  std::uint64_t numbering_ = 0;
  std::array<std::uint64_t, 4> former_{};  // numberings
  std::size_t former_next_ = 0;
  std::uint64_t patience_ns_;
  std::uint64_t alone_since_ns_ = 0;  // nobody can be gone by; 0: somebody can
  MergeCounters counters_;
};

}  // namespace tickpath::market
