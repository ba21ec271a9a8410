// Where one order session's oeg connects. Control thread.
#pragma once

#include <functional>
#include <string>

#include "common/config/values.hpp"
#include "common/control/runtime.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::sim {

class Listener {
 public:
  // accepted: takes over each connected socket. key: of the configuration, for the error. Throws
  // Error: a port in use, an address that is not this host's.
  Listener(const config::Address& address, const std::string& key,
           std::function<void(int socket)> accepted);

  void start(control::Runtime& runtime);
  void stop() { watch_.cancel(); }

 private:
  void accept_all();

  std::function<void(int)> accepted_;
  net::FileDescriptor socket_;
  control::Subscription watch_;
};

}  // namespace tickpath::sim
