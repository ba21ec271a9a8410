#include "risk/application.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/names.hpp"
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

// By name, those that are set: money in currency units, the rest as counts.
template <class Limits, class Rows>
control::Json shown(const Limits& limits, const Rows& rows) {
  control::Json json = control::Json::object();
  for (const auto& row : rows) {
    const std::int64_t limit = limits.*row.member;
    if (limit <= 0) continue;
    if (row.unit == nullptr)
      json[std::string(wire::name(row.kind))] =
          static_cast<double>(limit) / static_cast<double>(kPriceScale);
    else
      json[std::string(wire::name(row.kind))] = limit;
  }
  return json;
}

std::vector<std::string> names_of(const std::vector<market::VenueConfig>& venues) {
  std::vector<std::string> names;
  for (const market::VenueConfig& venue : venues) names.push_back(venue.name);
  return names;
}

}  // namespace

RiskApplication::RiskApplication(const RiskConfig& config, control::Runtime& runtime)
    : config_(config), runtime_(runtime), notes_(runtime.hot_log(), names_of(config.venues)) {
  for (const std::string& text : advice(config)) log::warning("{}", text);
  monitor_ = std::make_unique<Monitor>(monitor_options(config), &notes_);
  for (unsigned id = 0; id < 256; ++id) {
    const auto strategy = static_cast<std::uint8_t>(id);
    monitor_->set_limits(strategy, strategy_limits(config, strategy));
  }
  kills_ = std::make_unique<control::KillKeeper>(config_.kills_file, monitor_->kills());
  const control::KeptKills kept = kills_->restore();
  monitor_->restore_kills(kept.kills, kept.version);
  if (runtime.common().wait == control::WaitMode::kPark)
    channel_ = runtime.device().create_channel();
  for (const market::VenueConfig& venue : venues_of(config)) make_venue(venue);
  std::vector<VenueLinks> links;
  for (const Venue& venue : venues_) links.push_back({*venue.market, *venue.gateways});
  datapath_ = std::make_unique<RiskDatapath>(links, *monitor_, config.monitor.instruments_max,
                                             channel_.get());
  if (config.witness_enabled)
    witness_ = std::make_unique<Witness>(runtime.device(), config.common.fabric_endpoint,
                                         runtime.name(), config.witness_file);
  register_counters();
  register_commands();
}

RiskApplication::~RiskApplication() = default;

void RiskApplication::make_venue(const market::VenueConfig& config) {
  rdma::Device& device = runtime_.device();
  constexpr std::uint32_t kStreamsOfAVenue = 0x1000;
  const auto index = static_cast<std::uint32_t>(venues_.size());
  const market::FeedConfig feed{config.endpoints.feed, config.endpoints.feed_b,
                                config_.feed.ring_slots};
  market::MarketReaderOptions market =
      market::reader_options(wire::Role::kRisk, runtime_.common(), feed, config_.heartbeat,
                             config_.monitor.instruments_max, runtime_.trace());
  market.clock_stream = index * kStreamsOfAVenue;
  GatewayLinkOptions gateway{
      .endpoint = config.endpoints.gateway,
      .name = runtime_.name(),
      .mode = channel_ ? link::RingMode::kImmediate : link::RingMode::kPoll,
      .ring_slots = config_.gateway_ring_slots,
      .reconcile_interval_ns = static_cast<std::uint64_t>(config_.reconcile_interval_ns),
      .heartbeat = config_.heartbeat.options(),
      .own_heartbeat = runtime_.heartbeat().grant(),
      .offsets = &runtime_.trace(),
      .venue = index,
      .several_venues = config_.venues.size() > 1};
  gateway.clock_stream += market.clock_stream;
  venues_.push_back({config, std::make_unique<market::MarketReader>(device, channel_.get(), market),
                     std::make_unique<Gateways>(device, channel_.get(), gateway, *monitor_,
                                                config.endpoints.gateway_standby)});
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
  for (const Venue& venue : venues_) {
    if (venue.market->maintain(now_ns))
      log::info("connected to mdh at {}", venue.market->connected_to());
    venue.gateways->maintain(now_ns);
  }
  if (is_active()) active_ms_ = clock::realtime_ns() / 1'000'000;
}

std::string RiskApplication::not_ready_reason() {
  for (const Venue& venue : venues_) {
    std::string reason = venue.market->not_ready_reason();
    if (reason.empty()) reason = venue.gateways->not_ready_reason();
    if (!reason.empty()) return venues_.size() == 1 ? reason : venue.config.name + ": " + reason;
  }
  return {};
}

bool RiskApplication::is_active() const noexcept {
  return std::ranges::any_of(venues_, [](const Venue& venue) { return venue.gateways->active(); });
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

// The name of the person who asks, from the request. Anything that would garble a line of a log is
// left out.
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
  if (stands_by()) throw Error("it stands by: another risk is active, and has the kill switch");
  // What is lifted before oeg's kill switch is known comes with that.
  const auto unknown = [](const Venue& venue) {
    return venue.gateways->active() && !venue.gateways->holds();
  };
  if (!kill && std::ranges::any_of(venues_, unknown))
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
  venues_.front().market->register_counters(out, group("feed", venues_.front()));
  out.add("feed", monitor.feed);
  for (const Venue& venue : venues_) register_venue(venue);
  out.add("orders", monitor.orders, {"fills", "exceptions"});
  out.add("limits", monitor.limits, {"breaches"});
  out.add("reconcile", monitor.reconcile, {"mismatches"});
  if (witness_) witness_->register_counters(out);
}

