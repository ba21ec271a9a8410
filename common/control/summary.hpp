// What a program leaves at its end, <run_dir>/<name>.summary.json: its side of the books, for the
// conservation check of `tickpath up` (tools/cli/conservation.hpp). Each fills in what it knows.
//
// Conservation, over all programs of a run:
//   orders    strategy.sent = strategy.accepted + strategy.rejected + strategy.lost;
//             the sum over strategies = oeg.received = oeg.refused + oeg.sent;
//             oeg.sent + oeg.own = sim.received = sim.accepted + sim.rejected;
//             oeg.accepted = sim.accepted, oeg.rejected = sim.rejected; nothing unanswered
//   requests  the same for cancels and replacements; sim's answers are those to oeg.own, too
//   reports   sim.reports_sent = oeg.reports_received
//   channels  of each strategy, on its newest connection to oeg: requests sent = received, reports
//             sent = received
//   open      as many open orders in strategy, oeg, risk and sim
//   positions the same shares, cash and fills for each (strategy, symbol) in strategy, oeg, risk
//             and sim; the same fees in oeg, risk and sim
//   P&L       realised + unrealised = cash + shares x mark - fees, for each row of risk
//   ticks     mdh's published to a subscriber = that subscriber's seen + overrun
//   events    oeg's drop-copy events published to risk = risk's seen + overrun
//
// With several venues all of this holds at each (Summary::venue says who belongs to which), and a
// strategy's positions in a symbol are the sum of what the venues' oegs, risks and sims hold for
// it.
//
// Over restarts. Programs may be killed and started again; sim may not. Whatever takes effect
// outside is in oeg's journal, so oeg's counts of what was sent, accepted and filled go on from it,
// and must fit sim's. A strategy counts for its own life, oeg's refusals are of its own life: these
// are compared while neither has been started again (StrategyFlow::connections, Summary::resumed).
// Rings and channels are compared by their newest connection. Positions are always compared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/replace_file.hpp"
#include "common/control/json.hpp"

