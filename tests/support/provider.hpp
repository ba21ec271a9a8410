// Which RDMA provider the tests of the fabric's users run on, told by the environment:
//   TICKPATH_PROVIDER        shm (the default), verbs or ofi
//   TICKPATH_DEVICE          its device; with ofi a provider of libfabric ("tcp", the default;
//   "shm") TICKPATH_VERBS_ADDRESS   with verbs: the address of the RDMA interface ("10.77.0.1")
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/rdma/rdma.hpp"

namespace tickpath::test_support {

inline std::string provider_name() {
  const char* const name = std::getenv("TICKPATH_PROVIDER");
  return name == nullptr || *name == '\0' ? "shm" : name;
}

inline std::string device_name() {
  const char* const name = std::getenv("TICKPATH_DEVICE");
  return name == nullptr ? "" : name;
}

// Endpoints are host:port there, and connections authenticated.
inline bool over_network() { return provider_name() != "shm"; }

inline std::string verbs_address() {
  const char* const address = std::getenv("TICKPATH_VERBS_ADDRESS");
  return address == nullptr ? "127.0.0.1" : address;
}

inline rdma::DeviceOptions test_device_options() {
  rdma::DeviceOptions options{.provider = provider_name(), .device = device_name()};
  options.security.mode = net::SecurityMode::kNone;  // authentication has tests of its own
  if (const char* const scale = std::getenv("TICKPATH_TIME_SCALE")) {
    options.verbs.peer_timeout_ns *= std::max(std::atoi(scale), 1);  // an emulated machine
  }
  return options;
}

// role: what it says that it is, where connecting proves who one is; empty: a tool.
inline std::unique_ptr<rdma::Device> open_test_device(const std::string& role = {}) {
  rdma::DeviceOptions options = test_device_options();
  if (!role.empty()) options.security.role = role;
  return rdma::open_device(options);
}

// A TCP port that is free now at `address`. It is below those that the kernel gives to whoever
// connects (ip_local_port_range), so that no client of another test gets it meanwhile.
inline std::uint16_t free_port(const std::string& address = "127.0.0.1") {
  constexpr int kTries = 1000;
  static std::mt19937 dice{std::random_device{}()};
  std::uniform_int_distribution<std::uint16_t> ports(16'384, 32'767);
  int error = 0;
  for (int tries = 0; tries < kTries; ++tries) {
    const std::uint16_t port = ports(dice);
    sockaddr_in wanted{};
    wanted.sin_family = AF_INET;
    wanted.sin_port = htons(port);
    wanted.sin_addr.s_addr = ::inet_addr(address.c_str());
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool bound = ::bind(socket, reinterpret_cast<sockaddr*>(&wanted), sizeof(wanted)) == 0;
    error = errno;
    ::close(socket);
    if (bound) return port;
  }
  throw SystemError("no free port at " + address, error);
}

// Where a listener of this provider can bind; never given twice by one process.
inline std::string fresh_endpoint() {
  if (over_network()) return verbs_address() + ":" + std::to_string(free_port(verbs_address()));
  static int number = 0;
  return (std::filesystem::temp_directory_path() /
          ("tp-link-" + std::to_string(::getpid()) + "-" + std::to_string(number++)))
      .string();
}

}  // namespace tickpath::test_support
