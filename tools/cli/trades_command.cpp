#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/error.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/conservation.hpp"
#include "tools/cli/programs.hpp"
#include "tools/cli/remote_hosts.hpp"
#include "tools/cli/trades_tables.hpp"

namespace tickpath::cli {
namespace {

struct TradesArguments {
  std::string run_dir = "run";
  std::string oeg = "oeg";
  int strategy = 0;  // 0: all
  std::string symbol;
};

// Throws Error where that oeg has none there, naming those that have.
std::string journal_of(const TradesArguments& arguments) {
  const std::string ending = ".journal";
  const std::string path = arguments.run_dir + "/" + arguments.oeg + ending;
  require_here(arguments.run_dir, arguments.oeg, "its journal", "orders|fills|positions");
  if (std::filesystem::exists(path)) return path;
  if (std::filesystem::exists(arguments.run_dir + "/" + arguments.oeg + ".summary.json"))
    throw Error("'" + arguments.oeg + "' has left a summary and no journal in '" +
                arguments.run_dir + "': it ran on another host, and its journal is there");
  std::set<std::string> others;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(arguments.run_dir, none)) {
    const std::filesystem::path file = entry.path();
    if (file.extension() == ending && program_of(file.stem()) == "oeg") others.insert(file.stem());
  }
  std::string names;
  for (const std::string& name : others) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty())
    throw Error("'" + arguments.oeg + "' has no journal in '" + arguments.run_dir +
                "'; name one of these with --oeg: " + names);
  return path;
}

// The summaries of the risk that watches this oeg: at another venue the same strategy and symbol
// are others.
std::vector<control::Summary> beside(const TradesArguments& arguments) {
  std::vector<control::Summary> summaries = read_summaries({arguments.run_dir});
  const auto own = std::ranges::find(summaries, arguments.oeg, &control::Summary::name);
  if (own == summaries.end()) return summaries;
  return of_venue(summaries, own->venue);
}

Trades selected(const TradesArguments& arguments, const control::LongNames& names) {
  Trades trades = read_trades(journal_of(arguments));
  show_names(trades, names);
  const std::string symbol(names.name_of(arguments.symbol));  // either is understood
  const auto other = [&](const auto& each) {
    return (arguments.strategy != 0 && each.strategy != arguments.strategy) ||
           (!symbol.empty() && each.symbol != symbol);
  };
  std::erase_if(trades.orders, other);
  std::erase_if(trades.fills, other);
  std::erase_if(trades.carried, other);
  return trades;
}

Trades selected(const TradesArguments& arguments) {
  return selected(arguments, control::LongNames::read(arguments.run_dir));
}

template <class Print>
void add(CLI::App& app, const char* name, const char* help, Print print) {
  auto* command = app.add_subcommand(name, help);
  auto arguments = std::make_shared<TradesArguments>();
  command->add_option("--run-dir", arguments->run_dir, "Of the run, going on or ended")
      ->capture_default_str();
  command->add_option("--oeg", arguments->oeg, "Instance name of oeg")->capture_default_str();
  command->add_option("--strategy", arguments->strategy, "Of this strategy alone")
      ->check(CLI::Range(1, 255));
  command->add_option("--symbol", arguments->symbol, "In this instrument alone");
  command->footer(
      "CSV, of the day that oeg's journal is in. Prices and cash are in currency units.\n"
      "exchange_time is the feed's time of day when oeg sent the order, or had the report of the\n"
      "fill: the recording's in a replay; empty without mdh.endpoint in oeg's file. tick is the\n"
      "message of the feed that caused the order; 0: none did.");
  command->callback([arguments, print] {
    std::fputs(print(*arguments).c_str(), stdout);
    std::fflush(stdout);
  });
}

}  // namespace

void add_trades_commands(CLI::App& app) {
  add(app, "orders",
      "Every order, and what became of it; of those that oeg's checks refused, with the reason, "
      "the first of a day (a quarter of journal.records)",
      [](const TradesArguments& arguments) { return orders_csv(selected(arguments)); });
  add(app, "fills", "Every execution, with cancellations and corrections",
      [](const TradesArguments& arguments) { return fills_csv(selected(arguments)); });
  add(app, "positions",
      "By strategy and instrument: held, carried from earlier days, bought, sold, cash; of an "
      "ended run P&L by risk's marks",
      [](const TradesArguments& arguments) {
        const auto names = control::LongNames::read(arguments.run_dir);
        const Trades trades = selected(arguments, names);
        return positions_csv(trades, profits_of(beside(arguments), names));
      });
}

}  // namespace tickpath::cli
