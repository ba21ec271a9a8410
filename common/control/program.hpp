// The skeleton of a program: command line, configuration, log, run directory, control thread,
// datapath thread, admin socket, ready state, orderly stop, summary.
//
//   class MdhApplication : public control::Application { ... };
//
//   int main(int argc, char** argv) {
//     return control::run_program<MdhConfig>(
//         argc, argv,
//         {.program = "mdh",
//          .description = "receives the feed, builds the books, publishes every change",
//          .schema = mdh_schema(),
//          .common = &MdhConfig::common,
//          .create = [](const MdhConfig& config, control::Runtime& runtime) {
//            return std::make_unique<MdhApplication>(config, runtime);
//          }});
//   }
//
// with `struct MdhConfig { control::CommonConfig common; ... };` and in mdh_schema()
// `schema.include("", &MdhConfig::common, control::common_schema());`.
//
// Command line: PROGRAM CONFIG [--set key=value]... [--run-dir DIR] [--check] [--print-config].
// With `.why_alone` it takes several configurations and runs an instance of each in one
// process: each has its own control thread, admin socket, log and files, and all of them are turned
// by one datapath thread (DESIGN.md, "Several instances in one process").
// Exit status: 0 stopped in order, 1 failed while running, 2 wrong command line or configuration,
// 75 the RDMA device was taken away (start the program again).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/config/config.hpp"
#include "common/control/common_config.hpp"
#include "common/control/datapath.hpp"
#include "common/control/runtime.hpp"
#include "common/control/summary.hpp"

namespace tickpath::control {

// A program's own part. Every member is called by the control thread.
//
// Life: constructor (sets everything up: regions, listeners, sockets; may throw Error) ->
// datapath thread starts -> on_start() -> ready once not_ready_reason() is empty -> begin_stop() ->
// drained() until true or datapath.stop_timeout is over -> datapath thread ends -> on_stopped() ->
// summarize() -> destructor.
class Application {
 public:
  virtual ~Application() = default;

  // Must exist from construction to destruction.
  virtual Datapath& datapath() = 0;

  // The datapath thread runs. Connect to others here without blocking for long: try, and try again
  // from on_tick() or a timer.
  virtual void on_start() {}

  // Every kTickMs milliseconds: drain rings from the datapath, retry connections.
  virtual void on_tick() {}

  // Empty once the program does its work; until then why not: "waiting for mdh at run/mdh.fabric".
  virtual std::string not_ready_reason() { return {}; }

  // What `status` says beside the counters (positions, replay progress, peers).
  virtual void describe(Json& /*status*/) {}

  // SIGINT, SIGTERM, or the admin command `stop`: leave nothing behind (cancel open orders, log
  // out), without blocking.
  virtual void begin_stop() {}
  // Asked every tick after begin_stop(): everything is settled, the datapath may end. `why` says
  // what is still open, for the log when the time is over.
  virtual bool drained(std::string& /*why*/) { return true; }

  // The datapath thread has ended: its state may now be touched from here.
  virtual void on_stopped() {}
  virtual void summarize(Summary& /*summary*/) {}
};

// Period of on_tick(). Short enough that connecting and draining feel immediate, long enough that
// the control threads of five programs cost two cores nothing (< 0.1 %).
inline constexpr int kTickMs = 10;

namespace detail {

// One configuration and what is made of it, the type erased.
struct ErasedInstance {
  std::shared_ptr<void> config;
  CommonConfig* common = nullptr;
  std::function<std::vector<std::string>()> check;
  std::function<std::vector<std::string>()> advice;
  std::function<std::unique_ptr<Application>(Runtime&)> create;
  std::function<std::string()> why_alone;
  std::function<std::string()> shard;
};

// ProgramSpec with the configuration's type erased.
struct ErasedProgram {
  std::string program;
  std::string description;
  const config::detail::SchemaCore* schema = nullptr;
  std::function<ErasedInstance()> make;  // with the defaults
  OpenDevice open_device;
  bool several = false;
};
int run_erased(int argc, char** argv, const ErasedProgram& program);

}  // namespace detail

template <class Config>
struct ProgramSpec {
  std::string program;      // "mdh"
  std::string description;  // one line for --help
  config::Schema<Config> schema;
  CommonConfig Config::*common;
  // What --check asks beyond the schema; returns what is wrong. Empty: nothing to ask.
  std::function<std::vector<std::string>(const Config&)> check = {};
  // What --check warns of: allowed, and seldom meant. Empty: nothing.
  std::function<std::vector<std::string>(const Config&)> advice = {};
  std::function<std::unique_ptr<Application>(const Config&, Runtime&)> create;
  OpenDevice open_device = {};
  // Set: several instances may share a process. Then nothing of them may be the process's: two do
  // not meet in a variable, a file or a socket. Returns why one of this configuration has to be
  // alone; empty: it need not.
  std::function<std::string(const Config&)> why_alone = {};
  // Which shard of its venue an instance trades; empty: all of it.
  std::function<std::string(const Config&)> shard = {};
};

template <class Config>
int run_program(int argc, char** argv, const ProgramSpec<Config>& spec) {
  const auto make = [&spec] {
    const auto config = std::make_shared<Config>();
    return detail::ErasedInstance{
        config,
        &((*config).*spec.common),
        [&spec, config] { return spec.check ? spec.check(*config) : std::vector<std::string>(); },
        [&spec, config] { return spec.advice ? spec.advice(*config) : std::vector<std::string>(); },
        [&spec, config](Runtime& runtime) { return spec.create(*config, runtime); },
        [&spec, config] { return spec.why_alone ? spec.why_alone(*config) : std::string(); },
        [&spec, config] { return spec.shard ? spec.shard(*config) : std::string(); }};
  };
  return detail::run_erased(argc, argv,
                            {spec.program, spec.description, &spec.schema.core(), make,
                             spec.open_device, spec.why_alone != nullptr});
}

}  // namespace tickpath::control
