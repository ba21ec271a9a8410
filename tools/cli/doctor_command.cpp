#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/config/values.hpp"
#include "common/rdma/rdma.hpp"
#include "tools/cli/child.hpp"
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/programs.hpp"
#include "tools/doctor/doctor.hpp"

namespace tickpath::cli {
namespace {

struct DoctorArguments {
  std::string config;
  std::string binary_dir;
  std::string root;
  bool json = false;
  bool strict = false;
  bool verbose = false;
};

std::string read_all(const net::FileDescriptor& from) {
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::read(from.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

// Every key of a program's file is known to that program alone. Throws config::ConfigError with
// what it says; finding: why it was not asked.
void check_file(const doctor::Pins& pins, const std::string& binary_dir,
                std::vector<doctor::Finding>& findings) {
  const std::string program = program_of(pins.program);
  if (!is_known_program(program)) return;
  const std::string binary = binary_dir + "/" + program;
  if (!std::filesystem::exists(binary)) {
    findings.push_back({"config." + pins.program + ".file", doctor::State::kUnknown,
                        "not checked: there is no " + binary, "what " + program + " --check takes",
                        "a key that a program does not know ends its start",
                        program + " --check " + pins.file});
    return;
  }
  constexpr int kPatienceMs = 30'000;
  ChildPipes pipes;
  Child child({binary, pins.file, "--check"}, pipes);
  if (!child.wait(kPatienceMs))
    throw Error(binary + " --check did not end within " + std::to_string(kPatienceMs / 1000) +
                " s");
  if (!child.succeeded())
    throw config::ConfigError({read_all(pipes.output) + read_all(pipes.errors)});
}

std::string ask_libfabric(const std::string& device) {
  rdma::DeviceOptions options;
  options.provider = "ofi";
  options.device = device;
  options.security.mode = net::SecurityMode::kNone;  // nobody is connected to
  try {
    (void)rdma::open_device(options);
    return {};
  } catch (const rdma::SetupError& error) {
    return error.what();
  }
}

void run_doctor(const DoctorArguments& arguments) {
  const doctor::Machine machine(arguments.root);
  doctor::Subject subject{machine, {}, ask_libfabric};
  if (!arguments.config.empty()) subject.pins = doctor::read_pins(arguments.config);
  std::vector<doctor::Finding> findings;
  const std::string binary_dir =
      arguments.binary_dir.empty()
          ? std::filesystem::read_symlink("/proc/self/exe").parent_path().string()
          : arguments.binary_dir;
  for (const doctor::Pins& pins : subject.pins) check_file(pins, binary_dir, findings);
  for (doctor::Finding& finding : doctor::examine(subject)) findings.push_back(std::move(finding));
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
  command->add_option("--bin-dir", arguments->binary_dir,
                      "Where the programs are, which check their files; beside tickpath if not\n"
                      "given");
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
