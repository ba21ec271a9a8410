// What RoCE needs of the network: packets as large as they can be, an address, and no loss. The
// values wanted are those of the vendors' guides: DSCP 26 and priority 3 for the data, ECN on it,
// PFC for it alone, notifications of congestion with a DSCP of their own.
#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "tools/doctor/rdma_ports.hpp"

namespace tickpath::cli::doctor {
namespace {

// What the kernel takes off the interface's MTU before it looks for the largest RoCE MTU that fits:
// global route header 40, UDP 8, base header 12, the longest extensions 4 and 28, checksum 4
// (iboe_get_mtu(), include/rdma/ib_addr.h).
constexpr std::int64_t kRoceHeaderBytes = 96;
constexpr std::int64_t kRoceMtuMax = 4096;
constexpr std::int64_t kRoceMtuMin = 256;

constexpr int kWantedServiceType = 106;  // DSCP 26 (AF31), ECN capable (ECT(0))
constexpr int kWantedPriority = 3;

std::int64_t roce_mtu(std::int64_t interface_mtu) {
  std::int64_t mtu = kRoceMtuMax;
  while (mtu > kRoceMtuMin && mtu > interface_mtu - kRoceHeaderBytes) mtu /= 2;
  return mtu;
}

// "0000:...:ffff:0a00:0001" as people write it: "10.0.0.1".
std::string gid_text(const std::string& gid) {
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_pton(AF_INET6, gid.c_str(), &address) != 1) return gid;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    ::inet_ntop(AF_INET, &address.s6_addr[12], text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, &address, text.data(), text.size());
  }
  return text.data();
}

// What comes before a command that names the port's interface, where that is not known.
std::string ask_interface(const Port& port) {
  if (!port.interface.empty()) return {};
  return "rdma link show " + port.name + "   # names the interface (netdev)\n";
}

struct Gid {
  int index = 0;
  std::string address;
  std::string type;
  bool v2 = false;
  bool link_local = false;
  bool v4 = false;
};

// Entries in use, by index.
std::vector<Gid> gids_of(const Machine& machine, const Port& port) {
  std::vector<Gid> gids;
  for (const std::string& index : machine.list(port.folder + "/gids")) {
    const auto text = machine.read(port.folder + "/gids/" + index);
    if (!text || text->find_first_of("123456789abcdef") == std::string::npos) continue;
    Gid gid;
    gid.index = std::atoi(index.c_str());
    gid.address = gid_text(*text);
    gid.type = machine.read(port.folder + "/gid_attrs/types/" + index).value_or("type unknown");
    gid.v2 = gid.type == "RoCE v2";
    gid.link_local = text->compare(0, 4, "fe80") == 0;
    gid.v4 = gid.address.find(':') == std::string::npos;
    gids.push_back(std::move(gid));
  }
  std::sort(gids.begin(), gids.end(), [](const Gid& a, const Gid& b) { return a.index < b.index; });
  return gids;
}

// As the verbs provider ranks them (verbs/choice.cpp): RoCE v2, IPv4 before IPv6. nullptr: none
// will do.
const Gid* chosen(const std::vector<Gid>& gids) {
  const Gid* best = nullptr;
  for (const Gid& gid : gids) {
    if (!gid.v2 || gid.link_local) continue;
    if (best == nullptr || (gid.v4 && !best->v4)) best = &gid;
  }
  return best;
}

// Its GIDs are no IP addresses: those are IPoIB's, which connections and multicast are made by.
Finding check_ipoib(const Port& port, Finding finding) {
  finding.needed = "an IP address on its IPoIB interface";
  finding.why =
      "connections and multicast groups are made by rdma_cm, by an IP address; an InfiniBand "
      "port's GIDs are none";
  if (port.interface.empty()) {
    finding.state = State::kFail;
    finding.current = "no network interface has the port's GID in its hardware address";
    finding.command =
        "sudo modprobe ib_ipoib   # makes ib0\nsudo ip addr add 10.0.0.1/24 dev ib0 && sudo ip "
        "link set ib0 up";
    return finding;
  }
  finding.current = "not checked: files do not tell the addresses of " + port.interface;
  finding.command = "ip addr show dev " + port.interface;
  return finding;
}

std::string priorities_text(const std::set<int>& priorities) {
  std::string text;
  for (const int each : priorities) text += (text.empty() ? "" : ", ") + std::to_string(each);
  return text;
}

