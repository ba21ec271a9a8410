// RDMA devices: found by their sysfs entries (Documentation/ABI/stable/sysfs-class-infiniband).
#include <algorithm>

#include "tools/doctor/doctor.hpp"

namespace tickpath::cli::doctor {
namespace {

constexpr const char* kFolder = "/sys/class/infiniband/";
// 4096 bytes of payload and RoCE v2's headers (58 bytes, IPv6 78) fit.
constexpr std::int64_t kNetMtuWanted = 4200;

const char* const kRdmaWhy = "verbs needs a device with an active port and an address";

// A port of a device, and the network interface of its first address.
struct Port {
  std::string device;
  std::string name;  // "mlx5_0/1"
  std::string folder;
  std::string interface;
  bool roce = false;
  bool software = false;  // rxe, siw: no hardware queues to set
};

std::vector<Port> ports_of(const Machine& machine) {
  std::vector<Port> ports;
  for (const std::string& device : machine.list(kFolder)) {
    const std::string base = kFolder + device;
    for (const std::string& number : machine.list(base + "/ports")) {
      Port port;
      port.device = device;
      port.name = device + "/" + number;
      port.folder = base + "/ports/" + number;
      port.roce = machine.read(port.folder + "/link_layer").value_or("") == "Ethernet";
      port.software = !machine.exists(base + "/device");
      for (const std::string& index : machine.list(port.folder + "/gid_attrs/ndevs")) {
        const auto interface = machine.read(port.folder + "/gid_attrs/ndevs/" + index);
        if (!interface || interface->empty()) continue;
        port.interface = *interface;
        break;
      }
      ports.push_back(std::move(port));
    }
  }
  return ports;
}

Finding devices(const Subject& subject, const std::vector<Port>& ports) {
  Finding finding{"rdma.devices",
                  State::kOk,
                  "",
                  "one, for the verbs provider",
                  "without one only the shm provider works, within one host",
                  "sudo modprobe mlx5_ib   # your NIC's driver; or, without an RDMA NIC: sudo "
                  "rdma link add rxe0 type rxe netdev eth0"};
  std::vector<std::string> names = subject.machine.list(kFolder);
  for (const std::string& name : names)
    finding.current += (finding.current.empty() ? "" : ", ") + name;
  if (names.empty()) {
    finding.current = "none: only the shm provider works";
    finding.state = subject.uses_verbs() ? State::kFail : State::kWarn;
    // Whoever configured shm does not need one.
    if (!subject.pins.empty() && !subject.uses_verbs()) finding.state = State::kOk;
    return finding;
  }
  for (const Pins& pins : subject.pins) {
    // An address instead of a name is resolved by the program itself.
    if (pins.provider != "verbs" || pins.device.empty() ||
        pins.device.find_first_of(".:") != std::string::npos)
      continue;
    if (std::find(names.begin(), names.end(), pins.device) != names.end()) continue;
    finding.state = State::kFail;
    finding.current += "; " + pins.file + " names " + pins.device + ", which is not there";
  }
  if (ports.empty()) finding.state = State::kFail;
  return finding;
}

Finding files(const Subject& subject) {
  Finding finding{"rdma.device_files",
                  State::kOk,
                  "present",
                  "/dev/infiniband/rdma_cm and /dev/infiniband/uverbs*",
                  "programs reach the device through these files",
                  "sudo modprobe -a ib_uverbs rdma_ucm"};
  const std::vector<std::string> names = subject.machine.list("/dev/infiniband");
  const bool verbs = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.compare(0, 6, "uverbs") == 0;
  });
  const bool cm = std::find(names.begin(), names.end(), "rdma_cm") != names.end();
  if (verbs && cm) return finding;
  finding.state = subject.uses_verbs() ? State::kFail : State::kWarn;
  finding.current =
      std::string(verbs ? "" : "no uverbs") + (verbs || cm ? "" : ", ") + (cm ? "" : "no rdma_cm");
  return finding;
}

