// What sim tells of itself: status, counters, summary, ledger.
#include <array>

#include <nlohmann/json.hpp>

#include "common/control/summary.hpp"
#include "common/log/log.hpp"
#include "sim/application.hpp"
#include "sim/replay/time_of_day.hpp"

namespace tickpath::sim {

using control::Json;
using Weight = control::Counters::Weight;

void SimApplication::add_line_counters(control::Counters& all) {
  constexpr std::array<const char*, 2> kNames{"line_a", "line_b"};
  for (std::size_t i = 0; i < feed_.lines().size(); ++i)
    all.add(kNames[i], feed_.lines()[i]->counters());
  if (feed_.snapshot() != nullptr) all.add("snapshot", feed_.snapshot()->counters());
  if (feed_.retransmission() != nullptr)
    all.add("retransmission", feed_.retransmission()->counters());
}

void SimApplication::add_latency_counters(control::Counters& all) {
  if (feed_.latency() != nullptr) {
    all.add("latency.market_data", *feed_.latency());
    all.add("latency.market_data", "crowded", feed_.counters().crowded);
  }
  for (std::size_t i = 0; i < datapath_.delays().size(); ++i) {
    const SessionDelay& delay = *datapath_.delays()[i];
    const std::string order_entry = "latency.order_entry." + config_.orders[i].target;
    all.add(order_entry, delay.orders().latency());
    all.add(order_entry, "rate_delayed", delay.orders().rate_delayed());
    all.add("latency.reports." + config_.orders[i].target, delay.reports().latency());
  }
}

void SimApplication::add_counters() {
  control::Counters& all = runtime_.counters();
  all.add("feed", feed_.counters(), {"messages"});
  add_line_counters(all);
  add_latency_counters(all);

  const ReplayProgress& replay = replayer_.progress();
  all.add("replay", "starved", replay.starved);
  all.add("replay", "lag_p50_ns", [&] { return replay.lag.quantile_ns(0.5); });
  all.add("replay", "lag_p99_ns", [&] { return replay.lag.quantile_ns(0.99); });
  all.add("replay", "lag_max_ns", [&] { return replay.lag.max_ns(); });
  all.add("replay", market_.counters());

  const MatcherCounters& m = matcher_.counters();
  const OrderCounters& orders = m;
  const RecordedCounters& recorded = m;
  all.add("orders", orders, {"received", "rejected", "fills"});
  for (std::size_t i = 1; i < kFillSourceCount; ++i)
    all.add("matching", "shares_" + std::string(sim::name(static_cast<FillSource>(i))),
            m.filled_shares[i]);
  all.add("matching", "crosses", m.crosses);
  all.add("matching", recorded);
  if (const PublishedFeed* published = market_.published(); published != nullptr)
    all.add("published", published->counters());
  all.add("matching", "unknown_references", m.unknown_references);
  all.add("matching", "bad_messages", m.bad_messages);

  all.add("reports", gateway_.counters());
  for (std::size_t i = 0; i < gateway_.sessions(); ++i) {
    const std::string group = "session." + config_.orders[i].target;
    all.add(group, gateway_.session_counters(i));
    std::size_t place = 0;
    const Lobby& port = lobby(static_cast<std::uint32_t>(i), place);
    all.add(group, port.counters(place));
  }
  for (const Port& port : ports_) {
    const std::string group = "port." + config::format_address(port.address);
    all.add(group, port.lobby->counters());
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
                      {"speed", replay.speed},
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
  summary.orders->received = c.received.get();
  summary.orders->accepted = c.accepted.get();
  summary.orders->rejected = c.rejected.get();
  summary.changes = control::RequestFlow{};
  summary.changes->received = c.cancels.get() + c.replaces.get();
  summary.changes->accepted = c.canceled.get() + c.replaced.get();
  summary.changes->rejected = c.cancel_rejected.get() + c.replace_rejected.get();
  summary.reports = control::ReportFlow{};
  summary.reports->sent = gateway_.counters().sent.get();
  summary.reports->fills = c.fills.get();
  summary.has_positions = true;
  for (const LedgerRow& row : gateway_.ledger().rows()) {
    if (row.fills == 0) continue;
    // The summary is compared with those of programs that know of no fees: cash is without them.
    summary.positions.push_back(
        {row.party.strategy, std::string(market_.symbols().name(row.locate)), row.position_shares,
         row.cash, static_cast<std::int64_t>(row.fills), row.fees});
  }
  summary.open_orders = matcher_.live_orders();
  summary.feed_messages = feed_.counters().messages.get();
  summary.details["recording_damage"] = loader_.damaged() ? 1 : 0;
  summary.details["bad_messages"] = c.bad_messages.get();
  summary.details["conservation_broken"] = broken_.size();
  add_fees(summary.details);
  summary.details["ledger_rows"] = gateway_.ledger().rows().size();
  summary.details["taken_shares"] = c.taken.get();
  summary.details["conflict_executed_shares"] = c.conflict_executed.get();
  summary.details["conflict_withdrawn_shares"] = c.conflict_withdrawn.get();
  summary.details["displaced_shares"] = c.displaced.get();
  summary.files = {runtime_.run_path(runtime_.name() + ".incarnation")};
  for (const OrderSessionConfig& session : config_.orders) summary.files.push_back(session.store);
  const LagHistogram& lag = replayer_.progress().lag;
  summary.details["lag_p50_ns"] = lag.quantile_ns(0.5);
  summary.details["lag_p99_ns"] = lag.quantile_ns(0.99);
  summary.details["lag_max_ns"] = lag.max_ns();
}

// Millionths of a unit: what each party pays, in all symbols.
std::map<std::string, std::int64_t> SimApplication::fees_by_party() const {
  std::map<std::string, std::int64_t> fees;
  for (const LedgerRow& row : gateway_.ledger().rows()) {
    const std::string_view account = gateway_.account(row.party);
    std::string name = config_.orders[row.party.session].target;
    if (!account.empty())
      name += "." + std::string(account);
    else if (row.party.strategy != 0)
      name += "." + std::to_string(row.party.strategy);
    fees[name] += row.fees;
  }
  return fees;
}

// Only of a venue that has fees.
void SimApplication::add_fees(std::map<std::string, std::uint64_t>& details) const {
  if (!gateway_.ledger().fees().any()) return;
  // A detail is not negative: what is paid and what is received stand side by side.
  for (const auto& [party, fees] : fees_by_party())
    details[(fees < 0 ? "rebates_millionths." : "fees_millionths.") + party] =
        static_cast<std::uint64_t>(fees < 0 ? -fees : fees);
  const std::int64_t had = venue_fees(matcher_, gateway_.ledger().fees());
  details[had < 0 ? "venue_rebates_millionths" : "venue_fees_millionths"] =
      static_cast<std::uint64_t>(had < 0 ? -had : had);
}

void SimApplication::tell_fees() const {
  if (!gateway_.ledger().fees().any()) return;
  const auto units = [](std::int64_t millionths) {
    return static_cast<double>(millionths) / static_cast<double>(kFeeScale);
  };
  for (const auto& [party, fees] : fees_by_party())
    log::info("fees: {} has {} {:.6f}", party, fees < 0 ? "received" : "paid",
              units(fees < 0 ? -fees : fees));
  log::info("fees: the venue has had {:.6f} in all",
            units(venue_fees(matcher_, gateway_.ledger().fees())));
}

// Everything that the ledger knows, and what it was checked against: <name>.ledger.json.
void SimApplication::write_ledger() const {
  const MatcherCounters& c = matcher_.counters();
  Json json;
  json["recording"] = config_.replay.file;
  json["recording_stock"] = config_.replay.stock;
  // The digest covers all messages that were read: those on the feed, and those read ahead of it.
  json["recording_messages"] = loader_.messages_read();
  json["recording_digest"] = itch::digest_text(loader_.digest());
  json["damage"] = loader_.damaged() ? loader_.damage() : "";
  Json rows = Json::array();
  for (const LedgerRow& row : gateway_.ledger().rows()) {
    rows.push_back({{"session", config_.orders[row.party.session].target},
                    {"strategy_id", row.party.strategy},
                    {"account", gateway_.account(row.party)},
                    {"symbol", market_.symbols().name(row.locate)},
                    {"position_shares", row.position_shares},
                    {"cash", row.cash},
                    {"fees_millionths", row.fees},
                    {"bought_shares", row.bought_shares},
                    {"sold_shares", row.sold_shares},
                    {"fills", row.fills},
                    {"accepted", row.accepted},
                    {"rejected", row.rejected}});
  }
  json["rows"] = rows;
  json["rejected_without_row"] = gateway_.ledger().rejected_without_row();
  json["taken_in_book"] = matcher_.taken_in_book();
  json["venue_fees_millionths"] = venue_fees(matcher_, gateway_.ledger().fees());
  Json traded;
  traded["added"] = c.traded_shares[static_cast<std::size_t>(Liquidity::kAdded)].get();
  traded["removed"] = c.traded_shares[static_cast<std::size_t>(Liquidity::kRemoved)].get();
  traded["cross"] = c.traded_shares[static_cast<std::size_t>(Liquidity::kCross)].get();
  json["shares_by_liquidity"] = traded;
  Json shares;
  for (std::size_t i = 1; i < kFillSourceCount; ++i)
    shares[std::string(sim::name(static_cast<FillSource>(i)))] = c.filled_shares[i].get();
  json["shares_by_source"] = shares;
  Json refused;
  for (std::size_t i = 1; i < kReasonCount; ++i)
    if (c.refused[i].get() != 0)
      refused[std::string(sim::describe(static_cast<Reason>(i)))] = c.refused[i].get();
  json["refused"] = refused;
  static_cast<const RecordedCounters&>(c).for_each(
      [&](std::string_view name, const Counter& counter) {
        json[std::string(name)] = counter.get();
      });
  json["conservation"] = broken_;
  control::write_file_atomically(runtime_.run_path(runtime_.name() + ".ledger.json"),
                                 control::text_of(json, 2) + "\n");
}

}  // namespace tickpath::sim
