#include "common/rdma/verbs/choice.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <unistd.h>

#include "common/base/names.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr const char* kSoftDevice =
    "Without an RDMA card, Soft-RoCE makes one of any network interface: `modprobe rdma_rxe && "
    "rdma "
    "link add rxe0 type rxe netdev eth0` (crc32_generic must be loaded too)";

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// ibv_get_device_list, freed when done with.
class DeviceList {
 public:
  DeviceList() : list_(::ibv_get_device_list(&count_)) {
    if (list_ == nullptr && errno != ENOSYS) {
      throw SetupError(SetupCause::kNoDevice, std::string("cannot list RDMA devices: ") +
                                                  std::strerror(errno) +
                                                  "; is ib_uverbs loaded (`modprobe ib_uverbs`)?");
    }
    if (count_ == 0) {
      throw SetupError(SetupCause::kNoDevice,
                       std::string("this machine has no RDMA device. ") + kSoftDevice);
    }
  }
  ~DeviceList() {
    if (list_ != nullptr) ::ibv_free_device_list(list_);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ibv_device* const* begin() const { return list_; }
  ibv_device* const* end() const { return list_ + count_; }

 private:
  int count_ = 0;
  ibv_device** list_;
};

const char* link_name(const ibv_port_attr& port) {
  return port.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
}

const char* type_name(std::uint32_t type) {
  return name_in(type, {{IBV_GID_TYPE_IB, "InfiniBand"},
                        {IBV_GID_TYPE_ROCE_V1, "RoCE v1"},
                        {IBV_GID_TYPE_ROCE_V2, "RoCE v2"}});
}

bool same_address(const sockaddr_storage& left, const sockaddr_storage& right) {
  std::array<std::uint8_t, 16> l{}, r{};
  to_bytes(left, l.data());
  to_bytes(right, r.data());
  return left.ss_family != 0 && l == r;
}

// How good a GID is as the device's own address: IPv4 before IPv6 before link-local, and RoCE v2.
int rank(const ibv_gid_entry& entry) {
  int value = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 4 : 0;
  if (std::memcmp(entry.gid.raw, kMapped.data(), kMapped.size()) == 0) return value + 3;
  return value + (entry.gid.raw[0] == 0xfe && entry.gid.raw[1] == 0x80 ? 1 : 2);
}

bool is_link_local(const sockaddr_storage& address) {
  std::array<std::uint8_t, 16> bytes{};
  to_bytes(address, bytes.data());
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

// An iWARP device's GID begins with its interface's hardware address. IPoIB's hardware address ends
// with its port's GID, behind four bytes that name a queue pair (RFC 4391, 9.1.1). glibc gives all
// twenty bytes, beyond the eight that sockaddr_ll declares.
bool is_of_port(const ifaddrs& link, const ChosenDevice& device) {
  constexpr std::size_t kIpoibBytes = 20, kQueuePairBytes = 4;
  if (link.ifa_addr == nullptr || link.ifa_addr->sa_family != AF_PACKET) return false;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(link.ifa_addr);
  const std::uint8_t length = bytes[offsetof(sockaddr_ll, sll_halen)];
  const std::uint8_t* const hardware = bytes + offsetof(sockaddr_ll, sll_addr);
  const ibv_gid& gid = device.raw_gid;
  if (device.context->device->transport_type == IBV_TRANSPORT_IWARP)
    return length != 0 && length <= sizeof(gid.raw) && std::memcmp(hardware, gid.raw, length) == 0;
  return length == kIpoibBytes &&
         std::memcmp(hardware + kQueuePairBytes, gid.raw, sizeof(gid.raw)) == 0;
}

// The partition of an IPoIB interface, from its broadcast address, as rdma_cm takes it
// (ib_addr_get_pkey() of the kernel). Its place in the port's table; 0 where it is not there.
std::uint16_t pkey_index_of(const ifaddrs& link, const ChosenDevice& device) {
  constexpr std::size_t kPkeyAt = 8;
  constexpr std::uint16_t kMembership = 0x8000;  // full or limited: the same partition
  if (link.ifa_broadaddr == nullptr) return 0;
  std::uint16_t wanted = 0;
  std::memcpy(&wanted,
              reinterpret_cast<const std::uint8_t*>(link.ifa_broadaddr) +
                  offsetof(sockaddr_ll, sll_addr) + kPkeyAt,
              sizeof(wanted));
  for (int index = 0; index < device.port_attributes.pkey_tbl_len; ++index) {
    std::uint16_t found = 0;
    if (::ibv_query_pkey(device.context.get(), device.port, index, &found) == 0 &&
        ((found ^ wanted) & ~htons(kMembership)) == 0)
      return static_cast<std::uint16_t>(index);
  }
  return 0;
}

// Addresses of the interfaces that a port has, where its GIDs are none: the best, or the wanted
// one.
void read_interfaces(ChosenDevice& device, const sockaddr_storage& wanted) {
  ifaddrs* all = nullptr;
  if (::ibv_query_gid(device.context.get(), device.port, 0, &device.raw_gid) != 0 ||
      ::getifaddrs(&all) != 0)
    return;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, &::freeifaddrs);
  const bool iwarp = device.context->device->transport_type == IBV_TRANSPORT_IWARP;
  std::map<std::string, const ifaddrs*> links;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next)
    if (is_of_port(*each, device)) links[each->ifa_name] = each;
  int best = -1;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    const auto link = links.find(each->ifa_name);
    if (each->ifa_addr == nullptr || link == links.end()) continue;
    const bool v4 = each->ifa_addr->sa_family == AF_INET;
    if (!v4 && each->ifa_addr->sa_family != AF_INET6) continue;
    sockaddr_storage address{};
    std::memcpy(&address, each->ifa_addr, v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (is_link_local(address) || (wanted.ss_family != 0 && !same_address(address, wanted)))
      continue;
    if ((v4 ? 1 : 0) <= best) continue;
    best = v4 ? 1 : 0;
    device.address = address;
    device.gid = link->first + " " + address_text(address);
    device.pkey_index = iwarp ? 0 : pkey_index_of(*link->second, device);
  }
}

