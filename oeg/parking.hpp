// What wakes a datapath thread that parks (wait = "park"): completions, a word of another thread,
// and the venue's socket.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "common/net/file_descriptor.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::oeg {

class Parking {
 public:
  // Control thread. parks: false: the datapath polls, and this does nothing. Throws SystemError.
  Parking(rdma::Device& device, bool parks);

  // nullptr: it does not park.
  rdma::CompletionChannel* channel() const noexcept { return channel_.get(); }
  // Any thread.
  void wake() noexcept;

  // Datapath thread. socket: -1: there is none.
  std::span<const int> descriptors(int socket) const noexcept;
  void woken() noexcept;

 private:
  std::unique_ptr<rdma::CompletionChannel> channel_;
  net::FileDescriptor wake_fd_;
  mutable std::array<int, 3> descriptors_{};  // of the last descriptors()
};

}  // namespace tickpath::oeg
