// In place of librdmacm, and of glibc's list of network interfaces.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netpacket/packet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/support/fake_verbs/fake_world.hpp"

using namespace tickpath::test_support;        // NOLINT(google-build-using-namespace)
using namespace tickpath::test_support::fake;  // NOLINT(google-build-using-namespace)

namespace {

bool holds(const std::vector<std::uint8_t>& hardware, const std::string& gid) {
  return hardware.size() == 20 && std::memcmp(hardware.data() + 4, gid_of(gid).raw, 16) == 0;
}

// As the kernel's rdma_cm has it: an Ethernet port by a GID of that address, an InfiniBand port by
// the interface that has it.
bool serves(const FakePort& port, const std::string& address) {
  for (const std::string& gid : port.gids)
    if (port.ethernet && (gid == address || gid == "::ffff:" + address)) return true;
  for (const FakeInterface& each : world->host.interfaces)
    if (std::count(each.addresses.begin(), each.addresses.end(), address) != 0 &&
        !port.gids.empty() && holds(each.hardware, port.gids[0]))
      return true;
  return false;
}

Context* context_at(const std::string& address, std::uint8_t& port_number) {
  for (Context* const each : world->contexts)
    for (std::size_t port = 0; port < each->fake->ports.size(); ++port)
      if (serves(each->fake->ports[port], address)) {
        port_number = static_cast<std::uint8_t>(port + 1);
        return each;
      }
  return nullptr;
}

// The place of the GID of the address that an id is bound to.
std::uint8_t gid_index_of(const rdma_cm_id& id) {
  const std::string address = text_of(id.route.addr.src_addr);
  const auto& gids = port_of(id.verbs, id.port_num)->gids;
  const auto found = std::find_if(gids.begin(), gids.end(), [&](const std::string& gid) {
    return gid == address || gid == "::ffff:" + address;
  });
  return found == gids.end() ? 0 : static_cast<std::uint8_t>(found - gids.begin());
}

void set_source(rdma_cm_id& id, const sockaddr& address) {
  std::memcpy(&id.route.addr.src_storage, &address,
              address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
}

// The address of an interface whose network, of 24 bits, has the target; "": no route leads there.
std::string source_towards(const std::string& target) {
  const auto network = [](const std::string& address) {
    return address.substr(0, address.rfind('.') + 1);
  };
  for (const FakeInterface& each : world->host.interfaces)
    for (const std::string& address : each.addresses)
      if (!network(target).empty() && network(address) == network(target)) return address;
  return "";
}

int join(rdma_cm_id* id) {
  const Lock lock(guard);
  ++world->asked.joins;
  world->asked.memberships.push_back(id);
  push(static_cast<Channel&>(*id->channel), id,
       world->refuses_joins ? RDMA_CM_EVENT_MULTICAST_ERROR : RDMA_CM_EVENT_MULTICAST_JOIN,
       world->refuses_joins ? -ENETUNREACH : 0);
  return 0;
}

// ---------------------------------------------------------------------------------- interfaces

// A hardware address, as long as InfiniBand's: glibc gives more than a sockaddr_ll holds.
struct Link {
  sockaddr_ll head;
  std::uint8_t rest[16];
};

struct Entry {
  ifaddrs node{};
  sockaddr_storage address{};
  Link link{}, broadcast{};
};

sockaddr* fill(Link& link, const std::vector<std::uint8_t>& bytes) {
  link.head.sll_family = AF_PACKET;
  link.head.sll_halen = static_cast<unsigned char>(bytes.size());
  std::memcpy(reinterpret_cast<std::uint8_t*>(&link) + offsetof(sockaddr_ll, sll_addr),
              bytes.data(), bytes.size());
  return reinterpret_cast<sockaddr*>(&link);
}

std::deque<Entry> entries;  // of the last list, as one reads it at a time

Entry& add_entry(const FakeInterface& interface) {
  Entry& entry = entries.emplace_back();
  entry.node.ifa_name = const_cast<char*>(interface.name.c_str());
  if (entries.size() > 1) entries[entries.size() - 2].node.ifa_next = &entry.node;
  return entry;
}

void list_interfaces() {
  entries.clear();
  for (const FakeInterface& each : world->host.interfaces) {
    Entry& hardware = add_entry(each);
    hardware.node.ifa_addr = fill(hardware.link, each.hardware);
    hardware.node.ifa_broadaddr = fill(hardware.broadcast, each.broadcast);
    for (const std::string& text : each.addresses) {
      Entry& entry = add_entry(each);
      auto& v4 = reinterpret_cast<sockaddr_in&>(entry.address);
      if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1)
        v4.sin_family = AF_INET;
      else
        reinterpret_cast<sockaddr_in6&>(entry.address) = v6_of(text);
      entry.node.ifa_addr = reinterpret_cast<sockaddr*>(&entry.address);
    }
  }
}

}  // namespace