Finding port_state(const Machine& machine, const Port& port) {
  Finding finding{
      "rdma.port." + port.name,
      State::kUnknown,
      port.folder + "/state cannot be read",
      "ACTIVE",
      kRdmaWhy,
      port.interface.empty() ? "rdma link show" : "sudo ip link set " + port.interface + " up"};
  const auto state = machine.read(port.folder + "/state");
  if (!state) return finding;
  return judged(finding, state->find("ACTIVE") != std::string::npos,
                *state + ", " + machine.read(port.folder + "/rate").value_or("rate unknown") +
                    ", " + machine.read(port.folder + "/link_layer").value_or("?"),
                State::kFail);
}

// rdma_cm picks a GID by the address that one connects to: there must be one with an address.
Finding gids(const Machine& machine, const Port& port) {
  Finding finding{"rdma.gid." + port.name,
                  State::kUnknown,
                  port.folder + "/gids cannot be read",
                  port.roce ? "a RoCE v2 GID with an IP address" : "a GID",
                  "connections are made by rdma_cm, which needs an address on the device's "
                  "interface",
                  "sudo ip addr add 10.0.0.1/24 dev " +
                      (port.interface.empty() ? std::string("IPOIB_INTERFACE") : port.interface)};
  const std::string none = "0000:0000:0000:0000:0000:0000:0000:0000";
  std::size_t count = 0;
  std::string found;
  for (const std::string& index : machine.list(port.folder + "/gids")) {
    const auto gid = machine.read(port.folder + "/gids/" + index);
    if (!gid || *gid == none) continue;
    ++count;
    const auto type = machine.read(port.folder + "/gid_attrs/types/" + index);
    const bool v2 = type && *type == "RoCE v2";
    const bool link_local = gid->compare(0, 4, "fe80") == 0;
    if (port.roce ? v2 && !link_local : true) {
      if (found.empty()) found = "index " + index + " " + *gid;
    }
  }
  if (count == 0 && machine.list(port.folder + "/gids").empty()) return finding;
  finding.state = found.empty() ? State::kFail : State::kOk;
  finding.current =
      found.empty() ? std::to_string(count) + " GIDs, none with an IP address" : found;
  return finding;
}

Finding mtu(const Machine& machine, const Port& port) {
  const std::string path = "/sys/class/net/" + port.interface + "/mtu";
  Finding finding{"rdma.mtu." + port.name,
                  State::kUnknown,
                  path + " cannot be read",
                  std::to_string(kNetMtuWanted) + " or more",
                  "RoCE takes the largest of 256, 512, 1024, 2048 and 4096 that fits: at 1500 a "
                  "4 kB message is four packets",
                  "sudo ip link set dev " + port.interface +
                      " mtu 9000   # and on the switch and the other hosts"};
  const auto value = machine.number(path);
  if (!value) return finding;
  return judged(finding, *value >= kNetMtuWanted, std::to_string(*value) + " on " + port.interface);
}

Finding numa(const Subject& subject, const Port& port) {
  const std::string path = kFolder + port.device + "/device/numa_node";
  Finding finding{"rdma.numa." + port.device,
                  State::kUnknown,
                  path + " cannot be read",
                  "the node of the pinned cores",
                  "every access from another node crosses the link between the sockets: some 100 "
                  "ns each way",
                  ""};
  const auto node = subject.machine.number(path);
  if (!node) return finding;
  if (*node < 0) {
    finding.current = "the device tells no node (one node only, or a virtual machine)";
    if (subject.machine.list("/sys/devices/system/node").empty() ||
        !subject.machine.exists("/sys/devices/system/node/node1"))
      finding.state = State::kOk;
    return finding;
  }
  finding.current = "node " + std::to_string(*node);
  finding.state = State::kOk;
  CpuSet far;
  for (const int cpu : subject.pinned_cpus()) {
    const int its = subject.machine.node_of(cpu);
    if (its >= 0 && its != *node) far.insert(cpu);
  }
  const auto near =
      subject.machine.read("/sys/devices/system/node/node" + std::to_string(*node) + "/cpulist");
  if (near) finding.needed += ": cpus " + *near + " are near";
  if (far.empty()) return finding;
  finding.state = State::kWarn;
  finding.current += "; pinned cpus " + to_text(far) + " belong to another node";
  finding.command = "set datapath.cpu to one of " + near.value_or("that node's cpus");
  return finding;
}

