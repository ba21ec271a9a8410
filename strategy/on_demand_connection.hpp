// A connection to a service of an mdh that plugins may use: made when one first does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "common/link/bare_connections.hpp"
#include "common/link/reconnect.hpp"
#include "common/rdma/rdma.hpp"
#include "common/wire/hello.hpp"

namespace tickpath::strategy {

class OnDemandConnection {
 public:
  // Control thread. endpoint: of mdh. channel: of the datapath that parks, or nullptr.
  OnDemandConnection(rdma::Device& device, rdma::CompletionChannel* channel, std::string endpoint,
                     const wire::Hello& hello)
      : device_(device),
        endpoint_(std::move(endpoint)),
        hello_(hello),
        connections_(device, channel) {}

  // ---- control thread
  // Each tick. True: connected just now.
  bool maintain(std::uint64_t now_ns);
  // One of the caller's own, while no datapath runs: waits. Throws rdma::SetupError.
  std::unique_ptr<link::Connection> connect(std::uint32_t timeout_ms) const;
  const std::string& endpoint() const noexcept { return endpoint_; }

  // ---- datapath thread
  enum class State : std::uint8_t {
    kNone,  // it is wanted from now on
    kNew,   // as kUp, for the first time: clients attach to it
    kUp,
    kLost,  // it was there, and has been given back: clients detach, and use it no more
  };
  State look() noexcept;
  // The connection in kNew and kUp.
  link::Connection& connection() noexcept { return *connection_->connection; }
  // The last attempt to connect failed.
  bool refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  rdma::Device& device_;
  std::string endpoint_;
  wire::Hello hello_;
  link::BareConnections connections_;
  link::Reconnect reconnect_;
  // Relaxed, both: they only say what is wanted, and how it went.
  std::atomic<bool> wanted_{false};
  std::atomic<bool> refused_{false};
  link::BareConnection* connection_ = nullptr;
};

}  // namespace tickpath::strategy