// "feed", and of several venues "feed of NAME".
std::string RiskApplication::group(const char* what, const Venue& venue) const {
  return venues_.size() == 1 ? what : what + (" of " + venue.config.name);
}

void RiskApplication::register_venue(const Venue& venue) {
  if (&venue != venues_.data())
    venue.market->register_counters(runtime_.counters(), group("feed", venue));
  register_gateway(venue, "", venue.gateways->first());
  if (const GatewayLink* const standby = venue.gateways->standby(); standby != nullptr)
    register_gateway(venue, "standby_", *standby);
}

// prefix: of the standby's counters.
void RiskApplication::register_gateway(const Venue& venue, const std::string& prefix,
                                       const GatewayLink& link) {
  control::Counters& out = runtime_.counters();
  const std::string orders = group("orders", venue);
  control::add_losses(out, orders, prefix + "oeg", link.losses());
  const link::SubscriberCounters& events = link.events();
  out.add(orders, prefix + "events_seen", events.seen, Weight::kKey);
  out.add(orders, prefix + "events_overrun", events.overrun, Weight::kKey);
  out.add(orders, prefix + "oeg_alive", link.alive());
  out.add(group("limits", venue), prefix + "blocks_written", link.blocks_written());
  out.add(group("reconcile", venue), prefix + "passes", link.passes());
  if (venue.gateways->standby() != nullptr)
    out.add(orders, prefix + "superseded", link.superseded());
}

void RiskApplication::describe(control::Json& status) {
  status["strategies"] = control::Json::array();
  for (std::uint32_t id = 0; id < Monitor::kAll; ++id) {
    const StrategyView& view = monitor_->view(id);
    if (view.known.get() == 0) continue;
    control::Json strategy = {{"strategy", id}};
    strategy.update(shown(view));
    strategy["limits"] =
        shown(strategy_limits(config_, static_cast<std::uint8_t>(id)), kStrategyLimits);
    if (venues_.size() > 1) strategy["net_notional"] = in_currency(view.net_notional);
    status["strategies"].push_back(strategy);
  }
  control::Json total = shown(monitor_->view(Monitor::kAll));
  total["limits"] = shown(config_.monitor.total, kTotalLimits);
  // What the datapath keeps for each strategy alone.
  for (const char* const count : {"open_orders", "requests", "rejects"}) {
    std::uint64_t sum = 0;
    for (const control::Json& strategy : status["strategies"])
      sum += strategy.at(count).get<std::uint64_t>();
    total[count] = sum;
  }
  if (venues_.size() > 1)
    total["net_notional"] = in_currency(monitor_->view(Monitor::kAll).net_notional);
  status["total"] = total;
  status["money"] = "currency units";
  status["kill_switch"] = describe_kills();
  const bool holds =
      std::ranges::any_of(venues_, [](const Venue& venue) { return venue.gateways->holds(); });
  status["role"] = stands_by() ? "standby" : holds ? "active" : "waiting";
  if (venues_.size() > 1) status["venues"] = describe_venues();
  if (witness_) status["witness"] = describe_witness();
}

// In the memory of the oegs of every venue; 0: of one there is none that has it.
std::uint64_t RiskApplication::oeg_version() const noexcept {
  std::uint64_t version = ~std::uint64_t{0};
  for (const Venue& venue : venues_) version = std::min(version, venue.gateways->kill_version());
  return version;
}

control::Json RiskApplication::describe_kills() const {
  control::Json json = kills_->describe();
  json["oeg_version"] = oeg_version();
  if (venues_.size() > 1) return json;  // which oeg has what is of each venue
  if (venues_.front().gateways->standby() != nullptr)
    json["oegs"] = describe_gateways(venues_.front());
  return json;
}

namespace {

const char* to_string(VenueState state) {
  using enum VenueState;
  return name_in(
      state,
      {{kUnknown, "unknown"}, {kWhole, "whole"}, {kPending, "pending"}, {kDoubtful, "doubtful"}});
}

}  // namespace

control::Json RiskApplication::describe_venues() const {
  control::Json list = control::Json::array();
  for (std::uint32_t index = 0; index < venues_.size(); ++index) {
    const Venue& venue = venues_[index];
    list.push_back({{"name", venue.config.name},
                    {"number", venue.config.number},
                    {"positions", to_string(monitor_->state(index))},
                    {"mdh_alive", venue.market->alive().get() != 0},
                    {"oeg_connected", venue.gateways->active()},
                    {"oeg_version", venue.gateways->kill_version()},
                    {"oegs", describe_gateways(venue)}});
    std::string reason = venue.market->not_ready_reason();
    if (const std::string oeg = venue.gateways->not_ready_reason(); !oeg.empty())
      reason += (reason.empty() ? "" : "; ") + oeg;
    if (!reason.empty()) list.back()["not_ready_reason"] = reason;
  }
  return list;
}

