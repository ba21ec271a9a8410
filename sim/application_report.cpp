// What sim tells of itself: status, counters, summary, ledger.
#include <array>

#include <nlohmann/json.hpp>

#include "common/control/summary.hpp"
#include "sim/application.hpp"
#include "sim/replay/time_of_day.hpp"

namespace tickpath::sim {

using control::Json;
using Weight = control::Counters::Weight;

void SimApplication::add_line_counters(control::Counters& all) {
  constexpr std::array<const char*, 2> kNames{"line_a", "line_b"};
  for (std::size_t i = 0; i < feed_.lines().size(); ++i) {
    const LineCounters& line = feed_.lines()[i]->counters();
    all.add(kNames[i], "packets", line.packets);
    all.add(kNames[i], "lost", line.lost);
    all.add(kNames[i], "failed", line.failed);
    all.add(kNames[i], "crowded", line.crowded);
  }
  add_snapshot_counters(all);
  if (feed_.retransmission() == nullptr) return;
  const RetransmissionCounters& answers = feed_.retransmission()->counters();
  all.add("retransmission", "requests", answers.requests);
  all.add("retransmission", "refused", answers.refused);
  all.add("retransmission", "not_kept", answers.not_kept);
  all.add("retransmission", "overloaded", answers.overloaded);
  all.add("retransmission", "packets", answers.packets);
  all.add("retransmission", "messages", answers.messages);
  all.add("retransmission", "lost", answers.lost);
  all.add("retransmission", "failed", answers.failed);
}

void SimApplication::add_latency_counters(control::Counters& all) {
  const auto add = [&all](const std::string& group, const LatencyCounters& counters) {
    all.add(group, "delayed", counters.delayed);
    all.add(group, "held_back", counters.held_back);
    all.add(group, "total_ns", counters.total_ns);
  };
  if (feed_.latency() != nullptr) {
    add("latency.market_data", *feed_.latency());
    all.add("latency.market_data", "crowded", feed_.counters().crowded);
  }
  for (std::size_t i = 0; i < datapath_.delays().size(); ++i) {
    const SessionDelay& delay = *datapath_.delays()[i];
    add("latency.order_entry." + config_.orders[i].target, delay.orders().latency());
    add("latency.reports." + config_.orders[i].target, delay.reports().latency());
    all.add("latency.order_entry." + config_.orders[i].target, "rate_delayed",
            delay.orders().rate_delayed());
  }
}

void SimApplication::add_snapshot_counters(control::Counters& all) {
  if (feed_.snapshot() == nullptr) return;
  const SnapshotCounters& snapshot = feed_.snapshot()->counters();
  all.add("snapshot", "connections", snapshot.connections);
  all.add("snapshot", "logins", snapshot.logins);
  all.add("snapshot", "rejected", snapshot.rejected);
  all.add("snapshot", "malformed", snapshot.malformed);
  all.add("snapshot", "timeouts", snapshot.timeouts);
  all.add("snapshot", "crowded_out", snapshot.crowded_out);
  all.add("snapshot", "overloaded", snapshot.overloaded);
  all.add("snapshot", "accept_failures", snapshot.accept_failures);
  all.add("snapshot", "sent", snapshot.snapshots);
  all.add("snapshot", "messages", snapshot.messages);
  all.add("snapshot", "bytes", snapshot.bytes);
  all.add("snapshot", "lost", snapshot.lost);
  all.add("snapshot", "waits", snapshot.waits);
}

void SimApplication::add_counters() {
  control::Counters& all = runtime_.counters();
  const FeedCounters& feed = feed_.counters();
  all.add("feed", "messages", feed.messages, Weight::kKey);
  all.add("feed", "packets", feed.packets);
  all.add("feed", "heartbeats", feed.heartbeats);
  all.add("feed", "bytes", feed.bytes);
  all.add("feed", "blocked", feed.blocked);
  all.add("feed", "failed", feed.failed);
  all.add("feed", "oversized", feed.oversized);

  add_line_counters(all);
  add_latency_counters(all);

  const ReplayProgress& replay = replayer_.progress();
  all.add("replay", "starved", replay.starved);
  all.add("replay", "lag_p50_ns", [&] { return replay.lag.quantile_ns(0.5); });
  all.add("replay", "lag_p99_ns", [&] { return replay.lag.quantile_ns(0.99); });
  all.add("replay", "lag_max_ns", [&] { return replay.lag.max_ns(); });
  all.add("replay", "undecodable", market_.counters().undecodable);
  all.add("replay", "broken_trades", market_.counters().broken_trades);
  all.add("replay", "states_by_hand", market_.counters().states_by_hand);
  all.add("replay", "unknown_by_hand", market_.counters().unknown_by_hand);

  const MatcherCounters& m = matcher_.counters();
  all.add("orders", "received", m.new_orders, Weight::kKey);
  all.add("orders", "accepted", m.accepted);
  all.add("orders", "rejected", m.rejected, Weight::kKey);
  all.add("orders", "cancels", m.cancels);
  all.add("orders", "replaces", m.replaces);
  all.add("orders", "canceled", m.canceled);
  all.add("orders", "replaced", m.replaced);
  all.add("orders", "expired", m.expired);
  all.add("orders", "cancel_rejected", m.cancel_rejected);
  all.add("orders", "replace_rejected", m.replace_rejected);
  all.add("orders", "fills", m.fills, Weight::kKey);

  for (std::size_t i = 1; i < kFillSourceCount; ++i)
    all.add("matching", "shares_" + std::string(sim::name(static_cast<FillSource>(i))),
            m.filled_shares[i]);
  all.add("matching", "crosses", m.crosses);
  all.add("matching", "taken", m.taken);
  all.add("matching", "bent_executed", m.bent_executed);
  all.add("matching", "bent_withdrawn", m.bent_withdrawn);
  all.add("matching", "displaced", m.displaced);
  if (const PublishedFeed* published = market_.published(); published != nullptr) {
    all.add("published", "own", published->counters().own);
    all.add("published", "bent", published->counters().bent);
    all.add("published", "withheld", published->counters().withheld);
    all.add("published", "own_number", published->counters().own_number);
    all.add("published", "waits", feed_.counters().waits);
  }
  all.add("matching", "unknown_references", m.unknown_references);
  all.add("matching", "bad_messages", m.bad_messages);

  const GatewayCounters& g = gateway_.counters();
  all.add("reports", "sent", g.reports_sent);
  all.add("reports", "stored", g.reports_stored);
  all.add("reports", "backed_up", g.backed_up);
  all.add("reports", "disconnected", g.disconnected);
  all.add("reports", "possible_resends", g.possible_resends);
  for (std::size_t i = 0; i < gateway_.sessions(); ++i) {
    const fix::SessionCounters& s = gateway_.session_counters(i);
    const std::string group = "session." + config_.orders[i].target;
    all.add(group, "received", s.received);
    all.add(group, "sent", s.sent);
    all.add(group, "garbled", s.garbled);
    all.add(group, "rejected", s.rejected);
    all.add(group, "logons", s.logons);
    all.add(group, "bad_logons", s.bad_logons);
    all.add(group, "disconnects", s.disconnects);
    all.add(group, "forgotten", s.forgotten);
    all.add(group, "resent", s.resent);
    all.add(group, "gaps", s.gaps);
    all.add(group, "gap_overflows", s.gap_overflows);
    all.add(group, "gap_timeouts", s.gap_timeouts);
    std::size_t place = 0;
    const Lobby& port = lobby(static_cast<std::uint32_t>(i), place);
    all.add(group, "admitted", port.counters(place).admitted);
    all.add(group, "refused_logons", port.counters(place).refused);
    all.add(group, "wrong_peers", port.counters(place).wrong_peers);
  }
  for (const Port& port : ports_) {
    const std::string group = "port." + config::format_address(port.address);
    all.add(group, "connections", port.lobby->counters().connections);
    all.add(group, "strangers", port.lobby->counters().strangers);
    all.add(group, "silent", port.lobby->counters().timeouts);
    all.add(group, "crowded_out", port.lobby->counters().crowded_out);
    all.add(group, "accept_failures", port.listener->accept_failures());
  }
}

void SimApplication::describe(Json& status) {
  const ReplayStatus replay = progress_.status();
  status["replay"] = {{"state", name(replay.state)},
                      {"file", config_.replay.file},
                      {"messages_sent", replay.messages_sent},
                      {"messages_total", replay.messages_total},
                      {"messages_total_is_estimate", replay.total_is_estimate},
                      {"position_ns", replay.position_ns},
                      {"position", format_time_of_day(replay.position_ns)},
                      {"elapsed_ns", replay.elapsed_ns},
                      {"rate", replay.rate},
                      {"remaining_ns", replay.remaining_ns},
                      {"damage", loader_.damaged() ? loader_.damage() : ""}};
  Json sessions = Json::array();
  for (std::size_t i = 0; i < gateway_.sessions(); ++i)
    sessions.push_back({{"target", config_.orders[i].target},
                        {"listen", config::format_address(config_.orders[i].listen)},
                        {"connected", gateway_.connected(i)},
                        {"logged_on", gateway_.logged_on(i)},
                        {"reports_pending", gateway_.reports_pending(i)}});
  status["sessions"] = sessions;
}

void SimApplication::summarize(control::Summary& summary) {
  const MatcherCounters& c = matcher_.counters();
  summary.orders = control::RequestFlow{};
  summary.orders->received = c.new_orders.get();
  summary.orders->accepted = c.accepted.get();
  summary.orders->rejected = c.rejected.get();
  summary.changes = control::RequestFlow{};
  summary.changes->received = c.cancels.get() + c.replaces.get();
  summary.changes->accepted = c.canceled.get() + c.replaced.get();
  summary.changes->rejected = c.cancel_rejected.get() + c.replace_rejected.get();
  summary.reports = control::ReportFlow{};
  summary.reports->sent = gateway_.counters().reports_sent.get();
  summary.reports->fills = c.fills.get();
  summary.has_positions = true;
  for (const LedgerRow& row : gateway_.ledger().rows()) {
    if (row.fills == 0) continue;
    summary.positions.push_back(
        {row.party.strategy, std::string(market_.symbols().name(row.locate)), row.position_shares,
         row.cash.value, static_cast<std::int64_t>(row.fills)});
  }
  summary.open_orders = matcher_.live_orders();
  summary.feed_messages = feed_.counters().messages.get();
  summary.details["recording_damage"] = loader_.damaged() ? 1 : 0;
  summary.details["conservation_broken"] = broken_.size();
  summary.details["taken_shares"] = c.taken.get();
  summary.details["bent_executed_shares"] = c.bent_executed.get();
  summary.details["bent_withdrawn_shares"] = c.bent_withdrawn.get();
  summary.details["displaced_shares"] = c.displaced.get();
  const LagHistogram& lag = replayer_.progress().lag;
  summary.details["lag_p50_ns"] = lag.quantile_ns(0.5);
  summary.details["lag_p99_ns"] = lag.quantile_ns(0.99);
  summary.details["lag_max_ns"] = lag.max_ns();
}

// Everything that the ledger knows, and what it was checked against: <name>.ledger.json.
void SimApplication::write_ledger() const {
  const MatcherCounters& c = matcher_.counters();
  Json json;
  json["recording"] = config_.replay.file;
  json["damage"] = loader_.damaged() ? loader_.damage() : "";
  Json rows = Json::array();
  for (const LedgerRow& row : gateway_.ledger().rows()) {
    rows.push_back({{"session", config_.orders[row.party.session].target},
                    {"strategy_id", row.party.strategy},
                    {"account", gateway_.account(row.party)},
                    {"symbol", market_.symbols().name(row.locate)},
                    {"position_shares", row.position_shares},
                    {"cash", row.cash.value},
                    {"bought_shares", row.bought_shares},
                    {"sold_shares", row.sold_shares},
                    {"fills", row.fills},
                    {"accepted", row.accepted},
                    {"rejected", row.rejected}});
  }
  json["rows"] = rows;
  Json shares;
  for (std::size_t i = 1; i < kFillSourceCount; ++i)
    shares[std::string(sim::name(static_cast<FillSource>(i)))] = c.filled_shares[i].get();
  json["shares_by_source"] = shares;
  Json refused;
  for (std::size_t i = 1; i < kReasonCount; ++i)
    if (c.refused[i].get() != 0)
      refused[std::string(sim::describe(static_cast<Reason>(i)))] = c.refused[i].get();
  json["refused"] = refused;
  json["bought_from_recorded"] = c.bought_from_recorded.get();
  json["sold_to_recorded"] = c.sold_to_recorded.get();
  json["traded_live"] = c.traded_live.get();
  json["taken"] = c.taken.get();
  json["taken_released"] = c.taken_released.get();
  json["bent_executed"] = c.bent_executed.get();
  json["bent_withdrawn"] = c.bent_withdrawn.get();
  json["displaced"] = c.displaced.get();
  json["conservation"] = broken_;
  control::write_file_atomically(runtime_.run_path(runtime_.name() + ".ledger.json"),
                                 control::text_of(json, 2) + "\n");
}

}  // namespace tickpath::sim
