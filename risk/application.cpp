#include "risk/application.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "common/clock/clock.hpp"
#include "common/control/losses.hpp"
#include "common/link/heartbeat.hpp"
#include "common/log/log.hpp"
#include "common/trace/stamp.hpp"
#include "common/wire/names.hpp"

namespace tickpath::risk {
namespace {

using Weight = control::Counters::Weight;

double in_currency(const Counter& counter) {
  return static_cast<double>(static_cast<std::int64_t>(counter.get())) /
         static_cast<double>(kPriceScale);
}

control::Json shown(const StrategyView& view) {
  control::Json json = {{"pnl", in_currency(view.pnl)},
                        {"realised", in_currency(view.realised)},
                        {"unrealised", in_currency(view.pnl) - in_currency(view.realised)},
                        {"gross_notional", in_currency(view.gross_notional)},
                        {"open_orders", view.open_orders.get()},
                        {"requests", view.requests.get()},
                        {"fills", view.fills.get()},
                        {"rejects", view.rejects.get()},
                        {"killed", view.killed.get() != 0}};
  const auto kind = static_cast<LimitKind>(view.breach_kind.get());
  if (kind == LimitKind::kNone) return json;
  json["killed_by"] = std::string(wire::name(kind));
  if (kind >= LimitKind::kOperator) return json;
  json["value"] = static_cast<std::int64_t>(view.breach_value.get());
  json["limit"] = static_cast<std::int64_t>(view.breach_limit.get());
  return json;
}

}  // namespace

RiskApplication::RiskApplication(const RiskConfig& config, control::Runtime& runtime)
    : config_(config), runtime_(runtime), notes_(runtime.hot_log()) {
  monitor_ = std::make_unique<Monitor>(config.monitor, &notes_);
  for (unsigned id = 0; id < 256; ++id) {
    const auto strategy = static_cast<std::uint8_t>(id);
    monitor_->set_limits(strategy, strategy_limits(config, strategy));
  }
  kills_ = std::make_unique<control::KillKeeper>(config_.kills_file, monitor_->kills());
  const control::KeptKills kept = kills_->restore();
  monitor_->restore_kills(kept.kills, kept.version);
  make_readers();
  datapath_ = std::make_unique<RiskDatapath>(*market_, *gateways_, *monitor_,
                                             config.monitor.instruments_max, channel_.get());
  if (config.witness_enabled)
    witness_ =
        std::make_unique<Witness>(runtime.device(), config.common.fabric_endpoint, runtime.name());
  register_counters();
  register_commands();
}

RiskApplication::~RiskApplication() = default;

void RiskApplication::make_readers() {
  rdma::Device& device = runtime_.device();
  const bool parks = runtime_.common().wait == control::WaitMode::kPark;
  if (parks) channel_ = device.create_channel();
  market_ = std::make_unique<market::MarketReader>(
      device, channel_.get(),
      market::reader_options(wire::Role::kRisk, runtime_.common(), config_.feed, config_.heartbeat,
                             config_.monitor.instruments_max, runtime_.trace()));

  const GatewayLinkOptions gateway{
      .endpoint = config_.gateway_endpoint,
      .name = runtime_.name(),
      .mode = parks ? link::RingMode::kImmediate : link::RingMode::kPoll,
      .ring_slots = config_.gateway_ring_slots,
      .reconcile_interval_ns = static_cast<std::uint64_t>(config_.reconcile_interval_ns),
      .heartbeat = config_.heartbeat.options(),
      .own_heartbeat = runtime_.heartbeat().grant(),
      .offsets = &runtime_.trace()};
  gateways_ = std::make_unique<Gateways>(device, channel_.get(), gateway, *monitor_,
                                         config_.gateway_standby_endpoint);
}

void RiskApplication::on_start() {
  if (!witness_) return;
  witness_watch_ = runtime_.watch(witness_->file_descriptor(), [this] { witness_->serve(); });
  log::info("witness of a pair of oegs at {}", witness_->endpoint());
}

void RiskApplication::on_tick() {
  kills_->tick();
  if (witness_) witness_->collect();
  if (runtime_.stopping()) return;
  const auto now_ns = static_cast<std::uint64_t>(clock::monotonic_ns());
  if (market_->maintain(now_ns)) log::info("connected to mdh at {}", market_->connected_to());
  gateways_->maintain(now_ns);
  if (gateways_->active()) active_ms_ = clock::realtime_ns() / 1'000'000;
}

std::string RiskApplication::not_ready_reason() {
  const std::string market = market_->not_ready_reason();
  return market.empty() ? gateways_->not_ready_reason() : market;
}

void RiskApplication::begin_stop() {
  if (witness_) witness_->close();
}

// Nothing of our own is open: whoever stops us has stopped the trading before.
bool RiskApplication::drained(std::string& /*why*/) { return true; }

// ----------------------------------------------------------------------------------- operator

void RiskApplication::register_commands() {
  runtime_.add_command(
      "kill",
      "stops the new orders of \"strategy\" (a number; \"force\" where it is not known), or of "
      "all; "
      "\"operator\" says who asks",
      [this](const control::Json& request) { return switch_strategy(request, true); });
  runtime_.add_command(
      "unkill", "lets \"strategy\" (a number) trade again, or all",
      [this](const control::Json& request) { return switch_strategy(request, false); });
}

namespace {

// Of a person, by the request. Anything that would garble a line of a log is left out.
std::array<char, sizeof(wire::KillRecord::operator_name)> operator_of(
    const control::Json& request) {
  std::array<char, sizeof(wire::KillRecord::operator_name)> name{};
  std::size_t length = 0;
  for (const char letter : request.value("operator", std::string()))
    if (letter > ' ' && letter <= '~' && length + 1 < name.size()) name[length++] = letter;
  return name;
}

}  // namespace

bool RiskApplication::knows(std::uint32_t strategy) const {
  return monitor_->view(strategy).known.get() != 0 ||
         std::ranges::any_of(config_.strategies,
                             [&](const auto& each) { return each.id == strategy; });
}

control::Json RiskApplication::switch_strategy(const control::Json& request, bool kill) {
  if (gateways_->stands_by())
    throw Error("it stands by: another risk is active, and has the kill switch");
  // What is lifted before oeg's kill switch is known comes with that.
  if (!kill && gateways_->active() && !gateways_->holds())
    throw Error("it takes oeg's kill switch over; try again in a moment");
  std::uint32_t id = Monitor::kAll;
  if (request.contains("strategy")) {
    const control::Json& given = request.at("strategy");
    if (!given.is_number_integer() || given.get<std::int64_t>() < 0 ||
        given.get<std::int64_t>() > 255)
      throw Error("strategy: a number from 0 to 255 is wanted; leave it out to mean all");
    id = given.get<std::uint32_t>();
  }
  if (kill && id != Monitor::kAll && !request.value("force", false) && !knows(id))
    throw Error("strategy " + std::to_string(id) +
                ": no order of it was ever seen, and no [[strategy]] names it; --force kills it "
                "before it comes");
  if (!datapath_->command(
          {kill, id, request.value("keep_orders", false), commands_ + 1, operator_of(request)}))
    throw Error("too many commands at once; try again in a moment");
  control::Json answer = {{"command_number", ++commands_}};
  if (id == Monitor::kAll) {
    answer["strategy"] = "all";
  } else {
    answer["strategy"] = id;
  }
  answer[kill ? "killed" : "unkilled"] = true;
  return answer;
}

// ------------------------------------------------------------------------------------- status

void RiskApplication::register_counters() {
  control::Counters& out = runtime_.counters();
  const MonitorCounters& monitor = monitor_->counters();
  market_->register_counters(out, "feed");
  out.add("feed", monitor.feed);
  register_gateway("", gateways_->first());
  if (gateways_->standby() != nullptr) register_gateway("standby_", *gateways_->standby());
  out.add("orders", monitor.orders, {"fills", "exceptions"});
  out.add("limits", monitor.limits, {"breaches"});
  out.add("reconcile", monitor.reconcile, {"mismatches"});
  if (witness_) witness_->register_counters(out);
}

// prefix: of the standby's counters.
void RiskApplication::register_gateway(const std::string& prefix, const GatewayLink& link) {
  control::Counters& out = runtime_.counters();
  control::add_losses(out, "orders", prefix + "oeg", link.losses());
  const link::SubscriberCounters& events = link.events();
  out.add("orders", prefix + "events_seen", events.seen, Weight::kKey);
  out.add("orders", prefix + "events_lapped", events.lapped, Weight::kKey);
  out.add("orders", prefix + "oeg_alive", link.alive());
  out.add("limits", prefix + "blocks_written", link.blocks_written());
  out.add("reconcile", prefix + "passes", link.passes());
  if (gateways_->standby() != nullptr) out.add("orders", prefix + "superseded", link.superseded());
}

void RiskApplication::describe(control::Json& status) {
  status["strategies"] = control::Json::array();
  for (std::uint32_t id = 0; id < Monitor::kAll; ++id) {
    const StrategyView& view = monitor_->view(id);
    if (view.known.get() == 0) continue;
    control::Json strategy = {{"strategy", id}};
    strategy.update(shown(view));
    status["strategies"].push_back(strategy);
  }
  control::Json total = shown(monitor_->view(Monitor::kAll));
  // What the datapath keeps for each strategy alone.
  for (const char* const count : {"open_orders", "requests", "rejects"}) {
    std::uint64_t sum = 0;
    for (const control::Json& strategy : status["strategies"])
      sum += strategy.at(count).get<std::uint64_t>();
    total[count] = sum;
  }
  status["total"] = total;
  status["money"] = "currency units";
  status["kill_switch"] = describe_kills();
  status["role"] = gateways_->stands_by() ? "standby" : gateways_->holds() ? "active" : "waiting";
  if (witness_) status["witness"] = describe_witness();
}

control::Json RiskApplication::describe_kills() const {
  control::Json json = kills_->describe();
  json["oeg_version"] = gateways_->kill_version();
  if (gateways_->standby() != nullptr) json["oegs"] = describe_gateways();
  return json;
}

control::Json RiskApplication::describe_gateways() const {
  control::Json list = control::Json::array();
  for (const GatewayLink* const link : {&gateways_->first(), gateways_->standby()})
    list.push_back({{"name", link->peer_name()},
                    {"endpoint", link->endpoint()},
                    {"connected", link->connected().get() != 0},
                    {"leads", link->leads().get() != 0},
                    {"epoch", link->epoch().get()},
                    {"version", link->connected().get() == 0 ? 0 : link->kill_version().get()}});
  return list;
}

control::Json RiskApplication::describe_witness() const {
  control::Json json = {{"incarnation", witness_->incarnation()}, {"peers", witness_->peers()}};
  const wire::Leadership leadership = witness_->leadership();
  if (leadership.epoch == 0) {
    json["state"] = "never set";
    return json;
  }
  json["state"] = leadership.alone ? "alone" : "paired";
  json["leader"] = leadership.leader;
  json["epoch"] = leadership.epoch;
  return json;
}

void RiskApplication::summarize(control::Summary& summary) {
  summary.stood_by = gateways_->stands_by();
  if (summary.stood_by) return;
  // Of several that were active one after another the last counts.
  summary.details["active_ms"] = static_cast<std::uint64_t>(active_ms_);
  for (const Row& row : monitor_->ledger().rows()) {
    if (row.fills == 0) continue;
    summary.positions.push_back(
        {monitor_->ledger().strategies()[row.strategy].id,
         std::string(row.symbol != 0 ? wire::symbol_text(row.symbol)
                                     : datapath_->symbols().name(row.instrument)),
         row.position, row.cash, static_cast<std::int64_t>(row.fills)});
    summary.profits.push_back({summary.positions.back().strategy_id,
                               summary.positions.back().symbol, saturate(row.realised()),
                               saturate(row.unrealised())});
  }
  summary.has_positions = true;
  summary.open_orders = monitor_->open_orders();
  summary.ticks.push_back(market_->flow());
  control::RingFlow& events = summary.events.emplace_back();
  const GatewayLink* link = &gateways_->first();
  if (const GatewayLink* const other = gateways_->standby();
      other != nullptr && other->epoch().get() > link->epoch().get())
    link = other;  // of a pair the one that led last
  events.published = link->events().published.get();
  events.seen = link->events().seen.get();
  events.lapped = link->events().lapped.get();
}

}  // namespace tickpath::risk
