#include "tools/cli/audit_sources.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "oeg/checkpoint.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/venue_texts.hpp"
#include "tools/cli/conservation_parts.hpp"
#include "tools/cli/journal_audit.hpp"
#include "tools/history/journal_files.hpp"
#include "tools/history/recording_identity.hpp"

namespace tickpath::cli {
namespace {

using control::Json;
using control::Summary;
using Line = Conservation::Line;
using Lines = std::vector<Line>;

using Figure = std::pair<const char*, std::int64_t>;
using Figures = std::vector<Figure>;

std::int64_t whole(std::uint64_t count) { return static_cast<std::int64_t>(count); }

std::string words(const Figures& figures) {
  std::string text;
  for (const auto& [what, count] : figures)
    text += (text.empty() ? "" : ", ") + std::string(what) + " " + std::to_string(count);
  return text;
}

Line same(const std::string& rule, const Figures& told, const Figures& source) {
  const bool holds = told == source;
  return {holds, rule, words(told) + (holds ? "" : " is not " + words(source))};
}

// ---------------------------------------------------------------------------------- oeg's journal

struct JournalSums {
  explicit JournalSums(const oeg::JournalSizes& sizes) : state(sizes) {}

  oeg::JournalState state;
  std::vector<oeg::JournalRecord> exceptions;  // all of the day
};

// As a restart reads it: the checkpoint, and the records behind it.
void read_journal(const std::string& journal, JournalSums& sums, JournalAudit& audit) {
  oeg::CheckpointHeader header{};
  const std::string checkpoint = journal + ".checkpoint";
  if (oeg::read_checkpoint_header(checkpoint, header)) oeg::read_checkpoint(checkpoint, sums.state);
  const std::uint64_t known = sums.state.sequence;
  history::for_each_stored_record(journal, [&](const oeg::JournalRecord& record) {
    if (record.event.event == wire::EventKind::kException) sums.exceptions.push_back(record);
    if (record.sequence <= known) return;
    audit.look(record, sums.state);
    sums.state.apply(record);
  });
}

// The configuration that says how large the tables were is not at hand. Throws Error.
std::unique_ptr<JournalSums> sums_of(const std::string& journal, JournalAudit& audit) {
  constexpr oeg::JournalSizes kUsual{
      .orders_max = 1u << 16, .positions_max = 1u << 14, .instruments_max = 1u << 16};
  constexpr oeg::JournalSizes kLargest{.orders_max = 1u << 22,
                                       .positions_max = 1u << 20,
                                       .instruments_max = 1u << 16,
                                       .executions_max = 1u << 24};
  history::for_each_stored_record(journal,
                                  [&](const oeg::JournalRecord& record) { audit.prepare(record); });
  const JournalAudit prepared = audit;
  try {
    auto sums = std::make_unique<JournalSums>(kUsual);
    read_journal(journal, *sums, audit);
    return sums;
  } catch (const Error&) {
    audit = prepared;
    auto sums = std::make_unique<JournalSums>(kLargest);
    read_journal(journal, *sums, audit);
    return sums;
  }
}

Figures figures_of(const oeg::FlowCounters& flow) {
  return {{"sent", whole(flow.sent.get())},
          {"accepted", whole(flow.accepted.get())},
          {"rejected", whole(flow.rejected.get())},
          {"of its own", whole(flow.own.get())}};
}
Figures figures_of(const control::RequestFlow& flow) {
  return {{"sent", whole(flow.sent)},
          {"accepted", whole(flow.accepted)},
          {"rejected", whole(flow.rejected)},
          {"of its own", whole(flow.own)}};
}

Book book_of_journal(const oeg::JournalState& state) {
  Book book;
  for (std::uint32_t at = 0; at < state.ledger.position_count(); ++at) {
    const wire::PositionRow& row = state.ledger.position(at).row;
    if (row.fills == 0) continue;
    const oeg::Instrument* const instrument = state.instruments.find(row.instrument_id);
    Holding& holding =
        book[{row.strategy_id,
              instrument == nullptr ? std::string() : std::string(instrument->symbol.view())}];
    holding.shares += row.position_shares;
    holding.cash += row.cash;
    holding.fills += whole(row.fills);
  }
  remove_untraded(book);
  return book;
}

std::int64_t fees_of(const Summary& oeg) {
  return std::accumulate(
      oeg.positions.begin(), oeg.positions.end(), std::int64_t{0},
      [](std::int64_t sum, const control::PositionSummary& row) { return sum + row.fees; });
}
std::int64_t fees_of(const oeg::JournalState& state) {
  std::int64_t sum = 0;
  for (std::uint32_t at = 0; at < state.ledger.position_count(); ++at)
    sum += state.ledger.position(at).row.fees;
  return sum;
}

Lines compare(const Summary& oeg, const oeg::JournalState& state) {
  Lines lines;
  const std::string by = ": as its journal has it: ";
  if (oeg.orders)
    lines.push_back(
        same(oeg.name + by + "orders", figures_of(*oeg.orders), figures_of(state.counters.orders)));
  if (oeg.changes)
    lines.push_back(same(oeg.name + by + "cancels, replacements", figures_of(*oeg.changes),
                         figures_of(state.counters.changes)));
  lines.push_back(same(oeg.name + by + "the rest",
                       {{"fills", oeg.reports ? whole(oeg.reports->fills) : 0},
                        {"fees", fees_of(oeg)},
                        {"open orders", whole(oeg.open_orders)},
                        {"records", whole(detail_of(oeg, "journal_records"))},
                        {"impossible records", 0}},
                       {{"fills", whole(state.counters.reports.fills.get())},
                        {"fees", fees_of(state)},
                        {"open orders", whole(state.ledger.open_orders())},
                        {"records", whole(state.sequence)},
                        {"impossible records", whole(state.impossible)}}));
  lines.push_back(
      compared(oeg.name + by + "positions and cash", book_of({&oeg}), book_of_journal(state)));
  return lines;
}

// What a person has to look at: open ones as the list has them, and whether each is in it.
Line exceptions_line(const Summary& oeg, const std::string& path,
                     const std::vector<oeg::JournalRecord>& journaled) {
  const auto list = oeg::ExceptionList::as_written(path);
  const auto unlisted = std::ranges::count_if(journaled, [&](const oeg::JournalRecord& record) {
    return !list.knows(oeg::note_of(record));
  });
  return same(
      oeg.name + ": exceptions as their list has them",
      {{"open", whole(detail_of(oeg, "exceptions_open"))}, {"in the journal alone", 0}},
      {{"open", whole(list.open().size() + list.beyond())}, {"in the journal alone", unlisted}});
}

// ------------------------------------------------------------------------------------ sim's ledger

// The sum of a number over all rows.
std::int64_t sum_of_rows(const Json& rows, const char* key) {
  std::int64_t sum = 0;
  for (const Json& row : rows) sum += row.at(key).get<std::int64_t>();
  return sum;
}
// The sum of an object's numbers.
std::int64_t sum_of_all(const Json& object) {
  std::int64_t sum = 0;
  for (const Json& number : object) sum += number.get<std::int64_t>();
  return sum;
}

Book book_of_rows(const Json& rows) {
  Book book;
  for (const Json& row : rows) {
    Holding& holding =
        book[{row.at("strategy_id").get<int>(), row.at("symbol").get<std::string>()}];
    holding.shares += row.at("position_shares").get<std::int64_t>();
    holding.cash += row.at("cash").get<std::int64_t>();
    holding.fills += row.at("fills").get<std::int64_t>();
  }
  remove_untraded(book);
  return book;
}

std::int64_t uneven_rows(const Json& rows) {
  return std::count_if(rows.begin(), rows.end(), [](const Json& row) {
    return row.at("bought_shares").get<std::int64_t>() -
               row.at("sold_shares").get<std::int64_t>() !=
           row.at("position_shares").get<std::int64_t>();
  });
}

// What it had from the recording, and traded among its own, is what its parties have.
Line shares_line(const std::string& name, const Json& ledger) {
  const Json& rows = ledger.at("rows");
  const auto of = [&](const char* key) { return ledger.at(key).get<std::int64_t>(); };
  const std::int64_t bought = sum_of_rows(rows, "bought_shares");
  const std::int64_t sold = sum_of_rows(rows, "sold_shares");
  return same(name + ": shares in its ledger",
              {{"bought", bought},
               {"sold", sold},
               {"by liquidity", bought + sold},
               {"by source", bought + sold - of("traded_live")},
               {"taken", of("taken")},
               {"fees", sum_of_rows(rows, "fees_millionths")},
               {"rows that do not add up", 0}},
              {{"bought", of("bought_from_recorded") + of("traded_live")},
               {"sold", of("sold_to_recorded") + of("traded_live")},
               {"by liquidity", sum_of_all(ledger.at("shares_by_liquidity"))},
               {"by source", sum_of_all(ledger.at("shares_by_source"))},
               {"taken", of("taken_released") + of("taken_in_book")},
               {"fees", of("venue_fees_millionths")},
               {"rows that do not add up", uneven_rows(rows)}});
}

Line orders_line(const Summary& sim, const Json& ledger) {
  const Json& rows = ledger.at("rows");
  const control::RequestFlow orders = sim.orders.value_or(control::RequestFlow{});
  const std::uint64_t changes = sim.changes ? sim.changes->rejected : 0;
  return same(sim.name + ": as its ledger has it: orders",
              {{"accepted", whole(orders.accepted)},
               {"rejected", whole(orders.rejected)},
               {"refused by reason", whole(orders.rejected + changes)},
               {"fills", sim.reports ? whole(sim.reports->fills) : 0},
               {"damaged places", whole(detail_of(sim, "recording_damage"))},
               {"broken sums", whole(detail_of(sim, "conservation_broken"))},
               {"rows", whole(detail_of(sim, "ledger_rows"))}},
              {{"accepted", sum_of_rows(rows, "accepted")},
               {"rejected", sum_of_rows(rows, "rejected") +
                                ledger.at("rejected_without_row").get<std::int64_t>()},
               {"refused by reason", sum_of_all(ledger.at("refused"))},
               {"fills", sum_of_rows(rows, "fills")},
               {"damaged places", ledger.at("damage").get<std::string>().empty() ? 0 : 1},
               {"broken sums", whole(ledger.at("conservation").size())},
               {"rows", whole(rows.size())}});
}

Line parties_line(const std::string& name, const Json& rows,
                  const std::set<std::string>& sessions) {
  std::set<std::string> strange;
  for (const Json& row : rows)
    if (const auto session = row.at("session").get<std::string>(); !sessions.contains(session))
      strange.insert(session);
  return {strange.empty(), name + ": parties in its ledger have a FIX store each",
          std::to_string(sessions.size()) + " stores, " + std::to_string(strange.size()) +
              " other parties" + (strange.empty() ? "" : "; " + *strange.begin())};
}

Line taken_line(const Summary& sim, const Json& ledger) {
  const auto told = [&](const char* name) { return whole(detail_of(sim, name)); };
  const auto of = [&](const char* key) { return ledger.at(key).get<std::int64_t>(); };
  return same(sim.name + ": as its ledger has it: shares in place of recorded ones",
              {{"taken", told("taken_shares")},
               {"executed again", told("conflict_executed_shares")},
               {"withdrawn", told("conflict_withdrawn_shares")},
               {"displaced", told("displaced_shares")}},
              {{"taken", of("taken")},
               {"executed again", of("conflict_executed")},
               {"withdrawn", of("conflict_withdrawn")},
               {"displaced", of("displaced")}});
}

}  // namespace

Lines journal_lines(const std::string& journal, const std::string& exceptions, const Summary& oeg,
                    const SessionMessages* own, const SessionMessages* venue) {
  // A request that a former life recorded and did not send has the number of another message.
  const bool one_life = !oeg.resumed && !oeg.details.contains("pair_epoch");
  try {
    JournalAudit audit(one_life ? own : nullptr, one_life ? venue : nullptr);
    const std::unique_ptr<JournalSums> sums = sums_of(journal, audit);
    Lines lines = compare(oeg, sums->state);
    lines.push_back(exceptions_line(oeg, exceptions, sums->exceptions));
    lines.push_back(audit.line(oeg.name));
    // A program of an older version does not say what it lost.
    if (oeg.details.contains("texts_lost"))
      lines.push_back(
          audit.texts_line(oeg.name, oeg::venue_texts_file(journal), detail_of(oeg, "texts_lost")));
    if (one_life && oeg.orders)
      lines.push_back(
          {audit.refused() <= oeg.orders->refused,
           oeg.name + ": refused orders in its journal are at most all",
           std::to_string(audit.refused()) + " of " + std::to_string(oeg.orders->refused)});
    // Where numbers were set back, a store has forgotten what was before.
    if (one_life && venue != nullptr && venue->oldest() == 1 && venue->logons() == 1 &&
        !audit.began_anew() && oeg.reports)
      lines.push_back(same(oeg.name + ": reports are the venue's FIX messages",
                           {{"received", whole(oeg.reports->received)}},
                           {{"received", whole(venue->reports())}}));
    return lines;
  } catch (const Error& error) {
    return {{false, oeg.name + ": its journal and its exceptions can be read", error.what()}};
  }
}

Lines session_lines(const std::string& oeg, const SessionMessages& own,
                    const SessionMessages* venue) {
  const auto whole_line = [&](const SessionMessages& side) {
    return Line{
        side.damaged() == 0,
        oeg + ": FIX messages from " + side.sender() + " to " + side.target() + " are whole",
        std::to_string(side.all().size()) + " messages, " + std::to_string(side.damaged()) +
            " are not"};
  };
  Lines lines{whole_line(own)};
  if (venue == nullptr) return lines;
  lines.push_back(whole_line(*venue));
  // Nobody waits for the last word of a logout.
  const auto heard = [](const SessionMessages& by, const SessionMessages& of) {
    return by.next_target() <= of.next_sender() && of.only_session_words_from(by.next_target());
  };
  lines.push_back({heard(own, *venue) && heard(*venue, own),
                   oeg + ": FIX numbers of both sides are the same",
                   std::to_string(own.next_sender()) + " and " + std::to_string(own.next_target()) +
                       ", at the venue " + std::to_string(venue->next_target()) + " and " +
                       std::to_string(venue->next_sender())});
  return lines;
}

Lines ledger_lines(const std::string& path, const Summary& sim,
                   const std::set<std::string>& sessions) {
  try {
    std::ifstream file(path);
    if (!file) throw SystemError("cannot read " + path, errno);
    const Json ledger = Json::parse(file);
    Lines lines{orders_line(sim, ledger), shares_line(sim.name, ledger), taken_line(sim, ledger),
                compared(sim.name + ": as its ledger has it: positions and cash", book_of({&sim}),
                         book_of_rows(ledger.at("rows")))};
    if (!sessions.empty()) lines.push_back(parties_line(sim.name, ledger.at("rows"), sessions));
    return lines;
  } catch (const nlohmann::json::exception& error) {
    return {{false, sim.name + ": its ledger can be read", error.what()}};
  } catch (const Error& error) {
    return {{false, sim.name + ": its ledger can be read", error.what()}};
  }
}

Line recording_line(const std::string& path, const Summary& sim) {
  const std::string rule = sim.name + ": its recording has the messages that it read";
  try {
    std::ifstream file(path);
    if (!file) throw SystemError("cannot read " + path, errno);
    const Json ledger = Json::parse(file);
    const auto recording = ledger.at("recording").get<std::string>();
    const auto messages = ledger.at("recording_messages").get<std::uint64_t>();
    const auto known = history::known_digest(
        messages, ledger.at("recording_digest").get<std::string>(), sim.name + " replayed");
    if (!known) throw Error("its ledger says nothing of them");
    (void)history::identify(recording, ledger.at("recording_stock").get<std::string>(), messages, 0,
                            {*known});
    return {true, rule, std::to_string(messages) + " of " + recording};
  } catch (const nlohmann::json::exception& error) {
    return {false, rule, error.what()};
  } catch (const Error& error) {
    return {false, rule, error.what()};
  }
}

}  // namespace tickpath::cli
