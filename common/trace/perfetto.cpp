#include "common/trace/perfetto.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/trace/joined.hpp"
#include "common/trace/perfetto_packets.hpp"

namespace tickpath::trace {
namespace {

constexpr std::size_t kKernel = place(Hop::kMdhKernelRx);
// Counters have a value each 100 us, the largest within it: a value for each tick would be most of
// the file.
constexpr std::int64_t kBinNs = 100'000;
constexpr std::uint64_t kTickFlows = std::uint64_t{1} << 63;  // above the ids of orders

// The files are tracks 1, 2, ... of processes; each has a thread and the kernel beside it.
constexpr std::uint64_t process_track(std::size_t file) { return 10 * (file + 1); }
constexpr std::uint64_t thread_track(std::size_t file) { return process_track(file) + 1; }
constexpr std::uint64_t kernel_track(std::size_t file) { return process_track(file) + 2; }
constexpr std::uint64_t kCounterTracks = 1'000'000;

std::string text_of(const char* field, std::size_t size) {
  return std::string(field, ::strnlen(field, size));
}

// Reference ticks as CLOCK_REALTIME, by the first clock reading on the reference's host.
class WallClock {
 public:
  WallClock(std::span<const TraceFile> files, const HostClocks& clocks) : clocks_(clocks) {
    for (const TraceFile& file : files) {
      const std::size_t host = clocks.index_of(file);
      const auto points = file.sync_points();
      if (!points.empty()) first_.try_emplace(host, points.front());
    }
  }
  std::int64_t ns(std::size_t host, double ticks) const {
    const auto found = first_.find(clocks_.hosts()[host].reference);
    if (found == first_.end()) return std::llround(ticks / clocks_.ticks_per_ns(host));
    const double since = ticks - static_cast<double>(found->second.tsc);
    return found->second.realtime_ns + std::llround(since / clocks_.ticks_per_ns(host));
  }

 private:
  const HostClocks& clocks_;
  std::map<std::size_t, SyncPoint> first_;
};

// One stamp that is drawn.
struct Mark {
  std::int64_t at_ns = 0;
  std::uint64_t tick = 0;
  std::uint64_t order = 0;  // 0: a stamp of the tick
  std::uint8_t row = 0;
  std::uint8_t file = 0;
  std::int64_t before_ns = kFirst;  // the stamp before, of the same message and file
  std::vector<std::uint64_t> flows;
  static constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
};

// How many messages are between two hops.
struct Queue {
  const char* name;
  Hop from, to;
};
constexpr Queue kQueues[] = {
    {"ticks in mdh's socket", Hop::kMdhKernelRx, Hop::kMdhRx},
    {"ticks in the ring to strategies", Hop::kMdhPosted, Hop::kStrategySeen},
    {"requests in the channel to oeg", Hop::kStrategyPosted, Hop::kOegSeen},
    {"requests without a report", Hop::kOegSent, Hop::kOegReportRx},
};
// How many came to a hop, a millisecond.
struct Rate {
  const char* name;
  Hop hop;
};
constexpr Rate kRates[] = {{"ticks a millisecond", Hop::kMdhRx},
                           {"requests a millisecond", Hop::kOegSent}};
constexpr std::int64_t kRateNs = 1'000'000;

class PerfettoWriter {
 public:
  PerfettoWriter(std::span<const TraceFile> files, const PerfettoOptions& options)
      : files_(files), clocks_(files), joined_(files, clocks_), wall_(files, clocks_) {
    add_orders(options);
    if (options.all_ticks) add_other_ticks();
    add_counters();
  }

  PerfettoCounts write(std::ostream& out) {
    write_tracks(out);
    add_events();
    // At one time a slice ends before the next begins: they were added in this order.
    std::ranges::stable_sort(packets_, {}, &Packet::time_ns);
    for (const Packet& packet : packets_) out << packet.bytes;
    return counts_;
  }

 private:
  struct Packet {
    std::int64_t time_ns;
    std::string bytes;
  };
  struct Step {  // of a queue: one more or one less
    std::int64_t at_ns;
    int change;
  };

  template <std::size_t kHopsOf>
  std::int64_t time_of(const StampedHops<kHopsOf>& stamps, std::size_t row) const {
    return wall_.ns(joined_.host_of(stamps.file[row]), stamps.at[row]);
  }

