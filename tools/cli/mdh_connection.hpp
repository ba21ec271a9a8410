// How tools that READ or WRITE what an mdh keeps find it: `tickpath book`, `prices`, `value`.
#pragma once

#include <cstdint>
#include <string>

#include "common/rdma/rdma.hpp"

namespace CLI {
class App;
}

namespace tickpath::cli {

struct MdhArguments {
  std::string run_dir = "run";
  std::string mdh = "mdh";
  std::string endpoint;  // empty: that of this instance in the run directory
  rdma::DeviceOptions fabric;

  std::string where() const {
    return endpoint.empty() ? run_dir + "/" + mdh + ".fabric" : endpoint;
  }
};

// --run-dir, --mdh, --endpoint, --provider, --device, and those of add_security_options().
// arguments: outlives the parsing.
void add_mdh_options(CLI::App& command, MdhArguments& arguments);

}  // namespace tickpath::cli
