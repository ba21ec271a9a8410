#include "common/market/feed_merge.hpp"

#include <algorithm>

namespace tickpath::market {
namespace {

// The index of a place behind all updates of a message.
constexpr std::uint32_t kBehindAll = 1u << 30;

}  // namespace

FeedMerge::FeedMerge(std::uint32_t instruments_max, std::uint64_t patience_ns)
    : known_(instruments_max), patience_ns_(patience_ns) {
  doubtful_.reserve(instruments_max);
}

void FeedMerge::reset(std::size_t source) noexcept {
  const bool alive = at(source).alive;
  at(source) = {};
  at(source).alive = alive;
}

void FeedMerge::overrun(std::size_t source) noexcept {
  Source& self = at(source);
  self.placed = self.numbered = self.adopted = false;
}

void FeedMerge::set_word(std::size_t source, std::uint64_t word, std::uint64_t trace_id) noexcept {
  Source& self = at(source);
  self.place = {trace_id, kBehindAll};
  self.placed = true;
  self.numbering = word >> 8;
  self.state = static_cast<wire::FeedState>(word & 0xff);
  self.numbered = true;
}

bool FeedMerge::synced(const Source& source) const noexcept {
  if (!source.ready || !here(source)) return false;
  return source.adopted || (source.placed && !source.holed && any_ && source.place <= last_);
}

bool FeedMerge::can_follow(std::size_t source) const noexcept {
  const Source& self = at(source);
  return self.alive && self.state == wire::FeedState::kGood && synced(self);
}

// An instrument never goes back in time: what an image of the other showed, or the other handed on
// before an adoption went back to an earlier place, is not handed on again.
bool FeedMerge::covered(std::size_t source, const wire::BookUpdate& update,
                        Place place) const noexcept {
  if (update.instrument_id >= known_.size()) return false;
  const Known known = known_[update.instrument_id];
  const bool others = known.source() != source;
  if (known.image() || (others && place <= high_))
    return others && update.trace_id <= known.trace();
  return update.trace_id < known.trace();
}

// A new session drops the books. Each mdh says so of those that had orders there, before its first
// message: as many as it likes, so they have no place. One that has news already is not dropped.
bool FeedMerge::clears(const Source& source, const wire::BookUpdate& update) noexcept {
  const std::uint32_t id = update.instrument_id;
  if (!here(source) || id >= known_.size()) return false;
  if (known_[id].trace() != 0 || known_[id].image()) return false;
  known_[id] = Known(0, true, 0);
  return true;
}

bool FeedMerge::on_update(std::size_t source, const wire::BookUpdate& update) noexcept {
  Source& self = at(source);
  if (self.starting) [[unlikely]] {
    if (update.kind == wire::UpdateKind::kBookCleared) return clears(self, update);
    self.starting = false;
  }
  if (update.kind == wire::UpdateKind::kFeedState && update.instrument_id == wire::kNoInstrument) {
    self.state = update.feed_state();
    return false;  // state() says what it makes of the two
  }
  const bool placed = self.placed;
  const Place before = self.place;
  const Place place{update.trace_id,
                    placed && before.trace == update.trace_id ? before.index + 1 : 0};
  self.place = place;
  self.placed = true;
  if (!self.ready || !here(self)) {
    counters_.passed_by.add();
    return false;
  }
  if (any_ && !self.adopted && place <= last_) {
    counters_.duplicates.add();
    return false;
  }
  // Whether all that was handed on is all that it had published until now.
  const bool follows =
      self.adopted ||
      (any_ && !self.holed && (placed ? before <= last_ : place.trace <= last_.trace + 1));
  const bool next =
      follows && (!any_ || (place.trace == last_.trace && place.index == last_.index + 1) ||
                  (place.trace == last_.trace + 1 && place.index == 0));
  // One that is not good does not speak for another that is, and will be adopted in this turn.
  const Source& beside = other(source);
  const bool alone = self.state == wire::FeedState::kGood
                         ? !can_follow(1 - source)
                         : !(beside.alive && beside.ready && here(beside) &&
                             beside.state == wire::FeedState::kGood);
  if (!(next && self.state == wire::FeedState::kGood) && !(follows && alone)) {
    counters_.passed_by.add();
    return false;
  }
  // The other cannot go on behind a hole that is not its own: it had more to tell.
  if (any_ && !next) sources_[1 - source].holed = holes_ = true;
  self.adopted = false;
  last_ = place;
  any_ = true;
  if (covered(source, update, place)) {
    counters_.duplicates.add();
    return false;
  }
  if (update.instrument_id < known_.size())
    known_[update.instrument_id] = Known(update.trace_id, false, source);
  (source == 0 ? counters_.taken_a : counters_.taken_b).add();
  return true;
}

bool FeedMerge::current(std::size_t source, const wire::BookImage& image) const noexcept {
  return synced(at(source)) && image.instrument_id < known_.size() &&
         image.trace_id >= known_[image.instrument_id].trace();
}

bool FeedMerge::on_image(std::size_t source, const wire::BookImage& image) noexcept {
  // One of the session to come tells of what its updates will.
  if (!at(source).adopting || image.instrument_id >= known_.size() || !image.is_of(numbering_))
    return false;
  Known& known = known_[image.instrument_id];
  if (image.trace_id < known.trace()) return false;
  known = Known(image.trace_id, true, source);
  if (image.feed_state() != wire::FeedState::kGood && doubtful_.size() < doubtful_.capacity())
    doubtful_.push_back(image.instrument_id);
  return true;
}

void FeedMerge::on_numbering(std::size_t source, const wire::BookUpdate& update) noexcept {
  Source& self = at(source);
  const bool was_synced = synced(self);
  self.numbering = update.numbering();
  self.numbered = true;
  self.adopted = self.holed = false;
  self.placed = self.starting = true;
  self.place = {update.trace_id - 1, kBehindAll};
  self.state = wire::FeedState::kUnknown;
  if (entered_ && self.numbering == numbering_) {  // the other was first
    self.holed = holes_;
    return;
  }
  if (std::ranges::find(former_, self.numbering) != former_.end()) return;  // the other is ahead
  if (entered_ && !was_synced && can_follow(1 - source)) return;
  enter(self.numbering);
  // Books begin anew, and it says so of those that it had; what others had is their matter.
  self.adopted = was_synced;
  holes_ = update.trace_id > 1;
}

void FeedMerge::enter(std::uint64_t numbering) noexcept {
  if (entered_) former_[former_next_++ % former_.size()] = numbering_;
  std::ranges::replace(former_, numbering, std::uint64_t{0});
  numbering_ = numbering;
  entered_ = true;
  any_ = false;
  last_ = high_ = {};
  std::ranges::fill(known_, Known{});
  for (Source& source : sources_) source.adopting = source.adopted = false;
}

std::size_t FeedMerge::to_adopt(std::uint64_t now_ns) noexcept {
  if (can_follow(0) || can_follow(1)) {
    alone_since_ns_ = 0;
    return kNone;
  }
  if (alone_since_ns_ == 0) alone_since_ns_ = now_ns;
  const bool patient = now_ns - alone_since_ns_ < patience_ns_;
  Others others;
  for (const Source& source : sources_) {
    if (!source.alive) continue;
    if (source.adopting) return kNone;
    others.here |= here(source);
    if (!synced(source)) continue;
    others.led = true;
    others.begins |= source.state == wire::FeedState::kUnknown;
  }
  const int first = rank(sources_[0], others, patient);
  const int second = rank(sources_[1], others, patient);
  if (first == 0 && second == 0) return kNone;
  return second > first ? 1 : 0;
}

// How much it is wanted while nobody can be gone by; 0: not at all.
int FeedMerge::rank(const Source& source, const Others& others, bool patient) const noexcept {
  if (!source.alive || !source.ready || !source.numbered || synced(source)) return 0;
  const bool good = source.state == wire::FeedState::kGood;
  if (!entered_ || here(source)) {
    if (good) return others.begins && patient ? 0 : 4;
    return others.led ? 0 : 2;
  }
  if (patient) return 0;
  if (good) return 3;
  return others.here || others.led ? 0 : 1;
}

void FeedMerge::begin_adoption(std::size_t source) noexcept {
  Source& self = at(source);
  if (!entered_ || self.numbering != numbering_) enter(self.numbering);
  self.adopting = true;
  self.holed = false;
  doubtful_.clear();
  counters_.adoptions.add();
}

void FeedMerge::end_adoption(std::size_t source) noexcept {
  Source& self = at(source);
  if (!self.adopting) return;
  self.adopting = false;
  self.adopted = true;
  // From here on, even if the other was further: what was handed on of an instrument stands.
  if (any_) high_ = std::max(high_, last_);
  any_ = self.placed;
  last_ = self.place;
}

wire::FeedState FeedMerge::state() const noexcept {
  using enum wire::FeedState;
  wire::FeedState best = kUnknown;
  bool led = false;
  for (std::size_t source = 0; source < kSources; ++source) {
    if (can_follow(source)) return kGood;
    const Source& self = at(source);
    if (!self.alive || !synced(self)) continue;
    led = true;
    if (self.state == kEnded || (best == kUnknown && self.state == kStale)) best = self.state;
  }
  return any_ && !led ? kStale : best;
}

}  // namespace tickpath::market
