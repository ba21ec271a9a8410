// RDMA devices: is there one, can it be used, and is it near.
#include <algorithm>
#include <set>

#include "tools/doctor/rdma_ports.hpp"

namespace tickpath::cli::doctor {
namespace {

Finding devices(const Subject& subject, const std::vector<Port>& ports) {
  Finding finding{"rdma.devices",
                  State::kOk,
                  "",
                  "one, for the verbs provider",
                  "without one only the shm provider works, within one host",
                  "sudo modprobe mlx5_ib   # your NIC's driver; or, without an RDMA NIC: sudo "
                  "rdma link add rxe0 type rxe netdev eth0"};
  std::vector<std::string> names = subject.machine.list(kRdmaFolder);
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

std::string bring_up(const Port& port, const std::string& state) {
  if (port.transport == Transport::kInfiniBand && state.find("INIT") != std::string::npos)
    return "sudo systemctl start opensm   # a port stays at INIT until a subnet manager has seen "
           "it: on "
           "one host, or in the switch";
  if (port.interface.empty()) return "rdma link show";
  return "sudo ip link set " + port.interface + " up";
}

Finding port_state(const Machine& machine, const Port& port) {
  const auto state = machine.read(port.folder + "/state");
  Finding finding{"rdma.port." + port.name,
                  State::kUnknown,
                  "not checked: " + port.folder + "/state cannot be read",
                  "ACTIVE",
                  "verbs needs a device with an active port and an address",
                  bring_up(port, state.value_or(""))};
  if (!state) return finding;
  return judged(finding, state->find("ACTIVE") != std::string::npos,
                *state + ", " + machine.read(port.folder + "/rate").value_or("rate unknown") +
                    ", " + machine.read(port.folder + "/link_layer").value_or("?") +
                    (port.transport == Transport::kIwarp ? ", iWARP" : ""),
                State::kFail);
}

// What the device is, where that decides what it is good for.
void kind(const Subject& subject, const Port& port, std::vector<Finding>& findings) {
  Finding finding{"rdma.kind." + port.device, State::kWarn, "", "", "", ""};
  if (port.transport == Transport::kUnreliable) {
    // Programs of another provider do not need them.
    if (subject.pins.empty() || subject.uses_verbs()) finding.state = State::kFail;
    finding.current = "no reliable connections";
    finding.needed = "an InfiniBand or RoCE adapter, for the verbs provider";
    finding.why = "the verbs provider is made of them; Amazon's EFA has datagrams of its own kind";
    finding.command =
        "fabric.provider = \"ofi\" and fabric.device = \"efa\" in each program's configuration   # "
        "libfabric's provider, if fi_info -p efa shows it";
    findings.push_back(std::move(finding));
  } else if (port.software()) {
    finding.current = port.transport == Transport::kIwarp ? "iWARP by the kernel's software (siw)"
                                                          : "RoCE by the kernel's software (rxe)";
    finding.needed = "an RDMA adapter, where latency counts";
    finding.why =
        "each message is a system call and goes through the kernel's network stack: it proves that "
        "programs work, and its figures say nothing of an adapter's";
    findings.push_back(std::move(finding));
  } else if (port.transport == Transport::kIwarp) {
    finding.state = State::kOk;
    finding.current = "iWARP: RDMA over TCP";
    finding.needed = "iWARP at the other end, too: it does not talk to RoCE";
    finding.why =
        "the adapter's TCP repeats what is lost, so GIDs, PFC and the class of RoCE's packets do "
        "not "
        "matter; each message takes longer than by RoCE";
    if (port.vendor == Vendor::kIntel)
      finding.needed += "; as RoCE v2: sudo devlink dev param set pci/" + port.slot +
                        " name enable_iwarp value false cmode runtime, then enable_roce value true";
    findings.push_back(std::move(finding));
  }
}

Finding numa(const Subject& subject, const Port& port) {
  const std::string path = port.pci + "/numa_node";
  Finding finding{"rdma.numa." + port.device,
                  State::kUnknown,
                  "not checked: " + path + " cannot be read",
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

// Only a lost packet shows it; the kernel offers no way to ask.
Finding repeats(const Port& port) {
  Finding finding{
      "rdma.repeat." + port.device,
      State::kUnknown,
      "not checked: when it repeats a lost packet only a lost packet shows",
      "several repetitions within heartbeat.dead_after (35 ms)",
      "adapters lengthen short timeouts (fabric.timeout) as they like, and a lost packet that is "
      "not "
      "repeated in time is a dead peer: quotes are cancelled, a pair changes its leader",
      "tests/hardware.sh --only detection   # measures it, and says which dead_after holds it"};
  if (port.vendor == Vendor::kNvidia)
    finding.command += "\nsudo mlxreg -d " + port.slot +
                       " --reg_name ROCE_ACCL --get   # roce_adp_retrans_en: it lengthens them";
  return finding;
}

// What libfabric finds is its own affair: its providers need no RDMA device of the kernel.
void libfabric(const Subject& subject, std::vector<Finding>& findings) {
  std::set<std::string> devices;
  for (const Pins& pins : subject.pins)
    if (pins.provider == "ofi") devices.insert(pins.device);
  for (const std::string& device : devices) {
    Finding finding{"rdma.ofi",
                    State::kUnknown,
                    "not checked: libfabric looks for its devices by itself",
                    "the libfabric provider that the programs ask for, on every host",
                    "two hosts talk by the same provider of libfabric only",
                    "fi_info -l   # its providers here; fi_info -p tcp: what one of them offers"};
    if (subject.ask_libfabric) {
      const std::string problem = subject.ask_libfabric(device);
      finding = judged(
          finding, problem.empty(),
          problem.empty() ? "libfabric has \"" + (device.empty() ? "tcp" : device) + "\"" : problem,
          State::kFail);
    }
    findings.push_back(std::move(finding));
  }
}

}  // namespace

std::vector<Finding> check_rdma(const Subject& subject) {
  const std::vector<Port> ports = ports_of(subject.machine);
  std::vector<Finding> findings{devices(subject, ports)};
  libfabric(subject, findings);
  if (subject.machine.list(kRdmaFolder).empty()) return findings;
  findings.push_back(files(subject));
  const auto add = [&findings](std::vector<Finding> more) {
    for (Finding& each : more) findings.push_back(std::move(each));
  };
  std::string device;
  for (const Port& port : ports) {
    const bool first = port.device != device;
    device = port.device;
    if (first) kind(subject, port, findings);
    findings.push_back(port_state(subject.machine, port));
    if (port.transport == Transport::kUnreliable) continue;  // nothing of verbs comes of it
    add({check_gids(subject.machine, port), check_mtu(subject.machine, port)});
    if (first && !port.software()) {
      findings.push_back(numa(subject, port));
      if (subject.uses_verbs()) findings.push_back(repeats(port));
      add(check_pcie(subject, port));
    }
    if (port.roce() && !port.software() && !port.interface.empty())
      add(check_lossless(subject, port));
  }
  return findings;
}

}  // namespace tickpath::cli::doctor
