#include "strategy/application.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/foreign_code.hpp"
#include "common/base/names.hpp"
#include "common/clock/clock.hpp"
#include "common/control/feed_endpoints.hpp"
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

// How long the market is not joined for positions that do not come. oeg answers within some
// milliseconds where it runs; without it strategies see the market all the same.
constexpr std::uint64_t kPositionsWaitNs = 3'000'000'000;

std::uint64_t monotonic_now() { return static_cast<std::uint64_t>(clock::monotonic_ns()); }

}  // namespace

StrategyApplication::StrategyApplication(const StrategyConfig& config, control::Runtime& runtime)
    : config_(config), runtime_(runtime) {
  if (runtime.common().wait == control::WaitMode::kPark)
    channel_ = runtime.device().create_channel();
  std::vector<StackPorts> ports;
  std::vector<StackLinks> links;
  std::vector<std::string> price_stores;  // of several venues, the first one's
  for (const VenueConfig& config_of : stacks_of(config)) {
    make_stack(config_of);
    const Stack& made = *stacks_.back();
    ports.push_back({made.orders.get(), stacks_.back().get(), config_of.spec(),
                     control::shard_of(config_of.shard)});
    links.push_back({made.market.get(), made.orders.get()});
    if (config_of.name == stacks_.front()->config.name)
      price_stores.push_back(config_of.endpoints.feed);
  }
  engine_ = std::make_unique<Engine>(config.engine, ports, runtime.trace(), log_);
  history_ = std::make_unique<PriceHistories>(runtime.device(), price_stores, runtime.name());
  engine_->set_history(*history_);
  if (runtime.device().info().atomics != rdma::AtomicReach::kNone) {
    values_ = std::make_unique<SharedValues>(
        runtime.device(), channel_.get(),
        config.values_endpoint.empty() ? price_stores.front() : config.values_endpoint,
        runtime.name());
    engine_->set_values(*values_);
  } else {
    log::info("plugins can share no values: {} has no remote atomics",
              runtime.device().info().name);
  }
  if (config.route_bytes_max != 0) {
    route_file_ = std::make_unique<RouteFile>(runtime.run_path(runtime.name() + ".routes"),
                                              config.route_bytes_max);
    engine_->set_routes(routes_);
  }
  read_names();
  load_plugins();
  datapath_ =
      std::make_unique<StrategyDatapath>(std::move(links), *engine_, channel_.get(), values_.get());
  register_counters();
}

StrategyApplication::~StrategyApplication() = default;

