#include "tools/watch/recent_hops.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <vector>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/clock/clock.hpp"
#include "common/clock/host.hpp"
#include "common/trace/joined.hpp"

namespace tickpath::watch {
namespace {

using trace::Hop;

// Only files that this host's counter stamps: neither those of an earlier boot nor copies from
// another host.
std::vector<trace::TraceFile> newest_files(const std::string& run_dir, TscTicks since,
                                           std::size_t stamps_max) {
  std::vector<trace::TraceFile> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir, none)) {
    if (entry.path().extension() != ".trace") continue;
    try {
      trace::TraceFile file(entry.path(), since, stamps_max);
      if (file.header().host_id == clock::host_id()) files.push_back(std::move(file));
    } catch (const Error&) {  // it is being made, or is none
    }
  }
  return files;
}

// visit(from, to) for each hop that was stamped and the one before it. Only a hop that not every
// message passes may lie between: with any other, a stamp is missing.
template <class Stamps, class Visit>
void for_each_step(const Stamps& stamps, std::size_t rows, Visit&& visit) {
  std::size_t from = 0;
  for (std::size_t row = 1; row < rows; ++row) {
    if (stamps.has(row)) {
      if (from != 0) visit(from, row);
      from = row;
    } else if (!trace::kHops[row].optional) {
      from = 0;
    }
  }
}

}  // namespace

RecentHops::RecentHops(std::string run_dir, const RecentHopsOptions& options)
    : run_dir_(std::move(run_dir)), options_(options), hz_(clock::tsc_hz()) {}

TscTicks RecentHops::before(TscTicks time, std::int64_t ns) const noexcept {
  const double ticks = static_cast<double>(ns) * 1e-9 * static_cast<double>(hz_);
  return {time.value - std::min(time.value, static_cast<std::uint64_t>(ticks))};
}

void RecentHops::look() { look(tsc_now()); }

void RecentHops::look(TscTicks now) {
  const TscTicks to = before(now, options_.settle_ns);
  // The first look has the whole window to show; `total` begins there, too.
  const TscTicks from = seen_.value == 0 ? before(to, options_.window_ns) : seen_;
  if (to.value <= from.value) return;
  add_samples(from, to);
  seen_ = to;
  sum_up(to);
}

void RecentHops::sum_up(TscTicks now) {
  slices_.erase(slices_.begin(), slices_.upper_bound(slice_at(before(now, options_.window_ns))));
  for (auto& [pair, latencies] : latencies_) latencies.window = {};
  for (const auto& [number, slice] : slices_)
    for (const auto& [pair, samples] : slice) latencies_[pair].window.add(samples);
}

std::uint64_t RecentHops::slice_at(TscTicks time) const noexcept {
  const double length = static_cast<double>(options_.window_ns) * 1e-10 * static_cast<double>(hz_);
  return static_cast<std::uint64_t>(static_cast<double>(time.value) / length);
}

void RecentHops::add_samples(TscTicks from, TscTicks to) {
  const auto files = newest_files(run_dir_, before(from, options_.join_ns), options_.stamps_max);
  files_ = files.size();
  for (const trace::TraceFile& file : files) cut_short_ += file.cut_short() ? 1 : 0;
  if (files.empty() || files.size() > trace::kFilesMax) return;
  const trace::HostClocks clocks(files);
  const trace::Joined joined(files, clocks);
  const auto add = [&](const auto& stamps, std::size_t first, std::size_t last) {
    const double end = stamps.at[last];
    if (std::isnan(end) || end < static_cast<double>(from.value) ||
        end >= static_cast<double>(to.value))
      return;
    const auto ns = joined.elapsed_ns(stamps, first, last);
    if (!ns) return;
    const HopPair pair{trace::kHops[first].hop, trace::kHops[last].hop};
    slices_[slice_at({static_cast<std::uint64_t>(end)})][pair].add(*ns);
    latencies_[pair].total.add(*ns);
  };
  joined.for_each_tick([&](const trace::TickTimes& tick) {
    for_each_step(tick, trace::kTickHopCount,
                  [&](std::size_t first, std::size_t last) { add(tick, first, last); });
  });
  for (const auto& each : joined.orders()) {
    const trace::OrderTimes& order = each.second;
    for_each_step(order, trace::kHopCount, [&](std::size_t first, std::size_t last) {
      if (last >= trace::kTickHopCount) add(order, first, last);  // ticks have theirs already
    });
    if (order.has(kTickToOrder.first))
      add(order, trace::place(kTickToOrder.first), trace::place(kTickToOrder.second));
  }
}

}  // namespace tickpath::watch
