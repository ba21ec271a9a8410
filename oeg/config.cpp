#include "oeg/config.hpp"

#include "common/base/units.hpp"

namespace tickpath::oeg {
namespace {

// Shares and orders: whatever fits their 32-bit fields. Money: Price(4) times shares must fit 63
// bits.
constexpr std::int64_t kCountMax = 0xffff'ffff;
constexpr std::int64_t kMoneyMax = 900'000'000'000'000;

config::Schema<LimitsConfig> limits_schema() {
  using L = LimitsConfig;
  config::Schema<L> schema;
  schema.integer("order_shares_max", &L::order_shares_max, {0, kCountMax}, "shares",
                 "Largest order; 0 here and below: no such limit");
  schema.integer(
      "order_value_max", &L::order_value_max, {0, kMoneyMax}, "currency",
      "Largest value of an order: shares times its limit; of a sell times the best bid if "
      "that is higher, of a market order times the worst price that the collar allows. Without a "
      "good market a sell has no value and is refused");
  schema.integer("collar_basis_points", &L::collar_basis_points, {0, 10'000}, "1/100 %",
                 "How much worse than the opposite best price a limit may be");
  schema.flag("market_order_protection", &L::market_order_protection,
              "Send a market order as a limit order at the collar, immediate or cancel; without a "
              "collar it goes out as it is");
  schema.integer("open_orders_max", &L::open_orders_max, {0, kCountMax}, "orders",
                 "Open orders of a strategy");
  schema.integer("position_shares_max", &L::position_shares_max, {0, kCountMax}, "shares",
                 "Position of a strategy in an instrument if all that is open were filled");
  schema.integer("position_value_max", &L::position_value_max, {0, kMoneyMax}, "currency",
                 "The same position at the order's price");
  schema.integer("messages_per_second_max", &L::messages_per_second_max, {0, 10'000'000},
                 "messages/s", "New orders and replacements of a strategy; cancels always pass");
  return schema;
}

void add_venue(config::Schema<OegConfig>& schema) {
  using C = OegConfig;
  schema.address("venue.address", &C::venue, "Where the exchange's FIX acceptor listens");
  schema.texts("venue.peers", &C::venue_peers,
               "Addresses (\"10.77.0.1\") and nets (\"10.77.0.0/24\") that the exchange may have, "
               "where venue.address is a name; none: any");
  schema.texts(
      "venue.users", &C::venue_users,
      "Users of this host (names or numbers) that an exchange on it may run as; \"any\": no "
      "matter who; none: oeg's own user. Nobody else is logged on to");
  schema.text("venue.sender", &C::sender, "Our SenderCompID (49)");
  schema.text("venue.target", &C::target, "The exchange's CompID (56)");
  schema.choice("venue.version", &C::fix_version,
                {{"4.2", fix::Version::k42}, {"4.4", fix::Version::k44}},
                "FIX version that the exchange speaks");
  schema.flag("venue.validate", &C::fix_validate,
              "Refuse messages of the exchange that break the FIX data dictionary");
  schema.path("venue.store", &C::store_file,
              "FIX message store: sequence numbers and sent messages, survives a restart");
  schema
      .integer("venue.store_messages", &C::store_messages, {1024, 1 << 24}, "messages",
               "Sent messages kept for resend, 640 bytes each")
      .power_of_two();
  schema.integer("venue.heartbeat", &C::heartbeat_s, {1, 3600}, "s", "HeartBtInt (108)");
  schema.duration("venue.reconnect", &C::reconnect_ns, {10'000'000, 600'000'000'000},
                  "Pause before the next try to connect");
  schema.duration("venue.reconnect_max", &C::reconnect_max_ns, {10'000'000, 3'600'000'000'000},
                  "Longest pause after a connection that ended before the logon: the first is "
                  "venue.reconnect, each further one twice as long");
  schema.integer("venue.gap_timeout", &C::gap_timeout_s, {1, 3600}, "s",
                 "Messages of the exchange that are missing, and of which none has come for so "
                 "long, end the session; until they have come new orders are refused (venue_gap)");
  schema.duration("venue.resend_age_max", &C::resend_age_max_ns, {0, 3'600'000'000'000},
                  "At a logon the exchange may ask for orders that never arrived: older ones, and "
                  "those not allowed any more, are not sent again but rejected; cancels are sent");
  schema.text(
      "venue.start_time", &C::start_time,
      "When the session opens, UTC: \"08:00\", \"08:00:00\"; before it oeg does not log on, "
      "and with it both sequence numbers begin with 1. Empty: it never ends");
  schema.text(
      "venue.end_time", &C::end_time,
      "When it ends: oeg logs out. Orders that are still open are over then, positions stay");
  schema.text("venue.start_day", &C::start_day,
              "Day on which a weekly session opens, \"mon\"; empty: every day");
  schema.text("venue.end_day", &C::end_day, "Day on which it ends");
  schema.flag("venue.reset_on_logon", &C::reset_on_logon,
              "Start every logon from sequence number 1; loses reports missed meanwhile");
  schema.flag(
      "venue.next_expected", &C::next_expected,
      "Say in our Logon which number we expect next (NextExpectedMsgSeqNum, 789), and send "
      "again what the exchange lacks by its own, both without ResendRequests; FIX 4.4 alone");
  schema.text("venue.username", &C::username,
              "Username (553) in our Logon, FIX 4.4 alone; empty: none");
  schema.path("venue.password_file", &C::password_file,
              "File whose first line is the password in our Logon: Password (554), in FIX 4.2 "
              "RawData (96); chmod 600. Or \"env:NAME\". Empty: none. It travels in the clear");
  schema.flag("venue.allow_reset", &C::allow_reset,
              "Take a Logon of the exchange that starts the numbers anew (ResetSeqNumFlag, 141=Y) "
              "without having asked for it (venue.reset_on_logon); loses reports missed meanwhile");
}

}  // namespace

std::uint32_t OegConfig::position_rows() const noexcept {
  if (positions_max != 0) return positions_max;
  const std::uint64_t pairs = std::uint64_t{instruments_max} * strategies_max;
  return static_cast<std::uint32_t>(pairs < kPositionRowsMax ? pairs : kPositionRowsMax);
}

fix::SessionTimes OegConfig::session_times() const {
  return {start_time, end_time, start_day, end_day};
}

net::PeerRule OegConfig::venue_rule() const { return {venue_peers, venue_users, "venue"}; }

GatewayOptions OegConfig::gateway_options() const {
  GatewayOptions options;
  options.strategies_max = strategies_max;
  options.orders_max = orders_max;
  options.positions_max = position_rows();
  options.instruments_max = instruments_max;
  options.report_queue = report_queue;
  options.unread_max_ns = unread_max_ns;
  options.cancel_orphans = cancel_orphans;
  options.refusals_journaled_max = journal_records / 4;  // of one segment
  options.executions_max = executions_max;
  options.resend_age_max_ns = resend_age_max_ns;
  options.stop_on_exception = stop_on_exception;
  options.market_order_protection = limits.market_order_protection;
  options.limits.order_value_max = static_cast<std::uint64_t>(limits.order_value_max) * kPriceScale;
  options.limits.position_value_max =
      static_cast<std::uint64_t>(limits.position_value_max) * kPriceScale;
  options.limits.order_shares_max = limits.order_shares_max;
  options.limits.position_shares_max = limits.position_shares_max;
  options.limits.open_orders_max = limits.open_orders_max;
  options.limits.messages_per_second_max = limits.messages_per_second_max;
  options.limits.collar_basis_points = limits.collar_basis_points;
  return options;
}

JournalOptions OegConfig::journal_options() const {
  JournalOptions options;
  options.path = journal_file;
  options.records = journal_records;
  options.start = journal_start;
  options.carry_positions = journal_carry_positions;
  options.archived_max = journal_archived_max;
  options.sizes.orders_max = orders_max;
  options.sizes.positions_max = position_rows();
  options.sizes.instruments_max = instruments_max;
  options.sizes.executions_max = executions_max;
  return options;
}

config::Schema<OegConfig> oeg_schema() {
  using C = OegConfig;
  config::Schema<C> schema;
  schema.include("", &C::common, control::common_schema());
  add_venue(schema);
  schema.include("mdh", &C::mdh, market::feed_schema());
  schema.include("heartbeat", &C::heartbeat, market::heartbeat_schema());
  schema.integer("mdh.instruments_max", &C::instruments_max, {1, 1 << 16}, "instruments",
                 "At least what mdh has room for");
  schema.integer("strategies.max", &C::strategies_max, {1, 64}, "strategies",
                 "Strategy ids that may ever connect in one run");
  schema
      .integer("strategies.channel_depth", &C::channel_depth, {16, 1 << 14}, "messages",
               "Requests and reports in flight of each strategy")
      .power_of_two();
  schema.integer(
      "strategies.report_queue", &C::report_queue, {64, 1 << 20}, "reports",
      "Reports kept for a strategy that reads slowly; near half of it its requests wait, "
      "at all of it the venue does");
  schema.duration("strategies.unread_max", &C::unread_max_ns, {1'000'000, 600'000'000'000},
                  "A strategy whose queue is full and that takes no report for so long is cut off");
  schema.flag("strategies.cancel_orphans", &C::cancel_orphans,
              "Cancel the open orders of a strategy that is gone");
  schema.duration("strategies.reconnect_grace", &C::reconnect_grace_ns, {0, 3'600'000'000'000},
                  "After a restart of oeg: open orders wait this long for their strategy");
  schema.integer("orders.max", &C::orders_max, {64, 1 << 22}, "orders",
                 "Open orders over all strategies");
  schema.integer("orders.positions_max", &C::positions_max, {0, C::kPositionRowsMax}, "rows",
                 "Pairs of strategy and instrument that ever had an order, 200 bytes each; 0: "
                 "mdh.instruments_max times strategies.max, at most 1,048,576");
  schema.flag("orders.cancel_on_stop", &C::cancel_on_stop, "Cancel what is open when oeg stops");
  schema.integer("orders.executions_max", &C::executions_max, {1024, 1 << 24}, "executions",
                 "Executions remembered, so that none is booked twice and the venue can cancel or "
                 "correct them");
  schema.flag("orders.stop_on_exception", &C::stop_on_exception,
              "Refuse new orders in a symbol of which a report could not be booked, until a person "
              "clears it (tickpath exceptions)");
  schema.path("journal.file", &C::journal_file,
              "Order journal, the segment in use; a restart rebuilds orders from it and from "
              "<file>.checkpoint");
  schema.integer("journal.records", &C::journal_records, {1 << 14, std::int64_t{1} << 28},
                 "records",
                 "Changes of state in a segment, 128 bytes each; two are on the disk at any time, "
                 "besides those archived");
  schema.integer("journal.archived_max", &C::journal_archived_max, {0, 1'000'000}, "segments",
                 "Former segments kept, <file>.000001 and on; the oldest are removed");
  schema.choice("journal.start", &C::journal_start,
                {{"resume", JournalStart::kResume},
                 {"auto", JournalStart::kAuto},
                 {"fresh", JournalStart::kFresh}},
                "resume: go on with the last run's orders, positions and counts; auto: only if it "
                "did not end in order, else a new day; fresh: a new day");
  schema.flag("journal.carry_positions", &C::journal_carry_positions,
              "A new day begins with the positions of the last one; false: with none");
  schema.path("journal.exceptions", &C::exceptions_file,
              "Reports of the venue that could not be booked, for a person to clear");
  schema.flag("risk.required", &C::risk_required, "Refuse new orders while risk shows no life");
  schema.duration("risk.absent_after", &C::risk_absent_after_ns, {1'000'000, 600'000'000'000},
                  "Without a word from risk for so long, though its heart beats: new orders are "
                  "refused; cancels always pass");
  schema.path("risk.kills_file", &C::kills_file,
              "The kill switch as risk last wrote it: in effect from the start, until risk says "
              "otherwise");
  schema.include("limits", &C::limits, limits_schema());
  schema.check([](const C& config, config::Problems& problems) {
    if (!config.username.empty() &&
        (config.password_file.empty() || config.fix_version == fix::Version::k42))
      problems.add("venue.username", "goes with venue.password_file, and is of version 4.4 alone");
    if (config.next_expected && config.fix_version == fix::Version::k42)
      problems.add("venue.next_expected", "is of version 4.4 alone");
    try {
      (void)config.session_times();
    } catch (const Error& error) {
      problems.add("venue.start_time", error.what());
    }
    try {
      (void)config.venue_rule();
    } catch (const net::NetError& error) {
      problems.add("venue", error.what());
    }
  });
  return schema;
}

}  // namespace tickpath::oeg
