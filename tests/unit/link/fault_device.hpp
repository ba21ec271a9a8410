// A device around another one that refuses posts, fails completions (from a seed), or keeps them
// back.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <random>

#include "tests/support/wrapped_device.hpp"

namespace tickpath::link::test {

// What goes wrong. Change it between calls, on the thread that posts and polls.
struct FaultPlan {
  explicit FaultPlan(unsigned seed = 1) : random(seed) {}
  std::mt19937 random;
  unsigned refuse_per_mille = 0;  // of posts: kQueueFull, nothing posted
  unsigned fail_per_mille = 0;    // of completions: kRetryExceeded, and the queue pair fails
  bool withhold = false;          // completions stay out until it is false again: nobody answers
  std::uint64_t refused = 0;
  std::uint64_t failed = 0;

  bool hits(unsigned per_mille) { return per_mille != 0 && random() % 1000 < per_mille; }
};

class FaultPair final : public rdma::QueuePair {
 public:
  FaultPair(std::unique_ptr<rdma::QueuePair> inner, FaultPlan& plan)
      : inner_(std::move(inner)), plan_(plan) {}

  rdma::PostStatus post_send(const rdma::WorkRequest& request) noexcept override {
    if (plan_.hits(plan_.refuse_per_mille)) {
      ++plan_.refused;
      return rdma::PostStatus::kQueueFull;
    }
    return inner_->post_send(request);
  }
  rdma::PostStatus post_send(std::span<const rdma::WorkRequest> requests,
                             std::size_t* posted) noexcept override {
    *posted = 0;
    for (const rdma::WorkRequest& request : requests) {
      const rdma::PostStatus status = post_send(request);
      if (status != rdma::PostStatus::kOk) return status;
      ++*posted;
    }
    return rdma::PostStatus::kOk;
  }
  rdma::PostStatus post_receive(const rdma::ReceiveRequest& request) noexcept override {
    return inner_->post_receive(request);
  }
  rdma::QueuePairState state() const noexcept override { return inner_->state(); }
  std::uint32_t number() const noexcept override { return inner_->number(); }
  std::uint32_t inline_bytes() const noexcept override { return inner_->inline_bytes(); }
  std::string error_text() const override { return inner_->error_text(); }
  void disconnect() noexcept override { inner_->disconnect(); }
  std::span<const rdma::RemoteRegion> remote_regions() const noexcept override {
    return inner_->remote_regions();
  }
  rdma::QueuePairCounters counters() const noexcept override { return inner_->counters(); }
  std::size_t revoke(const rdma::MemoryRegion& region) noexcept override {
    return inner_->revoke(region);
  }

 private:
  std::unique_ptr<rdma::QueuePair> inner_;
  FaultPlan& plan_;
};

class FaultQueue final : public rdma::CompletionQueue {
 public:
  FaultQueue(std::unique_ptr<rdma::CompletionQueue> inner, FaultPlan& plan)
      : inner_(std::move(inner)), plan_(plan) {}

  std::size_t poll(std::span<rdma::Completion> out) noexcept override {
    std::size_t count = inner_->poll(out);
    if (plan_.withhold || !withheld_.empty()) count = later(out, count);
    for (std::size_t i = 0; i < count; ++i) {
      if (!plan_.hits(plan_.fail_per_mille)) continue;
      ++plan_.failed;
      out[i].status = rdma::CompletionStatus::kRetryExceeded;
      if (pair != nullptr) pair->disconnect();
    }
    return count;
  }
  void arm(bool solicited_only) noexcept override { inner_->arm(solicited_only); }

  rdma::CompletionQueue& inner() noexcept { return *inner_; }
  rdma::QueuePair* pair = nullptr;

 private:
  // Keeps what came behind what was kept before; hands out none, or the oldest.
  std::size_t later(std::span<rdma::Completion> out, std::size_t came) noexcept {
    withheld_.insert(withheld_.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(came));
    if (plan_.withhold) return 0;
    const std::size_t count = std::min(out.size(), withheld_.size());
    const auto end = withheld_.begin() + static_cast<std::ptrdiff_t>(count);
    std::copy(withheld_.begin(), end, out.begin());
    withheld_.erase(withheld_.begin(), end);
    return count;
  }

