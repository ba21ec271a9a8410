#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/doctor/doctor.hpp"

namespace tickpath::cli {
namespace {

struct DoctorArguments {
  std::string config;
  std::string root;
  bool json = false;
  bool strict = false;
  bool verbose = false;
};

void run_doctor(const DoctorArguments& arguments) {
  const doctor::Machine machine(arguments.root);
  doctor::Subject subject{machine, {}};
  if (!arguments.config.empty()) subject.pins = doctor::read_pins(arguments.config);
  const auto findings = doctor::examine(subject);
  const std::string text =
      arguments.json ? doctor::to_json(findings) : doctor::to_text(findings, arguments.verbose);
  std::fputs(text.c_str(), stdout);
  throw Exit{doctor::exit_status(findings, arguments.strict)};
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  auto* command = add_other_command(app, "doctor");
  auto arguments = std::make_shared<DoctorArguments>();
  command->add_option("--config", arguments->config,
                      "A program's file, or a pipeline's folder: its cores, provider, device and "
                      "buffers are checked against the machine");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->add_flag("--strict", arguments->strict, "Warnings count, too (exit status 3)");
  command->add_flag("-v,--verbose", arguments->verbose,
                    "Also say what is needed and why where all is well");
  command->add_option("--sysroot", arguments->root, "Look at this copy of /proc and /sys")
      ->group("");
  command->footer(
      "Exit status: 0 nothing failed, 1 something failed, 2 wrong command line or configuration,\n"
      "3 with --strict: nothing failed, but there are warnings. What cannot be read is unknown,\n"
      "says why, and does not count.");
  command->callback([arguments] { run_doctor(*arguments); });
}

}  // namespace tickpath::cli
