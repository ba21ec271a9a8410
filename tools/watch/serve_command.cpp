#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/error.hpp"
#include "common/net/secret_file.hpp"
#include "tools/cli/command_main.hpp"
#include "tools/watch/commands.hpp"
#include "tools/watch/web_server.hpp"

namespace tickpath::watch {
namespace {

constexpr std::size_t kTokenMin = 16;

struct ServeArguments {
  std::string run_dir = "run";
  std::string listen = "127.0.0.1:9464";
  std::string token_file;
  std::vector<std::string> users;
  double interval_s = 1;
  bool control = false;
};

bool is_loopback(const net::Endpoint& endpoint) { return endpoint.address >> 24 == 127; }

// A token travels in a header field, a cookie and an address. So it has the unreserved characters
// of RFC 3986 (2.3) only.
Secret checked_token(const std::string& source) {
  if (source.empty()) return {};
  Secret token = net::read_secret(source, "--token-file");
  const bool fits = std::ranges::all_of(token.reveal(), [](char each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
           (each >= 'A' && each <= 'Z') || std::string_view("-._~").find(each) != std::string::npos;
  });
  if (!fits || token.size() < kTokenMin)
    throw Error("--token-file " + source + ": a token is " + std::to_string(kTokenMin) +
                " or more letters, digits or any of - . _ ~ (openssl rand -hex 16)");
  return token;
}

WebServerOptions options_of(const ServeArguments& arguments) {
  WebServerOptions options;
  options.listen = net::parse_endpoint(arguments.listen);
  options.rules.token = checked_token(arguments.token_file);
  options.rules.control = arguments.control;
  options.rules.run_dir = arguments.run_dir;
  options.users = arguments.users;
  options.interval_s = arguments.interval_s;
  if (options.rules.token.empty() && !is_loopback(options.listen))
    throw Error("--listen " + arguments.listen +
                ": other hosts could read everything there; give a token (--token-file FILE), or "
                "listen at 127.0.0.1");
  return options;
}

void run_serve(const ServeArguments& arguments) {
  const WebServerOptions options = options_of(arguments);
  serve(options, [&] {
    std::printf("serve: ready; http://%s/ shows '%s'%s, /metrics is for Prometheus\n",
                options.listen.text().c_str(), arguments.run_dir.c_str(),
                arguments.control ? " and takes kills" : "");
    std::fflush(stdout);
  });
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto* command = cli::add_other_command(app, "serve");
  auto arguments = std::make_shared<ServeArguments>();
  command->add_option("--run-dir", arguments->run_dir, "Where the pipeline runs")
      ->capture_default_str();
  command
      ->add_option("--listen", arguments->listen,
                   "IPv4 address and port; any but a loopback address needs a token")
      ->capture_default_str();
  command->add_option("--token-file", arguments->token_file,
                      "A file (chmod 600) whose first line everybody must bring, or env:NAME");
  command->add_option(
      "--user", arguments->users,
      "Without a token: users of this host who may read (default: yours alone; any)");
  command->add_option("--interval", arguments->interval_s, "Seconds from look to look")
      ->check(CLI::Range(0.1, 60.0))
      ->capture_default_str();
  command->add_flag("--control", arguments->control,
                    "The page also kills and unkills strategies, after a question");
  command->callback([arguments] { run_serve(*arguments); });
}

}  // namespace tickpath::watch
