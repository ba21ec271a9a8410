#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/control/admin_client.hpp"
#include "tools/cli/commands.hpp"

namespace tickpath::cli {
namespace {

struct TradingArguments {
  std::string run_dir = "run";
  std::string sim = "sim";
  std::string action;
  std::vector<std::string> symbols;
};

// Each symbol is tried; throws Error where one was refused.
void run_trading(const TradingArguments& arguments) {
  std::string refused;
  for (const std::string& symbol : arguments.symbols) {
    try {
      (void)control::admin_command(control::admin_path(arguments.run_dir, arguments.sim),
                                   {{"command", arguments.action + "_symbol"}, {"symbol", symbol}});
      std::printf("%-8s %s\n", symbol.c_str(), arguments.action.c_str());
    } catch (const Error& error) {
      refused += (refused.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  std::fflush(stdout);
  if (!refused.empty()) throw Error(refused);
}

}  // namespace

void add_trading_command(CLI::App& app) {
  auto* command = app.add_subcommand("trading", "Halt or resume the trading of symbols at sim");
  auto arguments = std::make_shared<TradingArguments>();
  command
      ->add_option("action", arguments->action,
                   "halt, pause, quote (quotes only, before trading resumes) or resume")
      ->required()
      ->check(CLI::IsMember({"halt", "pause", "quote", "resume"}));
  command->add_option("symbols", arguments->symbols, "As in the recording: AAPL MSFT")->required();
  command->add_option("--run-dir", arguments->run_dir, "Where sim runs")->capture_default_str();
  command->add_option("--sim", arguments->sim, "Instance name of sim")->capture_default_str();
  command->callback([arguments] { run_trading(*arguments); });
}

}  // namespace tickpath::cli
