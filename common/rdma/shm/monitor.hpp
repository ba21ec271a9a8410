// The device's thread: watches every connection's socket for notices and for the peer's death, and
// what datagrams are set up by.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "common/rdma/shm/connection.hpp"

namespace tickpath::rdma::detail {

class Monitor {
 public:
  Monitor();  // starts the thread; throws SetupError
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Control thread.
  void watch(const std::shared_ptr<Watched>& watched);
  void forget(const Watched& watched) noexcept;
  void add_wake(const std::shared_ptr<Wake>& wake);

  // Any thread: a tick was requested on some Wake. A system call.
  void kick() noexcept { control_.signal(); }

 private:
  void run() noexcept;
  void handle(std::uint64_t id) noexcept;
  bool serve_ticks(bool expired) noexcept;

  UniqueFd epoll_;
  Wake control_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // set-up, failures and ticks only; never the datapath
  std::unordered_map<std::uint64_t, std::shared_ptr<Watched>> watched_;
  std::vector<std::weak_ptr<Wake>> wakes_;
  std::uint64_t next_id_ = 1;
  std::thread thread_;
};

}  // namespace tickpath::rdma::detail
