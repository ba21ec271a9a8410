// A word in a peer's memory that several change by COMPARE_SWAP: what they agree on.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/cpu.hpp"
#include "common/link/capabilities.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// Polling thread of the connection, but for construction. One request at a time; nothing waits.
class RemoteWord final : public OneSidedClient {
 public:
  enum class State : std::uint8_t {
    kDetached,
    kReading,  // the block is on its way
    kIdle,     // the last answer is in value()
    kAsking,   // compare_swap() is
    kFailed,   // the connection; whether the last request was executed is not known
  };

  // Control thread: memory for answers. Throws rdma::SetupError.
  RemoteWord(rdma::Device& device, const std::string& name)
      : OneSidedClient(device, kCacheLineBytes, name) {
    require_atomics(device, name);
  }

  // Starts to use a connection: READs the word and the one behind it. The region has the word
  // first.
  void attach(Connection& connection, const rdma::RemoteRegion& region) noexcept;
  void detach() noexcept;
  State state() const noexcept { return state_; }

  // The word as of the last answer; behind a compare_swap() as it was before. kIdle.
  std::uint64_t value() const noexcept { return words()[0]; }
  // The word behind it, as it was at attach().
  std::uint64_t second() const noexcept { return second_; }
  // False: not kIdle, or no room in the queue now.
  bool compare_swap(std::uint64_t expected, std::uint64_t desired) noexcept;
  bool read() noexcept;

 private:
  void on_answer(bool success) noexcept override;
  const std::uint64_t* words() const noexcept {
    return reinterpret_cast<const std::uint64_t*>(memory());
  }
  bool post_as(rdma::WorkRequest& request, State state) noexcept;

  rdma::RemoteRegion remote_;
  State state_ = State::kDetached;
  std::uint64_t second_ = 0;
};

}  // namespace tickpath::link