std::set<int> paused(const Dcb& dcb) {
  std::set<int> priorities;
  for (int i = 0; i < kPriorities; ++i)
    if (dcb.paused.test(static_cast<std::size_t>(i))) priorities.insert(i);
  return priorities;
}

// "0,0,0,1,0,0,0,0"
std::string pfc_list(int priority) {
  std::string list;
  for (int i = 0; i < kPriorities; ++i)
    list += std::string(i == 0 ? "" : ",") + (i == priority ? "1" : "0");
  return list;
}

// One port's RoCE packets: how they are marked, and what the interface makes of the mark.
struct Marked {
  const Subject& subject;
  const Port& port;
  ServiceType service;
  DcbAnswer answer;
  std::optional<int> priority;  // of the packets; nullopt: not known

  // Priority 0 is that of everything that nobody sorted: no advice to pause it.
  int wanted_priority() const { return priority.value_or(0) != 0 ? *priority : kWantedPriority; }
  int wanted_dscp() const {
    return service.value.value_or(0) != 0 ? service.dscp() : kWantedServiceType >> 2;
  }
};

Marked marked(const Subject& subject, const Port& port) {
  Marked result{
      subject, port, service_type(subject, port), subject.machine.dcb(port.interface), {}};
  if (!result.service.value || !result.answer.dcb) return result;
  const auto& table = result.answer.dcb->priorities;
  const auto entry = table.find(result.service.dscp());
  if (entry != table.end() && entry->second.size() == 1) result.priority = *entry->second.begin();
  // A table that does not name it: priority 0, as for everything that nobody sorted.
  if (entry == table.end() && !table.empty()) result.priority = 0;
  return result;
}

Finding mark(const Marked& at) {
  const std::string folder = "/sys/kernel/config/rdma_cm/" + at.port.device;
  Finding finding{
      "rdma.dscp." + at.port.name,
      State::kUnknown,
      at.service.text,
      "the class that the switches treat as lossless, ECN capable: often 106 (DSCP 26)",
      "unmarked RoCE packets share the queue of everything else, and are dropped with it",
      "# set fabric.traffic_class = 106 in the programs' files; or for every connection by "
      "rdma_cm:\nsudo mkdir -p " +
          folder + "   # the settings of a device appear with its folder\necho 106 | sudo tee " +
          at.port.cm_folder() + "/default_roce_tos   # DSCP 26 << 2 | 2 (ECN capable)"};
  if (at.port.vendor == Vendor::kNvidia)
    finding.command +=
        "\n# the same by NVIDIA's tool: sudo cma_roce_tos -d " + at.port.device + " -t 106";
  if (!at.service.value) return finding;
  const int value = *at.service.value;
  const int ecn = value & 3;  // RFC 3168: 1 and 2 are ECN capable, 3 is what a switch marks with
  finding.state = value != 0 && (ecn == 1 || ecn == 2) ? State::kOk : State::kWarn;
  if (value == 0) finding.current += ": unmarked";
  if (value != 0 && ecn == 0)
    finding.current +=
        ", not ECN capable: a switch drops where it would mark, unless the adapter sets "
        "these two bits itself";
  if (ecn == 3) finding.current += ", marked as congested from the start";
  return finding;
}

Finding trust(const Marked& at) {
  const std::string dscp = std::to_string(at.wanted_dscp());
  Finding finding{
      "rdma.trust." + at.port.name,
      State::kUnknown,
      "not checked: " + at.answer.why_not,
      "DSCP " + dscp + " has one priority",
      "an interface that does not look at DSCP sorts by the VLAN tag, which routed packets do "
      "not have: all RoCE packets then are priority 0",
      "sudo dcb app replace dev " + at.port.interface + " dscp-prio " + dscp + ":3   # DSCP " +
          dscp + " is priority 3 here, and on the switch"};
  if (at.port.vendor == Vendor::kNvidia)
    finding.command += "\n# the same by NVIDIA's tool: sudo mlnx_qos -i " + at.port.interface +
                       " --trust dscp --dscp2prio set," + dscp + ",3";
  if (!at.answer.dcb) return finding;
  const auto& table = at.answer.dcb->priorities;
  if (table.empty()) return judged(finding, false, "no DSCP has a priority: sorted by VLAN tag");
  if (!at.service.value) {
    finding.current =
        "DSCP is looked at; not checked for RoCE's: its class is not known (rdma.dscp)";
    return finding;
  }
  const std::string ours = "DSCP " + std::to_string(at.service.dscp());
  const auto entry = table.find(at.service.dscp());
  if (entry == table.end()) return judged(finding, false, ours + " has none: priority 0");
  return judged(finding, entry->second.size() == 1,
                ours + " is priority " + priorities_text(entry->second));
}

