// The verbs provider's device: rdma-core, RC queue pairs, connections by rdma_cm.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/rdma/rdma.hpp"
#include "common/rdma/verbs/core.hpp"

namespace tickpath::rdma::detail {

class VerbsDevice final : public Device {
 public:
  explicit VerbsDevice(const DeviceOptions& options);

  const DeviceInfo& info() const noexcept override { return core_->info(); }
  std::vector<std::string> notes() const override { return core_->notes(); }
  std::string lost() const override { return core_->lost(); }
  std::unique_ptr<MemoryRegion> allocate(std::size_t size_bytes, AccessFlags access,
                                         const std::string& name) override;
  std::unique_ptr<CompletionChannel> create_channel() override;
  std::unique_ptr<CompletionQueue> create_queue(std::uint32_t depth,
                                                CompletionChannel* channel) override;
  std::unique_ptr<Listener> listen(const std::string& endpoint) override;
  std::unique_ptr<PendingConnection> start_connect(CompletionQueue& queue,
                                                   const ConnectParameters& parameters) override;
  std::unique_ptr<DatagramQueuePair> create_datagram_queue_pair(
      CompletionQueue& queue, const DatagramOptions& options) override;

  const std::shared_ptr<VerbsCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<VerbsCore> core_;
};

// A connection by rdma_cm alone, as rdma-core's own programs make it (rping, ucmatose): no
// authentication, no grants told, no notices. For tests that show that we speak standard verbs.
struct PlainParameters {
  std::string address;  // numeric
  std::uint16_t port = 0;
  std::span<const std::byte> private_data;
  std::span<const Grant> grants;
  std::span<const ReceiveRequest> initial_receives;
  QueuePairOptions options;
  std::uint32_t timeout_ms = 2000;
};
struct PlainConnected {
  std::unique_ptr<QueuePair> queue_pair;
  std::vector<RemoteRegion> granted;  // what the peer must be told by the program's own protocol
};
// device and queue must be of the verbs provider. Throws SetupError.
PlainConnected connect_plain(Device& device, CompletionQueue& queue,
                             const PlainParameters& parameters);

}  // namespace tickpath::rdma::detail
