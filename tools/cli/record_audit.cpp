#include "tools/cli/record_audit.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/fix/codec.hpp"
#include "common/wire/order_id.hpp"
#include "mdh/symbol_file.hpp"
#include "strategy/route_file.hpp"
#include "tools/cli/conservation_parts.hpp"
#include "tools/cli/route_decision.hpp"
#include "tools/cli/session_messages.hpp"
#include "tools/history/journal_files.hpp"

namespace tickpath::cli {
namespace {

using control::Summary;
using oeg::JournalRecord;
using Line = Conservation::Line;
using wire::EventKind;
using wire::OrderId;

std::string symbol_in(const JournalRecord& record) {
  return {record.symbol, ::strnlen(record.symbol, sizeof(record.symbol))};
}

class RecordAudit {
 public:
  explicit RecordAudit(const Remains& remains) : remains_(remains) {}

  std::vector<Line> run() {
    for (const Summary& summary : here("oeg"))
      if (const std::string path = found_in(remains_, summary.journal); !path.empty())
        guarded(summary.name + ": its journal can be read", [&] { read_journal(path); });
    for (const Summary& strategy : here("strategy")) {
      routes(strategy);
      incarnations(strategy);
    }
    for (const Summary& mdh : here("mdh")) symbols(mdh);
    for (const Summary& sim : here("sim")) {
      incarnation(sim);
      orders(sim);
    }
    return std::move(lines_);
  }

 private:
  // An order that went to the venue, or was refused.
  struct Asked {
    std::string symbol;
    std::uint32_t shares = 0;
    Side side = Side::kBuy;
  };

  std::vector<Summary> here(const std::string& program) const {
    std::vector<Summary> found;
    for (const Summary& each : remains_.summaries)
      if (each.program == program && !each.stood_by && !is_elsewhere(remains_, each.name))
        found.push_back(each);
    return found;
  }
  template <class Check>
  void guarded(const std::string& rule, Check&& check) {
    try {
      check();
    } catch (const Error& error) {
      lines_.push_back({false, rule, error.what()});
    }
  }
  // The file with that ending that the program says it has left; empty: none, or it is gone, and
  // audit() says so.
  std::string file_of(const Summary& summary, const std::string& ending) const {
    for (const std::string& file : summary.files)
      if (file.ends_with(ending)) return found_in(remains_, file);
    return {};
  }

  void read_journal(const std::string& path) {
    history::for_each_stored_record(path, [&](const JournalRecord& record) {
      const wire::OrderEvent& event = record.event;
      if (event.event != EventKind::kRequested && event.event != EventKind::kRefused) return;
      asked_[event.order_id] = {symbol_in(record), event.shares, event.side};
      if (event.event == EventKind::kRequested && event.request_kind == wire::RequestKind::kNew)
        ++sent_[{event.strategy_id, symbol_in(record)}];
      if (record.own == 0) {
        std::uint16_t& life = lives_[event.strategy_id];
        life = std::max(life, OrderId::incarnation(event.order_id));
      }
      if (event.event == EventKind::kRequested)
        symbols_.emplace(event.instrument_id, symbol_in(record));
    });
  }

  // Every byte of the file is under a check of its own. A journal may lack the orders of a day that
  // is over.
  void routes(const Summary& strategy) {
    const std::string path = file_of(strategy, ".routes");
    if (path.empty()) return;
    const std::string rule = strategy.name + ": its routes are whole, and its orders";
    guarded(rule, [&] {
      const std::vector<strategy::RecordedLife> lives = strategy::read_routes(path);
      if (lives.empty() || !lives.back().ended) throw Error(path + ": its end is not there");
      const strategy::RecordedLife& life = lives.back();
      std::uint64_t strange = 0;
      for (const strategy::RouteRecord& record : life.routes)
        for (std::size_t i = 0; i < record.head.venue_count; ++i)
          if (!is_asked(record.head, record.venues[i])) ++strange;
      const std::uint64_t told = detail_of(strategy, "routes");
      const bool holds =
          told == life.tally.routes && life.tally.recorded == life.routes.size() && strange == 0;
      lines_.push_back({holds, rule,
                        std::to_string(told) + " orders were routed, " +
                            std::to_string(life.tally.routes) + " are told and " +
                            std::to_string(life.routes.size()) + " recorded, " +
                            std::to_string(strange) + " of their parts are no orders"});
    });
  }
  bool is_asked(const strategy::RouteHead& head, const strategy::RouteVenue& venue) const {
    const auto asked = asked_.find(venue.order_id);
    if (venue.order_id == 0 || asked == asked_.end()) return true;
    return asked->second.symbol == symbol_of(head) && asked->second.shares == venue.shares &&
           static_cast<std::uint8_t>(asked->second.side) == head.side;
  }

