// A device that does what another does, for tests that change one thing of it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/rdma/datagram.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::test_support {

class WrappedDevice : public rdma::Device {
 public:
  explicit WrappedDevice(std::unique_ptr<rdma::Device> inner) : inner_(std::move(inner)) {}

  const rdma::DeviceInfo& info() const noexcept override { return inner_->info(); }
  std::vector<std::string> notes() const override { return inner_->notes(); }
  std::unique_ptr<rdma::MemoryRegion> allocate(std::size_t size_bytes, rdma::AccessFlags access,
                                               const std::string& name) override {
    return inner_->allocate(size_bytes, access, name);
  }
  std::unique_ptr<rdma::CompletionChannel> create_channel() override {
    return inner_->create_channel();
  }
  std::unique_ptr<rdma::CompletionQueue> create_queue(std::uint32_t depth,
                                                      rdma::CompletionChannel* channel) override {
    return inner_->create_queue(depth, channel);
  }
  std::unique_ptr<rdma::Listener> listen(const std::string& endpoint) override {
    return inner_->listen(endpoint);
  }
  std::unique_ptr<rdma::PendingConnection> start_connect(
      rdma::CompletionQueue& queue, const rdma::ConnectParameters& parameters) override {
    return inner_->start_connect(queue, parameters);
  }
  std::unique_ptr<rdma::DatagramQueuePair> create_datagram_queue_pair(
      rdma::CompletionQueue& queue, const rdma::DatagramOptions& options) override {
    return inner_->create_datagram_queue_pair(queue, options);
  }

 protected:
  rdma::Device& inner() noexcept { return *inner_; }

 private:
  std::unique_ptr<rdma::Device> inner_;
};

}  // namespace tickpath::test_support
