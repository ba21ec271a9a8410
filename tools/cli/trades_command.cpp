#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/cli/commands.hpp"
#include "tools/cli/conservation.hpp"
#include "tools/cli/trades_tables.hpp"

namespace tickpath::cli {
namespace {

struct TradesArguments {
  std::string run_dir = "run";
  std::string oeg = "oeg";
  int strategy = 0;  // 0: all
  std::string symbol;
};

Trades selected(const TradesArguments& arguments, const control::LongNames& names) {
  Trades trades = read_trades(arguments.run_dir + "/" + arguments.oeg + ".journal");
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
      "CSV, of the day that oeg's journal is in. Prices and cash are in currency units.");
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
        return positions_csv(trades, profits_of(read_summaries({arguments.run_dir}), names));
      });
}

}  // namespace tickpath::cli
