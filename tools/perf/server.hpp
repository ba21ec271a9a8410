// The serving side of `tickpath lat` and `tickpath bw`: one server for both, told by each client
// what to do.
#pragma once

#include <functional>
#include <string>

#include "tools/perf/data_link.hpp"

namespace tickpath::rdma::perf {

struct PerfServeOptions {
  std::string provider = "shm";
  std::string device;
  net::SecurityOptions security{};  // as PerfOptions::security
  std::string endpoint;             // shm: a path; verbs: "host:port"
  int cpu = -1;                     // -1: not pinned
  bool forever = false;             // else one client, then the end
  FloorLines* floor = nullptr;      // see DataLink
};

// Where a server listens when nobody says otherwise.
std::string default_perf_endpoint(const std::string& provider);

// Serves clients. `listening` is called once with the endpoint as bound and the device;
// `serving` when a client's control connection stands; `served` after each client with who it was
// and, if its session failed, why. A failed session ends the server (Error) unless `forever`.
// `abandoned` is asked some times a second while nobody is connected: true ends the server.
struct PerfServeEvents {
  std::function<void(const std::string& endpoint, const DeviceInfo& device)> listening;
  std::function<void(const std::string& peer)> serving;
  std::function<void(const std::string& peer, const std::string& failure)> served;
  std::function<bool()> abandoned;
};
void serve_perf(const PerfServeOptions& options, const PerfServeEvents& events);

}  // namespace tickpath::rdma::perf
