// The decisions of the router in <run_dir>/<name>.routes, which `tickpath routes` reads.
//
// File: frames one behind the other, host order. A program that starts again appends: a life begins
// with kLife and ends with kEnd; one that was killed has no end, and its last frame may be in part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/net/file_descriptor.hpp"
#include "strategy/route_record.hpp"

namespace tickpath::strategy {

// Before every frame. 0 magic | 4 bytes | 8 check
struct RouteFrame {
  enum : std::uint32_t {
    kLife = 0x31'66'6c'74,   // RouteLife
    kRoute = 0x31'6f'72'74,  // RouteHead, venue_count RouteVenue
    kEnd = 0x31'65'6e'74,    // RouteTally
  };
  std::uint32_t magic = 0;
  std::uint32_t bytes = 0;  // that follow; a multiple of 8
  std::uint64_t check = 0;  // fnv1a of these
};
static_assert(sizeof(RouteFrame) == 16);

struct RouteLife {
  std::uint64_t host_id = 0;  // clock::host_id(): `decided` is of its TSC
  std::uint64_t tsc_hz = 0;
  std::int64_t started_ns = 0;  // CLOCK_REALTIME
};

struct RouteTally {
  std::uint64_t routes = 0;    // decisions of this life
  std::uint64_t recorded = 0;  // that are in the file
};

// Control thread.
class RouteFile {
 public:
  // Appends to what is there. bytes_max: of the whole file; what finds no room is counted. Throws
  // SystemError naming the path.
  RouteFile(const std::string& path, std::uint64_t bytes_max);
  RouteFile(const RouteFile&) = delete;
  RouteFile& operator=(const RouteFile&) = delete;

  // Whatever the ring has. problem(): why the file does not take it, once something failed.
  void write(RouteRing& ring);
  // The last frame of this life; nothing is written behind it. routes: EngineCounters::routes.
  void end(std::uint64_t routes);

  std::uint64_t recorded() const noexcept { return recorded_; }
  std::uint64_t refused() const noexcept { return refused_; }  // the file was full, or failed
  const std::string& problem() const noexcept { return problem_; }

 private:
  bool append(std::uint32_t magic, const void* bytes, std::size_t size);
  void tell_full();

  std::string path_;
  std::uint64_t bytes_max_;
  net::FileDescriptor file_;
  std::uint64_t size_ = 0;  // of the file, up to the last whole frame of ours
  bool begun_ = false;      // kLife is in the file
  std::uint64_t recorded_ = 0;
  std::uint64_t refused_ = 0;
  std::string problem_;
};

// ---------------------------------------------------------------------------------------- reading

struct RecordedLife {
  RouteLife life;
  std::vector<RouteRecord> routes;
  bool ended = false;  // else it goes on, or was killed: what it decided last may be missing
  RouteTally tally;    // of one that ended
};

// Any thread, also while the program writes. Throws Error for a file that is none of these, or that
// is damaged in the middle of a life; SystemError.
std::vector<RecordedLife> read_routes(const std::string& path);

}  // namespace tickpath::strategy