// Addresses that are the port's GIDs (RoCE): the best, or the wanted one. A link-local one counts
// as no address: rdma_cm refuses it without its interface's scope (cma_check_linklocal() of the
// kernel). Its GID serves datagrams all the same.
void read_gids(ChosenDevice& device, const sockaddr_storage& wanted) {
  // The kernel gives the entries of all ports or none (rdma_query_gid_table()).
  std::vector<ibv_gid_entry> entries(static_cast<std::size_t>(device.port_attributes.gid_tbl_len) *
                                     device.ports);
  const ssize_t count = entries.empty() ? 0
                                        : ::ibv_query_gid_table(device.context.get(),
                                                                entries.data(), entries.size(), 0);
  int best = -1;
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<std::size_t>(i)];
    if (entry.port_num != device.port) continue;
    const sockaddr_storage address = from_bytes(entry.gid.raw);
    if (wanted.ss_family != 0 && !same_address(address, wanted)) continue;
    if (rank(entry) <= best) continue;
    best = rank(entry);
    device.address = is_link_local(address) ? sockaddr_storage{} : address;
    device.gid_index = entry.gid_index;
    device.raw_gid = entry.gid;
    device.gid = "GID " + std::to_string(entry.gid_index) + " " + address_text(address) + ", " +
                 type_name(entry.gid_type);
  }
}

void read_addresses(ChosenDevice& device, const sockaddr_storage& wanted) {
  const bool roce = device.context->device->transport_type == IBV_TRANSPORT_IB &&
                    device.port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  if (roce)
    read_gids(device, wanted);
  else
    read_interfaces(device, wanted);
}

// How a port serves: it has an address (the wanted one, where one is), it works, or neither.
enum class Fit : std::uint8_t { kNot, kWorks, kHasAddress };

Fit look_at_port(ChosenDevice& device, int port, const sockaddr_storage& wanted, std::string& why) {
  device.port = static_cast<std::uint8_t>(port);
  if (::ibv_query_port(device.context.get(), device.port, &device.port_attributes) != 0)
    return Fit::kNot;
  if (device.port_attributes.state != IBV_PORT_ACTIVE) {
    why += "port " + std::to_string(port) + " is " +
           ::ibv_port_state_str(device.port_attributes.state) + " (cable, `ip link set up`) ";
    return Fit::kNot;
  }
  read_addresses(device, wanted);
  if (device.address.ss_family != 0) return Fit::kHasAddress;
  if (wanted.ss_family == 0) return Fit::kWorks;
  why += "port " + std::to_string(port) + " has another address ";
  return Fit::kNot;
}

