// A device, a listener, and a way to let two ends meet, for tests of the patterns. The environment
// says on which provider (tests/support/provider.hpp).
#pragma once

#include <exception>
#include <functional>

#include <gtest/gtest.h>
#include <poll.h>

#include "common/clock/clock.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::link::test {

using test_support::fresh_endpoint;
using test_support::kPatience;
using test_support::open_test_device;
using test_support::over_network;

// Polls until `done` or kPatience is over.
template <class Done>
bool eventually(Done&& done) {
  return test_support::turn_until(done, [&] { std::this_thread::yield(); });
}

inline std::unique_ptr<rdma::ConnectionRequest> wait_for_request(rdma::Listener& listener) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    pollfd waiting{listener.file_descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, 100);
    if (auto request = listener.next()) return request;
  }
  return nullptr;
}

inline std::uint64_t now_ns() { return static_cast<std::uint64_t>(clock::monotonic_ns()); }

struct Fabric {
  explicit Fabric(std::unique_ptr<rdma::Device> own = open_test_device())
      : device(std::move(own)), endpoint(fresh_endpoint()), listener(device->listen(endpoint)) {}

  // connect() runs on another thread, accept(ConnectionRequest&) here; what connect() throws is
  // thrown here, too, unless accept() threw first.
  void meet(const std::function<void()>& connect,
            const std::function<void(rdma::ConnectionRequest&)>& accept) {
    std::exception_ptr thrown;
    std::thread other([&] {
      try {
        connect();
      } catch (...) {
        thrown = std::current_exception();
      }
    });
    std::exception_ptr here;
    try {
      const std::unique_ptr<rdma::ConnectionRequest> request = wait_for_request(*listener);
      if (request == nullptr) throw std::runtime_error("nobody connected");
      accept(*request);
    } catch (...) {
      here = std::current_exception();
    }
    other.join();
    if (here) std::rethrow_exception(here);
    if (thrown) std::rethrow_exception(thrown);
  }

  std::unique_ptr<rdma::Device> device;
  std::string endpoint;
  std::unique_ptr<rdma::Listener> listener;
};

}  // namespace tickpath::link::test
