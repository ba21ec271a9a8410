// risk: watches every order and the market, holds limits and kill switch.
#include <memory>

#include "common/control/program.hpp"
#include "risk/application.hpp"
#include "risk/config.hpp"

int main(int argc, char** argv) {
  using namespace tickpath;
  return control::run_program<risk::RiskConfig>(
      argc, argv,
      {.program = "risk",
       .description = "watches every order and the market, holds limits and kill switch",
       .schema = risk::risk_schema(),
       .common = &risk::RiskConfig::common,
       .advice = risk::advice,
       .create = [](const risk::RiskConfig& config, control::Runtime& runtime) {
         return std::make_unique<risk::RiskApplication>(config, runtime);
       }});
}
