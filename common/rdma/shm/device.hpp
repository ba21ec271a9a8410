// The shm provider's device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/rdma/rdma.hpp"
#include "common/rdma/shm/core.hpp"

namespace tickpath::rdma::detail {

class ShmRegion final : public MemoryRegion {
 public:
  ShmRegion(std::shared_ptr<DeviceCore> core, std::size_t size_bytes, AccessFlags access,
            const std::string& name);
  ~ShmRegion() override;

  const UniqueFd& descriptor() const noexcept { return memory_.fd; }
  // Could a holder of descriptor() map it writable?
  bool peer_writable() const noexcept { return (access_ & (kRemoteWrite | kRemoteAtomic)) != 0; }

 private:
  std::shared_ptr<DeviceCore> core_;
  OwnedMemory memory_;
};

class ShmDevice final : public Device {
 public:
  ShmDevice();

  const DeviceInfo& info() const noexcept override { return core_->info; }
  std::vector<std::string> notes() const override { return core_->notes(); }
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

 private:
  std::shared_ptr<DeviceCore> core_;
};

}  // namespace tickpath::rdma::detail
