#include "tools/cli/security_options.hpp"

#include <map>
#include <string>

#include <CLI/CLI.hpp>

namespace tickpath::cli {
namespace {

const std::map<std::string, net::SecurityMode> kSecurityModes{
    {"tls", net::SecurityMode::kTls},
    {"psk", net::SecurityMode::kPsk},
    {"loopback", net::SecurityMode::kLoopback},
    {"none", net::SecurityMode::kNone}};

}  // namespace

void add_security_options(CLI::App& command, net::SecurityOptions& security) {
  command
      .add_option_function<std::string>(
          "--security",
          [&security](const std::string& name) { security.mode = kSecurityModes.at(name); },
          "verbs, ofi: how client and server prove who they are before they connect: tls, psk "
          "(both "
          "with --keys), loopback (not at all, and on this host only; the default), none (not at "
          "all)")
      ->check(CLI::IsMember(kSecurityModes));
  command.add_option("--keys", security.keys,
                     "directory that `tickpath keys --role tool` made, for --security tls and psk");
}

}  // namespace tickpath::cli
