#include "tools/history/trace_source.hpp"

#include <atomic>
#include <cmath>

#include "tools/history/row_writer.hpp"

namespace tickpath::history {

ClockLines clock_lines(std::span<const trace::TraceFile> files, const trace::HostClocks& clocks) {
  ClockLines lines;
  for (const trace::TraceFile& file : files) {
    const std::size_t host = clocks.index_of(file);
    if (clocks.hosts()[host].reference != host) continue;
    const auto points = file.sync_points();
    const std::uint64_t id = clocks.hosts()[host].id;
    if (points.empty() || lines.contains(id)) continue;
    lines[id] = {static_cast<double>(points.front().tsc), points.front().realtime_ns,
                 clocks.ticks_per_ns(host)};
  }
  return lines;
}

std::int64_t started_ns(const trace::TraceFile& file) {
  const auto points = file.sync_points();
  return points.empty() ? 0 : points.front().realtime_ns;
}

void read_stamps(const trace::TraceFile& file, const trace::HostClocks& clocks,
                 const ClockLines& lines, const StampSource& source, const StampSink& sink) {
  const std::int64_t started = started_ns(file);
  const std::size_t host = clocks.index_of(file);
  const std::size_t reference = clocks.hosts()[host].reference;
  const auto found = lines.find(clocks.hosts()[reference].id);
  if (started == 0 || found == lines.end()) return;
  const ClockLine& line = found->second;
  const trace::TimeLine own(file.sync_points(), file.header().tsc_hz);
  const auto records = file.records();
  // Acquire: the records that are counted are in the file.
  const std::uint64_t written = file.header().written.load(std::memory_order_acquire);
  const std::uint64_t kept = std::min<std::uint64_t>(written, records.size());
  RowWriter row;
  for (std::uint64_t number = written - kept; number < written; ++number) {
    const trace::Record record = records[number % records.size()];
    // The program may have come around while we read: it says so before it writes. The fence keeps
    // the copy ahead of this look.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (file.header().writing.load(std::memory_order_relaxed) > number + records.size()) {
      source.overtaken();
      continue;
    }
    const auto hop = static_cast<trace::Hop>(record.key >> 56);
    const bool link = hop == trace::Hop::kOrderLink;
    if (record.key == 0 || (!link && !trace::is_known(hop))) continue;  // of another version
    const trace::HopInfo& info = trace::info(hop);
    const std::uint64_t id = record.key & trace::kIdMask;
    const bool of_order = link || info.keyed_by_order;
    const std::uint64_t tick = link ? record.time : of_order ? 0 : id;
    const bool own_tick = trace::is_of_venue(tick, source.venue);
    if (of_order ? source.orders != nullptr && !source.orders->contains(id) : !own_tick) continue;
    double ticks =
        link ? line.base_ticks
        : info.realtime_clock
            ? clocks.to_reference(host, own.tsc_of_realtime(static_cast<std::int64_t>(record.time)))
            : clocks.to_reference(host, static_cast<double>(record.time));
    if (std::isnan(ticks)) ticks = line.base_ticks;  // of the kernel, while the clock was set
    row.clear();
    row.text(source.run)
        .text(source.program)
        .number(started)
        .number(number)
        .number(static_cast<std::uint8_t>(reference))
        .number(line.base_ns + std::llround((ticks - line.base_ticks) / line.ticks_per_ns))
        .text(link ? "order.link" : info.name)
        .number(static_cast<std::uint8_t>(link ? 0 : trace::place(hop)))
        .number(own_tick ? trace::sequence_of_tick(tick) : 0)
        .number(of_order ? id : 0);
    sink(number, row.bytes());
  }
}

void gather_orders(const trace::TraceFile& file, std::unordered_set<std::uint64_t>& orders) {
  file.for_each([&](const trace::Record& record) {
    const auto hop = static_cast<trace::Hop>(record.key >> 56);
    if (hop == trace::Hop::kOrderLink || (trace::is_known(hop) && trace::info(hop).keyed_by_order))
      orders.insert(record.key & trace::kIdMask);
  });
}

}  // namespace tickpath::history
