// The stamps of all trace files by feed message (tick) and by order, before any statistics.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/trace/hosts.hpp"
#include "common/trace/reader.hpp"

namespace tickpath::trace {

// An index of a file fits the byte beside each stamp.
inline constexpr std::size_t kFilesMax = 255;
inline constexpr double kUnset = std::numeric_limits<double>::quiet_NaN();

// Both by place; element 0, which is no hop's, stays unset.
template <std::size_t kHopsOf>
struct StampedHops {
  std::array<double, kHopsOf> at;            // ticks of the host's reference
  std::array<std::uint8_t, kHopsOf> file{};  // that the stamp is of
  StampedHops() { at.fill(kUnset); }
  bool has(std::size_t row) const { return !std::isnan(at[row]); }
  bool stamped() const {
    return std::ranges::any_of(at, [](double time) { return !std::isnan(time); });
  }
  // The first occurrence counts: an order has several reports.
  void note(std::size_t row, double time, std::uint8_t from) {
    if (has(row) && time >= at[row]) return;
    at[row] = time;
    file[row] = from;
  }
};

struct OrderTimes : StampedHops<kHopCount> {
  using StampedHops::has;
  std::uint64_t trace_id = 0;      // of the tick that caused it
  std::uint8_t strategy_file = 0;  // which said so
  bool has(Hop hop) const { return StampedHops::has(place(hop)); }
  double operator[](Hop hop) const { return at[place(hop)]; }
};

// A tick of one session of its feed. A day has some hundred million of them: they hold a tick's own
// hops alone. Where several mdhs have heard it, all of mdh's hops are of one; of several strategy
// programs it is the first.
struct TickTimes : StampedHops<kTickHopCount> {
  // In the first session: an order was caused by it, all of its stamps are in Joined::stamps_.
  bool wanted = false;
};

// By feed sequence: room for those around each that was stamped, whatever lies between.
class Ticks {
 public:
  TickTimes& make(std::uint64_t sequence);
  // nullptr: nothing near it was made.
  TickTimes* find(std::uint64_t sequence);
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [number, block] : blocks_)
      for (const TickTimes& tick : *block) visit(tick);
  }
  // The same with their sequence numbers.
  template <class Visit>
  void for_each_numbered(Visit&& visit) const {
    for (const auto& [number, block] : blocks_)
      for (std::size_t i = 0; i < kBlock; ++i) visit(number * kBlock + i, (*block)[i]);
  }
  bool stamped() const;
  // At least as many as have a stamp.
  std::size_t room() const noexcept { return blocks_.size() * kBlock; }

 private:
  static constexpr std::size_t kBlock = 64;  // 4 KiB
  using Block = std::array<TickTimes, kBlock>;

  std::unordered_map<std::uint64_t, std::unique_ptr<Block>> blocks_;
  std::uint64_t last_ = 0;  // stamps come in the order of the feed, nearly
  Block* last_block_ = nullptr;
};

struct Stamp {
  double time;
  std::uint8_t row;
  std::uint8_t file;
};

// A tick's id with its venue: as the stamp has it, else as the file says.
std::uint64_t with_venue(const TraceFile& file, std::uint64_t tick);

// Throws Error: `from` is no hop before `to`.
void require_later(Hop from, Hop to);

class Joined {
 public:
  // Throws Error for more than kFilesMax files. clocks: outlives this.
  Joined(std::span<const TraceFile> files, const HostClocks& clocks);

  // By venue, its ticks of each session that its sequence numbers began again with.
  using Feed = std::vector<Ticks>;
  const std::map<std::uint8_t, Feed>& feeds() const noexcept { return feeds_; }
  // Each has the stamps of the tick that caused it, in the feed's session of that time. They are of
  // its own strategy program, and of the mdh whose update was there first.
  const std::unordered_map<std::uint64_t, OrderTimes>& orders() const noexcept { return orders_; }
  const HostClocks& clocks() const noexcept { return clocks_; }
  std::size_t host_of(std::uint8_t file) const noexcept { return hosts_[file]; }
  // Between two hops of a tick or of an order, by place. Nothing: one of them has no stamp, or no
  // clock offset between their hosts was measured.
  template <std::size_t kHopsOf>
  std::optional<std::int64_t> elapsed_ns(const StampedHops<kHopsOf>& stamps, std::size_t from,
                                         std::size_t to) const {
    const double elapsed = stamps.at[to] - stamps.at[from];
    const std::size_t first = host_of(stamps.file[from]);
    if (std::isnan(elapsed) || !clocks_.comparable(first, host_of(stamps.file[to])))
      return std::nullopt;
    return std::llround(elapsed / clocks_.ticks_per_ns(first));
  }
  template <class Visit>
  void for_each_tick(Visit&& visit) const {
    for (const auto& [venue, feed] : feeds_)
      for (const Ticks& session : feed) session.for_each(visit);
  }

 private:
  using Stamps = std::vector<Stamp>;

  // Parts of the way of a message: what a stamp is joined with was read before it.
  enum Leg : std::uint8_t { kToFeed, kThroughMdh, kBehindMdh, kLegs };
  static Leg leg_of(std::size_t row);

  void read_links(const TraceFile& file, std::uint8_t index);
  void read_stamps(const TraceFile& file, std::uint8_t index, Leg leg);
  void note_tick(std::uint64_t id, const Stamp& stamp);
  void want(std::uint64_t id);
  bool is_wanted(std::uint64_t id);
  TickTimes& tick_of_session(std::uint64_t id, const Stamp& stamp);
  bool same_session(const TickTimes& times, const Stamp& stamp) const;
  double began(const TickTimes& times, const Stamp& stamp) const;
  void inherit(OrderTimes& order, const Stamps& stamps) const;
  const Stamp* newest(const Stamps& stamps, std::size_t row, int file, const Stamp& before) const;
  int mdh_of(const Stamps& stamps, const Stamp& before) const;

  const HostClocks& clocks_;
  std::vector<std::size_t> hosts_;                 // by file
  std::vector<std::array<bool, kLegs>> has_legs_;  // by file
  std::map<std::uint8_t, Feed> feeds_;
  std::unordered_map<std::uint64_t, OrderTimes> orders_;
  std::unordered_map<std::uint64_t, Stamps> stamps_;  // by tick, of those that orders name
};

}  // namespace tickpath::trace
