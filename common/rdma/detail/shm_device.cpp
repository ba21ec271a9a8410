#include "common/rdma/detail/shm_device.hpp"

#include "common/clock/clock.hpp"
#include "common/rdma/detail/shm_listener.hpp"
#include "common/rdma/detail/shm_queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::uint32_t kCompletionDepthMax = 1u << 20;

}  // namespace

ShmRegion::ShmRegion(std::shared_ptr<DeviceCore> core, std::size_t size_bytes, AccessFlags access,
                     const std::string& name)
    : core_(std::move(core)) {
  access_ = access;
  memory_ = create_memory(size_bytes, peer_writable(), name);
  data_ = memory_.mapping.data();
  size_bytes_ = size_bytes;
  lkey_ = core_->regions.add(data_, size_bytes_, access_);
  if (!memory_.locked) {
    core_->note_once(
        "lock", "memory of " + name +
                    " is not locked (RLIMIT_MEMLOCK): it may be swapped out; raise `ulimit -l`");
  }
  if (!memory_.huge_pages && memory_.mapping.size_bytes() >= (std::size_t{2} << 20)) {
    core_->note_once("huge", "no free huge pages for " + name +
                                 ": small pages are used; reserve some in vm.nr_hugepages");
  }
}

ShmRegion::~ShmRegion() { core_->regions.remove(lkey_); }

ShmDevice::ShmDevice() : core_(std::make_shared<DeviceCore>()) {
  core_->barriers = Barriers::register_process();
  core_->info = {"shm",           "shm0",         "shared memory of this host",
                 kInlineBytesMax, kQueueDepthMax, kMessageBytesMax};
  clock::tsc_hz();  // measured now: the first use must not fall into a connection's set-up
}

std::unique_ptr<MemoryRegion> ShmDevice::allocate(std::size_t size_bytes, AccessFlags access,
                                                  const std::string& name) {
  return std::make_unique<ShmRegion>(core_, size_bytes, access, name);
}

std::unique_ptr<CompletionChannel> ShmDevice::create_channel() {
  auto wake = std::make_shared<Wake>();
  core_->monitor.add_wake(wake);
  return std::make_unique<ShmChannel>(std::move(wake));
}

std::unique_ptr<CompletionQueue> ShmDevice::create_queue(std::uint32_t depth,
                                                         CompletionChannel* channel) {
  if (depth == 0 || depth > kCompletionDepthMax) {
    throw SetupError(SetupCause::kLimit,
                     "a completion queue of the shm provider has a depth of 1 to " +
                         std::to_string(kCompletionDepthMax));
  }
  std::shared_ptr<Wake> wake;
  if (channel != nullptr) wake = dynamic_cast<ShmChannel&>(*channel).wake();
  return std::make_unique<ShmCompletionQueue>(core_, depth, std::move(wake));
}

std::unique_ptr<Listener> ShmDevice::listen(const std::string& endpoint) {
  return std::make_unique<ShmListener>(core_, endpoint);
}

Connected ShmDevice::connect(CompletionQueue& queue, const ConnectParameters& parameters) {
  if (parameters.hello.size() > kHelloBytesMax) {
    throw SetupError(SetupCause::kLimit,
                     "a hello has at most " + std::to_string(kHelloBytesMax) + " bytes");
  }
  const Deadline deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(parameters.timeout_ms);
  UniqueFd socket = connect_socket(parameters.endpoint, deadline);
  const PeerIdentity peer = peer_identity(socket);
  if (!peer_allowed(peer)) {
    throw SetupError(SetupCause::kPermission, "the listener on " + parameters.endpoint + " is " +
                                                  peer.text() + ", another user: not connecting");
  }
  SetupHeader hello;
  hello.type = SetupType::kHello;
  hello.flags = core_->barriers.across_processes ? kHasBarrier : 0;
  send_setup(socket, hello, {}, parameters.hello, {});
  SetupMessage answer =
      await_setup(socket, deadline, "the answer of " + peer.text() + " on " + parameters.endpoint);
  if (answer.header.type == SetupType::kReject) {
    throw SetupError(
        SetupCause::kRefused,
        std::string(reinterpret_cast<const char*>(answer.body.data()), answer.body.size()));
  }
  if (answer.header.type != SetupType::kAccept) {
    throw SetupError(SetupCause::kProtocol,
                     "the listener on " + parameters.endpoint + " answered out of turn");
  }
  auto& shm_queue = dynamic_cast<ShmCompletionQueue&>(queue);
  auto queue_pair = std::make_unique<ShmQueuePair>(core_, shm_queue, parameters.options,
                                                   parameters.initial_receives,
                                                   (answer.header.flags & kHasBarrier) != 0);
  send_half(socket, SetupType::kConfirm, *queue_pair, parameters.grants, {});
  Connected connected;
  connected.answer = std::move(answer.body);
  queue_pair->connect(std::move(socket), peer, std::move(answer));
  connected.queue_pair = std::move(queue_pair);
  return connected;
}

}  // namespace tickpath::rdma::detail
