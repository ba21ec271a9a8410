// One of the programs of a pipeline in lockstep: its configuration, its Runtime, its Application.
#pragma once

#include <memory>
#include <string>

#include "common/control/program.hpp"
#include "oeg/config.hpp"
#include "sim/config.hpp"
#include "tools/lockstep/lockstep.hpp"
#include "tools/lockstep/runtime.hpp"

namespace tickpath::lockstep {

// The application goes first, then what it runs on.
struct Member {
  std::string program;
  std::string name;
  std::shared_ptr<void> config;
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<control::Application> application;

  control::Datapath& datapath() const { return application->datapath(); }
};

// Where the others listen, by instance name; empty: there is none.
struct Peers {
  std::string mdh;
  std::string oeg;
};

// The configurations as they run in lockstep: no trace, no pinning, the shm provider, endpoints in
// the run directory. Throw config::ConfigError; for what needs threads of its own, too.
sim::SimConfig load_sim(const ProgramFile& file, const Options& options);
oeg::OegConfig load_oeg(const ProgramFile& file, const Options& options, const Peers& peers);

// Names the configuration of a sim, wherever it runs.
std::uint64_t digest_of(sim::SimConfig config);

// Sets the program up, in the calling thread. Throw what the applications throw.
Member make_sim(const sim::SimConfig& config);
Member make_oeg(const oeg::OegConfig& config);
Member make_mdh(const ProgramFile& file, const Options& options);
Member make_risk(const ProgramFile& file, const Options& options, const Peers& peers);
Member make_strategy(const ProgramFile& file, const Options& options, const Peers& peers);

}  // namespace tickpath::lockstep
