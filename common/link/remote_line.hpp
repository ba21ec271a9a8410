// A line of a peer's memory, READ when it is asked for: a header, once for each connection; words
// that others change.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "common/base/cpu.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// Polling thread of the connection, but for construction. One READ at a time; nothing waits.
class RemoteLine final : public OneSidedClient {
 public:
  // Control thread: memory for the answer. Throws rdma::SetupError.
  RemoteLine(rdma::Device& device, const std::string& name)
      : OneSidedClient(device, kCacheLineBytes, name) {}

  void attach(Connection& connection, const rdma::RemoteRegion& region) noexcept;
  void detach() noexcept { leave(); }
  // READs the line at `offset` bytes of the region. False: no room in the queue now, or no
  // connection that works.
  bool ask(std::size_t offset = 0) noexcept;
  bool arrived() const noexcept { return arrived_; }
  bool failed() const noexcept { return failed_; }
  // What arrived.
  template <class T>
  const T& as() const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kCacheLineBytes);
    // Placed by our own READ, whose completion was polled: nothing else writes here.
    return *reinterpret_cast<const T*>(memory());
  }

 private:
  void on_answer(bool success) noexcept override { (success ? arrived_ : failed_) = true; }

  rdma::RemoteRegion remote_;
  bool arrived_ = false;
  bool failed_ = false;
};

}  // namespace tickpath::link
