#include "common/rdma/shm/pending.hpp"

#include <algorithm>
#include <thread>

#include <poll.h>

#include "common/rdma/shm/device.hpp"
#include "common/rdma/shm/listener.hpp"

namespace tickpath::rdma::detail {
namespace {

using std::chrono::steady_clock;

// A peer sends its half right after ours; who takes longer is broken.
constexpr auto kConfirmTimeout = std::chrono::milliseconds(1000);
// Between looks whether a listener whose queue was full has room: there is no event for that.
constexpr auto kReachEvery = std::chrono::milliseconds(1);

void wait_readable(const UniqueFd& socket, std::chrono::milliseconds timeout) {
  pollfd waiting{socket.get(), POLLIN, 0};
  ::poll(&waiting, 1, static_cast<int>(timeout.count()));
}

// Throws SetupError{kTimeout} naming `what` once the deadline is over.
void require_time(Deadline deadline, const std::string& what) {
  if (steady_clock::now() >= deadline) throw SetupError(SetupCause::kTimeout, "timed out " + what);
}

}  // namespace

GrantedRegions grant_regions(const ShmQueuePair& queue_pair, int wake_descriptor,
                             std::span<const Grant> grants) {
  if (grants.size() > kGrantsMax) {
    throw SetupError(SetupCause::kLimit,
                     "a connection grants at most " + std::to_string(kGrantsMax) + " regions");
  }
  GrantedRegions granted;
  granted.descriptors.push_back(queue_pair.wire_descriptor().get());
  if (wake_descriptor >= 0) granted.descriptors.push_back(wake_descriptor);
  for (const Grant& grant : grants) {
    const auto& region = dynamic_cast<const ShmRegion&>(*grant.region);
    if ((grant.access & ~(region.access() & kRemoteRights)) != 0) {
      throw SetupError(SetupCause::kPermission,
                       "a grant gives rights that its region was not allocated with");
    }
    // The region's index below, unguessable bits above: a key of another connection is worthless.
    const auto index = static_cast<std::uint32_t>(granted.regions.size());
    std::uint32_t rkey = 0;
    while (rkey < kGrantsMax) rkey = (random_key() & ~std::uint32_t{kGrantsMax - 1}) | index;
    granted.regions.push_back(
        {reinterpret_cast<std::uintptr_t>(region.data()), region.size_bytes(), rkey, grant.access});
    const bool writes = (grant.access & (kRemoteWrite | kRemoteAtomic)) != 0;
    if (region.peer_writable() && !writes) {
      // Not sealed, because another peer may write: this one gets a descriptor that cannot.
      granted.owned.push_back(read_only_descriptor(region.descriptor()));
      granted.descriptors.push_back(granted.owned.back().get());
    } else {
      granted.descriptors.push_back(region.descriptor().get());
    }
  }
  return granted;
}

void send_half(const UniqueFd& socket, SetupType type, ShmQueuePair& queue_pair,
               std::span<const Grant> grants, std::span<const std::byte> body) {
  const UniqueFd wake = queue_pair.wake_for_peer();
  const GrantedRegions granted = grant_regions(queue_pair, wake.get(), grants);
  SetupHeader header;
  header.type = type;
  header.flags = queue_pair.setup_flags();
  header.wire_slots = queue_pair.wire_layout().slots;
  header.message_bytes_max = queue_pair.wire_layout().message_bytes_max;
  queue_pair.remember_grants(grants);
  send_setup(socket, header, granted.regions, body, granted.descriptors);
}

// ------------------------------------------------------------------------------ connecting side

ShmConnecting::ShmConnecting(std::shared_ptr<DeviceCore> core, ShmCompletionQueue& queue,
                             const ConnectParameters& parameters)
    : core_(std::move(core)),
      queue_(queue),
      parameters_(parameters),
      deadline_(steady_clock::now() + std::chrono::milliseconds(parameters.timeout_ms)) {
  require_sendable(parameters_.hello, "a hello");
  (void)reach();
}

// Connects to the listener's socket and says hello. False: its queue of newcomers is full.
bool ShmConnecting::reach() {
  socket_ = connect_socket(parameters_.endpoint);
  if (!socket_.valid()) return false;
  peer_ = peer_identity(socket_);
  if (!peer_allowed(peer_)) {
    throw SetupError(SetupCause::kPermission, "the listener on " + parameters_.endpoint + " is " +
                                                  peer_.text() + ", another user: not connecting");
  }
  SetupHeader hello;
  hello.type = SetupType::kHello;
  hello.flags = core_->barriers.across_processes ? kHasBarrier : 0;
  send_setup(socket_, hello, {}, parameters_.hello, {});
  return true;
}

std::optional<Connected> ShmConnecting::poll() {
  if (!socket_.valid() && !reach()) {
    require_time(deadline_, "connecting to " + parameters_.endpoint);
    return std::nullopt;
  }
  if (std::optional<SetupMessage> answer = receive_setup(socket_))
    return confirm(std::move(*answer));
  require_time(deadline_,
               "waiting for the answer of " + peer_.text() + " on " + parameters_.endpoint);
  return std::nullopt;
}

Connected ShmConnecting::confirm(SetupMessage answer) {
  if (answer.header.type == SetupType::kReject) {
    throw SetupError(SetupCause::kRefused, answer.text());
  }
  if (answer.header.type != SetupType::kAccept) {
    throw SetupError(SetupCause::kProtocol,
                     "the listener on " + parameters_.endpoint + " answered out of turn");
  }
  auto queue_pair = std::make_unique<ShmQueuePair>(core_, queue_, parameters_.options,
                                                   parameters_.initial_receives,
                                                   (answer.header.flags & kHasBarrier) != 0);
  send_half(socket_, SetupType::kConfirm, *queue_pair, parameters_.grants, {});
  std::vector<std::byte> body = std::move(answer.body);
  queue_pair->connect(std::move(socket_), peer_, std::move(answer));
  return {std::move(queue_pair), std::move(body)};
}

void ShmConnecting::wait(std::chrono::milliseconds timeout) {
  if (socket_.valid()) return wait_readable(socket_, timeout);
  std::this_thread::sleep_for(std::min(timeout, kReachEvery));
}

// ------------------------------------------------------------------------------- listening side

ShmAccepting::ShmAccepting(UniqueFd socket, PeerIdentity peer,
                           std::unique_ptr<ShmQueuePair> queue_pair)
    : socket_(std::move(socket)),
      peer_(peer),
      queue_pair_(std::move(queue_pair)),
      deadline_(steady_clock::now() + kConfirmTimeout) {}

std::optional<Connected> ShmAccepting::poll() {
  std::optional<SetupMessage> confirm = receive_setup(socket_);
  if (!confirm) {
    require_time(deadline_, "waiting for the confirmation of " + peer_.text());
    return std::nullopt;
  }
  if (confirm->header.type != SetupType::kConfirm) {
    throw SetupError(SetupCause::kProtocol, "peer " + peer_.text() + " answered out of turn");
  }
  queue_pair_->connect(std::move(socket_), peer_, std::move(*confirm));
  return Connected{std::move(queue_pair_), {}};
}

void ShmAccepting::wait(std::chrono::milliseconds timeout) { wait_readable(socket_, timeout); }

}  // namespace tickpath::rdma::detail