namespace tickpath::test_support::fake {

void push(Channel& channel, rdma_cm_id* id, rdma_cm_event_type type, int status) {
  rdma_cm_event event{};
  event.id = id;
  event.event = type;
  event.status = status;
  if (type == RDMA_CM_EVENT_MULTICAST_JOIN) {
    rdma_ud_param& joined = event.param.ud;
    joined.qp_num = 0xff'ffff;
    joined.qkey = 0x0123'4567;
    joined.ah_attr.is_global = 1;
    joined.ah_attr.grh.hop_limit = 1;  // the kernel's cma_iboe_join_multicast()
    joined.ah_attr.port_num = id->port_num;
    joined.ah_attr.grh.sgid_index = gid_index_of(*id);
  }
  channel.events.push_back(event);
  signal(channel.fd);
}

}  // namespace tickpath::test_support::fake

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  TICKPATH_PASS_ON(rdma_create_event_channel);
  auto* const channel = new Channel{};
  channel->fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return channel;
}

void rdma_destroy_event_channel(rdma_event_channel* channel) {
  TICKPATH_PASS_ON(rdma_destroy_event_channel, channel);
  ::close(channel->fd);
  delete static_cast<Channel*>(channel);
}

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** out, void* user,
                   rdma_port_space space) {
  TICKPATH_PASS_ON(rdma_create_id, channel, out, user, space);
  *out = new rdma_cm_id{};
  (*out)->channel = channel;
  (*out)->context = user;
  (*out)->ps = space;
  return 0;
}

int rdma_destroy_id(rdma_cm_id* id) {
  TICKPATH_PASS_ON(rdma_destroy_id, id);
  const Lock lock(guard);
  std::erase(world->asked.memberships, id);
  delete id;
  return 0;
}

int rdma_set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t bytes) {
  TICKPATH_PASS_ON(rdma_set_option, id, level, name, value, bytes);
  return 0;
}

// A link-local address without its scope is refused (the kernel's cma_check_linklocal()).
int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  TICKPATH_PASS_ON(rdma_bind_addr, id, address);
  const Lock lock(guard);
  const std::string text = text_of(*address);
  world->asked.bound.push_back(text);
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(*address);
  if (address->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) &&
      v6.sin6_scope_id == 0) {
    errno = EINVAL;
    return -1;
  }
  id->verbs = context_at(text, id->port_num);
  set_source(*id, *address);
  errno = ENODEV;
  return id->verbs == nullptr ? -1 : 0;
}

// Without a source the routing table gives one. Peers have IPv4 addresses.
int rdma_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* target, int timeout_ms) {
  TICKPATH_PASS_ON(rdma_resolve_addr, id, source, target, timeout_ms);
  const Lock lock(guard);
  const std::string from = source == nullptr ? source_towards(text_of(*target)) : text_of(*source);
  world->asked.resolved.push_back(from);
  sockaddr_storage own{};
  own.ss_family = AF_INET;
  ::inet_pton(AF_INET, from.c_str(), &reinterpret_cast<sockaddr_in&>(own).sin_addr);
  set_source(*id, reinterpret_cast<const sockaddr&>(own));
  id->verbs = from.empty() ? nullptr : context_at(from, id->port_num);
  push(static_cast<Channel&>(*id->channel), id,
       id->verbs == nullptr ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED,
       id->verbs == nullptr ? -ENODEV : 0);
  return 0;
}

// Which attributes rdma_cm would set is for its own device to know.
int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) {
  TICKPATH_PASS_ON(rdma_init_qp_attr, id, attributes, mask);
  *mask = IBV_QP_STATE;
  return 0;
}

int rdma_resolve_route(rdma_cm_id* id, int timeout_ms) {
  TICKPATH_PASS_ON(rdma_resolve_route, id, timeout_ms);
  const Lock lock(guard);
  push(static_cast<Channel&>(*id->channel), id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
  return 0;
}

int rdma_join_multicast(rdma_cm_id* id, sockaddr* group, void* user) {
  TICKPATH_PASS_ON(rdma_join_multicast, id, group, user);
  return join(id);
}

int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attributes, void* user) {
  TICKPATH_PASS_ON(rdma_join_multicast_ex, id, attributes, user);
  return join(id);
}

int rdma_leave_multicast(rdma_cm_id* id, sockaddr* group) {
  TICKPATH_PASS_ON(rdma_leave_multicast, id, group);
  const Lock lock(guard);
  std::erase(world->asked.memberships, id);
  return 0;
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** out) {
  TICKPATH_PASS_ON(rdma_get_cm_event, channel, out);
  const Lock lock(guard);
  auto& events = static_cast<Channel*>(channel)->events;
  drain(channel->fd);
  errno = EAGAIN;
  if (events.empty()) return -1;
  *out = new rdma_cm_event(events.front());
  events.pop_front();
  return 0;
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  TICKPATH_PASS_ON(rdma_ack_cm_event, event);
  delete event;
  return 0;
}

int getifaddrs(ifaddrs** out) noexcept {
  TICKPATH_PASS_ON(getifaddrs, out);
  const Lock lock(guard);
  list_interfaces();
  *out = entries.empty() ? nullptr : &entries.front().node;
  return 0;
}

void freeifaddrs(ifaddrs* list) noexcept { TICKPATH_PASS_ON(freeifaddrs, list); }
}  // extern "C"
