// `tickpath scale`: what several hosts carry, by arithmetic and by a simulation.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/scale/report.hpp"

namespace tickpath::cli {
namespace {

struct ScaleArguments {
  std::string file;
  std::vector<std::string> overrides, variations;
  std::string recording;
  std::vector<std::uint32_t> hosts, cores{32};
  std::vector<double> links;
  bool without_limits = false, no_simulation = false, markdown = false, json = false,
       print_config = false;
};

std::unique_ptr<scale::Arrivals> arrivals_of(const ScaleArguments& arguments,
                                             const scale::Scenario& scenario) {
  if (arguments.recording.empty()) return nullptr;
  return std::make_unique<scale::RecordedArrivals>(
      scenario.feed, scale::times_of_recording(arguments.recording, scenario.run.messages));
}

void run_plan(const ScaleArguments& arguments, const scale::Scenario& scenario) {
  std::vector<scale::Machines> machines;
  for (const std::uint32_t hosts : arguments.hosts)
    for (const std::uint32_t cores : arguments.cores)
      machines.push_back({.hosts = hosts, .cores = cores, .limited = !arguments.without_limits});
  std::vector<double> links = arguments.links;
  if (links.empty()) links.push_back(scenario.fabric.link_gbps);
  const auto format = arguments.markdown ? scale::Format::kMarkdown : scale::Format::kText;
  std::fputs(scale::plan_report(scenario, machines, links, format).c_str(), stdout);
}

// "a=1,b=2" as overrides.
std::vector<std::string> with(std::vector<std::string> overrides, const std::string& more) {
  std::size_t at = 0;
  while (at <= more.size()) {
    const std::size_t end = std::min(more.find(',', at), more.size());
    overrides.push_back(more.substr(at, end - at));
    at = end + 1;
  }
  return overrides;
}

void run_variations(const ScaleArguments& arguments, const scale::Scenario& scenario) {
  std::vector<scale::Variation> variations{{"as it is", scenario}};
  for (const std::string& each : arguments.variations)
    variations.push_back(
        {each, scale::load_scenario(arguments.file, with(arguments.overrides, each))});
  const auto format = arguments.markdown ? scale::Format::kMarkdown : scale::Format::kText;
  std::fputs(scale::variations_report(variations, format).c_str(), stdout);
}

void run_scale(const ScaleArguments& arguments) {
  const scale::Scenario scenario = scale::load_scenario(arguments.file, arguments.overrides);
  if (arguments.print_config) {
    std::fputs(config::print_effective(scale::scenario_schema(), scenario).c_str(), stdout);
    return;
  }
  if (!arguments.hosts.empty()) return run_plan(arguments, scenario);
  if (!arguments.variations.empty()) return run_variations(arguments, scenario);
  const scale::Analysis analysis = scale::analyse(scenario);
  std::unique_ptr<scale::SimulationResult> simulated;
  if (!arguments.no_simulation)
    simulated = std::make_unique<scale::SimulationResult>(
        scale::simulate(scenario, arrivals_of(arguments, scenario)));
  const auto format = arguments.markdown ? scale::Format::kMarkdown : scale::Format::kText;
  const std::string text = arguments.json
                               ? scale::report_json(scenario, analysis, simulated.get())
                               : scale::report(scenario, analysis, simulated.get(), format);
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void add_scale_command(CLI::App& app) {
  auto arguments = std::make_shared<ScaleArguments>();
  CLI::App* command = add_other_command(app, "scale");
  command
      ->add_option("scenario", arguments->file,
                   "What comes in, which programs there are, what each step costs (config/scale)")
      ->required();
  command->add_option("--set", arguments->overrides,
                      "key=value, wins over the file: --set fabric.link=400");
  command->add_flag("--print-config", arguments->print_config,
                    "Print every key with its value, unit, range and meaning, and end");
  auto* table =
      command->add_flag("--no-simulation", arguments->no_simulation, "The arithmetic alone");
  auto* recording = command->add_option(
      "--recording", arguments->recording,
      "Packets arrive at the times of this recording's messages, scaled to feed.rate, instead of "
      "in the scenario's bursts");
  recording->check(CLI::ExistingFile)->excludes(table);
  auto* hosts = command->add_option(
      "--hosts", arguments->hosts,
      "What so many hosts carry at most, each number a row: divides them between mdh's, strategies "
      "and gateways; no simulation");
  hosts->delimiter(',')->check(CLI::Range(2, 64))->excludes(recording);
  command
      ->add_option("--vary", arguments->variations,
                   "What the limit is with other values, each a row: --vary fabric.link=400 --vary "
                   "strategy.programs=5,strategy.hosts=5; no simulation")
      ->excludes(hosts)
      ->excludes(recording);
  command
      ->add_option("--cores", arguments->cores, "--hosts: of each host; two are left to the system")
      ->delimiter(',')
      ->check(CLI::Range(3, 1024))
      ->needs(hosts)
      ->capture_default_str();
  command
      ->add_option("--links", arguments->links,
                   "--hosts: Gb/s of the adapters; default: the scenario's")
      ->delimiter(',')
      ->check(CLI::Range(0.1, 10'000.0))
      ->needs(hosts);
  command
      ->add_flag(
          "--without-limits", arguments->without_limits,
          "--hosts: as if an mdh had room for any number of subscribers, and a feed could be "
          "split into any number of shards")
      ->needs(hosts);
  auto* markdown = command->add_flag("--markdown", arguments->markdown, "As docs/SCALE.md has it");
  command->add_flag("--json", arguments->json, "For scripts")->excludes(markdown)->excludes(hosts);
  command->callback([arguments] { run_scale(*arguments); });
}

}  // namespace tickpath::cli
