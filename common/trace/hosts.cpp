#include "common/trace/hosts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tickpath::trace {
namespace {

constexpr std::size_t kNoHost = std::numeric_limits<std::size_t>::max();

std::uint64_t median_error(const std::vector<PeerPoint>& points) {
  std::vector<std::uint64_t> errors;
  for (const PeerPoint& point : points) errors.push_back(point.error_ns);
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2),
                   errors.end());
  return errors[errors.size() / 2];
}

}  // namespace

HostClocks::HostClocks(std::span<const TraceFile> files) {
  if (files.empty()) throw Error("no trace files to read");
  read_hosts(files);
  lines_.resize(hosts_.size());
  place_all(read_edges(files));
}

void HostClocks::read_hosts(std::span<const TraceFile> files) {
  for (const TraceFile& file : files) {
    const FileHeader& header = file.header();
    auto found = std::find_if(hosts_.begin(), hosts_.end(),
                              [&](const Host& host) { return host.id == header.host_id; });
    if (found == hosts_.end()) {
      Host host;
      host.id = header.host_id;
      host.name.assign(header.host_name, strnlen(header.host_name, sizeof(header.host_name)));
      hosts_.push_back(std::move(host));
      files_.push_back(0);
      found = hosts_.end() - 1;
    }
    ++files_[static_cast<std::size_t>(found - hosts_.begin())];
    const TimeLine line(file.sync_points(), header.tsc_hz);
    found->ticks_per_ns = line.ticks_per_ns();
    found->clock_steps = std::max(found->clock_steps, line.clock_steps());
  }
}

std::size_t HostClocks::index_of(const TraceFile& file) const {
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (hosts_[i].id == file.header().host_id) return i;
  throw Error(file.path() + ": its host is none of those that were read");
}

// One edge for two hosts and a direction: of several connections the one that was most precise.
std::vector<HostClocks::Edge> HostClocks::read_edges(std::span<const TraceFile> files) const {
  std::vector<Edge> edges;
  for (const TraceFile& file : files) {
    const std::size_t from = index_of(file);
    for (PeerClockPoints& clock : file.peer_clocks()) {
      const auto peer = std::find_if(hosts_.begin(), hosts_.end(),
                                     [&](const Host& host) { return host.id == clock.host_id; });
      if (peer == hosts_.end()) continue;  // no file of that host was given
      edges.push_back(
          {from, static_cast<std::size_t>(peer - hosts_.begin()), std::move(clock.points)});
    }
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return median_error(a.points) < median_error(b.points);
  });
  return edges;
}

// Breadth first from the host with the most files, over the most precise edges first; what cannot
// be reached gets a reference of its own.
void HostClocks::place_all(const std::vector<Edge>& edges) {
  for (Host& host : hosts_) host.reference = kNoHost;
  while (true) {
    std::size_t root = kNoHost;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (hosts_[i].reference != kNoHost) continue;
      if (root == kNoHost || files_[i] > files_[root]) root = i;
    }
    if (root == kNoHost) return;
    hosts_[root].reference = root;
    std::vector<std::size_t> reached{root};
    for (std::size_t next = 0; next < reached.size(); ++next) {
      for (const Edge& edge : edges) {
        if (edge.from != reached[next] && edge.to != reached[next]) continue;
        const std::size_t other = edge.from == reached[next] ? edge.to : edge.from;
        if (hosts_[other].reference != kNoHost) continue;
        place(other, reached[next], edge);
        reached.push_back(other);
      }
    }
  }
}

void HostClocks::place(std::size_t host, std::size_t parent, const Edge& edge) {
  Host& placed = hosts_[host];
  placed.reference = hosts_[parent].reference;
  std::vector<Point>& line = lines_[host];
  for (const PeerPoint& point : edge.points) {
    const bool ours = edge.from == host;
    const auto here = static_cast<double>(ours ? point.local : point.peer);
    const auto there = static_cast<double>(ours ? point.peer : point.local);
    const double reference = to_reference(parent, there);
    const double error = static_cast<double>(point.error_ns) + error_ns(parent, reference);
    line.push_back({here, reference, error});
  }
  std::sort(line.begin(), line.end(),
            [](const Point& a, const Point& b) { return a.here < b.here; });
  placed.points = line.size();
  const auto [least, most] =
      std::minmax_element(line.begin(), line.end(),
                          [](const Point& a, const Point& b) { return a.error_ns < b.error_ns; });
  placed.error_ns_min = std::llround(least->error_ns);
  placed.error_ns_max = std::llround(most->error_ns);
}

// Reference ticks a tick of this host, over all points when they are a second apart.
double HostClocks::slope(std::size_t host) const noexcept {
  const std::vector<Point>& line = lines_[host];
  const double span = line.back().here - line.front().here;
  if (span < 1e9 * hosts_[host].ticks_per_ns) return ticks_per_ns(host) / hosts_[host].ticks_per_ns;
  return (line.back().reference - line.front().reference) / span;
}

double HostClocks::rate_error_ppm(std::size_t host) const noexcept {
  const std::vector<Point>& line = lines_[host];
  const double span_ns = (line.back().here - line.front().here) / hosts_[host].ticks_per_ns;
  if (span_ns < 1e9) return kUnknownRatePpm;
  const double measured =
      (line.back().error_ns + line.front().error_ns) / span_ns * 1e6 + kWanderPpm;
  return std::min(measured, kUnknownRatePpm);
}

double HostClocks::to_reference(std::size_t host, double ticks) const noexcept {
  const std::vector<Point>& line = lines_[host];
  if (line.empty()) return ticks;
  const auto after =
      std::lower_bound(line.begin(), line.end(), ticks,
                       [](const Point& point, double at) { return point.here < at; });
  if (after == line.begin() || after == line.end()) {
    const Point& end = after == line.end() ? line.back() : line.front();
    return end.reference + (ticks - end.here) * slope(host);
  }
  const Point& before = *(after - 1);
  const double share = (ticks - before.here) / (after->here - before.here);
  return before.reference + share * (after->reference - before.reference);
}

double HostClocks::error_ns(std::size_t host, double reference_ticks) const noexcept {
  const std::vector<Point>& line = lines_[host];
  if (line.empty()) return 0;
  const double per_ns = ticks_per_ns(host);
  const auto after =
      std::lower_bound(line.begin(), line.end(), reference_ticks,
                       [](const Point& point, double at) { return point.reference < at; });
  if (after == line.begin() || after == line.end()) {
    const Point& end = after == line.end() ? line.back() : line.front();
    const double away_ns = std::abs(reference_ticks - end.reference) / per_ns;
    return end.error_ns + away_ns * rate_error_ppm(host) * 1e-6;
  }
  const Point& before = *(after - 1);
  const double away_ns =
      std::min(reference_ticks - before.reference, after->reference - reference_ticks) / per_ns;
  return std::max(before.error_ns, after->error_ns) + away_ns * kWanderPpm * 1e-6;
}

}  // namespace tickpath::trace
