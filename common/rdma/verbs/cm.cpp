#include "common/rdma/verbs/cm.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

namespace tickpath::rdma::detail {
namespace {

SetupCause cause_of(rdma_cm_event_type event) {
  switch (event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return SetupCause::kAddress;
    case RDMA_CM_EVENT_UNREACHABLE:
      return SetupCause::kTimeout;
    case RDMA_CM_EVENT_REJECTED:
      return SetupCause::kRefused;
    default:
      return SetupCause::kSystem;
  }
}

constexpr int kConnectTries = 16;

// For the kernel's own steps.
int left_ms(const SetupDeadline& deadline) {
  return static_cast<int>(std::max<std::int64_t>(deadline.left().count(), 1));
}

}  // namespace

rdma_conn_param cm_parameters(std::uint32_t queue_pair_number, const VerbsAttributes& attributes,
                              std::span<const std::byte> private_data) {
  rdma_conn_param parameters{};
  parameters.private_data = private_data.data();
  parameters.private_data_len = static_cast<std::uint8_t>(private_data.size());
  parameters.responder_resources = attributes.max_dest_rd_atomic;
  parameters.initiator_depth = attributes.max_rd_atomic;
  parameters.flow_control = 1;
  parameters.retry_count = attributes.retry_cnt;
  parameters.rnr_retry_count = attributes.rnr_retry;
  parameters.qp_num = queue_pair_number;
  return parameters;
}

CmConnector::CmConnector(VerbsCore& core, const sockaddr_storage& address, std::uint16_t port,
                         const SetupDeadline& deadline)
    : core_(core),
      address_(address),
      target_(address_text(address) + " port " + std::to_string(port) + " (rdma_cm)"),
      deadline_(deadline) {
  // The port stands at the same place for both families.
  reinterpret_cast<sockaddr_in&>(address_).sin_port = htons(port);
  channel_ = ::rdma_create_event_channel();
  if (channel_ == nullptr) fail(SetupCause::kSystem, "rdma_create_event_channel");
  ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  try {
    make_id();
  } catch (const SetupError&) {
    ::rdma_destroy_event_channel(channel_);
    throw;
  }
}

void CmConnector::make_id() {
  if (id_ != nullptr) ::rdma_destroy_id(std::exchange(id_, nullptr));
  if (::rdma_create_id(channel_, &id_, nullptr, RDMA_PS_TCP) != 0)
    fail(SetupCause::kSystem, "rdma_create_id");
}

CmConnector::~CmConnector() {
  if (id_ != nullptr) ::rdma_destroy_id(id_);
  ::rdma_destroy_event_channel(channel_);
}

void CmConnector::fail(SetupCause cause, const std::string& what) const {
  throw SetupError(cause,
                   "cannot connect to " + target_ + ": " + what + ": " + std::strerror(errno));
}

void CmConnector::await(rdma_cm_event_type wanted, const std::string& what) {
  rdma_cm_event* event = nullptr;
  while (::rdma_get_cm_event(channel_, &event) != 0) {
    if (errno != EAGAIN && errno != EINTR) fail(SetupCause::kSystem, "rdma_get_cm_event");
    if (deadline_.over()) {
      throw SetupError(SetupCause::kTimeout, "timed out waiting for " + what + " of " + target_);
    }
    pollfd waiting{channel_->fd, POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_.next_look() -
                                                                   SetupDeadline::Clock::now());
    ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  }
  const rdma_cm_event_type got = event->event;
  const int status = event->status;
  ::rdma_ack_cm_event(event);
  if (got == wanted) return;
  // 28: rejected by its consumer, not by the network (InfiniBand volume 1, table 110).
  if (got == RDMA_CM_EVENT_REJECTED && status == 28) {
    throw SetupError(SetupCause::kRefused,
                     target_ +
                         " expects this connection no longer: its set-up took too long; "
                         "connect again");
  }
  throw SetupError(cause_of(got),
                   "cannot connect to " + target_ + ": " + ::rdma_event_str(got) + " (" +
                       (status < 0 ? std::strerror(-status) : "status " + std::to_string(status)) +
                       ") instead of " + what);
}

void CmConnector::resolve() {
  resolve_address();
  if (!core_.same_device(id_)) {
    throw SetupError(SetupCause::kAddress, target_ + " is reached through another device than " +
                                               core_.info().name +
                                               ": name the right one in fabric.device");
  }
  if (::rdma_resolve_route(id_, left_ms(deadline_)) != 0) {
    fail(SetupCause::kAddress, "no route");
  }
  await(RDMA_CM_EVENT_ROUTE_RESOLVED, "the route");
}

// fabric.device may be an address: the source. Or it names a device. Then the routing table gives
// the source, since a VLAN of the port has an address of its own. Where the table prefers another
// device, the best address of this one is the source.
void CmConnector::resolve_address() {
  const std::string& choice = core_.options().device;
  sockaddr_storage own = core_.own_address();
  const bool bound = !choice.empty() && own.ss_family == address_.ss_family;
  const bool by_name = parse_ip(choice).ss_family == 0;
  if (bound && by_name && is_routed_through_device()) return;
  resolve_from(bound ? reinterpret_cast<sockaddr*>(&own) : nullptr);
}

bool CmConnector::is_routed_through_device() {
  try {
    resolve_from(nullptr);
    if (core_.same_device(id_)) return true;
  } catch (const SetupError& error) {
    if (error.cause() != SetupCause::kAddress) throw;
  }
  make_id();
  return false;
}

void CmConnector::resolve_from(sockaddr* source) {
  const VerbsOptions& options = core_.options().verbs;
  if (options.traffic_class != 0) {
    auto tos = static_cast<std::uint8_t>(options.traffic_class);
    if (::rdma_set_option(id_, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)) != 0) {
      fail(SetupCause::kSystem, "traffic class");
    }
  }
  if (::rdma_resolve_addr(id_, source, reinterpret_cast<sockaddr*>(&address_),
                          left_ms(deadline_)) != 0) {
    fail(SetupCause::kAddress, "no RDMA device leads there");
  }
  await(RDMA_CM_EVENT_ADDR_RESOLVED, "the address");
}

void CmConnector::connect(std::uint32_t queue_pair_number, const VerbsAttributes& attributes,
                          std::span<const std::byte> private_data) {
  rdma_conn_param parameters = cm_parameters(queue_pair_number, attributes, private_data);
  // Over iWARP the port that rdma_cm chose for this side is one of TCP's, and may be somebody's.
  for (int tries = 0; ::rdma_connect(id_, &parameters) != 0; ++tries) {
    if (errno != EADDRINUSE || tries == kConnectTries) fail(SetupCause::kRefused, "rdma_connect");
    make_id();
    resolve();
  }
  // iWARP has no third message: rdma_cm has moved the queue pair to RTS.
  await(core_.iwarp() ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE, "the answer");
}

void CmConnector::establish() {
  if (core_.iwarp()) return;
  if (::rdma_establish(id_) != 0) fail(SetupCause::kSystem, "rdma_establish");
}

void CmConnector::hand_over(VerbsConnection& connection) {
  id_->context = &connection;  // before its first event comes on the other channel
  // Ours until it has moved: an id that could not is destroyed with the channel that it is on.
  if (::rdma_migrate_id(id_, core_.cm_channel()) != 0) fail(SetupCause::kSystem, "rdma_migrate_id");
  connection.adopt(std::exchange(id_, nullptr));
}

}  // namespace tickpath::rdma::detail
