// The sending half of a datagram queue pair on shm: one destination's ring, and who reads it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "common/rdma/datagram.hpp"
#include "common/rdma/provider/event_wake.hpp"
#include "common/rdma/shm/connection.hpp"
#include "common/rdma/shm/core.hpp"
#include "common/rdma/shm/datagram_ring.hpp"
#include "common/rdma/shm/datagram_setup.hpp"

namespace tickpath::rdma::detail {

// Lives as long as the monitor looks at it; after close() it takes nobody in any more. Receivers
// read on what is in the ring by then: the memory is theirs as well.
class DatagramPublication final : public Watched {
 public:
  // `source`: the queue pair's address; `destination`: the group's or the receiver's GID. Throws
  // SetupError.
  DatagramPublication(const DatagramAddress& source, const std::array<std::byte, 16>& destination,
                      const DatagramRingLayout& layout, const Barriers& barriers);

  // Control thread, before the monitor watches: receivers will come to this socket, or this is one.
  void listen_on(UniqueFd listening);
  void offer_to(UniqueFd receiver);
  void close() noexcept;

  // The queue pair's polling thread. True: somebody was woken, by a system call.
  bool send(bool with_imm, std::uint32_t imm, std::uint32_t q_key, const std::byte* from,
            std::uint32_t length, bool solicited) noexcept {
    writer_.send(with_imm, imm, q_key, from, length);
    if (!sleepers_wait(wake_page(), solicited)) [[likely]]
      return false;
    wanted_.signal();  // our monitor goes and wakes them
    return true;
  }

  int descriptor() const noexcept override { return events_.descriptor(); }
  bool on_readable() noexcept override;

 private:
  struct Receiver {
    UniqueFd socket;
    UniqueFd wake;
    std::uint32_t sleeper = kSleepersMax;  // none
    bool offered = false;
  };

  WakePage& wake_page() const noexcept {
    return *reinterpret_cast<WakePage*>(wake_memory_.mapping.data());
  }
  void take_newcomers();
  void add(UniqueFd socket);
  bool serve(Receiver& receiver);  // false: it is over
  bool attend(Receiver& receiver, DatagramSetupMessage message);
  void offer(Receiver& receiver, bool sleeps);
  std::uint32_t free_sleeper() const;
  void wake_if_asleep(const Receiver& receiver) noexcept;
  void wake_sleepers() noexcept;

  DatagramWriter writer_;
  OwnedMemory ring_;
  OwnedMemory wake_memory_;
  DatagramAddress source_;
  std::array<std::byte, 16> destination_;
  DatagramRingLayout layout_;
  Barriers barriers_;
  EventWake wanted_;
  EventSet events_;
  Acceptor listening_;
  std::mutex mutex_;  // of the rest
  std::map<std::uint64_t, Receiver> receivers_;
  std::uint64_t next_id_;
  bool closed_ = false;
};

}  // namespace tickpath::rdma::detail
