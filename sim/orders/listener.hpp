// Where one order session's oeg connects. Control thread.
#pragma once

#include <functional>
#include <string>

#include "common/base/counter.hpp"
#include "common/base/log_budget.hpp"
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
  void stop() {
    watch_.cancel();
    pause_.cancel();
  }
  // Times that a connection could not be accepted, for want of descriptors most likely; tried again
  // after a pause.
  const Counter& accept_failures() const noexcept { return accept_failures_; }

 private:
  void accept_all();
  void pause(int error);

  std::function<void(int)> accepted_;
  net::FileDescriptor socket_;
  control::Runtime* runtime_ = nullptr;  // from start() on
  control::Subscription watch_;
  control::Subscription pause_;
  Counter accept_failures_;
  LogBudget budget_{1};
};

}  // namespace tickpath::sim
