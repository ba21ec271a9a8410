// A peer's deaths among the counters of a program.
#pragma once

#include <string>

#include "common/control/counters.hpp"
#include "common/link/heartbeat.hpp"

namespace tickpath::control {

// <peer>_losses: how often; <peer>_lost_at_ns: when last, by CLOCK_MONOTONIC, so that
// programs of one host and whoever killed the peer can compare.
inline void add_losses(Counters& counters, const std::string& group, const std::string& peer,
                       const link::Losses& losses) {
  counters.add(group, peer + "_losses", losses.count);
  counters.add(group, peer + "_lost_at_ns", losses.at_ns);
}

}  // namespace tickpath::control
