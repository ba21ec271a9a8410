#include "common/rdma/detail/verbs_device.hpp"

#include <future>

#include <unistd.h>

#include "common/rdma/detail/pending.hpp"
#include "common/rdma/detail/verbs_cm.hpp"
#include "common/rdma/detail/verbs_completion_queue.hpp"
#include "common/rdma/detail/verbs_listener.hpp"
#include "common/rdma/detail/verbs_memory.hpp"
#include "common/rdma/detail/verbs_pending.hpp"
#include "common/rdma/detail/verbs_queue_pair.hpp"

namespace tickpath::rdma::detail {
namespace {

SetupCause cause_of(net::SecureCause cause) {
  switch (cause) {
    case net::SecureCause::kUnreachable:
    case net::SecureCause::kClosed:
    case net::SecureCause::kRefused:
    case net::SecureCause::kOverload:
      return SetupCause::kRefused;
    case net::SecureCause::kTimeout:
      return SetupCause::kTimeout;
    case net::SecureCause::kNotTls:
    case net::SecureCause::kFrame:
      return SetupCause::kProtocol;
    case net::SecureCause::kSystem:
      return SetupCause::kSystem;
    default:
      return SetupCause::kPermission;
  }
}

// Where the background thread leaves the stream, or the reason why there is none.
struct Arrival {
  std::promise<std::shared_ptr<net::SecureStream>> promise;
  std::atomic<bool> abandoned{false};
};

std::shared_ptr<net::SecureStream> open_stream(VerbsCore& core, const ConnectParameters& parameters,
                                               const SetupDeadline& deadline) {
  const HostPort where = parse_host_port(parameters.endpoint);
  auto arrival = std::make_shared<Arrival>();
  std::future<std::shared_ptr<net::SecureStream>> future = arrival->promise.get_future();
  net::StreamLimits limits;
  limits.setup_timeout_ms = parameters.timeout_ms;
  net::secure_connect(
      core.io(), core.security(), {where.host, where.port, parameters.peer_role},
      [arrival, endpoint = parameters.endpoint](const net::SecureFailure& failure,
                                                std::shared_ptr<net::SecureStream> stream) {
        if (failure) {
          arrival->promise.set_exception(std::make_exception_ptr(SetupError(
              cause_of(failure.cause), "cannot connect to " + endpoint + ": " + failure.text)));
        } else if (arrival->abandoned.load()) {
          stream->close();
        } else {
          arrival->promise.set_value(std::move(stream));
        }
      },
      limits);
  while (future.wait_until(deadline.next_look()) != std::future_status::ready) {
    if (!deadline.over()) continue;
    arrival->abandoned.store(true);
    throw SetupError(SetupCause::kTimeout, "timed out connecting to " + parameters.endpoint);
  }
  return future.get();
}

// Closes a connection that no queue pair owns yet.
class ConnectionGuard {
 public:
  explicit ConnectionGuard(std::shared_ptr<VerbsConnection> connection)
      : connection_(std::move(connection)) {}
  ~ConnectionGuard() {
    if (connection_ != nullptr) connection_->close();
  }
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;
  void release() noexcept { connection_ = nullptr; }

 private:
  std::shared_ptr<VerbsConnection> connection_;
};

void send_hello(VerbsCore& core, VerbsConnection& connection, const ConnectParameters& parameters) {
  VerbsHeader header;
  header.type = VerbsMessageType::kHello;
  header.max_rd_atomic = responder_depth(core.options().verbs, core.limits());
  header.process_id = static_cast<std::uint32_t>(::getpid());
  header.min_rnr_timer_us = asked_rnr_us(core.options().verbs, parameters.options);
  connection.send(encode(header, {}, parameters.hello));
}

VerbsMessage await_accept(VerbsConnection& connection, const SetupDeadline& deadline) {
  VerbsMessage answer = connection.await_message(deadline, "the answer");
  if (answer.header.type == VerbsMessageType::kReject) {
    throw SetupError(SetupCause::kRefused, answer.text());
  }
  if (answer.header.type != VerbsMessageType::kAccept) {
    throw SetupError(SetupCause::kProtocol, "peer " + connection.peer() + " answered out of turn");
  }
  return answer;
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
  std::shared_ptr<net::SecureStream> stream = open_stream(*core, parameters, deadline);
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
  connection->send_regions(remote_regions(queue_pair->granted()));
  queue_pair->set_remote_regions(connection->await_regions(deadline));
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
  return std::make_unique<VerbsListener>(core_, endpoint);
}

std::unique_ptr<PendingConnection> VerbsDevice::start_connect(CompletionQueue& queue,
                                                              const ConnectParameters& parameters) {
  require_sendable(parameters.hello, "a hello");
  auto kept = std::make_shared<KeptParameters>(parameters);
  return std::make_unique<VerbsPending>([core = core_,
                                         &verbs_queue = dynamic_cast<VerbsCompletionQueue&>(queue),
                                         kept](const std::stop_token& given_up) {
    const SetupDeadline deadline(std::chrono::milliseconds(kept->timeout_ms), given_up);
    return run_connect(core, verbs_queue, *kept, deadline);
  });
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
