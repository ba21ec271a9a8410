#include "common/control/program.hpp"
#include "oeg/application.hpp"
#include "oeg/config.hpp"

int main(int argc, char** argv) {
  using namespace tickpath;
  return control::run_program<oeg::OegConfig>(
      argc, argv,
      {.program = "oeg",
       .description = "checks the orders of strategies and trades them over FIX 4.2",
       .schema = oeg::oeg_schema(),
       .common = &oeg::OegConfig::common,
       .advice = oeg::advice,
       .create =
           [](const oeg::OegConfig& config, control::Runtime& runtime) {
             return std::make_unique<oeg::OegApplication>(config, runtime);
           },
       .why_alone =
           [](const oeg::OegConfig& config) {
             return config.pair.place == 0
                        ? std::string()
                        : "pair.place: one of a pair has a process to itself, or its end would be "
                          "others' as well";
           },
       .shard = [](const oeg::OegConfig& config) { return config.shard; }});
}
