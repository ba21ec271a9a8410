// The counters of several hosts on one line, by what their programs measured of each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/trace/reader.hpp"

namespace tickpath::trace {

// A host that trace files came from.
struct Host {
  std::uint64_t id = 0;
  std::string name;
  // Hosts of one group can be compared; `reference` is the group's host whose counter is its time.
  std::size_t reference = 0;
  double ticks_per_ns = 1;        // of its own counter
  std::size_t clock_steps = 0;    // its realtime clock was set so often (TimeLine)
  std::size_t points = 0;         // measurements that place it; 0 for a reference
  std::int64_t error_ns_min = 0;  // of these, to the reference
  std::int64_t error_ns_max = 0;
};

// Built once from all files of a run; tools only.
//
// Each host is placed on its reference's time by straight lines between measured points. The error
// at a time is the larger one of the two points beside it, and what a rate may have wandered since
// the nearer one (kWanderPpm); before the first and after the last point, what the rate is unsure.
class HostClocks {
 public:
  // Crystals move by less than this within the seconds between two points.
  static constexpr double kWanderPpm = 0.2;
  // Two counters whose rates nobody compared: see clock::OffsetOptions::rate_error_ppm.
  static constexpr double kUnknownRatePpm = 200;

  // Throws Error: there are no files.
  explicit HostClocks(std::span<const TraceFile> files);

  std::span<const Host> hosts() const noexcept { return hosts_; }
  // The index of the host that the file came from. Throws Error when it is none of those given.
  std::size_t index_of(const TraceFile& file) const;

  // Ticks of the reference's counter when this host's showed `ticks`.
  double to_reference(std::size_t host, double ticks) const noexcept;
  // How far that may be wrong. 0 for a reference itself.
  double error_ns(std::size_t host, double reference_ticks) const noexcept;

  bool comparable(std::size_t a, std::size_t b) const noexcept {
    return hosts_[a].reference == hosts_[b].reference;
  }
  // The error of a difference of two times, one of each host; both in reference ticks.
  double error_ns(std::size_t a, double at_a, std::size_t b, double at_b) const noexcept {
    return a == b ? 0 : error_ns(a, at_a) + error_ns(b, at_b);
  }
  // The rate of the reference that this host's times are on.
  double ticks_per_ns(std::size_t host) const noexcept {
    return hosts_[hosts_[host].reference].ticks_per_ns;
  }

 private:
  struct Point {
    double here;       // ticks of this host
    double reference;  // ticks of its reference at the same moment
    double error_ns;
  };
  struct Edge {  // a measurement of `to` by a program on `from`
    std::size_t from;
    std::size_t to;
    std::vector<PeerPoint> points;
  };
  void read_hosts(std::span<const TraceFile> files);
  std::vector<Edge> read_edges(std::span<const TraceFile> files) const;
  void place_all(const std::vector<Edge>& edges);
  void place(std::size_t host, std::size_t parent, const Edge& edge);
  double slope(std::size_t host) const noexcept;
  double rate_error_ppm(std::size_t host) const noexcept;

  std::vector<Host> hosts_;
  std::vector<std::size_t> files_;         // by host: how many came from it
  std::vector<std::vector<Point>> lines_;  // by host; empty for a reference
};

}  // namespace tickpath::trace
