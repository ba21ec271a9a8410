// A peer that speaks the shm provider's set-up by hand, so that a test can make it misbehave.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <poll.h>
#include <unistd.h>

#include "common/rdma/rdma.hpp"
#include "common/rdma/shm/listener.hpp"
#include "common/rdma/shm/memory.hpp"
#include "common/rdma/shm/setup.hpp"
#include "common/rdma/shm/wire.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::rdma {

inline constexpr AccessFlags kAll = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;

inline std::string fresh_endpoint() {
  static std::atomic<int> number{0};
  return "/tmp/tickpath_unit." + std::to_string(::getpid()) + "." + std::to_string(number++);
}

inline detail::Deadline soon() {
  return std::chrono::steady_clock::now() + test_support::kPatience;
}

// Waits for the next request of a listener; nullptr when none comes.
inline std::unique_ptr<ConnectionRequest> await_request(Listener& listener) {
  const auto deadline = std::chrono::steady_clock::now() + test_support::kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (auto request = listener.next()) return request;
  }
  return nullptr;
}

// A set-up message that comes within kPatience.
inline detail::SetupMessage await_setup(const detail::UniqueFd& socket) {
  pollfd waiting{socket.get(), POLLIN, 0};
  ::poll(&waiting, 1, std::chrono::milliseconds(test_support::kPatience).count());
  std::optional<detail::SetupMessage> message = detail::receive_setup(socket);
  if (!message) throw SetupError(SetupCause::kTimeout, "no set-up message came");
  return std::move(*message);
}

// The connecting side, by hand.
class RawPeer {
 public:
  explicit RawPeer(const std::string& endpoint) : socket(detail::connect_socket(endpoint)) {}

  void hello() {
    detail::send_setup(socket, detail::SetupHeader{.type = detail::SetupType::kHello}, {}, {}, {});
  }

  // The listener's half; maps its receive wire for writing.
  void take_accept() {
    accepted = await_setup(socket);
    layout = {accepted.header.wire_slots, accepted.header.message_bytes_max};
    peer_wire = detail::map_peer_memory(accepted.descriptors[0], layout.size_bytes(), true);
  }

  // Our half: a wire, no regions.
  void confirm() {
    own_wire = detail::create_memory(layout.size_bytes(), true, "raw");
    detail::SetupHeader header{.type = detail::SetupType::kConfirm,
                               .wire_slots = layout.slots,
                               .message_bytes_max = layout.message_bytes_max};
    const int fd = own_wire.fd.get();
    detail::send_setup(socket, header, {}, {}, {&fd, 1});
  }

  detail::WireSlot* slots() {
    return reinterpret_cast<detail::WireSlot*>(peer_wire.data() + layout.slots_offset());
  }
  detail::WireCredits* own_credits() {
    return reinterpret_cast<detail::WireCredits*>(own_wire.mapping.data());
  }

  detail::UniqueFd socket;
  detail::SetupMessage accepted;
  detail::WireLayout layout;
  detail::Mapping peer_wire;
  detail::OwnedMemory own_wire;
};

}  // namespace tickpath::rdma
