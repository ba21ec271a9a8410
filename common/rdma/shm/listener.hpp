// Listening side of the shm provider: a Unix socket in the file system.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/rdma/rdma.hpp"
#include "common/rdma/shm/core.hpp"
#include "common/rdma/shm/setup.hpp"

namespace tickpath::rdma::detail {

class ShmListener final : public Listener {
 public:
  ShmListener(std::shared_ptr<DeviceCore> core, const std::string& endpoint);
  ~ShmListener() override;

  int file_descriptor() const noexcept override { return epoll_.get(); }
  std::unique_ptr<ConnectionRequest> next() override;
  std::string endpoint() const override { return endpoint_; }
  std::uint64_t bad_peers() const noexcept override { return bad_peers_; }
  std::optional<BadPeer> next_bad_peer() override;

 private:
  // Connected, hello not read yet.
  struct Pending {
    UniqueFd socket;
    PeerIdentity peer;
    Deadline deadline;
  };

  std::unique_ptr<ConnectionRequest> take_newcomers();
  void drop_late();
  void turn_away(const PeerIdentity& peer, std::string why);
  void pause_accepting();
  void set_timer(std::chrono::milliseconds after) noexcept;
  std::unique_ptr<ConnectionRequest> try_hello(std::size_t index);
  void watch(int fd);

  std::shared_ptr<DeviceCore> core_;
  std::string endpoint_;
  UniqueFd socket_;
  UniqueFd epoll_;
  // A silent peer is dropped even if nobody else connects; and when to accept again.
  UniqueFd timer_;
  bool paused_ = false;  // no descriptors are left: the socket is not watched
  std::vector<Pending> pending_;
  std::uint64_t bad_peers_ = 0;
  std::deque<BadPeer> untold_;  // of these
  std::uint64_t inode_ = 0;     // of the socket file, so that only our own is removed
};

// Bound as endpoint; a stale file is replaced only if nobody listens on it. Throws
// SetupError{kAddress}.
UniqueFd bind_socket(const std::string& endpoint);
// Does not block. Invalid: the listener's queue of newcomers is full, try again. Throws SetupError
// (kAddress, kPermission, kRefused).
UniqueFd connect_socket(const std::string& endpoint);

}  // namespace tickpath::rdma::detail
