// Set-ups of the shm provider that are under way: each poll() takes the step for which the peer's
// message is there, and none waits for it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/rdma/provider/pending.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/shm/core.hpp"
#include "common/rdma/shm/queue_pair.hpp"
#include "common/rdma/shm/setup.hpp"

namespace tickpath::rdma::detail {

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

// The connecting side: reaches the listener, says hello, waits for its half, confirms with ours.
class ShmConnecting final : public PendingConnection {
 public:
  ShmConnecting(std::shared_ptr<DeviceCore> core, ShmCompletionQueue& queue,
                const ConnectParameters& parameters);
  std::optional<Connected> poll() override;
  void wait(std::chrono::milliseconds timeout) override;

 private:
  bool reach();
  Connected confirm(SetupMessage answer);

  std::shared_ptr<DeviceCore> core_;
  ShmCompletionQueue& queue_;
  KeptParameters parameters_;
  Deadline deadline_;
  UniqueFd socket_;  // invalid until the listener's queue had room for us
  PeerIdentity peer_;
};

// The listening side, from our half on: waits for the peer's.
class ShmAccepting final : public PendingConnection {
 public:
  ShmAccepting(UniqueFd socket, PeerIdentity peer, std::unique_ptr<ShmQueuePair> queue_pair);
  std::optional<Connected> poll() override;
  void wait(std::chrono::milliseconds timeout) override;

 private:
  UniqueFd socket_;
  PeerIdentity peer_;
  std::unique_ptr<ShmQueuePair> queue_pair_;
  Deadline deadline_;
};

// Sends this side's half.
void send_half(const UniqueFd& socket, SetupType type, ShmQueuePair& queue_pair,
               std::span<const Grant> grants, std::span<const std::byte> body);

}  // namespace tickpath::rdma::detail
