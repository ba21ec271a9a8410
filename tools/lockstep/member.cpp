#include "tools/lockstep/member.hpp"

#include "mdh/application.hpp"
#include "oeg/application.hpp"
#include "risk/application.hpp"
#include "sim/application.hpp"
#include "strategy/application.hpp"
#include "tools/lockstep/digest.hpp"

namespace tickpath::lockstep {
namespace {

std::string endpoint(const Options& options, const std::string& name) {
  return options.run_dir + "/" + name + ".fabric";
}

template <class Config>
Config load(const config::Schema<Config>& schema, const ProgramFile& file, const Options& options) {
  Config config = config::load_file(schema, file.path, file.settings);
  control::CommonConfig& common = config.common;
  common.name = file.name;
  common.run_dir = options.run_dir;
  common.trace_enabled = false;  // virtual times tell nothing of a machine
  common.cpu = control::kCpuUnpinned;
  common.wait = control::WaitMode::kSpin;
  common.fabric.provider = "shm";
  common.fabric.security = {};
  common.fabric_endpoint = endpoint(options, file.name);
  return config;
}

template <class Config>
void name_paths(const config::Schema<Config>& schema, Config& config) {
  config::substitute(schema, config, "run_dir", config.common.run_dir);
  config::substitute(schema, config, "name", config.common.name);
}

template <class App, class Config>
Member make(const std::string& program, const Config& given) {
  const auto config = std::make_shared<Config>(given);
  Member member;
  member.program = program;
  member.name = config->common.name;
  member.config = config;
  member.runtime = std::make_unique<Runtime>(program, config->common);
  member.application = std::make_unique<App>(*config, *member.runtime);
  return member;
}

// A program that takes mdh's market data and oeg's orders or their reports.
template <class App, class Config>
Member make_follower(const std::string& program, const config::Schema<Config>& schema,
                     const ProgramFile& file, const Options& options, const Peers& peers) {
  Config config = load(schema, file, options);
  config.feed.endpoint = endpoint(options, peers.mdh);
  config.gateway_endpoint = endpoint(options, peers.oeg);
  name_paths(schema, config);
  return make<App>(program, config);
}

// What runs in threads of its own, beside the datapath, cannot be in step with it.
[[noreturn]] void refuse(const ProgramFile& file, const char* key, const char* why) {
  throw config::ConfigError({file.path + ": " + key + ": " + why});
}
constexpr const char* kRetransmission =
    "retransmission is answered over the network and by a thread of its own; it does not run in "
    "lockstep, set it to \"\"";

}  // namespace

sim::SimConfig load_sim(const ProgramFile& file, const Options& options) {
  const auto schema = sim::sim_schema();
  sim::SimConfig config = load(schema, file, options);
  if (!config.feed.retransmission_listen.empty())
    refuse(file, "feed.retransmission.listen", kRetransmission);
  config.feed.snapshot_listen.clear();  // nobody joins late, and nothing is lost
  config.replay.start = sim::StartRule::kCommand;
  if (options.seed) config.feed.seed = config.latency.seed = *options.seed;
  if (config.orders.empty()) config.orders.emplace_back();
  // Nobody connects there; port 0 meets no other program.
  for (sim::OrderSessionConfig& session : config.orders) session.listen = {"127.0.0.1", 0};
  name_paths(schema, config);
  return config;
}

std::uint64_t digest_of(sim::SimConfig config) {
  const std::string run_dir = config.common.run_dir;
  std::string text = config::print_effective(sim::sim_schema(), config);
  // Two run directories are no difference.
  for (std::size_t at = text.find(run_dir); !run_dir.empty() && at != std::string::npos;
       at = text.find(run_dir, at))
    text.erase(at, run_dir.size());
  Digest digest;
  digest.add(text);
  return digest.value();
}

oeg::OegConfig load_oeg(const ProgramFile& file, const Options& options, const Peers& peers) {
  const auto schema = oeg::oeg_schema();
  oeg::OegConfig config = load(schema, file, options);
  config.mdh.endpoint = endpoint(options, peers.mdh);
  name_paths(schema, config);
  return config;
}

Member make_sim(const sim::SimConfig& config) { return make<sim::SimApplication>("sim", config); }

Member make_oeg(const oeg::OegConfig& config) { return make<oeg::OegApplication>("oeg", config); }

Member make_mdh(const ProgramFile& file, const Options& options) {
  const auto schema = mdh::mdh_schema();
  mdh::MdhConfig config = load(schema, file, options);
  if (!config.retransmission_server.empty())
    refuse(file, "feed.retransmission.server", kRetransmission);
  if (!config.shard.empty())
    refuse(file, "feed.shard", "deterministic replay runs one mdh, which has all symbols");
  config.snapshot_server.clear();  // nobody joins late, and nothing is lost
  name_paths(schema, config);
  // A group's rings come and go by the monitors' threads, at no moment of virtual time.
  config.publish.mode = mdh::PublishMode::kWrite;
  return make<mdh::MdhApplication>("mdh", config);
}

Member make_risk(const ProgramFile& file, const Options& options, const Peers& peers) {
  return make_follower<risk::RiskApplication>("risk", risk::risk_schema(), file, options, peers);
}

Member make_strategy(const ProgramFile& file, const Options& options, const Peers& peers) {
  return make_follower<strategy::StrategyApplication>("strategy", strategy::strategy_schema(), file,
                                                      options, peers);
}

}  // namespace tickpath::lockstep
