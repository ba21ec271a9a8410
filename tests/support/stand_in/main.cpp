// Stands in for any of the five programs (by the name it is started as) so that tests of `tickpath
// up` can make them late, slow to stop, or die, without a market.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "common/control/program.hpp"

namespace {

using namespace tickpath;
using control::Json;

struct StandInConfig {
  control::CommonConfig common;
  int ready_after_ms = 0;         // -1: never
  int die_after_ms = -1;          // after the start of the program
  int die_in_replay_ms = -1;      // after the replay began: everything is up by then
  int drain_ms = 0;               // -1: never
  int linger_ms = 0;              // from its last word to its exit
  int replay_ms = 300;            // sim
  std::uint64_t lost_orders = 0;  // strategy: sent, and never answered
  std::string problem;            // in its summary
  std::uint64_t epoch = 0;        // oeg: 0: of no pair
  bool leads = false;             // oeg: at first
  std::string diary = "{run_dir}/diary";
};

config::Schema<StandInConfig> schema() {
  using C = StandInConfig;
  config::Schema<C> schema;
  schema.include("", &C::common, control::common_schema());
  schema.integer("ready_after", &C::ready_after_ms, {-1, 60'000}, "ms", "Late by so much");
  schema.integer("die_after", &C::die_after_ms, {-1, 60'000}, "ms", "Kills itself");
  schema.integer("die_in_replay", &C::die_in_replay_ms, {-1, 60'000}, "ms",
                 "Kills itself so long after sim began to replay");
  schema.integer("drain", &C::drain_ms, {-1, 60'000}, "ms", "Time to settle");
  schema.integer("linger", &C::linger_ms, {0, 60'000}, "ms", "Time to exit, once all is ended");
  schema.integer("replay", &C::replay_ms, {0, 60'000}, "ms", "Length of the replay");
  schema.integer("lost_orders", &C::lost_orders, {0, 100}, "", "Sent and never answered");
  schema.text("problem", &C::problem, "Why the run failed");
  schema.integer("epoch", &C::epoch, {0, 100}, "", "Of a pair");
  schema.flag("leads", &C::leads, "Of the pair");
  schema.path("diary", &C::diary, "Where all note what happens, in order");
  return schema;
}

class StandIn final : public control::Application, public control::Datapath {
 public:
  StandIn(const StandInConfig& config, control::Runtime& runtime, std::string program)
      : config_(config), runtime_(runtime), program_(std::move(program)) {
    note("starts");
    static int linger_ms = 0;  // outlives all that the program takes apart
    linger_ms = config.linger_ms;
    std::atexit([] { std::this_thread::sleep_for(std::chrono::milliseconds(linger_ms)); });
    ready_ = later(config.ready_after_ms, is_ready_);
    if (program_ == "risk") add_kill_commands();
    if (program_ == "oeg")
      runtime.add_command("revoke", "notes it", [this](const Json&) {
        note("revokes");
        return Json{{"revoked", 1}};
      });
    if (program_ == "oeg")
      runtime.add_command("switch", "the other one leads", [this](const Json&) {
        std::ofstream(switch_path()) << "switched";
        return Json::object();
      });
    if (config.die_after_ms >= 0) die_after(config.die_after_ms);
    if (config.die_in_replay_ms >= 0)
      look_ = runtime.every(std::chrono::milliseconds(20), [this] {
        if (!dies_ && replaying()) die_after(config_.die_in_replay_ms);
      });
    if (program_ != "sim") return;
    runtime.add_command("start", "begins the replay", [this](const Json&) {
      state_ = "running";
      note("replays");
      end_ = runtime_.after(std::chrono::milliseconds(config_.replay_ms), [this] {
        if (state_ == "running") state_ = "ended";
      });
      return Json::object();
    });
    runtime.add_command("halt", "ends the replay", [this](const Json&) {
      if (state_ == "running") state_ = "halted";
      note("halts");
      return Json::object();
    });
  }

  control::Datapath& datapath() override { return *this; }
  bool turn() noexcept override { return false; }
  std::string not_ready_reason() override { return is_ready_ ? "" : "waiting for Godot"; }
  void describe(Json& status) override {
    if (program_ == "risk" || program_ == "oeg") status["kill_switch"] = kill_switch();
    if (program_ == "oeg") status["venue"] = {{"logged_on", true}};
    if (config_.epoch != 0) status["pair"] = pair();
    if (program_ == "strategy" && !config_.problem.empty())
      status["plugins"] = {{{"strategy", 1}, {"state", "unusable"}, {"error", config_.problem}}};
    if (program_ == "sim")
      status["replay"] = {{"state", state_}, {"messages_sent", 5}, {"messages_total", 10}};
  }
  void begin_stop() override {
    note("stops");
    settled_ = later(config_.drain_ms, is_settled_);
  }
  bool drained(std::string& why) override {
    why = "still thinking";
    return is_settled_;
  }
  void on_stopped() override { note("stopped"); }
  void summarize(control::Summary& summary) override {
    if (!config_.problem.empty()) summary.problems.push_back(config_.problem);
    if (program_ != "strategy") return;
    summary.strategy_id = 1;
    summary.orders = control::RequestFlow{};
    summary.orders->sent = config_.lost_orders;
    summary.orders->unanswered = config_.lost_orders;
  }

 private:
  // The risk of a venue kills all strategies at once, and the oegs of the venue know of it.
  void add_kill_commands() {
    for (const bool kill : {true, false})
      runtime_.add_command(kill ? "kill" : "unkill", "all strategies", [this, kill](const Json&) {
        std::ofstream(kill_path()) << (kill ? "killed" : "");
        return Json{{"command_number", ++commands_}};
      });
  }
  std::string kill_path() const {
    return runtime_.run_path("kill-" + std::to_string(config_.common.venue));
  }
  Json kill_switch() const {
    std::ifstream file(kill_path());
    std::string word;
    Json kills = Json::array();
    if (file >> word) kills.push_back({{"strategy", "all"}, {"since", "?"}, {"by", "a test"}});
    return {{"kills", kills},
            {"version", 1},
            {"saved_version", 1},
            {"oeg_version", 1},
            {"command", commands_}};
  }
  std::string switch_path() const {
    return runtime_.run_path("switch-" + std::to_string(config_.common.venue));
  }
  Json pair() const {
    const bool switched = std::filesystem::exists(switch_path());
    return {{"role", config_.leads != switched ? "leader" : "standby"},
            {"epoch", config_.epoch + (switched ? 1 : 0)}};
  }
  control::Subscription later(int ms, bool& flag) {
    if (ms < 0) return {};
    return runtime_.after(std::chrono::milliseconds(ms), [&flag] { flag = true; });
  }
  void die_after(int ms) {
    dies_ = true;
    death_ = runtime_.after(std::chrono::milliseconds(ms), [] { std::raise(SIGKILL); });
  }
  bool replaying() const {
    std::ifstream diary(config_.diary);
    for (std::string line; std::getline(diary, line);)
      if (line.ends_with(" replays")) return true;
    return false;
  }
  void note(const std::string& what) {
    std::ofstream(config_.diary, std::ios::app) << runtime_.name() + " " + what + "\n";
  }

  StandInConfig config_;
  control::Runtime& runtime_;
  std::string program_;
  std::string state_ = "waiting";
  std::uint64_t commands_ = 0;
  bool is_ready_ = false, is_settled_ = false, dies_ = false;
  control::Subscription ready_, look_, death_, end_, settled_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string program = std::filesystem::path(argv[0]).filename();
  return control::run_program<StandInConfig>(
      argc, argv,
      {.program = program,
       .description = "a stand-in for tests",
       .schema = schema(),
       .common = &StandInConfig::common,
       .create = [program](const StandInConfig& config,
                           control::Runtime& runtime) -> std::unique_ptr<control::Application> {
         return std::make_unique<StandIn>(config, runtime, program);
       },
       .why_alone = [](const StandInConfig&) { return std::string(); }});
}