std::string pfc_command(const Marked& at) {
  const std::string& interface = at.port.interface;
  const std::string priority = std::to_string(at.wanted_priority());
  std::string command;
  if (at.port.vendor == Vendor::kIntel)
    command = "sudo ethtool -A " + interface +
              " rx off tx off   # pauses of the whole link exclude PFC\n" +
              "sudo ethtool --set-priv-flags " + interface +
              " fw-lldp-agent off   # what is set here counts, not what the switch offers\n";
  command += "sudo dcb pfc set dev " + interface + " prio-pfc all:off " + priority +
             ":on   # pause priority " + priority + " instead of dropping it, and nothing else";
  if (at.port.vendor == Vendor::kNvidia)
    command += "\n# the same by NVIDIA's tool: sudo mlnx_qos -i " + interface + " --pfc " +
               pfc_list(at.wanted_priority());
  if (at.port.vendor == Vendor::kBroadcom)
    command +=
        "\n# with Broadcom's package, PFC and congestion control in one: sudo bnxt_setupcc.sh -d " +
        at.port.device + " -i " + interface + " -m 3 -s " + std::to_string(at.wanted_dscp()) +
        " -r " + priority + " -p 48 -c 7";
  return command + "\n# and the same priority on the switch's port";
}

Finding pfc(const Marked& at) {
  Finding finding{
      "rdma.pfc." + at.port.name,
      State::kUnknown,
      "not checked: " + at.answer.why_not,
      "on for RoCE's priority, and for no other",
      "priority flow control makes the switch and the adapter wait instead of dropping RoCE "
      "packets; on every priority it holds up what has no need of it",
      pfc_command(at)};
  if (!at.answer.dcb) return finding;
  const std::set<int> on = paused(*at.answer.dcb);
  finding.current = on.empty() ? "off" : "on for priority " + priorities_text(on);
  finding.current += ", " + std::to_string(at.answer.dcb->pauses_sent) + " pauses sent, " +
                     std::to_string(at.answer.dcb->pauses_received) + " received";
  if (on.empty() || on.size() > 1) {
    finding.state = State::kWarn;
  } else if (!at.priority) {
    finding.current += "; not checked: whether RoCE's packets have it (rdma.dscp, rdma.trust)";
  } else {
    finding.state = on.count(*at.priority) != 0 ? State::kOk : State::kWarn;
    finding.current += "; RoCE's packets have priority " + std::to_string(*at.priority);
  }
  return finding;
}

// Priorities whose file says 1, below NVIDIA's /sys/class/net/X/ecn/SIDE/enable. nullopt: no files.
std::optional<std::set<int>> enabled(const Machine& machine, const std::string& folder) {
  const std::vector<std::string> priorities = machine.list(folder);
  if (priorities.empty()) return std::nullopt;
  std::set<int> on;
  for (const std::string& priority : priorities) {
    std::string file = folder;
    file += "/" + priority;
    if (machine.number(file).value_or(0) != 0) on.insert(std::atoi(priority.c_str()));
  }
  return on;
}

// Broadcom's and Intel's own packages: one switch for all priorities, in configfs.
std::string ecn_switch(const Port& port) {
  if (port.vendor == Vendor::kBroadcom)
    return "/sys/kernel/config/bnxt_re/" + port.device + "/ports/" + port.number + "/cc/ecn_enable";
  if (port.vendor == Vendor::kIntel)
    return "/sys/kernel/config/irdma/" + port.device + "/roce_dcqcn_enable";
  return {};
}

std::string ecn_command(const Marked& at) {
  const std::string path = ecn_switch(at.port);
  if (at.port.vendor == Vendor::kBroadcom)
    return "sudo mkdir -p /sys/kernel/config/bnxt_re/" + at.port.device +
           "   # the settings of a device appear with its folder\necho 1 | sudo tee " + path +
           "   # slow down where packets come back marked\necho 1 | sudo tee " +
           path.substr(0, path.rfind('/')) + "/apply   # what was written counts from here on";
  if (at.port.vendor == Vendor::kIntel)
    return "sudo mkdir -p /sys/kernel/config/irdma/" + at.port.device +
           "   # the settings of a device appear with its folder\necho 1 | sudo tee " + path +
           "   # DCQCN: slow down where packets come back marked";
  const std::string folder = "/sys/class/net/" + at.port.interface + "/ecn/roce_";
  const std::string priority = std::to_string(at.wanted_priority());
  if (at.port.vendor == Vendor::kNvidia)
    return "echo 1 | sudo tee " + folder + "np/enable/" + priority +
           "   # notification point: tell the sender of marked packets\necho 1 | sudo tee " +
           folder + "rp/enable/" + priority + "   # reaction point: slow down when told\n" +
           "# without NVIDIA's package: sudo mstconfig -d " + at.port.slot +
           " query | grep ROCE_CC_PRIO_MASK   # 255: on for all, the default of the firmware";
  return "# see the vendor's guide for congestion control (DCQCN)";
}