namespace tickpath::control {

// One kind of request (new orders; cancels and replacements together), on its way through one
// program. A request is accepted or rejected by its first answer: an order that is filled, canceled
// or expired without an acknowledgement before counts as accepted; so does a cancel or replacement
// that is answered by anything but a reject.
struct RequestFlow {
  std::uint64_t received = 0;    // from upstream (oeg: from strategies, sim: over FIX); else 0
  std::uint64_t refused = 0;     // oeg: rejected by its own checks, never sent on
  std::uint64_t sent = 0;        // downstream (strategy: to oeg, oeg: to the venue); else 0
  std::uint64_t accepted = 0;    // as seen here (strategy: by reports; oeg, sim: by the venue)
  std::uint64_t rejected = 0;    // as seen here (strategy: by anyone; oeg, sim: by the venue only)
  std::uint64_t unanswered = 0;  // neither, at the end
  // oeg: cancels of its own, for strategies that are gone; sent beside `sent`, counted in none of
  // the figures above but `unanswered`.
  std::uint64_t own = 0;
  // strategy: oeg died before it answered, and knows nothing of it; part of `sent` only.
  std::uint64_t lost = 0;
};

struct ReportFlow {
  std::uint64_t received = 0;  // from downstream (oeg: from the venue; strategy: from oeg)
  std::uint64_t sent = 0;      // upstream (sim: over FIX; oeg: to all strategies)
  std::uint64_t fills = 0;     // reports received (sim: sent) that are fills, part or whole
  std::uint64_t dropped = 0;   // could not be delivered: their strategy is gone (oeg)
};

// The position of one strategy in one instrument. Rows without any fill may be left out.
struct PositionSummary {
  std::uint8_t strategy_id = 0;
  std::string symbol;       // without padding
  std::int64_t shares = 0;  // bought less sold
  std::int64_t cash = 0;    // 1/10,000: sold less bought
  std::int64_t fills = 0;   // executions that made it
  // What the venue charged for them, 1/1,000,000, below 0: paid. In no cash. sim, oeg, risk.
  std::int64_t fees = 0;
};

// P&L of one strategy in one instrument, by risk's last mark; 1/10,000.
struct ProfitSummary {
  std::uint8_t strategy_id = 0;
  std::string symbol;
  std::int64_t realised = 0;
  std::int64_t unrealised = 0;
  // What it was computed from, beside the position: of a venue's own summary alone.
  std::int64_t fees = 0;  // 1/10,000, part of `realised`
  // Twice the mark, the middle of two prices. 0: flat, or valued at cost; -1: it does not say.
  std::int64_t mark_doubled = -1;
};

// One end of an update ring, of the newest connection. Writer: `peer` is the reader's instance
// name (from its Hello). Reader: `peer` is empty.
struct RingFlow {
  std::string peer;
  std::uint64_t published = 0;  // writer: posted to this reader
  std::uint64_t seen = 0;       // reader
  std::uint64_t overrun = 0;    // reader: overwritten before it came to them
};

// One end of the channel between a strategy and oeg.
struct StrategyFlow {
  std::uint8_t strategy_id = 0;
  std::uint64_t connections = 0;  // in the life of the program that tells
  // On the newest of them. New orders, cancels, replacements; sent (strategy) or received (oeg).
  std::uint64_t requests = 0;
  std::uint64_t reports = 0;  // received (strategy) or sent (oeg)
  // oeg: new orders received on all of them.
  std::uint64_t orders = 0;
};

struct Summary {
  std::string program;                      // filled in by the skeleton: "oeg"
  std::string name;                         // likewise: the instance's name
  std::uint8_t venue = 0;                   // likewise: CommonConfig::venue
  std::string venue_name;                   // strategy, risk: as its [[venue]] has it
  std::optional<std::uint8_t> strategy_id;  // strategy only
  std::optional<RequestFlow> orders;        // new orders: strategy, oeg, sim
  std::optional<RequestFlow> changes;       // cancels and replacements: strategy, oeg, sim
  std::optional<ReportFlow> reports;        // strategy, oeg, sim
  std::vector<StrategyFlow> strategies;     // strategy (its plugins), oeg
  bool resumed = false;                     // oeg: it went on from the journal of a former life
  bool stood_by = false;                    // oeg, risk: another one led or was active at its end
  std::vector<PositionSummary> positions;   // strategy (its own), oeg, risk, sim
  std::vector<ProfitSummary> profits;       // risk; rows as in positions
  bool has_positions = false;               // set it even when there are none
  std::vector<RingFlow> ticks;              // mdh: one a subscriber; strategy, risk, oeg: one
  std::vector<RingFlow> events;             // oeg: one a drop-copy reader; risk: one
  std::uint64_t open_orders = 0;            // at the end
  std::uint64_t feed_messages = 0;          // sim: replayed; mdh: taken in sequence
  std::uint64_t feed_messages_missed = 0;   // mdh: gaps
  // oeg: where its order journal and its list of exceptions are, so that what they add up to can be
  // held against all of this.
  std::string journal;
  std::string exceptions;
  // Paths of what it left beside this, so that an auditor misses one.
  std::vector<std::string> files;
  std::vector<std::string> problems;  // why the run failed although this program ended in order
  std::map<std::string, std::uint64_t> details;  // what else a person may want to know
  // strategy, risk with several venues: its side of the books of each, with `venue` and
  // `venue_name`.
  // What is above is then of all together; positions by symbol, whatever the venue.
  std::vector<Summary> venues;
};

// The file's format. Reading throws Error naming what is missing.
Json to_json(const Summary& summary);
Summary summary_from_json(const Json& json);

// Readers see the old file or the whole new one. Throws SystemError naming the path.
inline void write_file_atomically(const std::string& path, const std::string& text) {
  replace_file(path, {text});
}

}  // namespace tickpath::control
