// Connecting to a peer that has just been started, and set-ups of which the end is awaited.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "common/rdma/rdma.hpp"

namespace tickpath {

// Calls connect() until it does not throw rdma::SetupError; after half a minute the error is the
// caller's (an emulated machine takes seconds to start a process).
template <class Connect>
void connect_when_there(Connect&& connect) {
  for (int attempt = 0;; ++attempt) {
    try {
      return connect();
    } catch (const rdma::SetupError&) {
      if (attempt == 3000) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

// The set-up of a link::Subscriber or link::ChannelClient; returns the peer's answer. Throws
// rdma::SetupError.
template <class Client>
std::vector<std::byte> connect_now(Client& client, const std::string& endpoint,
                                   std::span<const std::byte> hello,
                                   std::span<const rdma::Grant> grants = {},
                                   std::uint32_t timeout_ms = 2000) {
  client.start_connect(endpoint, hello, grants, timeout_ms);
  for (;;) {
    if (std::optional<std::vector<std::byte>> answer = client.poll_connect()) return *answer;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

// The other side, a link::Publisher (tag: a name) or link::ChannelServer (a number): returns the
// peer's id. Throws rdma::SetupError.
template <class Server, class Tag = std::string>
std::uint32_t accept_now(Server& server, rdma::ConnectionRequest& request,
                         std::span<const std::byte> answer, std::span<const rdma::Grant> grants,
                         Tag tag = {}) {
  std::optional<std::uint32_t> id;
  std::optional<rdma::SetupError> failure;
  server.start_accept(request, answer, grants, tag,
                      [&](std::uint32_t accepted, const rdma::SetupError* error) {
                        if (error != nullptr) failure = *error;
                        id = accepted;
                      });
  while (!id) {
    server.collect();
    if (!id) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (failure) throw *failure;
  return *id;
}

}  // namespace tickpath