control::Json RiskApplication::describe_gateways(const Venue& venue) const {
  control::Json list = control::Json::array();
  const bool pair = venue.gateways->standby() != nullptr;
  for (const GatewayLink* const link : {&venue.gateways->first(), venue.gateways->standby()}) {
    if (link == nullptr) continue;
    list.push_back({{"name", link->peer_name()},
                    {"endpoint", link->endpoint()},
                    {"connected", link->connected().get() != 0},
                    {"leads", pair ? link->leads().get() != 0 : link->connected().get() != 0},
                    {"epoch", link->epoch().get()},
                    {"version", link->connected().get() == 0 ? 0 : link->kill_version().get()}});
  }
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

// Its side of one venue's books.
control::Summary RiskApplication::summary_of(std::size_t index) const {
  const Venue& venue = venues_[index];
  control::Summary summary;
  summary.program = "risk";
  summary.name = runtime_.name();
  summary.venue = venue.config.number;
  summary.venue_name = venue.config.name;
  const Ledger& ledger = monitor_->ledger();
  for (const Row& row : ledger.rows()) {
    if (row.fills == 0 || row.venue != index) continue;
    const std::string_view listed = datapath_->symbols(index).name(ledger.instrument_of(row));
    summary.positions.push_back(
        {ledger.strategies()[row.strategy].id,
         std::string(row.symbol != 0 ? wire::symbol_text(row.symbol) : listed), row.position,
         row.cash, static_cast<std::int64_t>(row.fills), row.fees});
    summary.profits.push_back(
        {summary.positions.back().strategy_id, summary.positions.back().symbol,
         saturate(row.realised()), saturate(row.unrealised()), saturate(row.fee_cash()),
         row.position == 0 ? 0 : static_cast<std::int64_t>(ledger.doubled_mark(row))});
  }
  summary.has_positions = true;
  summary.open_orders = monitor_->open_orders(static_cast<std::uint32_t>(index));
  summary.ticks.push_back(venue.market->flow());
  control::RingFlow& events = summary.events.emplace_back();
  const GatewayLink* link = &venue.gateways->first();
  if (const GatewayLink* const other = venue.gateways->standby();
      other != nullptr && other->epoch().get() > link->epoch().get())
    link = other;  // of a pair the one that led last
  events.published = link->events().published.get();
  events.seen = link->events().seen.get();
  events.overrun = link->events().overrun.get();
  return summary;
}

namespace {

// Rows of positions or profits by strategy and symbol, whatever the venue.
template <class Rows, class Add>
void merge(Rows& all, Add&& add) {
  std::map<std::pair<int, std::string>, std::size_t> places;
  std::size_t kept = 0;
  for (auto& row : all) {
    const auto [place, fresh] = places.emplace(std::pair(row.strategy_id, row.symbol), kept);
    if (fresh)
      std::swap(all[kept++], row);
    else
      add(all[place->second], row);
  }
  all.resize(kept);
}

void merge_venues(control::Summary& all) {
  for (const control::Summary& venue : all.venues) {
    all.positions.insert(all.positions.end(), venue.positions.begin(), venue.positions.end());
    all.profits.insert(all.profits.end(), venue.profits.begin(), venue.profits.end());
  }
  using control::PositionSummary;
  merge(all.positions, [](PositionSummary& sum, const PositionSummary& row) {
    sum.shares += row.shares;
    sum.cash += row.cash;
    sum.fills += row.fills;
    sum.fees += row.fees;
  });
  using control::ProfitSummary;
  merge(all.profits, [](ProfitSummary& sum, const ProfitSummary& row) {
    sum.realised += row.realised;
    sum.unrealised += row.unrealised;
    sum.fees += row.fees;
  });
  // Each venue has a mark of its own.
  for (ProfitSummary& row : all.profits) row.mark_doubled = -1;
}

}  // namespace

void RiskApplication::summarize(control::Summary& summary) {
  summary.stood_by = stands_by();
  if (summary.stood_by) return;
  // Where several risks were active one after another, the last counts.
  summary.details["active_ms"] = static_cast<std::uint64_t>(active_ms_);
  summary.has_positions = true;
  for (std::size_t index = 0; index < venues_.size(); ++index) {
    control::Summary venue = summary_of(index);
    if (venues_.size() == 1) {
      summary.positions = std::move(venue.positions);
      summary.profits = std::move(venue.profits);
      summary.ticks = std::move(venue.ticks);
      summary.events = std::move(venue.events);
      if (!config_.venues.empty()) summary.venue = venue.venue;
    } else {
      summary.venues.push_back(std::move(venue));
    }
  }
  if (!summary.venues.empty()) merge_venues(summary);
  summary.open_orders = monitor_->open_orders();
}

}  // namespace tickpath::risk
