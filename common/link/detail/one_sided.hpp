// What READs or WRITEs a region of a peer's, on a connection that it shares: heartbeats, remote
// tables, control block writers, clock probes. Polling thread of the connection, but for
// construction.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/link/connection.hpp"
#include "common/rdma/rdma.hpp"

namespace tickpath::link {

class OneSidedClient : public CompletionSink {
 public:
  // One for all requests of a post(): of the signalled one, or of the first that failed.
  void on_completion(const rdma::Completion& completion) noexcept final {
    const std::uint64_t number = completion.wr_id & ((std::uint64_t{1} << kTagShift) - 1);
    if (number <= completed_) return;  // given up meanwhile
    completed_ = number;               // RC completes in order
    on_answer(completion.status == rdma::CompletionStatus::kSuccess);
  }

 protected:
  // Control thread: memory of our own to READ into or to send from. Throws rdma::SetupError.
  OneSidedClient(rdma::Device& device, std::size_t bytes, const std::string& name)
      : region_(device.allocate(bytes, rdma::kLocalWrite, name)) {}
  ~OneSidedClient() = default;

  // What the newest post(), or an older one that is still out, came to.
  virtual void on_answer(bool success) noexcept = 0;

  // Starts to use a connection; what is under way on another one is given up.
  void use(Connection& connection) noexcept {
    connection.remove_sink(*this);  // attached to it before
    connection_ = &connection;
    tag_ = connection.add_sink(*this);
    give_up();
  }
  // The connection may be gone already.
  void leave() noexcept {
    connection_ = nullptr;
    give_up();
  }
  void give_up() noexcept { completed_ = posted_; }

  bool attached() const noexcept { return connection_ != nullptr; }
  Connection& connection() noexcept { return *connection_; }
  std::uint64_t posts() const noexcept { return posted_; }
  // post()s that have not completed and were not given up.
  std::uint64_t under_way() const noexcept { return posted_ - completed_; }
  std::byte* memory() noexcept { return region_->data(); }
  const std::byte* memory() const noexcept { return region_->data(); }

  // A signalled READ of so many bytes at the start of `remote`, to the start of our memory.
  rdma::WorkRequest read_of(const rdma::RemoteRegion& remote, std::size_t bytes) const noexcept {
    rdma::WorkRequest request;
    request.opcode = rdma::Opcode::kRead;
    request.flags = rdma::kSignaled;
    request.local_address = region_->data();
    request.length_bytes = static_cast<std::uint32_t>(bytes);
    request.lkey = region_->lkey();
    request.rkey = remote.rkey;
    request.remote_address = remote.address;
    return request;
  }
  // One doorbell; the last request is signalled. posted: how many were accepted.
  rdma::PostStatus post(std::span<rdma::WorkRequest> requests, std::size_t& posted) noexcept {
    for (rdma::WorkRequest& request : requests) request.wr_id = tag_ | (posted_ + 1);
    const rdma::PostStatus status = connection_->queue_pair().post_send(requests, &posted);
    if (status == rdma::PostStatus::kOk) ++posted_;
    return status;
  }
  rdma::PostStatus post(rdma::WorkRequest& request) noexcept {
    std::size_t posted = 0;
    return post({&request, 1}, posted);
  }

 private:
  std::unique_ptr<rdma::MemoryRegion> region_;
  Connection* connection_ = nullptr;
  std::uint64_t tag_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace tickpath::link
