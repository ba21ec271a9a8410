#include "common/rdma/rdma.hpp"

#include "common/rdma/detail/shm_device.hpp"
#include "common/rdma/detail/verbs_device.hpp"

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
  throw SetupError(SetupCause::kNoDevice, "no fabric provider is called \"" + options.provider +
                                              "\"; this build has: shm, verbs");
}

std::string_view to_string(CompletionStatus status) noexcept {
  switch (status) {
    case CompletionStatus::kSuccess:
      return "success";
    case CompletionStatus::kLocalLength:
      return "local length error";
    case CompletionStatus::kLocalProtection:
      return "local protection error";
    case CompletionStatus::kFlushed:
      return "flushed";
    case CompletionStatus::kRemoteAccess:
      return "remote access error";
    case CompletionStatus::kRemoteInvalid:
      return "remote invalid request";
    case CompletionStatus::kRetryExceeded:
      return "retry exceeded";
    case CompletionStatus::kRnrRetryExceeded:
      return "RNR retry exceeded";
    case CompletionStatus::kGeneral:
      return "general error";
  }
  return "unknown";
}

std::string_view to_string(Opcode opcode) noexcept {
  switch (opcode) {
    case Opcode::kWrite:
      return "WRITE";
    case Opcode::kWriteWithImm:
      return "WRITE_WITH_IMM";
    case Opcode::kSend:
      return "SEND";
    case Opcode::kSendWithImm:
      return "SEND_WITH_IMM";
    case Opcode::kRead:
      return "READ";
    case Opcode::kFetchAdd:
      return "FETCH_ADD";
    case Opcode::kCompareSwap:
      return "COMPARE_SWAP";
    case Opcode::kRecv:
      return "RECV";
    case Opcode::kRecvWithImm:
      return "RECV_WITH_IMM";
  }
  return "unknown";
}

std::string_view to_string(PostStatus status) noexcept {
  switch (status) {
    case PostStatus::kOk:
      return "ok";
    case PostStatus::kQueueFull:
      return "queue full";
    case PostStatus::kNotReady:
      return "not ready";
    case PostStatus::kBadRequest:
      return "bad request";
  }
  return "unknown";
}

}  // namespace tickpath::rdma
