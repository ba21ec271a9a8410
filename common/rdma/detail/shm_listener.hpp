// Listening side of the shm provider: a Unix socket in the file system.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/rdma/detail/shm_core.hpp"
#include "common/rdma/detail/shm_setup.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

class ShmQueuePair;

// The grants of one side as they travel: regions with fresh keys, and the descriptors to send
// (wire, wake-up, one a region).
struct GrantedRegions {
  std::vector<RemoteRegion> regions;
  std::vector<UniqueFd> owned;  // read-only descriptors made for this peer
  std::vector<int> descriptors;
};

// Throws SetupError (kLimit, kPermission).
GrantedRegions grant_regions(const ShmQueuePair& queue_pair, int wake_descriptor,
                             std::span<const Grant> grants);

// Sends this side's half.
void send_half(const UniqueFd& socket, SetupType type, ShmQueuePair& queue_pair,
               std::span<const Grant> grants, std::span<const std::byte> body);

class ShmListener final : public Listener {
 public:
  ShmListener(std::shared_ptr<DeviceCore> core, const std::string& endpoint);
  ~ShmListener() override;

  int file_descriptor() const noexcept override { return epoll_.get(); }
  std::unique_ptr<ConnectionRequest> next() override;
  std::string endpoint() const override { return endpoint_; }
  std::uint64_t bad_peers() const noexcept override { return bad_peers_; }

 private:
  // Connected, hello not read yet.
  struct Pending {
    UniqueFd socket;
    PeerIdentity peer;
    Deadline deadline;
  };

  void take_connections();
  void drop_late();
  std::unique_ptr<ConnectionRequest> try_hello(std::size_t index);
  void watch(int fd);

  std::shared_ptr<DeviceCore> core_;
  std::string endpoint_;
  UniqueFd socket_;
  UniqueFd epoll_;
  UniqueFd timer_;  // a silent peer is dropped even if nobody else connects
  std::vector<Pending> pending_;
  std::uint64_t bad_peers_ = 0;
  std::uint64_t inode_ = 0;  // of the socket file, so that only our own is removed
};

// Bound as endpoint; a stale file is replaced only if nobody listens on it. Throws
// SetupError{kAddress}.
UniqueFd bind_socket(const std::string& endpoint);
// Throws SetupError (kAddress, kRefused, kTimeout).
UniqueFd connect_socket(const std::string& endpoint, Deadline deadline);

}  // namespace tickpath::rdma::detail