void StrategyApplication::make_stack(const VenueConfig& config) {
  rdma::Device& device = runtime_.device();
  constexpr std::uint32_t kStreamsOfAStack = 0x1000;
  const auto clock_stream = static_cast<std::uint32_t>(stacks_.size()) * kStreamsOfAStack;
  const wire::Shard shard = control::shard_of(config.shard);
  auto stack = std::make_unique<Stack>();
  stack->config = config;
  const market::FeedConfig feed{config.endpoints.feed, config.endpoints.feed_b,
                                config_.feed.ring_slots};
  market::MarketReaderOptions market =
      market::reader_options(wire::Role::kStrategy, runtime_.common(), feed, config_.heartbeat,
                             config_.engine.instruments_max, runtime_.trace());
  market.clock_stream = clock_stream;
  market.shard = shard;
  stack->market = std::make_unique<market::MarketReader>(device, channel_.get(), market);

  OrderChannelsOptions orders;
  orders.endpoint = config.endpoints.gateway;
  orders.standby_endpoint = config.endpoints.gateway_standby;
  orders.clock_stream = clock_stream;
  orders.shard = shard;
  orders.name = runtime_.name();
  orders.depth = config_.gateway_depth;
  orders.heartbeat = config_.heartbeat.options();
  orders.offsets = &runtime_.trace();
  orders.own_heartbeat = runtime_.heartbeat().grant();
  stack->orders = std::make_unique<OrderChannels>(device, channel_.get(), orders);
  stacks_.push_back(std::move(stack));
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

std::string StrategyApplication::incarnation_file(std::uint8_t strategy) const {
  return runtime_.run_path("strategy-" + std::to_string(strategy) + ".incarnation");
}

void StrategyApplication::load_plugin(const PluginConfig& plugin) {
  const std::string path = find_plugin_file(plugin.file, config_.plugin_dir);
  const tickpath_plugin& code = strategy::load_plugin(path);
  PluginSpec spec = plugin;
  spec.incarnation = next_incarnation(incarnation_file(plugin.id));
  log::info("plugin {}: starting {}", plugin.id, path);
  log::flush();
  Instance* started = nullptr;
  runtime_.run_foreign([&] {
    engine_->advance(clock::TickConverter().to_ns(tsc_now()));  // as the datapath's turns do
    started = &engine_->add(code, spec);
    engine_->start(*started);
  });
  const Instance& instance = *started;
  for (const auto& stack : stacks_) stack->orders->add(plugin.id);
  log::info("plugin {} {} from {} runs as strategy {}, incarnation {}", instance.name,
            code.version == nullptr ? "" : code.version, path, plugin.id, instance.incarnation);
}

void StrategyApplication::write_routes() {
  if (!route_file_) return;
  route_file_->write(routes_);
  if (route_problem_ == route_file_->problem()) return;
  route_problem_ = route_file_->problem();
  log::warning("orders are routed, and no longer recorded: {}", route_problem_);
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
  write_routes();
  if (runtime_.stopping()) return;  // nothing new while draining
  constexpr std::uint32_t kTicksBetweenLooks = 1'000 / control::kTickMs;
  if (++ticks_ % kTicksBetweenLooks == 0) read_names();
  const std::uint64_t now_ns = monotonic_now();
  if (first_tick_ns_ == 0) first_tick_ns_ = now_ns;
  for (const auto& stack : stacks_) {
    // A strategy that starts again has its positions before the market's first event.
    if (!stack->joins_market)
      stack->joins_market =
          stack->orders->not_ready_reason().empty() || now_ns - first_tick_ns_ >= kPositionsWaitNs;
    if (stack->joins_market && stack->market->maintain(now_ns))
      log::info("connected to mdh at {}", stack->market->connected_to());
    stack->orders->maintain(now_ns);
  }
  history_->maintain(now_ns);
  if (values_ != nullptr) values_->maintain(now_ns);
}

std::string StrategyApplication::not_ready_reason() {
  for (const auto& stack : stacks_) {
    const std::string of_market = stack->market->not_ready_reason();
    const std::string of_orders = stack->orders->not_ready_reason();
    // What is waited for first, first.
    std::string reason = stack->joins_market ? of_market : of_orders;
    if (reason.empty()) reason = stack->joins_market ? of_orders : of_market;
    if (!reason.empty())
      return stacks_.size() == 1 ? reason : stack->config.title() + ": " + reason;
  }
  return {};
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

void StrategyApplication::on_stopped() {
  write_plugin_log();
  write_routes();
  if (route_file_) route_file_->end(engine_->counters().routes.get());
}

// ------------------------------------------------------------------------------------- status

// "feed", of several venues "feed of NAME", of shards "feed of NAME 1/2".
std::string StrategyApplication::group(const char* what, const Stack& stack) const {
  return stacks_.size() == 1 ? what : what + (" of " + stack.config.title());
}

void StrategyApplication::register_counters() {
  control::Counters& out = runtime_.counters();
  for (const auto& stack : stacks_) {
    stack->market->register_counters(out, group("feed", *stack));
    const std::string gateway = group("gateway", *stack);
    const OrderChannels& orders = *stack->orders;
    control::add_losses(out, gateway, "oeg", orders.losses());
    out.add(gateway, "cut_off", [&orders] { return orders.cut_off(); });
    out.add(gateway, "superseded", [&orders] { return orders.superseded(); });
    out.add(gateway, "takeovers", [&orders] { return orders.takeovers(); });
  }
  out.add("engine", engine_->counters(), {"reports", "plugins_failed"});
  if (route_file_) out.add("engine", "routes_unwritten", [this] { return route_file_->refused(); });
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
  describe_oegs(status);
}

// Where there is more than one.
void StrategyApplication::describe_oegs(control::Json& status) const {
  if (stacks_.size() == 1 && stacks_[0]->config.endpoints.gateway_standby.empty()) return;
  status["oegs"] = control::Json::array();
  for (const auto& stack : stacks_)
    for (const ChannelView& view : stack->orders->view()) {
      control::Json row;
      if (stacks_.size() > 1) row["venue"] = stack->config.name;
      if (!stack->config.shard.empty()) row["shard"] = stack->config.shard;
      row["strategy"] = view.strategy;
      row["endpoint"] = *view.endpoint;
      row["alive"] = view.alive;
      row["leads"] = view.leads;
      row["epoch"] = view.epoch;
      status["oegs"].push_back(std::move(row));
    }
}

namespace {

// What strategies have counted, of a venue or of all.
struct Flows {
  control::RequestFlow orders;
  control::RequestFlow changes;
  control::ReportFlow reports;

  void add(const StrategyCounters& counters) {
    orders.sent += counters.orders.get();
    orders.accepted += counters.accepted.get();
    orders.rejected += counters.rejected.get();
    orders.lost += counters.orders_lost.get();
    changes.sent += counters.cancels.get() + counters.replaces.get();
    changes.accepted += counters.changes_accepted.get();
    changes.rejected += counters.request_rejects.get();
    changes.lost += counters.changes_lost.get();
    reports.received += counters.reports.get();
    reports.fills += counters.fills.get();
  }
  void put_into(control::Summary& summary) {
    for (control::RequestFlow* flow : {&orders, &changes})
      flow->unanswered = flow->sent - flow->accepted - flow->rejected - flow->lost;
    summary.orders = orders;
    summary.changes = changes;
    summary.reports = reports;
  }
};

}  // namespace

// One row a strategy and symbol, of the listings first, first + 1, ...
void StrategyApplication::add_positions(control::Summary& summary, std::size_t first,
                                        std::size_t count) const {
  summary.has_positions = true;
  std::map<std::pair<std::uint8_t, std::string>, control::PositionSummary> sums;
  for (const auto& instance : engine_->instances())
    for (std::size_t i = first; i < first + count; ++i) {
      const tickpath_position& position = instance->positions[i];
      if (position.fills == 0) continue;
      const std::string symbol(engine_->position_symbol(static_cast<std::uint32_t>(i)));
      control::PositionSummary& sum = sums[{instance->id, symbol}];
      sum.strategy_id = instance->id;
      sum.symbol = symbol;
      sum.shares += position.shares;
      sum.cash += position.cash;
      sum.fills += position.fills;
    }
  for (auto& [whose, sum] : sums) summary.positions.push_back(std::move(sum));
}

void StrategyApplication::add_problems(control::Summary& summary) const {
  for (const auto& held : engine_->instances()) {
    const Instance& instance = *held;
    const std::string title =
        "plugin " + instance.name + " (strategy " + std::to_string(instance.id) + ")";
    const auto elsewhere = [&](const PendingSymbol& missing) {
      return std::ranges::any_of(instance.symbols, [&](const PendingSymbol& other) {
        return other.symbol == missing.symbol && other.settled;
      });
    };
    for (const PendingSymbol& pending : instance.symbols)
      if (pending.unknown && !(pending.anywhere && elsewhere(pending)))
        summary.problems.push_back(title + " subscribed to '" + pending.symbol +
                                   "', which the feed did not list");
    const bool started = stacks_.front()->orders->flow(instance.id) != nullptr;
    if (started && instance.shown_state() == InstanceState::kFailed)
      summary.problems.push_back(title + ": " + std::string(instance.failure_text()));
  }
  for (const Rejected& rejected : rejected_) summary.problems.push_back(rejected.error);
}

std::vector<StrategyApplication::Venue> StrategyApplication::venues() const {
  std::vector<Venue> venues;
  for (std::size_t at = 0; at < stacks_.size(); at += venues.back().count)
    venues.push_back({at, control::shard_of(stacks_[at]->config.shard).count});
  return venues;
}

// Its side of one venue's books: of all of its shards together.
control::Summary StrategyApplication::summary_of(const Venue& venue) const {
  control::Summary summary;
  summary.program = "strategy";
  summary.name = runtime_.name();
  summary.venue = stacks_[venue.first]->config.number;
  summary.venue_name = stacks_[venue.first]->config.name;
  Flows flows;
  for (std::size_t at = venue.first; at < venue.first + venue.count; ++at) {
    const Stack& stack = *stacks_[at];
    for (const auto& instance : engine_->instances()) {
      const Gateway& gateway = instance->gateways[at];
      flows.add(gateway.counters);
      summary.open_orders += gateway.open_orders;
      if (const ChannelFlow* flow = stack.orders->flow(instance->id); flow != nullptr)
        summary.strategies.push_back(
            {instance->id, flow->connections.get(), flow->requests.get(), flow->reports.get()});
    }
    summary.ticks.push_back(stack.market->flow());
  }
  flows.put_into(summary);
  const std::size_t room = config_.engine.instruments_max;
  add_positions(summary, venue.first * room, venue.count * room);
  return summary;
}

void StrategyApplication::summarize(control::Summary& summary) {
  const std::vector<Venue> all = venues();
  if (all.size() == 1) {
    const control::Summary only = summary_of(all.front());
    summary.orders = only.orders;
    summary.changes = only.changes;
    summary.reports = only.reports;
    summary.open_orders = only.open_orders;
    summary.strategies = only.strategies;
    summary.ticks = only.ticks;
    if (!config_.venues.empty()) summary.venue = only.venue;
    summary.venue_name = only.venue_name;
  } else {
    Flows flows;
    for (const auto& instance : engine_->instances()) flows.add(instance->counters);
    flows.put_into(summary);
    for (const Venue& venue : all) {
      summary.venues.push_back(summary_of(venue));
      summary.open_orders += summary.venues.back().open_orders;
    }
  }
  add_positions(summary, 0, stacks_.size() * config_.engine.instruments_max);
  summary.details["routes"] = engine_->counters().routes.get();
  if (route_file_ != nullptr)
    summary.files.push_back(runtime_.run_path(runtime_.name() + ".routes"));
  for (const auto& instance : engine_->instances())
    summary.files.push_back(incarnation_file(instance->id));
  add_problems(summary);
  if (engine_->instances().size() == 1) summary.strategy_id = engine_->instances()[0]->id;
}

}  // namespace tickpath::strategy
