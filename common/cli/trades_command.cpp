#include "common/cli/trades_command.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "common/cli/conservation.hpp"
#include "common/cli/trades.hpp"

namespace tickpath::cli {
namespace {

struct TradesArguments {
  std::string run_dir = "run";
  std::string oeg = "oeg";
  int strategy = 0;  // 0: all
  std::string symbol;
};

Trades selected(const TradesArguments& arguments) {
  Trades trades = read_trades(arguments.run_dir + "/" + arguments.oeg + ".journal");
  const auto other = [&](const auto& each) {
    return (arguments.strategy != 0 && each.strategy != arguments.strategy) ||
           (!arguments.symbol.empty() && each.symbol != arguments.symbol);
  };
  std::erase_if(trades.orders, other);
  std::erase_if(trades.fills, other);
  return trades;
}

// Of the run that has ended; while one goes on, `status --json` has them by strategy.
std::vector<control::ProfitSummary> profits_in(const std::string& run_dir) {
  if (!std::filesystem::exists(run_dir + "/risk.summary.json")) return {};
  return read_summaries(run_dir, {"risk"}).at(0).profits;
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
      "Every order that was sent to the exchange, and what became of it (those that oeg's checks "
      "refused are not among them)",
      [](const TradesArguments& arguments) { return orders_csv(selected(arguments)); });
  add(app, "fills", "Every execution, with cancellations and corrections",
      [](const TradesArguments& arguments) { return fills_csv(selected(arguments)); });
  add(app, "positions",
      "By strategy and instrument: bought, sold, held, cash; of an ended run P&L by risk's marks",
      [](const TradesArguments& arguments) {
        return positions_csv(selected(arguments), profits_in(arguments.run_dir));
      });
}

}  // namespace tickpath::cli
