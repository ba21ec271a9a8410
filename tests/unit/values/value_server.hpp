// Shared values and the control thread of who keeps them, for tests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "common/link/handshake.hpp"
#include "common/stores/values/value_owner.hpp"
#include "common/wire/hello.hpp"

namespace tickpath::values::test {

class ValueServer {
 public:
  ValueServer(rdma::Device& device, rdma::Listener& listener, std::uint32_t keys,
              std::uint32_t writers)
      : owner_(device, keys, writers, "values"), listener_(listener), thread_([this] {
          while (!stop_.load()) {
            serve();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  ~ValueServer() {
    stop_.store(true);
    thread_.join();
  }
  std::size_t writers() const noexcept { return writers_.load(); }

 private:
  void serve() {
    owner_.collect();
    writers_.store(owner_.writers());
    const auto request = listener_.next();
    if (request == nullptr) return;
    const auto hello = link::read_program<wire::Hello>(request->hello());
    const wire::Hello ours = wire::make_hello(wire::Role::kMdh, wire::Service::kValues, "mdh");
    try {
      owner_.start_accept(*request, link::bytes_of(ours), hello->parameters[0] != 0, hello->role,
                          {});
    } catch (const rdma::SetupError&) {  // the client has its reason
    }
  }

  ValueOwner owner_;
  rdma::Listener& listener_;
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> writers_{0};
  std::thread thread_;  // last: it uses the others
};

}  // namespace tickpath::values::test
