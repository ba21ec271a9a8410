#include "common/stores/home/lease.hpp"

#include <algorithm>
#include <bit>

namespace tickpath::home {
namespace {

// As often as programs beat elsewhere (control::Pulse): seven in dead_after.
constexpr std::uint64_t kBeatNs = 5'000'000;

}  // namespace

void HomeLease::attach(link::Connection& connection, const HomeRegions& regions,
                       std::uint32_t lanes) noexcept {
  use(connection);
  remote_ = regions.words;
  remote_.address += HomeLayout::kLanes;
  lanes_ = lanes;
  own_ = regions.own;
  known_ = failed_ = arrived_ = false;
  asked_ = Asked::kNothing;
  next_beat_ns_ = next_read_ns_ = 0;
  dead_ = 0;
  to_end_.store(0, std::memory_order_relaxed);
}

void HomeLease::detach() noexcept {
  leave();
  self_ = {};
  known_ = false;
  words_.fill(0);
  asked_ = Asked::kNothing;
}

bool HomeLease::ask(Asked what, rdma::Opcode opcode, std::uint32_t lane, std::uint64_t expected,
                    std::uint64_t desired) noexcept {
  rdma::WorkRequest request = read_of(remote_, sizeof(std::uint64_t));
  request.opcode = opcode;
  request.remote_address += lane * sizeof(std::uint64_t);
  request.compare_add = expected;
  request.swap = desired;
  if (what == Asked::kWords)
    request.length_bytes = kCacheLineBytes;
  else
    request.local_address = memory() + kCacheLineBytes;
  arrived_ = false;
  const rdma::PostStatus status = post(request);
  if (status != rdma::PostStatus::kOk) {
    failed_ |= status != rdma::PostStatus::kQueueFull;
    return false;
  }
  asked_ = what;
  asked_lane_ = lane;
  expected_ = expected;
  desired_ = desired;
  return true;
}

void HomeLease::step(std::uint64_t now_ns) noexcept {
  if (!attached() || failed_) return;
  if (asked_ != Asked::kNothing) {
    if (!arrived_) return;
    const Asked what = asked_;
    asked_ = Asked::kNothing;
    if (what == Asked::kWords) {
      take_words(now_ns);
    } else if (what == Asked::kBeat) {
      take_beat();
    } else {
      const std::uint64_t found = *reinterpret_cast<std::uint64_t*>(memory() + kCacheLineBytes);
      if (found == expected_) counters_.others.add();
      see(asked_lane_, found == expected_ ? desired_ : found);
    }
  }
  if (known_ && now_ns >= next_beat_ns_) {
    const wire::Lane own = wire::Lane::of_word(words_[own_]);
    const bool goes_on = self_.somebody && own.alive() && own.epoch == self_.epoch;
    if (ask(Asked::kBeat, rdma::Opcode::kCompareSwap, own_, words_[own_],
            (goes_on ? own.beaten() : own.begun()).word()))
      next_beat_ns_ = now_ns + kBeatNs;
    return;
  }
  if (known_ && end_one()) return;
  if (now_ns < next_read_ns_) return;
  if (!ask(Asked::kWords, rdma::Opcode::kRead, 0, 0, 0)) return;
  asked_ns_ = now_ns;
  next_read_ns_ = now_ns + options_.interval_ns;
}

void HomeLease::take_words(std::uint64_t now_ns) noexcept {
  // Placed by our own READ, whose completion we have.
  const auto* const words = reinterpret_cast<const std::uint64_t*>(memory());
  known_ = true;
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    const bool another =
        wire::Lane::of_word(words[lane]).epoch != wire::Lane::of_word(words_[lane]).epoch;
    see(lane, words[lane]);
    if (lane == own_ || !wire::Lane::of_word(words[lane]).alive()) continue;
    if (another) scores_[lane].restart(now_ns);
    if (scores_[lane].observe(words[lane], asked_ns_, now_ns) == link::Liveness::kDead)
      dead_ |= 1u << lane;
  }
}

// The answer to our own beat. Where it failed, somebody ended the epoch: the next beat begins
// another.
void HomeLease::take_beat() noexcept {
  const std::uint64_t found = *reinterpret_cast<std::uint64_t*>(memory() + kCacheLineBytes);
  if (found != expected_) {
    if (self_.somebody) counters_.ended.add();
    self_ = {};
    next_beat_ns_ = 0;
    return see(own_, found);
  }
  const wire::Lane now = wire::Lane::of_word(desired_);
  if (!self_.somebody || self_.epoch != now.epoch) counters_.begun.add();
  self_ = {now.epoch, static_cast<std::uint8_t>(own_), true};
  see(own_, desired_);
}

void HomeLease::see(std::uint32_t lane, std::uint64_t word) noexcept {
  const wire::Lane before = wire::Lane::of_word(words_[lane]);
  const wire::Lane now = wire::Lane::of_word(word);
  if (before.epoch != now.epoch || before.alive() != now.alive()) ++changes_;
  words_[lane] = word;
  if (lane == own_ && self_.somebody && (now.epoch != self_.epoch || !now.alive())) {
    counters_.ended.add();
    self_ = {};
    next_beat_ns_ = 0;
  }
}

bool HomeLease::end_one() noexcept {
  // Relaxed: see end_lane().
  const std::uint32_t all = dead_ | to_end_.load(std::memory_order_relaxed);
  if (all == 0) [[likely]]
    return false;
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(all));
  const wire::Lane now = wire::Lane::of_word(words_[lane % link::kLanesMax]);
  if (lane >= lanes_ || lane == own_ || !now.alive()) {
    dead_ &= ~(1u << lane);
    to_end_.fetch_and(~(1u << lane), std::memory_order_relaxed);
    return false;
  }
  if (!ask(Asked::kEnd, rdma::Opcode::kCompareSwap, lane, words_[lane], now.ended().word()))
    return false;
  // By silence: a beat that came since is a reason to look again.
  dead_ &= ~(1u << lane);
  return true;
}

}  // namespace tickpath::home
