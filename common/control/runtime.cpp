#include "common/control/runtime.hpp"

#include <utility>

#include "common/control/signals_blocked.hpp"
#include "common/link/clock_exchange.hpp"
#include "common/link/heartbeat.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::control {

Runtime::Runtime(std::string program, const CommonConfig& common, OpenDevice open_device)
    : program_(std::move(program)), common_(common), open_device_(std::move(open_device)) {}

Runtime::~Runtime() = default;

rdma::Device& Runtime::device() {
  if (!device_) {
    rdma::DeviceOptions options = common_.fabric;
    options.security.role = program_;
    // Its threads outlive the handlers of signals: one would take what is meant for nobody any
    // more, the second SIGTERM of a program that is stopped twice, and die of it.
    const SignalsBlocked blocked;
    device_ = open_device_ ? open_device_(options) : rdma::open_device(options);
  }
  return *device_;
}

link::Heartbeat& Runtime::heartbeat() {
  if (!heartbeat_)
    heartbeat_ = std::make_unique<link::Heartbeat>(device(), common_.name + ".heartbeat");
  return *heartbeat_;
}

link::ClockResponder& Runtime::clock() {
  if (!clock_) clock_ = std::make_unique<link::ClockResponder>(device(), common_.name);
  return *clock_;
}

}  // namespace tickpath::control
