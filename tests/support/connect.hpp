// Connecting to a peer that has just been started.
#pragma once

#include <chrono>
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

}  // namespace tickpath
