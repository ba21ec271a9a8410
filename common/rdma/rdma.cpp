#include "common/rdma/rdma.hpp"

#include "common/base/names.hpp"
#include "common/rdma/ofi/device.hpp"
#include "common/rdma/shm/device.hpp"
#include "common/rdma/verbs/device.hpp"

namespace tickpath::rdma {

namespace {

// wait() returns as soon as there is something; this bounds what one call may miss.
constexpr std::chrono::milliseconds kLookEvery{100};

std::unique_ptr<Device> open_shm(const DeviceOptions& options) {
  if (!options.device.empty() && options.device != "shm0")
    throw SetupError(SetupCause::kNoDevice,
                     "the shm provider has one device, shm0; there is no " + options.device);
  return std::make_unique<detail::ShmDevice>();
}

template <class ProviderDevice>
std::unique_ptr<Device> open_as(const DeviceOptions& options) {
  return std::make_unique<ProviderDevice>(options);
}

// A provider is a folder and a row.
struct Provider {
  std::string_view name;
  std::unique_ptr<Device> (*open)(const DeviceOptions& options);
};
constexpr Provider kProviders[] = {
    {"shm", open_shm},
    {"verbs", open_as<detail::VerbsDevice>},
    {"ofi", open_as<detail::OfiDevice>},
};

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
  for (const Provider& provider : kProviders)
    if (provider.name == options.provider) return provider.open(options);
  throw SetupError(SetupCause::kNoDevice, "no fabric provider is called \"" + options.provider +
                                              "\"; there are: " + provider_list());
}

std::vector<std::string_view> provider_names() {
  std::vector<std::string_view> names;
  for (const Provider& provider : kProviders) names.push_back(provider.name);
  return names;
}

std::string provider_list() {
  std::string list;
  for (const std::string_view name : provider_names())
    list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
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