Finding ecn(const Marked& at) {
  Finding finding{
      "rdma.ecn." + at.port.name,
      State::kUnknown,
      "",
      "on for the priority of RoCE's packets, at both ends",
      "with ECN a sender slows down before a queue overflows; a loss costs a retransmission "
      "timeout",
      ecn_command(at)};
  const Machine& machine = at.subject.machine;
  const std::string folder = "/sys/class/net/" + at.port.interface + "/ecn/";
  const auto notifies = enabled(machine, folder + "roce_np/enable");
  const auto reacts = enabled(machine, folder + "roce_rp/enable");
  if (notifies && reacts) {
    finding.current = "told of marks for priorities " + priorities_text(*notifies) +
                      "; slows down for " + priorities_text(*reacts);
    if (notifies->empty() || reacts->empty()) {
      finding.current =
          notifies->empty() ? "marks are told for no priority" : "slows down for no priority";
      finding.state = State::kWarn;
    } else if (at.priority) {
      finding.state = notifies->count(*at.priority) != 0 && reacts->count(*at.priority) != 0
                          ? State::kOk
                          : State::kWarn;
      finding.current += "; RoCE's packets have priority " + std::to_string(*at.priority);
    } else if (notifies->size() == kPriorities && reacts->size() == kPriorities) {
      finding.state = State::kOk;
    } else {
      finding.current += "; not checked: RoCE's priority (rdma.dscp, rdma.trust)";
    }
    return finding;
  }
  const std::string path = ecn_switch(at.port);
  if (const auto on = path.empty() ? std::nullopt : number_with_base(machine, path))
    return judged(finding, *on != 0, std::string(*on != 0 ? "on" : "off") + " by " + path);
  finding.current = "not checked: this driver shows nothing in " + (path.empty() ? folder : path);
  return finding;
}

// Where the DSCP of congestion notifications stands: NVIDIA's package, the kernel's mlx5 (root
// only), Broadcom's package.
std::vector<std::string> notification_files(const Port& port) {
  return {"/sys/class/net/" + port.interface + "/ecn/roce_np/cnp_dscp",
          "/sys/kernel/debug/mlx5/" + port.slot + "/cc_params/np_cnp_dscp",
          "/sys/kernel/config/bnxt_re/" + port.device + "/ports/" + port.number + "/cc/cnp_dscp"};
}

Finding notifications(const Marked& at) {
  Finding finding{
      "rdma.cnp." + at.port.name,
      State::kUnknown,
      "",
      "a DSCP of its own (48 is usual), in a queue that goes first",
      "a notification that waits behind the congestion it tells of comes too late",
      at.port.vendor == Vendor::kBroadcom
          ? "# -p 48 of bnxt_setupcc.sh, see rdma.pfc"
          : "echo 48 | sudo tee /sys/class/net/" + at.port.interface +
                "/ecn/roce_np/cnp_dscp   # and a queue of strict priority for it on the switch"};
  std::string looked;
  for (const std::string& path : notification_files(at.port)) {
    looked += (looked.empty() ? "" : ", ") + path;
    const auto dscp = number_with_base(at.subject.machine, path);
    if (!dscp) continue;
    const bool known = at.service.value.has_value();
    const bool same = known && *dscp == at.service.dscp();
    finding.current = "DSCP " + std::to_string(*dscp) + " by " + path;
    if (same) finding.current += ", that of the data";
    if (!known) finding.current += "; not checked: the DSCP of the data (rdma.dscp)";
    if (known) finding.state = same ? State::kWarn : State::kOk;
    return finding;
  }
  finding.current = "not checked: none of these can be read: " + looked;
  return finding;
}

}  // namespace