// Opens it and finds a port that works. Empty context, and why in `reasons`, if there is none.
ChosenDevice try_device(ibv_device* device, const sockaddr_storage& wanted, std::string& reasons) {
  ChosenDevice chosen;
  chosen.name = ::ibv_get_device_name(device);
  const auto because = [&](const std::string& reason) {
    reasons += (reasons.empty() ? "" : "; ") + chosen.name + ": " + reason;
    chosen.context.reset();
  };
  if (const std::string why = why_unusable(device->transport_type); !why.empty()) {
    because(why);
    return chosen;
  }
  errno = 0;
  chosen.context.reset(::ibv_open_device(device));
  if (chosen.context == nullptr) {
    const std::string reason = std::strerror(errno);
    const std::string file = std::string("/dev/infiniband/") + device->dev_name;
    because(is_forbidden(file) ? "not permitted: give this user read and write on " + file +
                                     " (a udev rule, or the group that owns it)"
                               : "cannot be opened: " + reason);
    return chosen;
  }
  ibv_device_attr attributes{};
  if (::ibv_query_device(chosen.context.get(), &attributes) != 0) {
    because("does not answer");
    return chosen;
  }
  chosen.ports = attributes.phys_port_cnt;
  std::string ports;
  int works = 0;  // without an address; the first of them
  for (int port = 1; port <= attributes.phys_port_cnt; ++port) {
    const Fit fit = look_at_port(chosen, port, wanted, ports);
    if (fit == Fit::kHasAddress) return chosen;
    if (fit == Fit::kWorks && works == 0) works = port;
  }
  if (works != 0) {
    look_at_port(chosen, works, wanted, ports);
    return chosen;
  }
  because(ports.empty() ? "no port" : ports);
  return chosen;
}

}  // namespace

std::string why_unusable(ibv_transport_type transport) {
  switch (transport) {
    case IBV_TRANSPORT_IB:  // RoCE as well
    case IBV_TRANSPORT_IWARP:
      return {};
    default:
      return "is no InfiniBand, RoCE or iWARP device, and has no reliable connections (RC)";
  }
}

// rdma-core looks elsewhere when it may not open a file, and says ENOENT in the end.
bool is_forbidden(const std::string& file) {
  return ::faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) != 0 && errno == EACCES;
}

std::string address_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

sockaddr_storage parse_ip(const std::string& text) {
  sockaddr_storage address{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    address.ss_family = AF_INET;
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    address.ss_family = AF_INET6;
  } else {
    address = {};
  }
  return address;
}

void to_bytes(const sockaddr_storage& address, std::uint8_t* bytes) {
  if (address.ss_family == AF_INET6) {
    std::memcpy(bytes, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
    return;
  }
  std::memcpy(bytes, kMapped.data(), kMapped.size());
  std::memcpy(bytes + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
}

sockaddr_storage from_bytes(const std::uint8_t* bytes) {
  sockaddr_storage address{};
  if (std::memcmp(bytes, kMapped.data(), kMapped.size()) == 0) {
    address.ss_family = AF_INET;
    std::memcpy(&reinterpret_cast<sockaddr_in&>(address).sin_addr, bytes + 12, 4);
  } else {
    address.ss_family = AF_INET6;
    std::memcpy(&reinterpret_cast<sockaddr_in6&>(address).sin6_addr, bytes, 16);
  }
  return address;
}

ChosenDevice choose_device(const std::string& choice) {
  const DeviceList devices;
  const sockaddr_storage wanted = parse_ip(choice);
  std::string reasons, names;
  bool found = false;
  ChosenDevice without_address;  // the first that works: for who needs none
  const auto described = [](ChosenDevice device) {
    device.gid = std::string(link_name(device.port_attributes)) + ", " + device.gid;
    return device;
  };
  for (ibv_device* device : devices) {
    const std::string name = ::ibv_get_device_name(device);
    names += (names.empty() ? "" : ", ") + name;
    if (!choice.empty() && wanted.ss_family == 0 && name != choice) continue;
    found = true;
    ChosenDevice chosen = try_device(device, wanted, reasons);
    if (chosen.context == nullptr) continue;
    if (chosen.address.ss_family != 0) return described(std::move(chosen));
    if (without_address.context == nullptr) without_address = std::move(chosen);
  }
  if (without_address.context != nullptr) return described(std::move(without_address));
  if (!found) {
    throw SetupError(SetupCause::kNoDevice,
                     "there is no RDMA device called " + choice + "; this machine has: " + names);
  }
  const bool permission = reasons.find("not permitted") != std::string::npos;
  throw SetupError(permission ? SetupCause::kPermission : SetupCause::kNoDevice,
                   wanted.ss_family != 0 ? "no RDMA device has the address " + choice +
                                               " on a working port: " + reasons
                                         : "no RDMA device is usable: " + reasons);
}

}  // namespace tickpath::rdma::detail
