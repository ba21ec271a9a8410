// Multicast for tests of the update ring: a group of its own, a publisher that sends to it, and a
// device whose datagrams are lost or changed on their way.
#pragma once

#include <functional>
#include <vector>

#include "tests/support/wrapped_device.hpp"
#include "tests/unit/link/market.hpp"

namespace tickpath::link::test {

// Never given twice by one process.
inline std::string fresh_group() {
  static int number = 0;
  ++number;
  if (over_network())
    return "239.255." + std::to_string(100 + ::getpid() % 100) + "." + std::to_string(number % 250);
  return (std::filesystem::temp_directory_path() /
          ("tp-group-" + std::to_string(::getpid()) + "-" + std::to_string(number)))
      .string();
}

// A device without multicast publishes as ever, so that tests can be skipped.
inline PublisherOptions multicast_options(const rdma::Device& device, std::uint32_t depth = 1024) {
  PublisherOptions options{.image_count = kThings};
  if (device.info().multicast) options.multicast.group = fresh_group();
  options.multicast.depth = depth;
  return options;
}

inline SubscriberOptions reader(std::uint32_t depth, std::uint32_t lost_per_mille = 0,
                                std::uint64_t seed = 1) {
  SubscriberOptions options{.depth = depth, .image_count = kThings};
  options.loss = {lost_per_mille, seed};
  return options;
}

// What a device's datagrams meet on their way in: they may be changed, or dropped (false).
using Meddler = std::function<bool(std::span<std::byte> datagram)>;

class MeddledQueue final : public rdma::CompletionQueue {
 public:
  MeddledQueue(std::unique_ptr<rdma::CompletionQueue> inner, const Meddler& meddler)
      : inner_(std::move(inner)), meddler_(meddler) {}
  std::size_t poll(std::span<rdma::Completion> out) noexcept override {
    const std::size_t count = inner_->poll(out);
    if (receives.empty() || !meddler_) return count;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const rdma::ReceiveRequest& receive = receives[out[i].wr_id];
      const std::span<std::byte> datagram(
          static_cast<std::byte*>(receive.local_address) + rdma::kGrhBytes,
          out[i].byte_length - rdma::kGrhBytes);
      if (meddler_(datagram))
        out[kept++] = out[i];
      else
        (void)pair->post_receive(receive);
    }
    return kept;
  }
  void arm(bool solicited_only) noexcept override { inner_->arm(solicited_only); }
  rdma::CompletionQueue& inner() noexcept { return *inner_; }

  std::vector<rdma::ReceiveRequest> receives;  // of datagrams, by wr_id
  rdma::DatagramQueuePair* pair = nullptr;

 private:
  std::unique_ptr<rdma::CompletionQueue> inner_;
  const Meddler& meddler_;
};

class MeddledPair final : public rdma::DatagramQueuePair {
 public:
  MeddledPair(std::unique_ptr<rdma::DatagramQueuePair> inner, MeddledQueue& queue)
      : inner_(std::move(inner)), queue_(queue) {
    queue_.pair = inner_.get();
  }
  rdma::PostStatus post_send(const rdma::DatagramRequest& request) noexcept override {
    return inner_->post_send(request);
  }
  rdma::PostStatus post_send(std::span<const rdma::DatagramRequest> requests,
                             std::size_t* posted) noexcept override {
    return inner_->post_send(requests, posted);
  }
  rdma::PostStatus post_receive(const rdma::ReceiveRequest& request) noexcept override {
    if (queue_.receives.size() <= request.wr_id) queue_.receives.resize(request.wr_id + 1);
    queue_.receives[request.wr_id] = request;
    return inner_->post_receive(request);
  }
  rdma::QueuePairState state() const noexcept override { return inner_->state(); }
  std::uint32_t number() const noexcept override { return inner_->number(); }
  std::uint32_t inline_bytes() const noexcept override { return inner_->inline_bytes(); }
  std::uint32_t datagram_bytes_max() const noexcept override {
    return inner_->datagram_bytes_max();
  }
  std::string error_text() const override { return inner_->error_text(); }
  rdma::DatagramCounters counters() const noexcept override { return inner_->counters(); }
  const rdma::DatagramAddress& address() const noexcept override { return inner_->address(); }
  std::unique_ptr<rdma::AddressHandle> create_address_handle(
      const rdma::DatagramAddress& address) override {
    return inner_->create_address_handle(address);
  }
  std::unique_ptr<rdma::MulticastMembership> join(const std::string& group,
                                                  rdma::MulticastRole role) override {
    return inner_->join(group, role);
  }

 private:
  std::unique_ptr<rdma::DatagramQueuePair> inner_;
  MeddledQueue& queue_;
};

class MeddledDevice final : public test_support::WrappedDevice {
 public:
  explicit MeddledDevice(std::unique_ptr<rdma::Device> inner) : WrappedDevice(std::move(inner)) {}
  std::unique_ptr<rdma::CompletionQueue> create_queue(std::uint32_t depth,
                                                      rdma::CompletionChannel* channel) override {
    return std::make_unique<MeddledQueue>(inner().create_queue(depth, channel), meddler);
  }
  std::unique_ptr<rdma::PendingConnection> start_connect(
      rdma::CompletionQueue& queue, const rdma::ConnectParameters& parameters) override {
    return inner().start_connect(dynamic_cast<MeddledQueue&>(queue).inner(), parameters);
  }
  std::unique_ptr<rdma::DatagramQueuePair> create_datagram_queue_pair(
      rdma::CompletionQueue& queue, const rdma::DatagramOptions& options) override {
    auto& own = dynamic_cast<MeddledQueue&>(queue);
    datagrams_ = &own;
    return std::make_unique<MeddledPair>(inner().create_datagram_queue_pair(own.inner(), options),
                                         own);
  }

  // Receives of the newest queue pair for datagrams, while it is there.
  const std::vector<rdma::ReceiveRequest>& datagram_receives() const {
    return datagrams_->receives;
  }

  Meddler meddler;  // change it on the polling thread

 private:
  const MeddledQueue* datagrams_ = nullptr;
};

// Both ends driven by one thread.
class Multicast : public testing::Test {
 protected:
  Fabric fabric;
  Source source{*fabric.device, multicast_options(*fabric.device)};
  Sink sink;

  void SetUp() override {
    if (!fabric.device->info().multicast) GTEST_SKIP() << "the device has no multicast";
  }
  // Turns both ends until `done`.
  template <class Done>
  bool both_until(TestSubscriber& subscriber, Done&& done) {
    return eventually([&] {
      source.end_turn();
      subscriber.poll(sink);
      return done();
    });
  }
};

}  // namespace tickpath::link::test