Finding check_mtu(const Machine& machine, const Port& port) {
  const std::string path = "/sys/class/net/" + port.interface + "/mtu";
  Finding finding{
      "rdma.mtu." + port.name,
      State::kUnknown,
      "",
      "4096, for which the interface needs " + std::to_string(kRoceMtuMax + kRoceHeaderBytes) +
          " or more",
      "RoCE takes the largest of 256, 512, 1024, 2048 and 4096 that fits: at 1500 a 4 kB "
      "message is four packets",
      ask_interface(port) + "sudo ip link set dev " + port.interface_or("INTERFACE") +
          " mtu 9000   # and on the switch and the other hosts"};
  if (port.transport == Transport::kInfiniBand) {
    finding.needed = "4096";
    finding.why = "the smallest MTU on the way is that of all packets";
    finding.current = "not checked: the subnet manager sets it, and the device alone tells it";
    finding.command =
        "ibv_devinfo -d " + port.device + " -i " + port.number +
        " | grep active_mtu   # if it is below 4096: mtu=5 in the subnet manager's partitions.conf";
    return finding;
  }
  if (port.transport == Transport::kIwarp) {
    finding.needed =
        "room for a message and TCP's headers in one segment: 9000 where the network can";
    finding.why = "iWARP is TCP: at 1500 a 4 kB message is three segments";
  }
  const auto value = machine.number(path);
  if (!value) {
    finding.current =
        "not checked: " + (port.interface.empty()
                               ? std::string("files do not tell its network interface")
                               : path + " cannot be read");
    return finding;
  }
  const std::string text = std::to_string(*value) + " on " + port.interface;
  if (port.transport == Transport::kIwarp)
    return judged(finding, *value >= kRoceMtuMax + kRoceHeaderBytes, text);
  return judged(finding, roce_mtu(*value) == kRoceMtuMax,
                text + ": packets of up to " + std::to_string(roce_mtu(*value)) + " bytes");
}

// rdma_cm picks a GID by the address that one connects to: there must be one with an address.
Finding check_gids(const Machine& machine, const Port& port) {
  Finding finding{
      "rdma.gid." + port.name,
      State::kUnknown,
      "",
      "a RoCE v2 GID with an IP address",
      "connections are made by rdma_cm, which finds the GID by an address of the device's "
      "interface; RoCE v1 is not routed, and does not talk to v2",
      ask_interface(port) + "sudo ip addr add 10.0.0.1/24 dev " + port.interface_or("INTERFACE") +
          "   # each address becomes a GID"};
  if (port.transport == Transport::kIwarp) {
    finding.needed = "an IP address on the interface";
    finding.why = "connections are made by rdma_cm; iWARP has no GIDs that it would choose among";
    finding.current =
        "not checked: files do not tell the addresses of " + port.interface_or("its interface");
    finding.command = ask_interface(port) + "ip addr show dev " + port.interface_or("INTERFACE");
    return finding;
  }
  if (port.transport == Transport::kInfiniBand) return check_ipoib(port, std::move(finding));
  if (machine.list(port.folder + "/gids").empty()) {
    finding.current = "not checked: " + port.folder + "/gids cannot be read";
    return finding;
  }
  const std::vector<Gid> gids = gids_of(machine, port);
  const auto v1 = std::count_if(gids.begin(), gids.end(), [](const Gid& gid) { return !gid.v2; });
  const Gid* best = chosen(gids);
  const std::string count =
      std::to_string(gids.size()) + " GIDs, " + std::to_string(v1) + " of them RoCE v1";
  if (best == nullptr)
    return judged(finding, false, count + ": none that is RoCE v2 and has an IP address",
                  State::kFail);
  finding.state = State::kOk;
  finding.current = "index " + std::to_string(best->index) + ", " + best->address + ", " +
                    best->type + (!best->v4 ? ", no IPv4 address" : "") + "; " + count;
  const auto mode = machine.read(port.cm_folder() + "/default_roce_mode");
  if (!mode || mode->find("v1") == std::string::npos) return finding;
  finding.state = State::kWarn;
  finding.current += "; but rdma_cm is set to RoCE v1";
  finding.command = "echo 'RoCE v2' | sudo tee " + port.cm_folder() + "/default_roce_mode";
  if (port.vendor == Vendor::kNvidia)
    finding.command += "\n# the same by NVIDIA's tool: sudo cma_roce_mode -d " + port.device +
                       " -p " + port.number + " -m 2";
  return finding;
}

std::vector<Finding> check_lossless(const Subject& subject, const Port& port) {
  const Marked at = marked(subject, port);
  return {mark(at), trust(at), pfc(at), ecn(at), notifications(at)};
}

}  // namespace tickpath::cli::doctor