  // The stamps of rows from `begin` to before `end`.
  template <std::size_t kHopsOf>
  std::vector<Mark> marks_of(const StampedHops<kHopsOf>& stamps, std::size_t begin, std::size_t end,
                             std::uint64_t tick, std::uint64_t order) const {
    std::vector<Mark> marks;
    for (std::size_t row = begin; row < end; ++row) {
      if (!stamps.has(row)) continue;
      Mark mark{time_of(stamps, row), tick,         order, static_cast<std::uint8_t>(row),
                stamps.file[row],     Mark::kFirst, {}};
      for (const Mark& before : marks)
        if (before.file == mark.file && before.row != kKernel) mark.before_ns = before.at_ns;
      marks.push_back(std::move(mark));
    }
    return marks;
  }

  // Stamps of a tick that caused several orders are drawn once.
  void add_orders(const PerfettoOptions& options) {
    std::map<std::pair<std::uint64_t, std::int64_t>, std::size_t> ticks;  // by its first stamp
    for (const auto& [id, order] : joined_.orders()) {
      if (!order.stamped() || (options.wanted && !options.wanted(id))) continue;
      ++counts_.flows;
      for (Mark& mark : marks_of(order, kTickHopCount, kHopCount, order.trace_id, id)) {
        // A decision begins with what the strategy saw.
        const std::size_t seen = place(Hop::kStrategySeen);
        if (mark.before_ns == Mark::kFirst && order.has(seen) && order.file[seen] == mark.file)
          mark.before_ns = time_of(order, seen);
        mark.flows = {id};
        marks_.push_back(std::move(mark));
      }
      for (Mark& mark : marks_of(order, 1, kTickHopCount, order.trace_id, 0)) {
        const std::uint64_t key = order.trace_id << 8 | mark.row;
        const auto [found, is_new] = ticks.try_emplace({key, mark.at_ns}, marks_.size());
        if (is_new) marks_.push_back(std::move(mark));
        marks_[found->second].flows.push_back(id);
      }
    }
  }

  void add_other_ticks() {
    std::unordered_map<std::uint64_t, bool> drawn;
    for (const Mark& mark : marks_)
      if (mark.order == 0) drawn[mark.tick] = true;
    for (const auto& [venue, feed] : joined_.feeds())
      for (const Ticks& session : feed)
        session.for_each_numbered(
            [&, venue = venue](std::uint64_t sequence, const TickTimes& tick) {
              const std::uint64_t id = tick_id(venue, sequence);
              if (!tick.stamped() || drawn.contains(id)) return;
              ++counts_.flows;
              for (Mark& mark : marks_of(tick, 1, kTickHopCount, id, 0)) {
                mark.flows = {kTickFlows | id};
                marks_.push_back(std::move(mark));
              }
            });
  }

  void write_tracks(std::ostream& out) {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const FileHeader& header = files_[i].header();
      const std::string program = text_of(header.program, sizeof(header.program));
      const std::string host = text_of(header.host_name, sizeof(header.host_name));
      // Processes of two hosts may have one number, which would make them one for Perfetto.
      const std::uint64_t process =
          header.process_id + std::uint64_t{10'000'000} * clocks_.index_of(files_[i]);
      out << thread_tracks(process_track(i), thread_track(i), process, program + " on " + host,
                           program + " datapath");
      counts_.tracks += 2;
      if (std::ranges::none_of(
              marks_, [&](const Mark& mark) { return mark.file == i && mark.row == kKernel; }))
        continue;
      out << child_track(kernel_track(i), process_track(i), "kernel, packets received");
      ++counts_.tracks;
    }
    for (const auto& [track, name] : counters_) out << counter_track(track, name);
    counts_.tracks += counters_.size();
  }

  void add_packet(std::int64_t time_ns, const TrackEvent& event) {
    const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(time_ns, 0));
    packets_.push_back({time_ns, event_packet(time, event)});
  }

