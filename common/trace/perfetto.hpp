// A run's stamps as a trace that Perfetto opens (ui.perfetto.dev, trace_processor): a track a
// datapath thread, a flow an order, counters of rates and queues.
//
// The format is Perfetto's own protobuf: a Trace of TracePackets. A TrackDescriptor names a track;
// a TrackEvent is a slice, an instant or a counter's value (perfetto's repository,
// protos/perfetto/trace/trace_packet.proto and track_event/*.proto). Times are whole nanoseconds.
// So events of one microsecond keep their order, which they lose in the JSON format. Tools only;
// one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>

#include "common/trace/reader.hpp"

namespace tickpath::trace {

struct PerfettoOptions {
  // Ticks that led to no order, too. A run has hundreds of times as many of them as orders.
  bool all_ticks = false;
  // Which orders; empty: all that have a stamp. Counters are of all orders and ticks.
  std::function<bool(std::uint64_t order_id)> wanted;
};

struct PerfettoCounts {
  std::uint64_t tracks = 0;
  std::uint64_t flows = 0;   // orders; with all_ticks also ticks without one
  std::uint64_t events = 0;  // slices and instants
};

// Packets are in the order of their times. A slice ends at a stamp, and begins at the stamp before
// of the same message in the same program, or at the thread's last stamp if that is later. The
// first stamp of a message in a program is an instant. An order's id is the flow of all its events,
// and of those of the tick that caused it. A tick without an order has the flow 2^63 + its number.
// Times are CLOCK_REALTIME; stamps of hosts whose clocks were compared are on one host's. Throws
// Error: there are no files.
PerfettoCounts write_perfetto(std::span<const TraceFile> files, const PerfettoOptions& options,
                              std::ostream& out);

}  // namespace tickpath::trace
