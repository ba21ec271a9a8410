// How tools that READ or WRITE what an mdh keeps find it: `tickpath book`, `prices`, `value`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/link/connection.hpp"
#include "common/rdma/rdma.hpp"
#include "common/wire/hello.hpp"

namespace CLI {
class App;
}

namespace tickpath::cli {

struct MdhArguments {
  std::string run_dir = "run";
  std::string mdh = "mdh";
  std::string endpoint;  // empty: that of this instance in the run directory
  rdma::DeviceOptions fabric;

  // Throws Error where none is given and that mdh runs on another host.
  std::string where() const;
};

// A device, and a connection on it to a service of that mdh, as a tool. Throws rdma::SetupError.
struct MdhConnection {
  static constexpr std::uint32_t kTimeoutMs = 5'000;

  // parameter: the first of the hello, as the service has it.
  MdhConnection(const MdhArguments& from, wire::Service service, std::uint64_t parameter = 0);

  std::unique_ptr<rdma::Device> device;
  std::unique_ptr<link::Connection> connection;
};

// --run-dir, --mdh, --endpoint, --provider, --device, and those of add_security_options().
// arguments: outlives the parsing.
void add_mdh_options(CLI::App& command, MdhArguments& arguments);

}  // namespace tickpath::cli
