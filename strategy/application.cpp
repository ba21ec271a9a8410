#include "strategy/application.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "common/base/foreign_code.hpp"
#include "common/base/names.hpp"
#include "common/clock/clock.hpp"
#include "common/control/losses.hpp"
#include "common/link/heartbeat.hpp"
#include "common/log/log.hpp"
#include "common/trace/stamp.hpp"
#include "strategy/incarnation.hpp"
#include "strategy/plugin_file.hpp"

namespace tickpath::strategy {
namespace {

using Weight = control::Counters::Weight;

const char* to_string(InstanceState state) {
  using enum InstanceState;
  return name_in(
      state,
      {{kLoaded, "loaded"}, {kRunning, "running"}, {kStopping, "stopping"}, {kFailed, "failed"}});
}

// Whether it is this one's code that runs.
bool is_in(const Instance& instance) {
  const char* const here = foreign_code();
  return here != nullptr &&
         std::ranges::find(instance.callback_texts, here) != instance.callback_texts.end();
}

std::uint64_t monotonic_now() { return static_cast<std::uint64_t>(clock::monotonic_ns()); }

}  // namespace

StrategyApplication::StrategyApplication(const StrategyConfig& config, control::Runtime& runtime)
    : config_(config), runtime_(runtime) {
  make_readers();
  engine_ = std::make_unique<Engine>(config.engine, *orders_, images_, runtime.trace(), log_);
  read_names();
  load_plugins();
  datapath_ = std::make_unique<StrategyDatapath>(*market_, *orders_, *engine_, channel_.get());
  register_counters();
}

StrategyApplication::~StrategyApplication() = default;

void StrategyApplication::make_readers() {
  rdma::Device& device = runtime_.device();
  const bool parks = runtime_.common().wait == control::WaitMode::kPark;
  if (parks) channel_ = device.create_channel();
  market_ = std::make_unique<market::MarketReader>(
      device, channel_.get(),
      market::reader_options(wire::Role::kStrategy, runtime_.common(), config_.feed,
                             config_.heartbeat, config_.engine.instruments_max, runtime_.trace()));
  images_.reader = market_.get();

  OrderChannelsOptions orders;
  orders.endpoint = config_.gateway_endpoint;
  orders.standby_endpoint = config_.gateway_standby_endpoint;
  orders.name = runtime_.name();
  orders.depth = config_.gateway_depth;
  orders.heartbeat = config_.heartbeat.options();
  orders.offsets = &runtime_.trace();
  orders.own_heartbeat = runtime_.heartbeat().grant();
  orders_ = std::make_unique<OrderChannels>(device, channel_.get(), orders);
}

// ------------------------------------------------------------------------------------ plugins

void StrategyApplication::load_plugins() {
  std::size_t running = 0;
  for (const PluginConfig& plugin : config_.plugins) {
    if (!plugin.enabled) continue;
    try {
      load_plugin(plugin);
      ++running;
    } catch (const PluginError& error) {
      log::error("{}; the other plugins go on without it", error.what());
      rejected_.push_back({plugin.id, plugin.file, error.what()});
    }
  }
  if (running != 0) return;
  std::string all = "not one plugin can be used:";
  for (const Rejected& rejected : rejected_) all += "\n  " + rejected.error;
  throw Error(all);
}

void StrategyApplication::load_plugin(const PluginConfig& plugin) {
  const std::string path = find_plugin_file(plugin.file, config_.plugin_dir);
  const tickpath_plugin& code = strategy::load_plugin(path);
  PluginSpec spec = plugin;
  spec.incarnation =
      next_incarnation(runtime_.run_path("strategy-" + std::to_string(plugin.id) + ".incarnation"));
  log::info("plugin {}: starting {}", plugin.id, path);
  log::flush();
  Instance* started = nullptr;
  runtime_.run_foreign([&] {
    started = &engine_->add(code, spec);
    engine_->start(*started);
  });
  const Instance& instance = *started;
  orders_->add(plugin.id);
  log::info("plugin {} {} from {} runs as strategy {}, incarnation {}", instance.name,
            code.version == nullptr ? "" : code.version, path, plugin.id, instance.incarnation);
}

// sim writes it as its recording names instruments: before we start, and perhaps again.
void StrategyApplication::read_names() {
  const std::string& run_dir = runtime_.common().run_dir;
  std::error_code none;
  const auto written = std::filesystem::last_write_time(control::LongNames::path(run_dir), none);
  if (none || written == names_written_) return;
  names_written_ = written;
  try {
    auto names = std::make_unique<const control::LongNames>(control::LongNames::read(run_dir));
    log::info("{} instruments have names over eight characters", names->size());
    engine_->set_names(std::move(names));
  } catch (const Error& error) {
    log::warning("names over eight characters are not known: {}", error.what());
  }
}

void StrategyApplication::write_plugin_log() {
  LogRecord record;
  while (log_.try_pop(record)) {
    std::string name = "?";
    for (const auto& instance : engine_->instances())
      if (instance->id == record.strategy_id) name = instance->name;
    const log::Level level = record.level == TICKPATH_INFO      ? log::Level::kInfo
                             : record.level == TICKPATH_WARNING ? log::Level::kWarning
                                                                : log::Level::kError;
    log::write(level, "plugin " + name + " (strategy " + std::to_string(record.strategy_id) + ")" +
                          (record.from_engine != 0 ? " " : ": ") + std::string(record.view()));
  }
}

// -------------------------------------------------------------------------------------- life

void StrategyApplication::on_tick() {
  write_plugin_log();
  if (runtime_.stopping()) return;  // nothing new while draining
  constexpr std::uint32_t kTicksBetweenLooks = 1'000 / control::kTickMs;
  if (++ticks_ % kTicksBetweenLooks == 0) read_names();
  const std::uint64_t now_ns = monotonic_now();
  if (market_->maintain(now_ns)) log::info("connected to mdh at {}", market_->connected_to());
  orders_->maintain(now_ns);
}

std::string StrategyApplication::not_ready_reason() {
  const std::string market = market_->not_ready_reason();
  return market.empty() ? orders_->not_ready_reason() : market;
}

void StrategyApplication::begin_stop() { datapath_->request_stop(); }

bool StrategyApplication::drained(std::string& why) {
  if (datapath_->drained()) return true;
  std::uint64_t open = 0;
  std::uint64_t unanswered = 0;
  for (const auto& instance : engine_->instances()) {
    open += instance->counters.open_orders.get();
    unanswered += instance->counters.unanswered.get();
  }
  why = std::to_string(open) + " orders are open, " + std::to_string(unanswered) +
        " requests unanswered";
  return false;
}

void StrategyApplication::on_stopped() { write_plugin_log(); }

// ------------------------------------------------------------------------------------- status

void StrategyApplication::register_counters() {
  control::Counters& out = runtime_.counters();
  market_->register_counters(out, "feed");
  control::add_losses(out, "gateway", "oeg", orders_->losses());
  out.add("gateway", "cut_off", [this] { return orders_->cut_off(); });
  out.add("gateway", "superseded", [this] { return orders_->superseded(); });
  out.add("gateway", "takeovers", [this] { return orders_->takeovers(); });
  out.add("engine", engine_->counters(), {"reports", "plugins_failed"});
  out.add(
      "engine", "orders",
      [this] {
        std::uint64_t sum = 0;
        for (const auto& instance : engine_->instances()) sum += instance->counters.orders.get();
        return sum;
      },
      Weight::kKey);
  for (const auto& instance : engine_->instances())
    out.add("strategy " + std::to_string(instance->id), instance->counters);
}

void StrategyApplication::describe(control::Json& status) {
  status["plugins"] = control::Json::array();
  const bool hangs = status.value("state", "") == "hanging";
  for (const auto& instance : engine_->instances()) {
    status["plugins"].push_back(
        {{"strategy", instance->id},
         {"name", instance->name},
         {"state", hangs && is_in(*instance) ? "hanging" : to_string(instance->shown_state())},
         {"incarnation", instance->incarnation},
         {"orders", instance->counters.orders.get()},
         {"fills", instance->counters.fills.get()},
         {"open_orders", instance->counters.open_orders.get()}});
  }
  for (const Rejected& rejected : rejected_) {
    status["plugins"].push_back({{"strategy", rejected.id},
                                 {"file", rejected.file},
                                 {"state", "unusable"},
                                 {"error", rejected.error}});
  }
  if (config_.gateway_standby_endpoint.empty()) return;
  status["oegs"] = control::Json::array();
  for (const ChannelView& view : orders_->view())
    status["oegs"].push_back({{"strategy", view.strategy},
                              {"endpoint", *view.endpoint},
                              {"alive", view.alive},
                              {"leads", view.leads},
                              {"epoch", view.epoch}});
}

void StrategyApplication::summarize(control::Summary& summary) {
  control::RequestFlow orders;
  control::RequestFlow changes;
  control::ReportFlow reports;
  for (const auto& held : engine_->instances()) {
    const Instance& instance = *held;
    const StrategyCounters& counters = instance.counters;
    const std::uint64_t sent_changes = counters.cancels.get() + counters.replaces.get();
    orders.sent += counters.orders.get();
    orders.accepted += counters.accepted.get();
    orders.rejected += counters.rejected.get();
    changes.sent += sent_changes;
    orders.lost += counters.orders_lost.get();
    changes.lost += counters.changes_lost.get();
    changes.accepted += counters.changes_accepted.get();
    changes.rejected += counters.request_rejects.get();
    reports.received += counters.reports.get();
    reports.fills += counters.fills.get();
    summary.open_orders += instance.orders.size();
    for (const PendingSymbol& pending : instance.symbols)
      if (pending.unknown)
        summary.problems.push_back("plugin " + instance.name + " (strategy " +
                                   std::to_string(instance.id) + ") subscribed to '" +
                                   pending.symbol + "', which the feed did not list");
    if (const ChannelFlow* flow = orders_->flow(instance.id); flow != nullptr) {
      summary.strategies.push_back(
          {instance.id, flow->connections.get(), flow->requests.get(), flow->reports.get()});
      if (instance.shown_state() == InstanceState::kFailed)
        summary.problems.push_back("plugin " + instance.name + " (strategy " +
                                   std::to_string(instance.id) +
                                   "): " + std::string(instance.failure_text()));
    }
    for (std::uint32_t i = 0; i < instance.positions.size(); ++i) {
      const tickpath_position& position = instance.positions[i];
      if (position.fills == 0) continue;
      summary.positions.push_back({instance.id, std::string(engine_->position_symbol(i)),
                                   position.shares, position.cash, position.fills});
    }
  }
  for (const Rejected& rejected : rejected_) summary.problems.push_back(rejected.error);
  orders.unanswered = orders.sent - orders.accepted - orders.rejected - orders.lost;
  changes.unanswered = changes.sent - changes.accepted - changes.rejected - changes.lost;
  if (engine_->instances().size() == 1) summary.strategy_id = engine_->instances()[0]->id;
  summary.orders = orders;
  summary.changes = changes;
  summary.reports = reports;
  summary.has_positions = true;
  summary.ticks.push_back(market_->flow());
}

}  // namespace tickpath::strategy
