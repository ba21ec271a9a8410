// strategy: runs trading strategies from plugins.
#include <memory>

#include "common/control/program.hpp"
#include "strategy/application.hpp"
#include "strategy/config.hpp"
#include "strategy/plugin_check.hpp"

int main(int argc, char** argv) {
  using namespace tickpath;
  return control::run_program<strategy::StrategyConfig>(
      argc, argv,
      {.program = "strategy",
       .description = "runs trading strategies from plugins",
       .schema = strategy::strategy_schema(),
       .common = &strategy::StrategyConfig::common,
       .check = strategy::check_plugins,
       .create = [](const strategy::StrategyConfig& config, control::Runtime& runtime) {
         return std::make_unique<strategy::StrategyApplication>(config, runtime);
       }});
}
