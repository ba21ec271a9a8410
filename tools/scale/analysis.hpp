// The table: how busy each link is, by arithmetic. The simulation is the other half
// (simulation.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/scale/layout.hpp"

namespace tickpath::scale {

// The load of the busiest place of its kind.
struct Load {
  Link link;
  std::uint32_t places = 0;  // how many there are
  double messages = 0;       // a second: requests of an adapter, messages of a core
  double gbps = 0;           // of an adapter, on the wire
  double utilisation = 0;    // 1: as fast as they come, and no more
  double mean = 0;           // utilisation of all of them on the average
};

struct Analysis {
  std::vector<Load> loads;          // of links that carry anything, in the order of the path
  Link first{};                     // the busiest of them: what saturates first
  double utilisation = 0;           // its
  double rate_max = 0;              // messages a second of the feed at which it does
  std::uint32_t deliveries = 0;     // WRITEs an update, of the shard that has most
  bool fits = true;                 // mdh has room for so many subscribers
  double updates_of_a_program = 0;  // messages a second that a strategy program sees, most
  double orders = 0;                // a second, all
};

Analysis analyse(const Scenario& scenario);

// The loads of the busiest place of each kind; `of` has one Load a place of the layout, kinds not
// yet set.
std::vector<Load> busiest(const Layout& layout, const std::vector<Load>& of);

// N hosts of M cores: how many of them, at most, to give to mdh's, to strategies and to oegs, and
// how many shards and strategy programs to run there, so that the most messages a second go
// through.
struct Machines {
  std::uint32_t hosts = 8;
  std::uint32_t cores = 32;          // of one
  std::uint32_t reserved_cores = 2;  // of one: the kernel, interrupts, control threads
  bool limited = true;  // to the shards and subscribers that the programs have room for
};
struct Plan {
  bool possible = false;
  Scenario scenario;
  Analysis analysis;
};
// Tries every division. scenario: costs, gateways, strategies; its hosts, shards and programs are
// replaced. Routes by instrument: a gateway hears the shards of its own.
Plan plan(const Scenario& scenario, const Machines& machines);

}  // namespace tickpath::scale
