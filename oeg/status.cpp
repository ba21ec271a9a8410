// What oeg tells about itself: notes, counters, status, summary.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/names.hpp"
#include "common/base/units.hpp"
#include "common/control/feed_endpoints.hpp"
#include "common/control/losses.hpp"
#include "common/control/ring_flows.hpp"
#include "common/log/log.hpp"
#include "common/wire/names.hpp"
#include "oeg/application.hpp"
#include "oeg/pair_keeper.hpp"

namespace tickpath::oeg {
namespace {

using Weight = control::Counters::Weight;

control::RequestFlow flow_of(const FlowCounters& flow) {
  control::RequestFlow result;
  result.received = flow.received.get();
  result.refused = flow.refused.get();
  result.sent = flow.sent.get();
  result.accepted = flow.accepted.get();
  result.rejected = flow.rejected.get();
  result.own = flow.own.get();
  const std::uint64_t asked = result.sent + result.own;
  const std::uint64_t answered = result.accepted + result.rejected + flow.own_answered.get();
  result.unanswered = asked > answered ? asked - answered : 0;
  return result;
}

// In units of the currency.
double carried_value(const Ledger& ledger) {
  double sum = 0;
  for (std::uint32_t row = 0; row < ledger.position_count(); ++row)
    sum += std::abs(static_cast<double>(ledger.position(row).row.cash));
  return sum / kPriceScale;
}

std::string_view name(FenceResult fence) {
  return name_in(fence,
                 {{FenceResult::kNone, "none"},
                  {FenceResult::kLogAlone, "log"},
                  {FenceResult::kRevoked, "revoked"},
                  {FenceResult::kEndedOnly, "ended"}},
                 "");
}

}  // namespace

void OegApplication::define_notes() {
  using log::Level;
  log::HotLog& notes = runtime_.hot_log();
  notes.define(Note::kMarketUp, Level::kInfo, "mdh is alive");
  notes.define(Note::kMarketDown, Level::kWarning,
               "mdh is gone or hangs: orders that need a market are refused (no_market)");
  notes.define(Note::kMarketOverrun, Level::kWarning,
               "fell behind the market data by {} updates; resynchronising from the images");
  notes.define(Note::kStrategyUp, Level::kInfo, "strategy {} is up");
  notes.define(Note::kStrategyEnded, Level::kInfo, "strategy {} has ended, with {} open orders");
  notes.define(Note::kStrategyDown, Level::kWarning, "strategy {} is gone, with {} open orders");
  notes.define(Note::kStrategySilent, Level::kWarning,
               "strategy {} is connected but shows no life for {} ms: its {} open orders are "
               "cancelled");
  notes.define(
      Note::kStrategyCutOff, Level::kWarning,
      "strategy {} is cut off: its report queue was full (strategies.report_queue) and it "
      "took no report for {} ms (strategies.unread_max); its {} open orders are cancelled");
  notes.define(Note::kStrategyBack, Level::kInfo, "strategy {} shows life again");
  notes.define(Note::kRiskSeen, Level::kInfo, "risk wrote its limits, generation {}");
  notes.define(Note::kRiskAbsent, Level::kWarning,
               "risk shows no life: new orders are refused, cancels pass");
  notes.define(Note::kRiskReplaced, Level::kWarning,
               "risk shows no life, and another one asks: its connection is ended");
  notes.define(Note::kRiskOlder, Level::kInfo,
               "the leader's kill switch was newer than what risk has written here: its connection "
               "is ended, so that it reads that first");
  notes.define(Note::kKilled, Level::kWarning,
               "strategy {} (256: all) is killed: its new orders are refused");
  notes.define(Note::kUnkilled, Level::kWarning,
               "strategy {} (256: all) is killed no longer: its orders are taken again");
  notes.define(Note::kSymbolConflict, Level::kError,
               "instrument {} has another symbol than the one that orders, positions or "
               "executions of this oeg are of: its orders are refused (was mdh's instruments_file "
               "lost, or was the former symbol not named for instruments_kept days?)");
  notes.define(Note::kSymbolMoved, Level::kError,
               "instrument {} is what instrument {} was before, and orders and positions may stand "
               "under that id: its orders are refused. Give mdh its instruments_file back and "
               "restart it, or, where nothing is held, move oeg's journal away and restart oeg");
  notes.define(PairNote::kStandbyJoined, Level::kInfo,
               "a standby joins; it is told of every record from {} on");
  notes.define(PairNote::kStandbyReady, Level::kInfo, "stands by, epoch {}");
  notes.define(PairNote::kStandbyLost, Level::kWarning,
               "the standby is lost, {} bytes were not confirmed (state of its log: {})");
  notes.define(PairNote::kSuspects, Level::kWarning,
               "the leader of epoch {} is gone or hangs; asks the witness for its place");
  notes.define(PairNote::kTakesOver, Level::kWarning, "leads, epoch {}");
  notes.define(PairNote::kRetires, Level::kWarning, "leads no longer; the epoch is {}");
  notes.define(PairNote::kWitnessUp, Level::kInfo,
               "the witness is there: epoch {}, leader {} (0: never set)");
  notes.define(PairNote::kWitnessDown, Level::kWarning,
               "the witness is gone: until it is back nobody can take over");
  notes.define(PairNote::kLogDamaged, Level::kError, "the leader's log is damaged");
  notes.define(PairNote::kUnsaved, Level::kError,
               "leads alone in epoch {}, and pair.file does not reach the disk (is it slow, or "
               "gone?): after a power cut this oeg may not know that it led");
  notes.define(PairNote::kNotHandedOver, Level::kError,
               "leads on: the witness does not answer, so nothing is handed over. Look at risk "
               "(`tickpath status`), then switch again");
  notes.define(PairNote::kJournalFull, Level::kError,
               "the journal has no room for what the leader records (a full disk?): stands by no "
               "longer, and joins again");
  notes.define(Note::kOrdersFilling, Level::kWarning,
               "{} of {} open orders (orders.max): beyond them new ones are refused (orders_full)");
  notes.define(Note::kPositionsFilling, Level::kWarning,
               "{} of {} position rows (orders.positions_max): beyond them the first order of a "
               "strategy in an instrument is refused (positions_full)");
}

void OegApplication::tell_recovery() {
  log::info("journal: segments of {} records, {} MiB each on the disk", config_.journal.records,
            config_.journal.records * sizeof(JournalRecord) >> 20);
  const RecoveryResult& recovery = datapath_->recovery();
  if (recovery.records == 0 && recovery.positions != 0)
    log::info(
        "journal: a new day, {} positions and {} open orders carried over; the positions are worth "
        "{:.2f} (long and short together) at the prices of the newest executions, from where the "
        "day's result counts",
        recovery.positions, recovery.open_orders, carried_value(datapath_->gateway().ledger()));
  if (recovery.records == 0) return;
  log::info("journal: {} records, {} open orders, {} positions recovered; {} never sent",
            recovery.records, recovery.open_orders, recovery.positions, recovery.unsent);
  if (recovery.impossible != 0)
    log::warning("journal: {} records do not follow from those before them", recovery.impossible);
}

void OegApplication::register_counters() {
  control::Counters& counters = runtime_.counters();
  const GatewayCounters& gateway = datapath_->gateway().counters();
  counters.add("orders", gateway.orders, {"received", "refused"});
  counters.add("changes", gateway.changes, {"received", "refused"});
  for (std::size_t reason = 1; reason < gateway.refused_for.size(); ++reason) {
    const std::string_view name = trading::name(static_cast<trading::RejectReason>(reason));
    if (name != "?") counters.add("refused", std::string(name), gateway.refused_for[reason]);
  }
  counters.add("reports", gateway.reports, {"received", "sent", "fills"});
  counters.add("reports", "commissions", gateway.commissions);
  counters.add("fix", "not_resent", gateway.not_resent);
  counters.add("orders", "overdue", gateway.overdue);
  counters.add("strategies", "orphaned_orders", gateway.orphaned_orders);
  counters.add("orders", "open_at_day_end", gateway.open_at_day_end);
  control::add_losses(counters, "strategies", "strategy", datapath_->strategies().losses());
  control::add_losses(counters, "risk", "risk", datapath_->risk().losses());
  counters.add("strategies", "dropped", gateway.strategies_dropped);
  counters.add("events", "published", gateway.events);
  counters.add("events", "dropped", datapath_->drop_copy().events_dropped());
  counters.add("orders", "rows_used", datapath_->room().orders_used());
  counters.add("orders", "position_rows_used", datapath_->room().positions_used());
  counters.add("journal", "records", datapath_->journal().size());
  counters.add("journal", "segments", datapath_->journal().segments());
  counters.add("journal", "archived", datapath_->journal().archived());
  counters.add("journal", "failures", datapath_->journal().failures());
  counters.add("journal", "lost", gateway.journal_lost);
  counters.add("fix", datapath_->session().counters());
  if (datapath_->pair() != nullptr) counters.add("pair", datapath_->pair()->counters());
  datapath_->market().reader().register_counters(counters, "market");
}

void OegApplication::describe(control::Json& status) {
  if (pair_ != nullptr) status["pair"] = pair_->describe();
  const fix::Session& session = datapath_->session();
  const Gateway& gateway = datapath_->gateway();
  status["venue"] = {{"logged_on", session.logged_on()},
                     {"behind_gap", session.behind_gap()},
                     {"next_sender", session.next_sender_seq()},
                     {"next_target", session.next_target_seq()}};
  status["market"] = {{"alive", datapath_->market().reader().alive().get() != 0},
                      {"instruments", datapath_->market().known().get()}};
  status["shard"] = config_.shard;
  // The risk that holds the control block: of several, the one whose kills this oeg obeys.
  status["risk"] = "";
  for (const link::SubscriberStatus& risk : datapath_->drop_copy().events().subscribers())
    if (!risk.lost) status["risk"] = risk.name;
  status["risk_alive"] = datapath_->risk().alive() || !config_.risk_required;
  status["exceptions_open"] = exceptions_.open().size();
  status["kill_switch"] = describe_kills();
  status["revoked"] = admission_.barred_names();
  control::Json strategies = control::Json::array();
  for (std::size_t i = 0; i < gateway.slots().count(); ++i) {
    const StrategySlot& slot = gateway.slots()[i];
    strategies.push_back({{"id", slot.id.load(std::memory_order_relaxed)},
                          {"connected", slot.taken.load(std::memory_order_relaxed)},
                          {"orders", slot.counters.orders_received.get()},
                          {"changes", slot.counters.changes_received.get()},
                          {"refused", slot.counters.refused.get()},
                          {"fills", slot.counters.fills.get()},
                          {"reports_sent", slot.counters.reports_sent.get()},
                          {"reports_dropped", slot.counters.reports_dropped.get()}});
  }
  status["strategies"] = std::move(strategies);
}

// Beside the kills themselves what is still open of the killed: the end of `tickpath kill`.
control::Json OegApplication::describe_kills() const {
  control::Json json = kills_->describe();
  control::Json open = control::Json::array();
  for (std::size_t i = 0; i < datapath_->gateway().slots().count(); ++i) {
    const StrategySlot& slot = datapath_->gateway().slots()[i];
    const bool killed = std::ranges::any_of(kills_->kills(), [&](const wire::KillRecord& kill) {
      return kill.id == slot.id || kill.id == wire::kKillAll;
    });
    if (!killed) continue;
    open.push_back({{"strategy", slot.id.load(std::memory_order_relaxed)},
                    {"orders", slot.counters.open_orders.get()},
                    {"shares", open_rows(slot.id)}});
  }
  json["open"] = std::move(open);
  const Pair* const pair = datapath_->pair();
  json["replicated"] = pair == nullptr || pair->log().kills_confirmed();
  return json;
}

control::Json OegApplication::open_rows(std::uint8_t strategy) const {
  control::Json rows = control::Json::array();
  wire::PositionRow row{};
  for (std::size_t i = 0; datapath_->drop_copy().position(i, row); ++i)
    if (row.strategy_id == strategy && (row.open_buy_shares != 0 || row.open_sell_shares != 0))
      rows.push_back({{"symbol", symbol(row.instrument_id)},
                      {"buy", row.open_buy_shares},
                      {"sell", row.open_sell_shares}});
  return rows;
}

// From the table that risk READs: the datapath does not know who looks.
control::Json OegApplication::list_positions(const control::Json& request) const {
  constexpr std::size_t kMost = 1000;
  const control::Json most = request.value("most", control::Json(kMost));
  if (!most.is_number_unsigned() || most.get<std::uint64_t>() > kMost)
    throw Error("\"most\" is a number of rows, from 0 to " + std::to_string(kMost));
  std::vector<wire::PositionRow> rows;
  wire::PositionRow row{};
  for (std::size_t i = 0; datapath_->drop_copy().position(i, row); ++i)
    if (row.fills != 0 || row.open_buy_shares != 0 || row.open_sell_shares != 0)
      rows.push_back(row);
  std::ranges::sort(rows, std::ranges::greater(), [](const wire::PositionRow& each) {
    return each.position_shares < 0 ? -each.position_shares : each.position_shares;
  });
  control::Json list = control::Json::array();
  for (const wire::PositionRow& each : rows) {
    if (list.size() == most.get<std::size_t>()) break;
    list.push_back({{"strategy", each.strategy_id},
                    {"symbol", symbol(each.instrument_id)},
                    {"shares", each.position_shares},
                    {"cash", static_cast<double>(each.cash) / static_cast<double>(kPriceScale)},
                    {"fills", each.fills},
                    {"open_buy", each.open_buy_shares},
                    {"open_sell", each.open_sell_shares}});
  }
  return {{"positions", std::move(list)}, {"rows", rows.size()}};
}

void OegApplication::summarize(control::Summary& summary) {
  summary.stood_by = !datapath_->leads();
  summary.details["shard"] = control::shard_of(config_.shard).number;
  if (summary.stood_by) return;
  // Another one may have led after our end: of a pair the last epoch's books count.
  if (datapath_->pair() != nullptr) summary.details["pair_epoch"] = datapath_->pair()->word().epoch;
  const Gateway& gateway = datapath_->gateway();
  const GatewayCounters& counters = gateway.counters();
  summary.orders = flow_of(counters.orders);
  summary.changes = flow_of(counters.changes);
  control::ReportFlow reports;
  reports.received = counters.reports.received.get();
  reports.sent = counters.reports.sent.get();
  reports.fills = counters.reports.fills.get();
  reports.dropped = counters.reports.dropped.get();
  summary.reports = reports;
  for (std::size_t i = 0; i < gateway.slots().count(); ++i) {
    const StrategySlot& slot = gateway.slots()[i];
    const StrategyCounters& counted = slot.counters;
    summary.strategies.push_back({slot.id, counted.connections.get(),
                                  counted.connection_requests.get(),
                                  counted.connection_reports.get(), counted.orders_received.get()});
  }
  summary.has_positions = true;
  const Ledger& ledger = gateway.ledger();
  for (std::uint32_t row = 0; row < ledger.position_count(); ++row) {
    const wire::PositionRow& position = ledger.position(row).row;
    if (position.fills == 0) continue;
    summary.positions.push_back({position.strategy_id, symbol(position.instrument_id),
                                 position.position_shares, position.cash,
                                 static_cast<std::int64_t>(position.fills), position.fees});
  }
  summary.events = control::ring_flows(datapath_->drop_copy().events().accounts());
  summary.ticks.push_back(datapath_->market().reader().flow());
  summary.resumed = datapath_->recovery().records != 0;
  summary.open_orders = ledger.open_orders();
  summary.details["exceptions_open"] = exceptions_.open().size() + exceptions_.beyond();
  summary.details["exceptions_unlisted"] = datapath_->drop_copy().exceptions_unlisted().get();
  summary.details["journal_lost"] = counters.journal_lost.get();
  summary.details["journal_records"] = datapath_->journal().size().get();
  summary.details["texts_lost"] = datapath_->strategies().texts_lost().get();
  summary.journal = config_.journal.path;
  summary.exceptions = config_.exceptions_file;
  summary.files = {config_.session.store, config_.exceptions_file};
  if (!venue_texts_.counts().empty()) summary.files.push_back(venue_texts_.path());
}

// -------------------------------------------------------------------------------------- the pair

std::string PairKeeper::not_ready_reason() const {
  const Pair& pair = *datapath_->pair();
  if (pair.status().blocked()) return "waits for the pair's witness at " + witnesses();
  if (pair.stage() == Pair::Stage::kLeading) return {};
  if (pair.stage() == Pair::Stage::kFollowing && pair.status().stands_by()) return {};
  return "joins its pair";
}

control::Json PairKeeper::describe() const {
  const Pair& pair = *datapath_->pair();
  const wire::Leadership word = pair.word();
  constexpr const char* kStages[] = {"standby", "taking over", "leader", "retired"};
  control::Json json = {{"role", kStages[static_cast<std::size_t>(pair.stage())]},
                        {"place", config_.pair.place},
                        {"epoch", word.epoch},
                        {"leader", word.leader},
                        {"alone", word.alone},
                        {"blocked", pair.status().blocked()},
                        {"witness", pair.witness().is_there()},
                        {"has_standby", pair.status().has_standby()},
                        {"lag_bytes", pair.lag().bytes().get()},
                        {"lag_records", pair.lag().entries().get()},
                        {"lag_us", static_cast<double>(pair.lag().ns().get()) / 1000}};
  control::Json times = control::Json::object();
  datapath_->pair()->takeover().times().for_each(
      [&](std::string_view name, const Counter& at) { times[std::string(name)] = at.get(); });
  json["takeover"] = std::move(times);
  json["fence"] = name(pair.takeover().fence_result());
  return json;
}

}  // namespace tickpath::oeg
