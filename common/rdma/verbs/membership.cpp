#include "common/rdma/verbs/membership.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <netinet/in.h>

namespace tickpath::rdma::detail {
namespace {

bool is_multicast(const sockaddr_storage& address) noexcept {
  if (address.ss_family == AF_INET) {
    return IN_MULTICAST(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
  }
  return address.ss_family == AF_INET6 &&
         IN6_IS_ADDR_MULTICAST(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

// On InfiniBand the subnet manager says how packets of a group travel. On RoCE rdma_cm gives no
// traffic class and one hop (the kernel's cma_iboe_join_multicast()). Unmarked, market data would
// be the only packets that a lossless network drops, so the marks of connections are taken.
ibv_ah_attr attributes_to(const rdma_ud_param& joined, const VerbsCore& core) {
  ibv_ah_attr attributes = joined.ah_attr;
  if (core.chosen().port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET) {
    const VerbsOptions& options = core.options().verbs;
    attributes.grh.traffic_class = static_cast<std::uint8_t>(options.traffic_class);
    attributes.grh.hop_limit = static_cast<std::uint8_t>(options.multicast_hops);
  }
  return attributes;
}

}  // namespace

VerbsMembership::VerbsMembership(VerbsDatagramQueuePair& queue_pair, const std::string& group,
                                 MulticastRole role)
    : queue_pair_(&queue_pair), name_(group), role_(role), address_(parse_ip(group)) {
  if (!is_multicast(address_)) {
    throw SetupError(SetupCause::kAddress,
                     "\"" + group +
                         "\" is no multicast group: verbs takes an address of 224.0.0.0/4 or "
                         "ff00::/8, as in \"239.255.1.1\"");
  }
  const VerbsCore& core = *queue_pair.core();
  if (!core.info().multicast)
    fail(SetupCause::kLimit, core.info().name + " has no multicast, or no IP address");
  if (core.own_address().ss_family != address_.ss_family) {
    fail(SetupCause::kAddress, core.info().name + " has the address " +
                                   address_text(core.own_address()) +
                                   ": a group of the other IP version cannot be joined there");
  }
  // What the group's is on RoCE is known before; on InfiniBand on_joined() looks once more.
  if (role != MulticastRole::kSender && queue_pair.address().q_key != kDefaultQKey &&
      core.chosen().port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET) {
    fail(SetupCause::kLimit,
         "the queue pair has another Q_Key than the group: it would receive nothing; make it with "
         "kDefaultQKey");
  }
  gid_changes_ = core.gid_changes();
  begin();
}

void VerbsMembership::begin() {
  channel_.reset(::rdma_create_event_channel());
  rdma_cm_id* id = nullptr;
  if (channel_ == nullptr || ::rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_UDP) != 0)
    fail(SetupCause::kSystem, std::string("no rdma_cm: ") + std::strerror(errno));
  id_.reset(id);
  ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  // Bound to an address of the device: the group is joined there, whatever the routes say.
  sockaddr_storage own = queue_pair_->core()->own_address();
  if (::rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&own)) != 0) {
    fail(SetupCause::kAddress,
         "rdma_bind_addr to " + address_text(own) + ": " + std::strerror(errno));
  }
  if (!queue_pair_->core()->same_device(id))
    fail(SetupCause::kAddress, address_text(own) + " is on another device");
  auto* const group = reinterpret_cast<sockaddr*>(&address_);
  int result = -1;
  if (role_ == MulticastRole::kSender) {
    rdma_cm_join_mc_attr_ex attributes{};
    attributes.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    attributes.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
    attributes.addr = group;
    result = ::rdma_join_multicast_ex(id, &attributes, nullptr);
  }
  // A subnet manager that knows no mere senders takes a full member, who is not attached.
  if (result != 0) result = ::rdma_join_multicast(id, group, nullptr);
  if (result != 0)
    fail(SetupCause::kSystem, std::string("rdma_join_multicast: ") + std::strerror(errno));
  asked_ = true;
}

VerbsMembership::~VerbsMembership() {
  if (attached_) ::ibv_detach_mcast(queue_pair_->queue_pair(), &gid_, lid_);
  handle_.reset();
  if (asked_) ::rdma_leave_multicast(id_.get(), reinterpret_cast<sockaddr*>(&address_));
}

void VerbsMembership::fail(SetupCause cause, const std::string& what) const {
  throw SetupError(cause, "cannot join multicast group " + name_ + ": " + what);
}

std::string VerbsMembership::error_text() const {
  const std::lock_guard lock(mutex_);
  return error_text_;
}

bool VerbsMembership::poll() {
  rdma_cm_event* event = nullptr;
  while (::rdma_get_cm_event(channel_.get(), &event) == 0) {
    const rdma_cm_event_type type = event->event;
    const int status = event->status;
    const rdma_ud_param joined = event->param.ud;
    ::rdma_ack_cm_event(event);
    on_event(type, status, joined);
  }
  // rdma_cm says nothing of an address that was removed, and the group left with it.
  const VerbsCore& core = *queue_pair_->core();
  const std::uint64_t changes = core.gid_changes();
  if (joined_ && changes != gid_changes_ && !core.has_gid(gid_index_))
    lose(core.info().name + " has lost the address " + address_text(core.own_address()));
  gid_changes_ = changes;
  return joined_;
}

void VerbsMembership::on_event(rdma_cm_event_type type, int status, const rdma_ud_param& joined) {
  if (type == RDMA_CM_EVENT_MULTICAST_JOIN && !joined_) {
    on_joined(joined);
    return;
  }
  // ADDR_CHANGE: a bond failed over to its other port (the kernel's cma_netdev_change()).
  if (type != RDMA_CM_EVENT_MULTICAST_ERROR && type != RDMA_CM_EVENT_DEVICE_REMOVAL &&
      type != RDMA_CM_EVENT_ADDR_CHANGE)
    return;
  const std::string what = std::string(::rdma_event_str(type)) +
                           (status < 0 ? std::string(": ") + std::strerror(-status) : "");
  if (!joined_) fail(SetupCause::kRefused, what);
  lose(what);
}

void VerbsMembership::lose(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (error_text_.empty()) error_text_ = "multicast group " + name_ + " is lost: " + what;
}

void VerbsMembership::on_joined(const rdma_ud_param& joined) {
  gid_ = joined.ah_attr.grh.dgid;
  lid_ = joined.ah_attr.dlid;
  gid_index_ = joined.ah_attr.grh.sgid_index;
  if (role_ != MulticastRole::kSender) {
    if (queue_pair_->address().q_key != joined.qkey) {
      fail(SetupCause::kLimit, "its Q_Key is " + std::to_string(joined.qkey) +
                                   ", the queue pair's is another: it would receive nothing");
    }
    const int error = ::ibv_attach_mcast(queue_pair_->queue_pair(), &gid_, lid_);
    if (error != 0)
      fail(SetupCause::kLimit, std::string("ibv_attach_mcast: ") + std::strerror(error));
    attached_ = true;
  }
  if (role_ != MulticastRole::kReceiver) {
    DatagramAddress address{.qp_number = joined.qp_num, .q_key = joined.qkey, .lid = lid_};
    std::memcpy(address.gid.data(), gid_.raw, address.gid.size());
    handle_ = std::make_unique<VerbsAddressHandle>(*queue_pair_, queue_pair_->core(), address,
                                                   attributes_to(joined, *queue_pair_->core()));
  }
  joined_ = true;
}

}  // namespace tickpath::rdma::detail
