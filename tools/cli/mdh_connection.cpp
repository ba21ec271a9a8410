#include "tools/cli/mdh_connection.hpp"

#include <CLI/CLI.hpp>

#include "common/link/handshake.hpp"
#include "tools/cli/remote_hosts.hpp"
#include "tools/cli/security_options.hpp"

namespace tickpath::cli {

std::string MdhArguments::where() const {
  if (!endpoint.empty()) return endpoint;
  require_here(run_dir, mdh,
               "its endpoint (where this host is on the fabric, too, name it with --endpoint)",
               "book|prices|value ...");
  return run_dir + "/" + mdh + ".fabric";
}

MdhConnection::MdhConnection(const MdhArguments& from, wire::Service service,
                             std::uint64_t parameter)
    : device(rdma::open_device(from.fabric)) {
  wire::Hello hello = wire::make_hello(wire::Role::kTool, service, "tickpath");
  hello.parameters[0] = parameter;
  connection =
      link::connect_tables(*device, from.where(), link::bytes_of(hello), {}, kTimeoutMs, "mdh")
          .connection;
}

void add_mdh_options(CLI::App& command, MdhArguments& arguments) {
  command.add_option("--run-dir", arguments.run_dir, "Where the mdh that is asked runs")
      ->capture_default_str();
  command.add_option("--mdh", arguments.mdh, "Its instance name")->capture_default_str();
  command.add_option("--endpoint", arguments.endpoint,
                     "Its fabric.endpoint, where it is not in the run directory: host:port");
  command
      .add_option("--provider", arguments.fabric.provider,
                  "fabric provider: " + rdma::provider_list())
      ->capture_default_str();
  command.add_option("--device", arguments.fabric.device, "device (default: the first usable)");
  add_security_options(command, arguments.fabric.security);
  arguments.fabric.security.role = "tool";
}

}  // namespace tickpath::cli
