// A program for tests behind run_program().
#pragma once

#include <string>
#include <vector>

#include "common/control/program.hpp"

namespace tickpath::control {

inline constexpr char kSmallConfig[] = "[datapath]\nwait = \"yield\"\n[trace]\ncapacity = 1024\n";

// `words`: its arguments, its name first. Made: the application, of a Config and a Runtime.
template <class Config, class Made>
int run_small(std::vector<std::string> words, const config::Schema<Config>& schema,
              OpenDevice open_device = {}) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return run_program<Config>(
      static_cast<int>(arguments.size()), arguments.data(),
      {.program = words.front(),
       .description = "a program for tests",
       .schema = schema,
       .common = &Config::common,
       .create = [](const Config& parsed, Runtime& runtime) -> std::unique_ptr<Application> {
         return std::make_unique<Made>(parsed, runtime);
       },
       .open_device = std::move(open_device),
       .why_alone = [](const Config&) { return std::string(); }});
}

}  // namespace tickpath::control
