// mdh: receives the feed, builds the books, publishes every change.
#include <memory>

#include "common/control/program.hpp"
#include "mdh/application.hpp"
#include "mdh/config.hpp"

int main(int argc, char** argv) {
  using namespace tickpath;
  return control::run_program<mdh::MdhConfig>(
      argc, argv,
      {.program = "mdh",
       .description = "receives the feed, builds the books, publishes every change",
       .schema = mdh::mdh_schema(),
       .common = &mdh::MdhConfig::common,
       .create =
           [](const mdh::MdhConfig& config, control::Runtime& runtime) {
             return std::make_unique<mdh::MdhApplication>(config, runtime);
           },
       .why_alone = [](const mdh::MdhConfig&) { return std::string(); }});
}
