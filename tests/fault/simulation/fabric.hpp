// A fabric in one thread and in virtual time: devices, regions and queue pairs of simulated
// processes. Requests of a queue pair are executed in order, each some time after it was posted,
// and complete some time after that. A link can be cut, and a process can end, between any two of
// these moments.
//
// What it leaves out: SEND, receives and set-up by endpoints. A pair's connections need only WRITE,
// READ and COMPARE_SWAP, and connect() joins two processes at once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/clock/virtual_time.hpp"
#include "common/link/connection.hpp"
#include "common/rdma/rdma.hpp"
#include "tests/fault/simulation/random.hpp"

namespace tickpath::simulation {

// How long requests take, drawn for each.
struct Delays {
  std::uint64_t most_ns = 0;             // to be executed; as long again to complete
  std::uint64_t spike_ns = 0;            // most, of one that is late
  std::uint64_t spikes_mille = 0;        // so many are late
  std::uint64_t notice_ns = 35'000'000;  // most, until a side notices that its link is cut
};

class Fabric;
class SimulatedPair;

class SimulatedRegion final : public rdma::MemoryRegion {
 public:
  SimulatedRegion(Fabric& fabric, std::size_t size_bytes, rdma::AccessFlags access);
  ~SimulatedRegion() override;

 private:
  Fabric& fabric_;
};

class SimulatedQueue final : public rdma::CompletionQueue {
 public:
  std::size_t poll(std::span<rdma::Completion> out) noexcept override;
  void arm(bool) noexcept override {}
  SimulatedPair* pair = nullptr;
};

class SimulatedPair final : public rdma::QueuePair {
 public:
  SimulatedPair(Fabric& fabric, SimulatedQueue& queue, int owner,
                std::vector<rdma::RemoteRegion> granted);
  ~SimulatedPair() override;

  rdma::PostStatus post_send(const rdma::WorkRequest& request) noexcept override;
  rdma::PostStatus post_send(std::span<const rdma::WorkRequest> requests,
                             std::size_t* posted) noexcept override;
  rdma::PostStatus post_receive(const rdma::ReceiveRequest&) noexcept override {
    return rdma::PostStatus::kBadRequest;
  }
  rdma::QueuePairState state() const noexcept override;
  std::uint32_t number() const noexcept override { return number_; }
  std::uint32_t inline_bytes() const noexcept override { return kInlineBytes; }
  std::string error_text() const override { return {}; }
  void disconnect() noexcept override;
  std::span<const rdma::RemoteRegion> remote_regions() const noexcept override { return granted_; }
  rdma::QueuePairCounters counters() const noexcept override { return {}; }
  std::size_t revoke(const rdma::MemoryRegion& region) noexcept override;

  std::size_t poll(std::span<rdma::Completion> out) noexcept;

 private:
  friend class Fabric;
  static constexpr std::size_t kInlineBytes = 64;
  static constexpr std::size_t kDepth = 64;

  struct Request {
    rdma::WorkRequest work;
    std::uint64_t execute_ns;
    std::uint64_t complete_ns;
    std::array<std::byte, kInlineBytes> bytes;  // inline, or what was READ
    rdma::CompletionStatus status;
  };

  bool fails_at(std::uint64_t now) const noexcept { return error_ns_ <= now; }
  void execute_due(std::uint64_t now) noexcept;
  void execute(Request& request) noexcept;
  // The link's end; side: who notices. Requests that were not executed never will be.
  void sever(std::uint64_t error_ns) noexcept;

  Fabric& fabric_;
  SimulatedQueue& queue_;
  const int owner_;
  const std::uint32_t number_;
  std::vector<rdma::RemoteRegion> granted_;
  std::vector<std::uint32_t> revoked_;  // of ours, from the peer
  SimulatedPair* peer_ = nullptr;
  std::vector<Request> requests_;  // not completed yet, oldest first
  std::size_t executed_ = 0;       // of them
  std::uint64_t last_execute_ns_ = 0;
  std::uint64_t last_complete_ns_ = 0;
  std::uint64_t error_ns_ = ~std::uint64_t{0};
  bool severed_ = false;
};

class SimulatedDevice final : public rdma::Device {
 public:
  explicit SimulatedDevice(Fabric& fabric) : fabric_(fabric) {}
  const rdma::DeviceInfo& info() const noexcept override;
  std::vector<std::string> notes() const override { return {}; }
  std::unique_ptr<rdma::MemoryRegion> allocate(std::size_t size_bytes, rdma::AccessFlags access,
                                               const std::string& name) override;
  std::unique_ptr<rdma::CompletionChannel> create_channel() override { return nullptr; }
  std::unique_ptr<rdma::CompletionQueue> create_queue(std::uint32_t,
                                                      rdma::CompletionChannel*) override;
  std::unique_ptr<rdma::Listener> listen(const std::string&) override { return nullptr; }
  std::unique_ptr<rdma::PendingConnection> start_connect(rdma::CompletionQueue&,
                                                         const rdma::ConnectParameters&) override;

 private:
  Fabric& fabric_;
};

class Fabric {
 public:
  Fabric(Random& random, clock::VirtualTime& time, const Delays& delays, bool revokes);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  // Two processes are connected, each with what the other one grants.
  std::pair<std::unique_ptr<link::Connection>, std::unique_ptr<link::Connection>> connect(
      int first, std::span<const rdma::Grant> granted_by_first, int second,
      std::span<const rdma::Grant> granted_by_second);
  // Every link between the two.
  void cut(int first, int second) noexcept;
  // A process ends: what its device has taken is executed, or not; its peers notice. Then its
  // objects are destroyed.
  void end(int process) noexcept;
  // From now on nothing that the process does is seen by anybody: it has ended, and returns yet
  // from the function that it was in.
  void silence(int process) noexcept { silent_ |= 1u << process; }
  void execute_due() noexcept;
  void set_delays(const Delays& delays) noexcept { delays_ = delays; }

 private:
  friend class SimulatedRegion;
  friend class SimulatedPair;
  friend class SimulatedDevice;

  std::uint64_t now() const noexcept { return time_.now_ns(); }
  bool is_silent(int process) const noexcept { return (silent_ >> process & 1) != 0; }
  std::uint64_t delay() noexcept;
  std::uint64_t noticed_at() noexcept { return now() + random_.below(delays_.notice_ns + 1); }
  std::byte* at(const rdma::WorkRequest& work, rdma::AccessFlags needed) const noexcept;

  Random& random_;
  clock::VirtualTime& time_;
  Delays delays_;
  rdma::DeviceInfo info_;
  std::uint32_t silent_ = 0;
  std::uint32_t numbers_ = 0;
  std::uint32_t keys_ = 0;
  std::unordered_map<std::uint32_t, SimulatedRegion*> regions_;  // by rkey
  std::vector<SimulatedPair*> pairs_;
};

}  // namespace tickpath::simulation
