// The rows of stamps, from trace files: while their programs run, or after their end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "common/trace/hosts.hpp"
#include "common/trace/reader.hpp"

namespace tickpath::history {

// How ticks of a time stamp counter become nanoseconds since the Unix epoch.
struct ClockLine {
  double base_ticks = 0;
  std::int64_t base_ns = 0;
  double ticks_per_ns = 1;
};
// By the id of the host whose counter it is, the reference of its group (trace::Host).
using ClockLines = std::map<std::uint64_t, ClockLine>;

// What the files say of each reference host.
ClockLines clock_lines(std::span<const trace::TraceFile> files, const trace::HostClocks& clocks);

// The first clock reading of its program's life, nanoseconds; 0: none was written yet.
std::int64_t started_ns(const trace::TraceFile& file);

struct StampSource {
  std::string run;      // columns of every row
  std::string program;  // likewise
  // Whose ticks: those of another venue, in a program that hears several, are left out. 0: all.
  std::uint8_t venue = 0;
  // The orders whose stamps count, where the program is of several venues; nullptr: all.
  const std::unordered_set<std::uint64_t>* orders = nullptr;
  // A stamp was overwritten while this ran; an earlier load may have it.
  std::function<void()> overtaken = [] {};
};

// Called with the number of the stamp in its file, ascending, and its row in RowBinary. Stamps that
// were overwritten, also while this runs, are left out.
using StampSink = std::function<void(std::uint64_t number, std::string_view row)>;
void read_stamps(const trace::TraceFile& file, const trace::HostClocks& clocks,
                 const ClockLines& lines, const StampSource& source, const StampSink& sink);

// Adds every order that the file has a stamp of.
void gather_orders(const trace::TraceFile& file, std::unordered_set<std::uint64_t>& orders);

}  // namespace tickpath::history
