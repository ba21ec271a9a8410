#include "common/rdma/rdma.hpp"

#include "common/base/names.hpp"
#include "common/rdma/ofi/device.hpp"
#include "common/rdma/shm/device.hpp"
#include "common/rdma/verbs/device.hpp"

namespace tickpath::rdma {

namespace {

// wait() returns as soon as there is something; this bounds what one call may miss.
constexpr std::chrono::milliseconds kLookEvery{100};

}  // namespace

Connected wait_for(PendingConnection& pending) {
  for (;;) {
    if (std::optional<Connected> done = pending.poll()) return std::move(*done);
    pending.wait(kLookEvery);
  }
}

std::unique_ptr<QueuePair> ConnectionRequest::accept(
    CompletionQueue& queue, const QueuePairOptions& options, std::span<const std::byte> answer,
    std::span<const Grant> grants, std::span<const ReceiveRequest> initial_receives) {
  return wait_for(*start_accept(queue, options, answer, grants, initial_receives)).queue_pair;
}

Connected Device::connect(CompletionQueue& queue, const ConnectParameters& parameters) {
  return wait_for(*start_connect(queue, parameters));
}

std::unique_ptr<Device> open_device(const std::string& provider, const std::string& device) {
  DeviceOptions options;
  options.provider = provider;
  options.device = device;
  return open_device(options);
}

std::unique_ptr<Device> open_device(const DeviceOptions& options) {
  if (options.provider == "shm") {
    if (!options.device.empty() && options.device != "shm0") {
      throw SetupError(SetupCause::kNoDevice,
                       "the shm provider has one device, shm0; there is no " + options.device);
    }
    return std::make_unique<detail::ShmDevice>();
  }
  if (options.provider == "verbs") return std::make_unique<detail::VerbsDevice>(options);
  if (options.provider == "ofi") return std::make_unique<detail::OfiDevice>(options);
  throw SetupError(SetupCause::kNoDevice, "no fabric provider is called \"" + options.provider +
                                              "\"; there are: shm, verbs, ofi");
}

std::string_view to_string(CompletionStatus status) noexcept {
  using enum CompletionStatus;
  return name_in(status,
                 {{kSuccess, "success"},
                  {kLocalLength, "local length error"},
                  {kLocalProtection, "local protection error"},
                  {kFlushed, "flushed"},
                  {kRemoteAccess, "remote access error"},
                  {kRemoteInvalid, "remote invalid request"},
                  {kRetryExceeded, "retry exceeded"},
                  {kRnrRetryExceeded, "RNR retry exceeded"},
                  {kGeneral, "general error"}},
                 "unknown");
}

std::string_view to_string(Opcode opcode) noexcept {
  using enum Opcode;
  return name_in(opcode,
                 {{kWrite, "WRITE"},
                  {kWriteWithImm, "WRITE_WITH_IMM"},
                  {kSend, "SEND"},
                  {kSendWithImm, "SEND_WITH_IMM"},
                  {kRead, "READ"},
                  {kFetchAdd, "FETCH_ADD"},
                  {kCompareSwap, "COMPARE_SWAP"},
                  {kRecv, "RECV"},
                  {kRecvWithImm, "RECV_WITH_IMM"}},
                 "unknown");
}

std::string_view to_string(Progress progress) noexcept {
  using enum Progress;
  return name_in(progress,
                 {{kDevice, "by the device"},
                  {kThread, "by a thread of the target's library"},
                  {kPolling, "by the target's polling"}},
                 "unknown");
}

std::string_view to_string(AtomicReach reach) noexcept {
  using enum AtomicReach;
  return name_in(reach,
                 {{kNone, "none"}, {kDevice, "among its own connections"}, {kCpu, "with the CPU"}},
                 "unknown");
}

std::string_view to_string(PostStatus status) noexcept {
  using enum PostStatus;
  return name_in(status,
                 {{kOk, "ok"},
                  {kQueueFull, "queue full"},
                  {kNotReady, "not ready"},
                  {kBadRequest, "bad request"}},
                 "unknown");
}

}  // namespace tickpath::rdma
