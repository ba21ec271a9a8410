#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/error.hpp"
#include "common/net/secure_keys.hpp"
#include "tools/cli/commands.hpp"

namespace tickpath::cli {
namespace {

constexpr int kDaysMax = 3650;
constexpr std::int64_t kDayS = 86'400;

struct KeysArguments {
  std::string directory;
  std::vector<std::string> roles;
  int days = 90;
  bool psk = false;
  bool force = false;
  bool check = false;
};

void make(const KeysArguments& arguments) {
  net::KeyRequest request;
  request.directory = arguments.directory;
  request.roles = arguments.roles;
  request.valid_s = arguments.days * kDayS;
  request.psk = arguments.psk;
  request.force = arguments.force;
  for (const std::string& path : net::make_keys(request)) std::printf("%s\n", path.c_str());
  std::printf("valid for %d days; [security] mode = \"%s\", keys = \"%s\" uses them\n",
              arguments.days, arguments.psk ? "psk" : "tls", arguments.directory.c_str());
}

// Throws Error when programs could not use what is there, so that scripts notice.
void check(const KeysArguments& arguments) {
  const std::vector<net::KeyStatus> found =
      net::check_keys(arguments.directory, std::time(nullptr));
  for (const net::KeyStatus& status : found) {
    const std::string state(net::to_string(status.state));
    std::printf("%-13s %-9s %s\n", status.file.c_str(), state.c_str(), status.text.c_str());
  }
  const auto useless = std::count_if(found.begin(), found.end(), [](const auto& status) {
    return status.state == net::KeyState::kExpired || status.state == net::KeyState::kBad;
  });
  if (useless != 0)
    throw Error(std::to_string(useless) + " of " + std::to_string(found.size()) +
                " files cannot be used");
}

}  // namespace

void add_keys_command(CLI::App& app) {
  auto* command = app.add_subcommand("keys",
                                     "Make or check the keys that programs prove their "
                                     "role with (a CA and certificates, or pre-shared keys)");
  auto arguments = std::make_shared<KeysArguments>();
  command->add_option("--dir", arguments->directory, "Directory of the keys")->required();
  command->add_option("--role", arguments->roles,
                      "Only these roles: mdh, strategy, oeg, risk, sim, tool (default: all)");
  command->add_option("--days", arguments->days, "How long they are valid")
      ->check(CLI::Range(1, kDaysMax))
      ->capture_default_str();
  command->add_flag("--psk", arguments->psk,
                    "Pre-shared keys, one for each pair of roles, instead of certificates");
  command->add_flag("--force", arguments->force,
                    "Replace what is there (without --role the CA too)");
  command
      ->add_flag("--check", arguments->check, "Only say what is there, and until when it is valid")
      ->excludes("--force")
      ->excludes("--psk")
      ->excludes("--role");
  command->callback([arguments] { arguments->check ? check(*arguments) : make(*arguments); });
}

}  // namespace tickpath::cli