  // A thread does one thing at a time: its slices follow each other, whatever messages they are of.
  void add_events() {
    std::ranges::stable_sort(marks_, [](const Mark& a, const Mark& b) {
      return std::pair(a.at_ns, a.row) < std::pair(b.at_ns, b.row);
    });
    std::vector<std::int64_t> ended(files_.size(), Mark::kFirst);
    for (const Mark& mark : marks_) {
      ++counts_.events;
      TrackEvent event{TrackEventType::kInstant,
                       mark.row == kKernel ? kernel_track(mark.file) : thread_track(mark.file),
                       kHops[mark.row].name,
                       mark.flows,
                       sequence_of_tick(mark.tick),
                       mark.order,
                       0};
      const std::int64_t begin = std::max(mark.before_ns, ended[mark.file]);
      if (mark.row != kKernel) ended[mark.file] = mark.at_ns;
      if (mark.row == kKernel || mark.before_ns == Mark::kFirst || begin >= mark.at_ns) {
        add_packet(mark.at_ns, event);
        continue;
      }
      event.type = TrackEventType::kSliceBegin;
      add_packet(begin, event);
      add_packet(mark.at_ns, {.type = TrackEventType::kSliceEnd, .track = event.track});
    }
  }

  void add_counters() {
    for (const Queue& queue : kQueues) {
      std::vector<Step> steps;
      for_each_message(queue.to, [&](const auto& stamps) {
        if (!stamps.has(place(queue.from)) || !stamps.has(place(queue.to))) return;
        steps.push_back({time_of(stamps, place(queue.from)), 1});
        steps.push_back({time_of(stamps, place(queue.to)), -1});
      });
      add_queue(queue.name, steps);
    }
    for (const Rate& rate : kRates) {
      std::map<std::int64_t, std::int64_t> bins;
      for_each_message(rate.hop, [&](const auto& stamps) {
        if (stamps.has(place(rate.hop))) ++bins[time_of(stamps, place(rate.hop)) / kRateNs];
      });
      add_rate(rate.name, bins);
    }
  }

  // Ticks, or orders where the hop is an order's.
  template <class Visit>
  void for_each_message(Hop hop, Visit&& visit) const {
    if (is_tick_hop(hop)) return joined_.for_each_tick(visit);
    for (const auto& [id, order] : joined_.orders()) visit(order);
  }

  std::uint64_t new_counter(const char* name) {
    const std::uint64_t track = kCounterTracks + counters_.size();
    counters_.emplace_back(track, name);
    return track;
  }

  void add_value(std::uint64_t track, std::int64_t at_ns, std::int64_t value) {
    add_packet(at_ns, {.type = TrackEventType::kCounter, .track = track, .value = value});
  }

  // The receiver may have been quicker than the stamp of the sender: never below zero.
  void add_queue(const char* name, std::vector<Step>& steps) {
    if (steps.empty()) return;
    const std::uint64_t track = new_counter(name);
    std::ranges::stable_sort(steps, {}, &Step::at_ns);
    std::int64_t depth = 0, shown = -1;
    for (std::size_t i = 0; i < steps.size();) {
      const std::int64_t bin = steps[i].at_ns / kBinNs;
      std::int64_t most = depth;
      for (; i < steps.size() && steps[i].at_ns / kBinNs == bin; ++i)
        most = std::max(most, depth += steps[i].change);
      most = std::max<std::int64_t>(most, 0);
      if (most != shown) add_value(track, bin * kBinNs, shown = most);
      const bool quiet = i == steps.size() || steps[i].at_ns / kBinNs > bin + 1;
      if (quiet && std::max<std::int64_t>(depth, 0) != shown)
        add_value(track, (bin + 1) * kBinNs, shown = std::max<std::int64_t>(depth, 0));
    }
  }

  void add_rate(const char* name, const std::map<std::int64_t, std::int64_t>& bins) {
    if (bins.empty()) return;
    const std::uint64_t track = new_counter(name);
    for (const auto& [bin, count] : bins) {
      add_value(track, bin * kRateNs, count);
      if (!bins.contains(bin + 1)) add_value(track, (bin + 1) * kRateNs, 0);
    }
  }

  std::span<const TraceFile> files_;
  HostClocks clocks_;
  Joined joined_;
  WallClock wall_;
  std::vector<Mark> marks_;
  std::vector<Packet> packets_;
  std::vector<std::pair<std::uint64_t, const char*>> counters_;
  PerfettoCounts counts_;
};

}  // namespace

PerfettoCounts write_perfetto(std::span<const TraceFile> files, const PerfettoOptions& options,
                              std::ostream& out) {
  return PerfettoWriter(files, options).write(out);
}

}  // namespace tickpath::trace
