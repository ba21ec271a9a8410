// Liveness: the owner bumps a counter in its memory, the peer READs it and judges by its own clock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/counter.hpp"
#include "common/link/connection.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

// The owner's side.
class Heartbeat {
 public:
  // Control thread. Throws rdma::SetupError.
  Heartbeat(rdma::Device& device, const std::string& name);

  // The datapath thread whose life it tells, each turn. A plain store.
  void beat() noexcept;
  // To give to whoever may watch (READ).
  rdma::Grant grant() const noexcept { return {region_.get(), rdma::kRemoteRead}; }

 private:
  std::unique_ptr<rdma::MemoryRegion> region_;
  std::uint64_t* word_;
  std::uint64_t count_ = 0;
};

enum class Liveness : std::uint8_t {
  kUnknown,  // attached, nothing judged yet; or detached
  kAlive,
  kSuspect,  // no change for suspect_after_ns
  kDead,     // no change for dead_after_ns, or the connection failed
};

struct HeartbeatOptions {
  std::uint64_t interval_ns = 1'000'000;  // between READs
  std::uint64_t suspect_after_ns = 10'000'000;
  std::uint64_t dead_after_ns = 50'000'000;
};

// The judgement alone, without a fabric: feed it observations, tests can too.
//
// A reader that did not run cannot tell a dead peer from its own absence. So silence is not
// measured by the clock but by the reader's presence: each evaluation adds the time since the one
// before, but at most two intervals. A reader that slept for a second adds two intervals, once.
class LivenessScore {
 public:
  explicit LivenessScore(const HeartbeatOptions& options) noexcept : options_(options) {}

  void restart(std::uint64_t now_ns) noexcept;
  // An observation: the counter as just READ.
  Liveness observe(std::uint64_t counter, std::uint64_t now_ns) noexcept;
  // The connection failed: dead at once.
  void fail() noexcept { state_ = Liveness::kDead; }
  Liveness state() const noexcept { return state_; }
  // Silence counted so far.
  std::uint64_t silent_ns() const noexcept { return silent_ns_; }
  // Evaluations that came late, so that the reader's own stalls can be seen.
  std::uint64_t late() const noexcept { return late_; }

 private:
  HeartbeatOptions options_;
  Liveness state_ = Liveness::kUnknown;
  std::uint64_t counter_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t silent_ns_ = 0;
  std::uint64_t late_ = 0;
  bool seen_ = false;
};

// The watcher: polling thread of the connection.
class HeartbeatMonitor final : public CompletionSink {
 public:
  // Control thread: memory to READ into. Throws rdma::SetupError.
  HeartbeatMonitor(rdma::Device& device, const HeartbeatOptions& options, const std::string& name);

  // After each LinkEvent::kConnected.
  void attach(Connection& connection, const rdma::RemoteRegion& region,
              std::uint64_t now_ns) noexcept;
  // Liveness becomes kDead if the connection was lost, kUnknown if it was closed in order.
  void detach(bool lost) noexcept;

  // Each turn, with the caller's clock (ns, monotonic): starts a READ when one is due and judges
  // what came back. The connection must be polled in between.
  Liveness evaluate(std::uint64_t now_ns) noexcept;
  Liveness state() const noexcept { return score_.state(); }
  const LivenessScore& score() const noexcept { return score_; }

  void on_completion(const rdma::Completion& completion) noexcept override;

 private:
  HeartbeatOptions options_;
  LivenessScore score_;
  std::unique_ptr<rdma::MemoryRegion> region_;
  Connection* connection_ = nullptr;
  rdma::WorkRequest request_;
  std::uint64_t tag_ = 0;
  std::uint64_t serial_ = 0;
  std::uint64_t next_read_ns_ = 0;
  bool busy_ = false;
  bool arrived_ = false;
};

}  // namespace tickpath::link
