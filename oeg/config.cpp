#include "oeg/config.hpp"

#include <string>

#include "common/base/fnv.hpp"
#include "common/control/feed_endpoints.hpp"
#include "common/market/order_limits.hpp"

namespace tickpath::oeg {
namespace {

void add_venue(config::Schema<OegConfig>& schema) {
  using C = OegConfig;
  schema.address("venue.address", &C::venue, "Where the exchange's FIX acceptor listens");
  schema.include("venue", &C::session, fix::session_schema("venue"));
  schema.integer("venue.heartbeat", &C::heartbeat_s, {1, 3600}, "s", "HeartBtInt (108)");
  schema.duration("venue.reconnect", &C::reconnect_ns, {10'000'000, 600'000'000'000},
                  "Pause before the next try to connect");
  schema.duration("venue.reconnect_max", &C::reconnect_max_ns, {10'000'000, 3'600'000'000'000},
                  "Longest pause after a connection that ended before the logon: the first is "
                  "venue.reconnect, each further one twice as long");
  schema.flag("venue.reset_on_logon", &C::reset_on_logon,
              "Start every logon from sequence number 1; loses reports missed meanwhile");
}

config::Schema<GatewayOptions> gateway_schema() {
  using G = GatewayOptions;
  config::Schema<G> schema;
  schema.integer("mdh.instruments_max", &G::instruments_max, {1, 1 << 16}, "instruments",
                 "At least what mdh has room for");
  schema.integer("strategies.max", &G::strategies_max, {1, 64}, "strategies",
                 "Strategy ids that may ever connect in one run");
  schema.integer(
      "strategies.report_queue", &G::report_queue, {64, 1 << 20}, "reports",
      "Reports kept for a strategy that reads slowly; near half of it its requests wait, "
      "at all of it the venue does");
  schema.duration("strategies.unread_max", &G::unread_max_ns, {1'000'000, 600'000'000'000},
                  "A strategy whose queue is full and that takes no report for so long is cut off");
  schema.flag("strategies.cancel_orphans", &G::cancel_orphans,
              "Cancel the open orders of a strategy that is gone");
  schema.integer("orders.max", &G::orders_max, {64, 1 << 22}, "orders",
                 "Open orders over all strategies");
  schema.integer("orders.positions_max", &G::positions_max, {0, OegConfig::kPositionRowsMax},
                 "rows",
                 "Pairs of strategy and instrument that ever had an order, 200 bytes each; 0: "
                 "mdh.instruments_max times strategies.max, at most 1,048,576");
  schema.integer("orders.executions_max", &G::executions_max, {1024, 1 << 24}, "executions",
                 "Executions remembered, so that none is booked twice and the venue can cancel or "
                 "correct them");
  schema.flag("orders.stop_on_exception", &G::stop_on_exception,
              "Refuse new orders in a symbol of which a report could not be booked, until a person "
              "clears or books it (tickpath exceptions)");
  schema.duration("venue.resend_age_max", &G::resend_age_max_ns, {0, 3'600'000'000'000},
                  "At a logon the exchange may ask for orders that never arrived: older ones, and "
                  "those not allowed any more, are not sent again but rejected; cancels are sent");
  schema.duration("venue.answer_max", &G::answer_max_ns, {10'000'000, 3'600'000'000'000},
                  "A request without an answer for so long does not keep an order alive that is to "
                  "go: it is cancelled anyway, so much later asked for, and then an exception");
  trading::OrderLimits most = trading::kOrderLimitsMost;
  most.messages_per_second_max = 10'000'000;
  most.collar_basis_points = 10'000;  // 100 %
  schema.include("limits", &G::limits, market::order_limits_schema(most));
  schema.flag("limits.market_order_protection", &G::market_order_protection,
              "Send a market order as a limit order at the collar, immediate or cancel; without a "
              "collar it goes out as it is");
  return schema;
}

config::Schema<JournalOptions> journal_schema() {
  using J = JournalOptions;
  config::Schema<J> schema;
  schema.path("file", &J::path,
              "Order journal, the segment in use; a restart rebuilds orders from it and from "
              "<file>.checkpoint");
  schema.integer("records", &J::records, {1 << 14, std::int64_t{1} << 28}, "records",
                 "Changes of state in a segment, 128 bytes each; two are on the disk at any time, "
                 "besides those archived");
  schema.integer("archived_max", &J::archived_max, {0, 1'000'000}, "segments",
                 "Former segments kept, <file>.000001 and on; the oldest are removed");
  schema.choice(
      "start", &J::start,
      {{"resume", JournalStart::kResume},
       {"auto", JournalStart::kAuto},
       {"fresh", JournalStart::kFresh}},
      "resume: go on with the last run's orders, positions and counts; auto: only if it "
      "did not end in order, else a new day; fresh: a new day. An oeg that has joined its "
      "pair always goes on with what its leader has");
  schema.flag("carry_positions", &J::carry_positions,
              "A new day begins with the positions of the last one; false: with none");
  return schema;
}

config::Schema<PairOptions> pair_schema() {
  using P = PairOptions;
  config::Schema<P> schema;
  schema.integer(
      "place", &P::place, {0, 2}, "",
      "1 or 2: which of a pair of oegs this is; 0: it is alone. Place 1 begins a new pair");
  schema.text("peer", &P::peer, "Endpoint of the other oeg");
  schema.text("witness", &P::witness, "Endpoint of risk, which keeps the word of who leads");
  schema.text("witness_standby", &P::witness_standby,
              "Endpoint of the second risk, which keeps the word where the first one is gone; "
              "empty: there is none");
  schema.path("file", &P::file, "What this one knows of the leadership, over its restarts");
  schema
      .integer("log_bytes", &P::log_bytes, {1 << 16, 1 << 28}, "bytes",
               "Room for what the standby has not taken yet; the same in both")
      .power_of_two();
  schema.flag("trade_alone", &P::trade_alone,
              "Without a standby: go on, unreplicated; false: refuse new orders (session_down)");
  schema.duration("confirm_max", &P::confirm_max_ns, {1'000'000, 60'000'000'000},
                  "A standby that confirms nothing for so long, or takes nothing while its log is "
                  "full, is given up");
  return schema;
}

// A full log of them.
std::uint64_t log_records(const PairOptions& pair) noexcept {
  return pair.log_bytes / link::log_entry_bytes(sizeof(JournalRecord));
}

// Without these one of a pair would wait for ever, or lead beside the other one.
void check_pair(const OegConfig& config, config::Problems& problems) {
  const PairOptions& pair = config.pair;
  if (pair.place == 0) return;
  const auto needed = [&](const char* key, const std::string& endpoint, const char* whose) {
    if (endpoint.empty())
      problems.add(key, "is empty, and pair.place is " + std::to_string(pair.place) +
                            ": give the endpoint of " + whose);
  };
  needed("pair.peer", pair.peer, "the other oeg");
  needed("pair.witness", pair.witness, "risk, the pair's witness");
  if (!pair.peer.empty() && pair.peer == config.common.fabric_endpoint)
    problems.add("pair.peer", "is this oeg's own endpoint (fabric.endpoint): give the other oeg's");
  if (!pair.witness.empty() && pair.witness == pair.witness_standby)
    problems.add("pair.witness_standby",
                 "is pair.witness once more: give the second risk's endpoint, or leave it empty");
  // A standby keeps room for a full log in its journal, and has to get on beside that.
  if (const std::uint64_t needed_records = 2 * log_records(pair);
      config.journal.records < needed_records)
    problems.add("journal.records",
                 "is " + std::to_string(config.journal.records) + ", and the pair's log holds " +
                     std::to_string(needed_records / 2) + " records: give at least " +
                     std::to_string(needed_records) + ", or a smaller pair.log_bytes");
}

}  // namespace

std::uint32_t OegConfig::position_rows() const noexcept {
  if (gateway.positions_max != 0) return gateway.positions_max;
  const std::uint64_t pairs = std::uint64_t{gateway.instruments_max} * gateway.strategies_max;
  return static_cast<std::uint32_t>(pairs < kPositionRowsMax ? pairs : kPositionRowsMax);
}

GatewayOptions OegConfig::gateway_options() const {
  GatewayOptions options = gateway;
  options.positions_max = position_rows();
  options.refusals_journaled_max = journal.records / 4;  // of one segment
  return options;
}

JournalOptions OegConfig::journal_options() const {
  JournalOptions options = journal;
  options.sizes = {gateway.orders_max, position_rows(), gateway.instruments_max,
                   gateway.executions_max};
  if (pair.place != 0) options.log_records = log_records(pair);
  return options;
}

fix::SessionOptions OegConfig::session_options() const {
  fix::SessionOptions options = session.options(fix::SessionRole::kInitiator, "venue");
  options.heartbeat_s = heartbeat_s;
  options.reset_on_logon = reset_on_logon;
  return options;
}

std::uint64_t OegConfig::pair_id() const {
  const std::string version = std::to_string(static_cast<unsigned>(session.version));
  const std::string venue_number = std::to_string(common.venue);
  std::uint64_t id = kFnvBasis;
  for (const std::string& part : {session.sender, session.target, version, venue_number, shard})
    id = fnv1a(part + '\0', id);
  return id;
}

std::vector<std::string> advice(const OegConfig& config) {
  if (!market::are_all_off(config.gateway.limits)) return {};
  return {
      "every limit of [limits] is 0: orders are bounded by risk's [order_limits] alone, and by "
      "nothing where those are 0, too"};
}

config::Schema<OegConfig> oeg_schema() {
  using C = OegConfig;
  config::Schema<C> schema;
  schema.include("", &C::common, control::common_schema());
  add_venue(schema);
  schema.include("mdh", &C::mdh, market::feed_schema());
  schema.text("mdh.shard", &C::shard,
              "Which symbols of the venue are traded here, where several oegs share them: as "
              "feed.shard of its mdh. Strategies that need others are refused; empty: all");
  schema.include("heartbeat", &C::heartbeat, market::heartbeat_schema());
  schema.include("", &C::gateway, gateway_schema());
  schema
      .integer("strategies.channel_depth", &C::channel_depth, {16, 1 << 14}, "messages",
               "Requests and reports in flight of each strategy")
      .power_of_two();
  schema.duration("strategies.reconnect_grace", &C::reconnect_grace_ns, {0, 3'600'000'000'000},
                  "After a restart of oeg: open orders wait this long for their strategy");
  schema.flag("orders.cancel_on_stop", &C::cancel_on_stop, "Cancel what is open when oeg stops");
  schema.include("pair", &C::pair, pair_schema());
  schema.include("journal", &C::journal, journal_schema());
  schema.path("journal.exceptions", &C::exceptions_file,
              "Reports of the venue that could not be booked, for a person to clear");
  schema.flag("risk.required", &C::risk_required, "Refuse new orders while risk shows no life");
  schema.duration("risk.absent_after", &C::risk_absent_after_ns, {1'000'000, 600'000'000'000},
                  "Without a word from risk for so long, though its heart beats: new orders are "
                  "refused; cancels always pass");
  schema.path("risk.kills_file", &C::kills_file,
              "The kill switch as risk last wrote it: in effect from the start, until risk says "
              "otherwise");
  schema.check([](const C& config, config::Problems& problems) {
    control::check_shard("mdh.shard", config.shard, problems);
    check_pair(config, problems);
  });
  return schema;
}

}  // namespace tickpath::oeg