// What RoCE needs against loss. Only part of it can be read from files.
void lossless(const Machine& machine, const Port& port, std::vector<Finding>& findings) {
  Finding tos{"rdma.dscp." + port.name,
              State::kUnknown,
              "/sys/kernel/config/rdma_cm is not mounted",
              "the class that the switches treat as lossless (often 106: DSCP 26, ECN capable)",
              "unmarked RoCE packets share the queue of everything else, and are dropped with it",
              "set fabric.traffic_class = 106 in the configuration, or: sudo mkdir -p "
              "/sys/kernel/config/rdma_cm/" +
                  port.device +
                  " && echo 106 | sudo tee "
                  "/sys/kernel/config/rdma_cm/" +
                  port.device + "/ports/1/default_roce_tos"};
  const std::string number = port.name.substr(port.name.find('/') + 1);
  if (const auto value = machine.number("/sys/kernel/config/rdma_cm/" + port.device + "/ports/" +
                                        number + "/default_roce_tos")) {
    tos.current = "default_roce_tos " + std::to_string(*value);
    tos.state = *value != 0 ? State::kOk : State::kWarn;
  }
  findings.push_back(std::move(tos));

  Finding ecn{"rdma.ecn." + port.name,
              State::kUnknown,
              "this driver does not show it under /sys/class/net/" + port.interface + "/ecn",
              "on, for the priority of the traffic class",
              "with ECN a sender slows down before a queue overflows; loss costs a retransmission "
              "timeout",
              "echo 1 | sudo tee /sys/class/net/" + port.interface + "/ecn/roce_{np,rp}/enable/3"};
  const std::string folder = "/sys/class/net/" + port.interface + "/ecn/roce_rp/enable";
  std::string on;
  const std::vector<std::string> priorities = machine.list(folder);
  for (const std::string& priority : priorities)
    if (machine.number(folder + "/" + priority).value_or(0) != 0)
      on += (on.empty() ? "" : ", ") + priority;
  if (!priorities.empty()) {
    ecn.current = on.empty() ? "off for every priority" : "on for priorities " + on;
    ecn.state = on.empty() ? State::kWarn : State::kOk;
  }
  findings.push_back(std::move(ecn));

  findings.push_back({"rdma.pfc." + port.name, State::kUnknown,
                      "told over netlink only: dcb pfc show dev " + port.interface,
                      "on for the priority of the traffic class, and only for it",
                      "priority flow control keeps the switch from dropping RoCE packets",
                      "sudo dcb pfc set dev " + port.interface + " prio-pfc all:off 3:on"});
}

}  // namespace

std::vector<Finding> check_rdma(const Subject& subject) {
  const std::vector<Port> ports = ports_of(subject.machine);
  std::vector<Finding> findings{devices(subject, ports)};
  if (subject.machine.list(kFolder).empty()) return findings;
  findings.push_back(files(subject));
  std::string device;
  for (const Port& port : ports) {
    findings.push_back(port_state(subject.machine, port));
    findings.push_back(gids(subject.machine, port));
    if (!port.interface.empty() && port.roce) findings.push_back(mtu(subject.machine, port));
    if (port.device != device && !port.software) findings.push_back(numa(subject, port));
    device = port.device;
    if (port.roce && !port.software && !port.interface.empty())
      lossless(subject.machine, port, findings);
  }
  return findings;
}

}  // namespace tickpath::cli::doctor
