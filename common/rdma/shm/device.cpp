#include "common/rdma/shm/device.hpp"

#include <cstring>

#include "common/clock/clock.hpp"
#include "common/rdma/shm/datagram_queue_pair.hpp"
#include "common/rdma/shm/freedoms.hpp"
#include "common/rdma/shm/listener.hpp"
#include "common/rdma/shm/pending.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr std::uint32_t kCompletionDepthMax = 1u << 20;

std::array<std::byte, 16> random_gid() {
  std::array<std::byte, 16> gid{std::byte{0xfe}, std::byte{0x80}};
  const std::array<std::uint32_t, 2> interface_id{random_key(), random_key()};
  std::memcpy(gid.data() + 8, interface_id.data(), sizeof(interface_id));
  return gid;
}

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
  core_->info = {.provider = "shm",
                 .name = "shm0",
                 .attributes = "shared memory of this host",
                 .inline_bytes_max = kInlineBytesMax,
                 .queue_depth_max = kQueueDepthMax,
                 .message_bytes_max = kMessageBytesMax,
                 .revokes = false,
                 .reads_by_copy = true,
                 .progress = Progress::kDevice,
                 .places_last_word = true,
                 .atomics = AtomicReach::kCpu,
                 .binds_keys = true,
                 .datagram_bytes_max = kDatagramBytesMax,
                 .multicast = true};
  core_->gid = random_gid();
  take_freedoms_of_environment();
  if (free_to_differ())
    core_->note_once("freedoms",
                     "a test mode is on, slow and out of order (TICKPATH_SHM_FREEDOMS)");
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

std::unique_ptr<PendingConnection> ShmDevice::start_connect(CompletionQueue& queue,
                                                            const ConnectParameters& parameters) {
  return std::make_unique<ShmConnecting>(core_, dynamic_cast<ShmCompletionQueue&>(queue),
                                         parameters);
}

std::unique_ptr<DatagramQueuePair> ShmDevice::create_datagram_queue_pair(
    CompletionQueue& queue, const DatagramOptions& options) {
  return std::make_unique<ShmDatagramQueuePair>(core_, dynamic_cast<ShmCompletionQueue&>(queue),
                                                options);
}

}  // namespace tickpath::rdma::detail