  std::unique_ptr<rdma::CompletionQueue> inner_;
  FaultPlan& plan_;
  std::vector<rdma::Completion> withheld_;
};

// Wraps what a set-up ends with, and tells the completion queue of it.
class FaultPending final : public rdma::PendingConnection {
 public:
  using Wrap = std::function<std::unique_ptr<rdma::QueuePair>(std::unique_ptr<rdma::QueuePair>)>;
  FaultPending(std::unique_ptr<rdma::PendingConnection> inner, FaultQueue& queue, Wrap wrap)
      : inner_(std::move(inner)), queue_(queue), wrap_(std::move(wrap)) {}
  std::optional<rdma::Connected> poll() override {
    std::optional<rdma::Connected> done = inner_->poll();
    if (!done) return std::nullopt;
    if (wrap_) done->queue_pair = wrap_(std::move(done->queue_pair));
    queue_.pair = done->queue_pair.get();
    return done;
  }
  void wait(std::chrono::milliseconds timeout) override { inner_->wait(timeout); }

 private:
  std::unique_ptr<rdma::PendingConnection> inner_;
  FaultQueue& queue_;
  Wrap wrap_;
};

class FaultRequest final : public rdma::ConnectionRequest {
 public:
  FaultRequest(std::unique_ptr<rdma::ConnectionRequest> inner, FaultPlan& plan)
      : inner_(std::move(inner)), plan_(plan) {}

  std::span<const std::byte> hello() const noexcept override { return inner_->hello(); }
  std::string peer() const override { return inner_->peer(); }
  std::string peer_role() const override { return inner_->peer_role(); }
  std::unique_ptr<rdma::PendingConnection> start_accept(
      rdma::CompletionQueue& queue, const rdma::QueuePairOptions& options,
      std::span<const std::byte> answer, std::span<const rdma::Grant> grants,
      std::span<const rdma::ReceiveRequest> initial_receives) override {
    auto& own = dynamic_cast<FaultQueue&>(queue);
    return std::make_unique<FaultPending>(
        inner_->start_accept(own.inner(), options, answer, grants, initial_receives), own,
        [&plan = plan_](std::unique_ptr<rdma::QueuePair> made) {
          return std::make_unique<FaultPair>(std::move(made), plan);
        });
  }
  void reject(std::string_view reason) noexcept override { inner_->reject(reason); }

 private:
  std::unique_ptr<rdma::ConnectionRequest> inner_;
  FaultPlan& plan_;
};

class FaultListener final : public rdma::Listener {
 public:
  FaultListener(std::unique_ptr<rdma::Listener> inner, FaultPlan& plan)
      : inner_(std::move(inner)), plan_(plan) {}
  int file_descriptor() const noexcept override { return inner_->file_descriptor(); }
  std::unique_ptr<rdma::ConnectionRequest> next() override {
    auto request = inner_->next();
    if (request == nullptr) return nullptr;
    return std::make_unique<FaultRequest>(std::move(request), plan_);
  }
  std::string endpoint() const override { return inner_->endpoint(); }
  std::uint64_t bad_peers() const noexcept override { return inner_->bad_peers(); }

 private:
  std::unique_ptr<rdma::Listener> inner_;
  FaultPlan& plan_;
};

// Faults hit the side that listens; who connects gets the inner device's queue pairs.
class FaultDevice final : public test_support::WrappedDevice {
 public:
  FaultDevice(std::unique_ptr<rdma::Device> inner, FaultPlan& plan)
      : WrappedDevice(std::move(inner)), plan_(plan) {}
  std::unique_ptr<rdma::CompletionQueue> create_queue(std::uint32_t depth,
                                                      rdma::CompletionChannel* channel) override {
    return std::make_unique<FaultQueue>(inner().create_queue(depth, channel), plan_);
  }
  std::unique_ptr<rdma::Listener> listen(const std::string& endpoint) override {
    return std::make_unique<FaultListener>(inner().listen(endpoint), plan_);
  }
  std::unique_ptr<rdma::PendingConnection> start_connect(
      rdma::CompletionQueue& queue, const rdma::ConnectParameters& parameters) override {
    auto& own = dynamic_cast<FaultQueue&>(queue);
    return std::make_unique<FaultPending>(inner().start_connect(own.inner(), parameters), own,
                                          nullptr);
  }

 private:
  FaultPlan& plan_;
};

}  // namespace tickpath::link::test
