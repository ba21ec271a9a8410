#include "common/trace/joined.hpp"

#include <algorithm>
#include <string>

#include "common/base/error.hpp"

namespace tickpath::trace {
namespace {

constexpr std::size_t kSeen = place(Hop::kStrategySeen);
constexpr std::size_t kSent = place(Hop::kSimSent);
// By row: a tick's hops that mdh stamps.
constexpr auto kOfMdh = [] {
  std::array<bool, kHopCount> of{};
  for (std::size_t row = 1; row < kTickHopCount; ++row)
    of[row] = kHops[row].name.starts_with("mdh.");
  return of;
}();
constexpr int kAnyFile = -1;
// A program may stamp a little late, and the clocks of two hosts are not exact.
constexpr double kSlackNs = 10e6;
// Programs stamp one message at one hop within this time; a session of a feed lasts longer.
constexpr double kSameSessionNs = 1e9;

}  // namespace

TickTimes& Ticks::make(std::uint64_t sequence) {
  const std::uint64_t number = sequence / kBlock;
  if (last_block_ == nullptr || number != last_) {
    std::unique_ptr<Block>& block = blocks_[number];
    if (block == nullptr) block = std::make_unique<Block>();
    last_ = number;
    last_block_ = block.get();
  }
  return (*last_block_)[sequence % kBlock];
}

TickTimes* Ticks::find(std::uint64_t sequence) {
  const std::uint64_t number = sequence / kBlock;
  if (last_block_ == nullptr || number != last_) {
    const auto found = blocks_.find(number);
    if (found == blocks_.end()) return nullptr;
    last_ = number;
    last_block_ = found->second.get();
  }
  return &(*last_block_)[sequence % kBlock];
}

bool Ticks::stamped() const {
  return std::ranges::any_of(blocks_, [](const auto& numbered) {
    return std::ranges::any_of(*numbered.second,
                               [](const TickTimes& tick) { return tick.stamped(); });
  });
}

std::uint64_t with_venue(const TraceFile& file, std::uint64_t tick) {
  return venue_of_tick(tick) != 0
             ? tick
             : tick_id(static_cast<std::uint8_t>(file.header().venue), sequence_of_tick(tick));
}

void require_later(Hop from, Hop to) {
  if (!is_known(from) || place(from) >= place(to))
    throw Error("a latency is from a hop to a later one");
}

Joined::Joined(std::span<const TraceFile> files, const HostClocks& clocks) : clocks_(clocks) {
  if (files.size() > kFilesMax)
    throw Error("more than " + std::to_string(kFilesMax) + " trace files: name some of them");
  for (const TraceFile& file : files) hosts_.push_back(clocks.index_of(file));
  has_legs_.resize(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) read_links(files[i], static_cast<std::uint8_t>(i));
  for (const auto& [id, order] : orders_)
    if (order.trace_id != 0) want(order.trace_id);
  for (const Leg leg : {kToFeed, kThroughMdh, kBehindMdh})
    for (std::size_t i = 0; i < files.size(); ++i)
      if (has_legs_[i][leg]) read_stamps(files[i], static_cast<std::uint8_t>(i), leg);
  std::erase_if(feeds_, [](const auto& feed) {
    return std::ranges::none_of(feed.second,
                                [](const Ticks& session) { return session.stamped(); });
  });
  for (auto& [id, order] : orders_)
    if (const auto found = stamps_.find(order.trace_id); found != stamps_.end())
      inherit(order, found->second);
}

Joined::Leg Joined::leg_of(std::size_t row) {
  return row == kSent ? kToFeed : kOfMdh[row] ? kThroughMdh : kBehindMdh;
}

// Noted in the first session, whichever it is that the order goes with.
void Joined::want(std::uint64_t id) {
  Feed& feed = feeds_[venue_of_tick(id)];
  if (feed.empty()) feed.emplace_back();
  feed.front().make(sequence_of_tick(id)).wanted = true;
}

bool Joined::is_wanted(std::uint64_t id) {
  Feed& feed = feeds_[venue_of_tick(id)];
  const TickTimes* const times = feed.empty() ? nullptr : feed.front().find(sequence_of_tick(id));
  return times != nullptr && times->wanted;
}

void Joined::read_links(const TraceFile& file, std::uint8_t index) {
  file.for_each([&](const Record& record) {
    const Hop hop = static_cast<Hop>(record.key >> 56);
    if (record.key != 0 && is_known(hop)) has_legs_[index][leg_of(place(hop))] = true;
    if (record.key == 0 || hop != Hop::kOrderLink) return;
    OrderTimes& order = orders_[record.key & kIdMask];
    order.trace_id = record.time == 0 ? 0 : with_venue(file, record.time);
    order.strategy_file = index;
  });
}

void Joined::read_stamps(const TraceFile& file, std::uint8_t index, Leg leg) {
  const TimeLine line(file.sync_points(), file.header().tsc_hz);
  file.for_each([&](const Record& record) {
    const Hop hop = static_cast<Hop>(record.key >> 56);
    if (record.key == 0 || !is_known(hop)) return;  // a link, or written by another version
    if (leg_of(place(hop)) != leg) return;
    const std::uint64_t id = record.key & kIdMask;
    const double own = info(hop).realtime_clock
                           ? line.tsc_of_realtime(static_cast<std::int64_t>(record.time))
                           : static_cast<double>(record.time);
    if (std::isnan(own)) return;
    const Stamp stamp{clocks_.to_reference(hosts_[index], own),
                      static_cast<std::uint8_t>(place(hop)), index};
    if (info(hop).keyed_by_order)
      orders_[id].note(stamp.row, stamp.time, index);
    else
      note_tick(with_venue(file, id), stamp);
  });
}

// Whether its stamp of this hop is of the same message. Clocks that cannot be compared do not say
// that it is another one.
bool Joined::same_session(const TickTimes& times, const Stamp& stamp) const {
  const std::size_t host = hosts_[stamp.file];
  return !clocks_.comparable(hosts_[times.file[stamp.row]], host) ||
         std::abs(times.at[stamp.row] - stamp.time) <= kSameSessionNs * clocks_.ticks_per_ns(host);
}

// Its first stamp that can be compared with this one; no number: there is none.
double Joined::began(const TickTimes& times, const Stamp& stamp) const {
  double first = kUnset;
  for (std::size_t row = 1; row < kTickHopCount; ++row)
    if (times.has(row) && clocks_.comparable(hosts_[times.file[row]], hosts_[stamp.file]))
      first = std::fmin(first, times.at[row]);
  return first;
}

// A hop that is stamped again more than kSameSessionNs later is of another session. Another hop is
// of the newest session that had begun before it, however long before: a program may have stalled,
// which has to show.
TickTimes& Joined::tick_of_session(std::uint64_t id, const Stamp& stamp) {
  const double limit = stamp.time + kSlackNs * clocks_.ticks_per_ns(hosts_[stamp.file]);
  const std::uint64_t sequence = sequence_of_tick(id);
  Feed& feed = feeds_[venue_of_tick(id)];
  TickTimes* newest = nullptr;
  double newest_began = -std::numeric_limits<double>::infinity();
  Ticks* unused = nullptr;
  for (Ticks& session : feed) {
    TickTimes* const times = session.find(sequence);
    if (times == nullptr || !times->stamped()) {
      if (unused == nullptr) unused = &session;
    } else if (times->has(stamp.row)) {
      if (same_session(*times, stamp)) return *times;
    } else {
      const double at = began(*times, stamp);
      if (std::isnan(at) ? newest == nullptr : at <= limit && at >= newest_began) {
        newest = times;
        if (!std::isnan(at)) newest_began = at;
      }
    }
  }
  if (newest != nullptr) return *newest;
  return (unused != nullptr ? *unused : feed.emplace_back()).make(sequence);
}

void Joined::note_tick(std::uint64_t id, const Stamp& stamp) {
  if (is_wanted(id)) stamps_[id].push_back(stamp);
  TickTimes& times = tick_of_session(id, stamp);
  // One mdh's times with another one's would be a way that no message went.
  bool other = false;
  for (std::size_t row = 1; kOfMdh[stamp.row] && row < kTickHopCount; ++row)
    other |= kOfMdh[row] && times.has(row) && times.file[row] != stamp.file;
  if (!other) times.note(stamp.row, stamp.time, stamp.file);
}

// Sequence numbers begin again with each session of a feed: the last one before the order. Where
// nothing was before, or the clocks cannot be compared, it is the first.
const Stamp* Joined::newest(const Stamps& stamps, std::size_t row, int file,
                            const Stamp& before) const {
  const std::size_t host = hosts_[before.file];
  const double limit = before.time + kSlackNs * clocks_.ticks_per_ns(host);
  const Stamp* first = nullptr;
  const Stamp* last = nullptr;
  for (const Stamp& each : stamps) {
    if (each.row != row || (file != kAnyFile && each.file != file)) continue;
    if (first == nullptr || each.time < first->time) first = &each;
    const bool is_before = clocks_.comparable(hosts_[each.file], host) && each.time <= limit;
    if (is_before && (last == nullptr || each.time > last->time)) last = &each;
  }
  return last != nullptr ? last : first;
}

// The one whose update was posted first, of those that were in time. A stamp that is much older
// than another one's is of an earlier session.
int Joined::mdh_of(const Stamps& stamps, const Stamp& before) const {
  const Stamp* chosen = nullptr;
  for (const Stamp& each : stamps) {
    if (!kOfMdh[each.row]) continue;
    const Stamp* posted = newest(stamps, place(Hop::kMdhPosted), each.file, before);
    if (posted == nullptr) posted = newest(stamps, each.row, each.file, before);
    if (chosen == nullptr) {
      chosen = posted;
      continue;
    }
    const double apart = (posted->time - chosen->time) / clocks_.ticks_per_ns(hosts_[each.file]);
    if (apart > kSameSessionNs || (apart < 0 && apart > -kSameSessionNs)) chosen = posted;
  }
  return chosen == nullptr ? kAnyFile : chosen->file;
}

// Gives an order the stamps of the tick that caused it.
void Joined::inherit(OrderTimes& order, const Stamps& stamps) const {
  Stamp own{std::numeric_limits<double>::max(), 0, order.strategy_file};
  for (std::size_t row = kTickHopCount; row < kHopCount; ++row)
    if (!std::isnan(order.at[row]) && order.at[row] < own.time)
      own = {order.at[row], 0, order.file[row]};
  const auto take = [&](const Stamp* stamp) {
    if (stamp != nullptr) order.note(stamp->row, stamp->time, stamp->file);
  };
  const Stamp* seen = newest(stamps, kSeen, order.strategy_file, own);
  if (seen == nullptr) seen = newest(stamps, kSeen, kAnyFile, own);
  take(seen);
  const Stamp& before = seen != nullptr ? *seen : own;
  const int mdh = mdh_of(stamps, before);
  for (std::size_t row = 1; row < kTickHopCount; ++row)
    if (kOfMdh[row]) take(newest(stamps, row, mdh, before));
  take(newest(stamps, kSent, kAnyFile, before));
}

}  // namespace tickpath::trace
