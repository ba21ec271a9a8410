#include "oeg/pair_reads.hpp"

#include <algorithm>
#include <cstddef>

#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/wire/witness.hpp"

namespace tickpath::oeg {
namespace {

constexpr std::uint64_t kReadBytes = 1u << 20;

// Posts it, and waits for its end. False: it failed.
bool completes(link::Connection& connection, const rdma::WorkRequest& request) {
  if (connection.queue_pair().post_send(request) != rdma::PostStatus::kOk) return false;
  bool done = false;
  bool good = true;
  while (!done && !connection.failed())
    connection.poll([&](const rdma::Completion& completion) {
      done = true;
      good = completion.status == rdma::CompletionStatus::kSuccess;
    });
  return done && good;
}

}  // namespace

std::string read_all(rdma::Device& device, link::Connection& connection,
                     const rdma::RemoteRegion& region, std::uint64_t bytes) {
  const auto local = device.allocate(kReadBytes, rdma::kLocalWrite, "oeg.snapshot_read");
  std::string content;
  while (content.size() < bytes) {
    const std::uint64_t length = std::min(kReadBytes, bytes - content.size());
    const rdma::WorkRequest read{.opcode = rdma::Opcode::kRead,
                                 .flags = rdma::kSignaled,
                                 .local_address = local->data(),
                                 .length_bytes = static_cast<std::uint32_t>(length),
                                 .lkey = local->lkey(),
                                 .rkey = region.rkey,
                                 .remote_address = region.address + content.size()};
    if (!completes(connection, read)) throw Error("what the peer granted could not be READ");
    content.append(reinterpret_cast<const char*>(local->data()), length);
  }
  return content;
}

void say_newcomer(rdma::Device& device, link::Connection& connection,
                  const rdma::RemoteRegion& block) {
  const auto local = device.allocate(kCacheLineBytes, rdma::kLocalWrite, "oeg.newcomer");
  rdma::WorkRequest swap{.opcode = rdma::Opcode::kCompareSwap,
                         .flags = rdma::kSignaled,
                         .local_address = local->data(),
                         .length_bytes = sizeof(std::uint64_t),
                         .lkey = local->lkey(),
                         .rkey = block.rkey,
                         .remote_address = block.address + offsetof(wire::WitnessBlock, newcomer)};
  swap.compare_add = 0;
  swap.swap = 1;
  if (!completes(connection, swap)) throw Error("the witness did not take a word");
}

}  // namespace tickpath::oeg
