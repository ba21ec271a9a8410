#include "common/rdma/ofi/device.hpp"

#include <utility>

#include <netinet/in.h>
#include <unistd.h>

#include "common/rdma/ofi/completion_queue.hpp"
#include "common/rdma/ofi/core.hpp"
#include "common/rdma/ofi/listener.hpp"
#include "common/rdma/ofi/memory.hpp"
#include "common/rdma/ofi/queue_pair.hpp"
#include "common/rdma/provider/pending.hpp"
#include "common/rdma/provider/thread_pending.hpp"
#include "common/rdma/setup/stream_listener.hpp"
#include "common/rdma/verbs/choice.hpp"

namespace tickpath::rdma::detail {
namespace {

void send_hello(const OfiCore& core, OfiConnection& connection,
                const ConnectParameters& parameters) {
  OfiHeader header;
  header.type = OfiMessageType::kHello;
  header.process_id = static_cast<std::uint32_t>(::getpid());
  header.core = core.core_id();
  connection.send(encode(header, {}, parameters.hello));
}

sockaddr_storage data_address(const OfiHeader& header) {
  sockaddr_storage address = from_bytes(header.address.data());
  if (address.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(header.port);
  } else {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(header.port);
  }
  return address;
}

Connected run_connect(const std::shared_ptr<OfiCore>& core, OfiCompletionQueue& queue,
                      const ConnectParameters& parameters, const SetupDeadline& deadline) {
  std::shared_ptr<net::SecureStream> stream =
      open_setup_stream(core->io(), core->security(), parameters, "ofi", deadline);
  const net::SecurePeer peer = stream->peer();
  auto connection = std::make_shared<OfiConnection>(*core, std::move(stream), peer.text());
  ConnectionGuard guard(connection);
  connection->start();
  send_hello(*core, *connection, parameters);
  OfiMessage answer = await_accept(*connection, deadline);
  connection->set_peer(peer_text(peer, answer.header.process_id));

  auto queue_pair = std::make_unique<OfiQueuePair>(core, queue, parameters.options,
                                                   parameters.grants, parameters.initial_receives);
  queue_pair->open(queue_pair->new_info(data_address(answer.header)), connection);
  if (core->connected()) {
    OfiConnectData data;
    data.token = answer.header.token;
    queue_pair->connect(data_address(answer.header), std::as_bytes(std::span(&data, 1)));
    connection->await_connected(deadline);
  } else {
    queue_pair->exchange_addresses(deadline);
  }
  queue_pair->send_grants();
  queue_pair->set_peer_regions(connection->await_regions(deadline));
  if (!core->connected()) queue_pair->greet(deadline);
  guard.release();
  return {std::move(queue_pair), std::move(answer.body)};
}

}  // namespace

OfiDevice::OfiDevice(const DeviceOptions& options) : core_(std::make_shared<OfiCore>(options)) {}

const DeviceInfo& OfiDevice::info() const noexcept { return core_->info(); }

std::vector<std::string> OfiDevice::notes() const { return core_->notes(); }

std::unique_ptr<MemoryRegion> OfiDevice::allocate(std::size_t size_bytes, AccessFlags access,
                                                  const std::string& name) {
  return std::make_unique<OfiRegion>(core_, size_bytes, access, name);
}

std::unique_ptr<CompletionChannel> OfiDevice::create_channel() {
  return std::make_unique<OfiChannel>();
}

std::unique_ptr<CompletionQueue> OfiDevice::create_queue(std::uint32_t depth,
                                                         CompletionChannel* channel) {
  return std::make_unique<OfiCompletionQueue>(
      core_, depth, channel == nullptr ? nullptr : &dynamic_cast<OfiChannel&>(*channel));
}

std::unique_ptr<Listener> OfiDevice::listen(const std::string& endpoint) {
  return make_ofi_listener(core_, endpoint);
}

std::unique_ptr<PendingConnection> OfiDevice::start_connect(CompletionQueue& queue,
                                                            const ConnectParameters& parameters) {
  require_sendable(parameters.hello, "a hello");
  auto kept = std::make_shared<KeptParameters>(parameters);
  return std::make_unique<ThreadPending>([core = core_,
                                          &ofi_queue = dynamic_cast<OfiCompletionQueue&>(queue),
                                          kept](const std::stop_token& given_up) {
    const SetupDeadline deadline(std::chrono::milliseconds(kept->timeout_ms), given_up);
    return run_connect(core, ofi_queue, *kept, deadline);
  });
}

}  // namespace tickpath::rdma::detail
