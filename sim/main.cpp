#include "common/control/program.hpp"
#include "sim/application.hpp"

int main(int argc, char** argv) {
  namespace control = tickpath::control;
  namespace sim = tickpath::sim;
  return control::run_program<sim::SimConfig>(
      argc, argv,
      {.program = "sim",
       .description = "replays a recorded market and trades with it: multicast feed, FIX orders",
       .schema = sim::sim_schema(),
       .common = &sim::SimConfig::common,
       .create = [](const sim::SimConfig& config, control::Runtime& runtime) {
         return std::make_unique<sim::SimApplication>(config, runtime);
       }});
}
