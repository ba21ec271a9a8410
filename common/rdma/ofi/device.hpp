// The ofi provider's device: libfabric, one core provider of it (ofi/choice.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/rdma/rdma.hpp"

namespace tickpath::rdma::detail {

class OfiCore;

class OfiDevice final : public Device {
 public:
  explicit OfiDevice(const DeviceOptions& options);  // throws SetupError

  const DeviceInfo& info() const noexcept override;
  std::vector<std::string> notes() const override;
  std::unique_ptr<MemoryRegion> allocate(std::size_t size_bytes, AccessFlags access,
                                         const std::string& name) override;
  std::unique_ptr<CompletionChannel> create_channel() override;
  std::unique_ptr<CompletionQueue> create_queue(std::uint32_t depth,
                                                CompletionChannel* channel) override;
  std::unique_ptr<Listener> listen(const std::string& endpoint) override;
  std::unique_ptr<PendingConnection> start_connect(CompletionQueue& queue,
                                                   const ConnectParameters& parameters) override;

 private:
  std::shared_ptr<OfiCore> core_;
};

}  // namespace tickpath::rdma::detail
