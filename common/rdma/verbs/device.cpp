#include "common/rdma/verbs/device.hpp"

#include <unistd.h>

#include "common/rdma/provider/pending.hpp"
#include "common/rdma/provider/thread_pending.hpp"
#include "common/rdma/setup/stream_listener.hpp"
#include "common/rdma/verbs/cm.hpp"
#include "common/rdma/verbs/completion_queue.hpp"
#include "common/rdma/verbs/datagram_queue_pair.hpp"
#include "common/rdma/verbs/listener.hpp"
#include "common/rdma/verbs/memory.hpp"
#include "common/rdma/verbs/queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

void send_hello(VerbsCore& core, VerbsConnection& connection, const ConnectParameters& parameters) {
  VerbsHeader header;
  header.type = VerbsMessageType::kHello;
  header.max_rd_atomic = responder_depth(core.options().verbs, core.limits());
  header.process_id = static_cast<std::uint32_t>(::getpid());
  header.min_rnr_timer_us = asked_rnr_us(core.options().verbs, parameters.options);
  connection.send(encode(header, {}, parameters.hello));
}

// Everything from the resolved address to the established connection.
void connect_queue_pair(CmConnector& cm, VerbsQueuePair& queue_pair,
                        const std::shared_ptr<VerbsConnection>& connection,
                        const VerbsAttributes& attributes, std::span<const std::byte> private_data,
                        std::span<const ReceiveRequest> initial_receives,
                        const SetupDeadline& deadline) {
  cm.resolve();
  queue_pair.initialise(cm.id(), connection, initial_receives);
  cm.connect(queue_pair.number(), attributes, private_data);
  queue_pair.make_ready(cm.id(), attributes);
  queue_pair.bind_grants(deadline);
  cm.establish();
  cm.hand_over(*connection);
}

Connected run_connect(const std::shared_ptr<VerbsCore>& core, VerbsCompletionQueue& queue,
                      const ConnectParameters& parameters, const SetupDeadline& deadline) {
  std::shared_ptr<net::SecureStream> stream =
      open_setup_stream(core->io(), core->security(), parameters, "verbs", deadline);
  const net::SecurePeer peer = stream->peer();
  auto connection = std::make_shared<VerbsConnection>(*core, std::move(stream), peer.text());
  ConnectionGuard guard(connection);
  connection->start();
  send_hello(*core, *connection, parameters);
  VerbsMessage answer = await_accept(*connection, deadline);
  connection->set_peer(peer_text(peer, answer.header.process_id));

  auto queue_pair = std::make_unique<VerbsQueuePair>(
      core, queue, parameters.options, parameters.grants, parameters.initial_receives);
  CmPrivateData private_data;
  private_data.token = answer.header.token;
  const VerbsAttributes attributes =
      verbs_attributes(core->options().verbs, queue_pair->options(), core->limits(),
                       answer.header.max_rd_atomic, answer.header.min_rnr_timer_us);
  CmConnector cm(*core, from_bytes(answer.header.cm_address.data()), answer.header.cm_port,
                 deadline);
  connect_queue_pair(cm, *queue_pair, connection, attributes,
                     std::as_bytes(std::span(&private_data, 1)), parameters.initial_receives,
                     deadline);
  std::vector<RemoteRegion> told = queue_pair->regions_for_peer();
  if (!core->iwarp()) connection->send_regions(told);
  queue_pair->set_remote_regions(connection->await_regions(deadline), deadline);
  if (core->iwarp()) connection->send_regions(told);  // the stream is open both ways now
  guard.release();
  return {std::move(queue_pair), std::move(answer.body)};
}

}  // namespace

VerbsDevice::VerbsDevice(const DeviceOptions& options)
    : core_(std::make_shared<VerbsCore>(options)) {}

std::unique_ptr<MemoryRegion> VerbsDevice::allocate(std::size_t size_bytes, AccessFlags access,
                                                    const std::string& name) {
  return std::make_unique<VerbsRegion>(core_, size_bytes, access, name);
}

std::unique_ptr<CompletionChannel> VerbsDevice::create_channel() {
  return std::make_unique<VerbsChannel>(core_);
}

std::unique_ptr<CompletionQueue> VerbsDevice::create_queue(std::uint32_t depth,
                                                           CompletionChannel* channel) {
  return std::make_unique<VerbsCompletionQueue>(
      core_, depth, channel == nullptr ? nullptr : &dynamic_cast<VerbsChannel&>(*channel));
}

std::unique_ptr<Listener> VerbsDevice::listen(const std::string& endpoint) {
  return make_verbs_listener(core_, endpoint);
}

std::unique_ptr<PendingConnection> VerbsDevice::start_connect(CompletionQueue& queue,
                                                              const ConnectParameters& parameters) {
  require_sendable(parameters.hello, "a hello");
  auto kept = std::make_shared<KeptParameters>(parameters);
  return std::make_unique<ThreadPending>([core = core_,
                                          &verbs_queue = dynamic_cast<VerbsCompletionQueue&>(queue),
                                          kept](const std::stop_token& given_up) {
    const SetupDeadline deadline(std::chrono::milliseconds(kept->timeout_ms), given_up);
    return run_connect(core, verbs_queue, *kept, deadline);
  });
}

std::unique_ptr<DatagramQueuePair> VerbsDevice::create_datagram_queue_pair(
    CompletionQueue& queue, const DatagramOptions& options) {
  if (core_->info().datagram_bytes_max == 0) {  // says so
    return Device::create_datagram_queue_pair(queue, options);
  }
  return std::make_unique<VerbsDatagramQueuePair>(core_, dynamic_cast<VerbsCompletionQueue&>(queue),
                                                  options);
}

PlainConnected connect_plain(Device& device, CompletionQueue& queue,
                             const PlainParameters& parameters) {
  const std::shared_ptr<VerbsCore>& core = dynamic_cast<VerbsDevice&>(device).core();
  const sockaddr_storage address = parse_ip(parameters.address);
  if (address.ss_family == 0) {
    throw SetupError(SetupCause::kAddress, parameters.address + " is no IP address");
  }
  auto connection = std::make_shared<VerbsConnection>(*core, nullptr, parameters.address);
  ConnectionGuard guard(connection);
  connection->start();
  auto queue_pair = std::make_unique<VerbsQueuePair>(
      core, dynamic_cast<VerbsCompletionQueue&>(queue), parameters.options, parameters.grants,
      parameters.initial_receives);
  const VerbsOptions& options = core->options().verbs;
  // Nobody tells us what the peer can: what we can ourselves, and our own pause.
  const VerbsAttributes attributes = verbs_attributes(
      options, queue_pair->options(), core->limits(), responder_depth(options, core->limits()),
      asked_rnr_us(options, queue_pair->options()));
  const SetupDeadline deadline(std::chrono::milliseconds(parameters.timeout_ms));
  CmConnector cm(*core, address, parameters.port, deadline);
  connect_queue_pair(cm, *queue_pair, connection, attributes, parameters.private_data,
                     parameters.initial_receives, deadline);
  guard.release();
  std::vector<RemoteRegion> granted = remote_regions(queue_pair->granted());
  return {std::move(queue_pair), std::move(granted)};
}

}  // namespace tickpath::rdma::detail