  void life_line(const std::string& rule, const std::string& path, std::uint64_t used) {
    std::ifstream file(path);
    std::string text;
    std::getline(file, text);
    std::uint64_t told = 0;
    const bool holds = fix::parse_number(text, told) && told == used && file.peek() == EOF;
    lines_.push_back(
        {holds, rule,
         "the file says " + text + ", the newest ids are of life " + std::to_string(used)});
  }
  // The next life of a strategy takes another number than any that was used. One that has sent
  // nothing in its life has used none.
  void incarnations(const Summary& strategy) {
    for (const control::StrategyFlow& flow : strategy.strategies) {
      const auto life = lives_.find(flow.strategy_id);
      if (flow.connections != 1 || flow.requests == 0 || life == lives_.end()) continue;
      const std::string id = std::to_string(flow.strategy_id);
      const std::string path = file_of(strategy, "strategy-" + id + ".incarnation");
      if (!path.empty()) life_line(strategy.name + ": life of strategy " + id, path, life->second);
    }
  }
  // An exchange's ids of orders and executions have it in their upper 16 bits.
  void incarnation(const Summary& sim) {
    const std::string path = file_of(sim, ".incarnation");
    if (path.empty() || !sim.orders || sim.orders->accepted == 0) return;
    std::uint64_t newest = 0;
    for (const std::string& file : sim.files)
      if (const std::string store = found_in(remains_, file);
          file.ends_with(".fixstore") && !store.empty())
        guarded(sim.name + ": its FIX store can be read",
                [&] { newest = std::max(newest, newest_execution(SessionMessages(store))); });
    if (newest != 0) life_line(sim.name + ": its life", path, newest >> 48);
  }
  static std::uint64_t newest_execution(const SessionMessages& messages) {
    std::uint64_t newest = 0;
    for (const auto& [number, message] : messages.all()) {
      fix::Fields fields;
      fix::ExecutionReport report;
      if (fields.scan(message) && fields.msg_type() == '8' && decode(fields, report))
        newest = std::max(newest, report.exec_id);
    }
    return newest;
  }

  // Also where nothing was filled, so that no position differs. One exchange and one life of oeg;
  // not where an order found no row, or never left oeg.
  void orders(const Summary& sim) {
    const std::vector<Summary> oegs = here("oeg");
    const std::string path = found_in(remains_, sim.name + ".ledger.json");
    if (path.empty() || oegs.size() != 1 || here("sim").size() != 1 || oegs[0].resumed ||
        !oegs[0].orders || oegs[0].details.contains("pair_epoch") || sent_.empty())
      return;
    std::ifstream file(path);
    const control::Json ledger = control::Json::parse(file, nullptr, false);
    const std::string rule = sim.name + ": orders in its ledger by symbol are oeg's";
    try {
      if (ledger.at("rejected_without_row").get<std::int64_t>() != 0) return;
      std::map<std::pair<int, std::string>, std::int64_t> rows;
      for (const control::Json& row : ledger.at("rows"))
        rows[{row.at("strategy_id").get<int>(), row.at("symbol").get<std::string>()}] +=
            row.at("accepted").get<std::int64_t>() + row.at("rejected").get<std::int64_t>();
      std::erase_if(rows, [](const auto& row) { return row.second == 0; });
      std::uint64_t differ = 0;
      for (const auto& [key, count] : rows) {
        const auto sent = sent_.find(key);
        if (sent == sent_.end() || sent->second != count) ++differ;
      }
      lines_.push_back({differ == 0 && rows.size() == sent_.size(), rule,
                        std::to_string(rows.size()) + " rows, " + std::to_string(sent_.size()) +
                            " of oeg, " + std::to_string(differ) + " differ"});
    } catch (const nlohmann::json::exception& error) {
      lines_.push_back({false, rule, error.what()});
    }
  }

  // Positions are carried into the next day under these ids.
  void symbols(const Summary& mdh) {
    const std::string path = file_of(mdh, ".instruments");
    if (path.empty()) return;
    const std::string rule = mdh.name + ": ids of symbols as oeg's journal has them";
    guarded(rule, [&] {
      constexpr std::uint32_t kAny = 1u << 24;
      const auto known = mdh::SymbolFile(path).read(kAny, std::chrono::sys_days{});
      std::uint64_t traded = 0, other = 0;
      std::string which;
      for (const auto& [id, symbol] : symbols_) {
        const bool same = id < known.size() && known[id].symbol == symbol;
        ++(same ? traded : other);
        if (!same && which.empty()) which = "; " + std::to_string(id) + " was " + symbol;
      }
      // Several mdhs have ids of their own each, and an oeg may have traded by another's.
      const bool mine = here("mdh").size() == 1;
      if (mine)
        lines_.push_back({other == 0, rule,
                          std::to_string(traded) + " traded ones, " + std::to_string(other) +
                              " differ" + which});
    });
  }

  const Remains& remains_;
  std::vector<Line> lines_;
  std::unordered_map<std::uint64_t, Asked> asked_;            // by order id
  std::map<std::pair<int, std::string>, std::int64_t> sent_;  // orders by strategy and symbol
  std::map<int, std::uint16_t> lives_;            // by strategy: the newest that sent anything
  std::map<std::uint32_t, std::string> symbols_;  // by instrument id
};

}  // namespace

std::vector<Line> record_lines(const Remains& remains) { return RecordAudit(remains).run(); }

}  // namespace tickpath::cli
