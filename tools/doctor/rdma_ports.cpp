#include "tools/doctor/rdma_ports.hpp"

#include <charconv>
#include <sstream>

namespace tickpath::cli::doctor {
namespace {

// A line "KEY=value" of a uevent file.
std::string uevent(const Machine& machine, const std::string& folder, const std::string& key) {
  std::istringstream lines(machine.read(folder + "/uevent").value_or(""));
  const std::string begin = key + "=";
  for (std::string line; std::getline(lines, line);)
    if (line.compare(0, begin.size(), begin) == 0) return line.substr(begin.size());
  return {};
}

// PCI vendor ids.
Vendor vendor_of(const std::string& id) {
  if (id == "0x15b3") return Vendor::kNvidia;
  if (id == "0x14e4") return Vendor::kBroadcom;
  if (id == "0x8086") return Vendor::kIntel;
  return Vendor::kOther;
}

// Hexadecimal digits alone, as addresses in sysfs are compared.
std::string digits_of(std::string text) {
  std::erase(text, ':');
  return text;
}

// The interface of an InfiniBand port: its hardware address ends with the port's GID, behind four
// bytes that name a queue pair (RFC 4391, 9.1.1).
std::string ipoib_of(const Machine& machine, const std::string& folder) {
  constexpr std::size_t kQueuePairDigits = 8;
  const std::string gid = digits_of(machine.read(folder + "/gids/0").value_or(""));
  for (const std::string& name : machine.list("/sys/class/net")) {
    const std::string address =
        digits_of(machine.read("/sys/class/net/" + name + "/address").value_or(""));
    if (!gid.empty() && address.size() == kQueuePairDigits + gid.size() &&
        address.compare(kQueuePairDigits, gid.size(), gid) == 0)
      return name;
  }
  return {};
}

// The interface of the first GID that has one; else the only one of the PCI function; else what rxe
// says.
std::string interface_of(const Machine& machine, const Port& port, const std::string& base) {
  const std::string ndevs = port.folder + "/gid_attrs/ndevs/";
  for (const std::string& index : machine.list(ndevs)) {
    const auto interface = machine.read(ndevs + index);
    if (interface && !interface->empty()) return *interface;
  }
  const std::vector<std::string> names = machine.list(base + "/device/net");
  if (names.size() == 1) return names.front();
  return machine.read(base + "/parent").value_or("");
}

Port port_of(const Machine& machine, const std::string& device, const std::string& number) {
  const std::string base = kRdmaFolder + device;
  Port port;
  port.device = device;
  port.number = number;
  port.name = device + "/" + number;
  port.folder = base + "/ports/" + number;
  if (machine.exists(base + "/device")) {
    port.pci = base + "/device";
    port.slot = uevent(machine, port.pci, "PCI_SLOT_NAME");
    port.vendor = vendor_of(machine.read(port.pci + "/vendor").value_or(""));
  }
  const bool ethernet = machine.read(port.folder + "/link_layer").value_or("") == "Ethernet";
  // "4: RNIC" is an iWARP adapter, "7: unspecified" one of no kind that the kernel knows
  // (rdma/ib_verbs.h, RDMA_NODE_RNIC, RDMA_NODE_UNSPECIFIED).
  const std::string kind = machine.read(base + "/node_type").value_or("");
  port.transport = kind.find("RNIC") != std::string::npos          ? Transport::kIwarp
                   : kind.find("unspecified") != std::string::npos ? Transport::kUnreliable
                   : ethernet                                      ? Transport::kRoce
                                                                   : Transport::kInfiniBand;
  port.interface = port.transport == Transport::kInfiniBand ? ipoib_of(machine, port.folder)
                                                            : interface_of(machine, port, base);
  return port;
}

std::string with_dscp(int value) {
  return std::to_string(value) + " (DSCP " + std::to_string(value >> 2) + ")";
}

}  // namespace

std::vector<Port> ports_of(const Machine& machine) {
  std::vector<Port> ports;
  for (const std::string& device : machine.list(kRdmaFolder))
    for (const std::string& number : machine.list(kRdmaFolder + device + "/ports"))
      ports.push_back(port_of(machine, device, number));
  return ports;
}

std::optional<std::int64_t> number_with_base(const Machine& machine, const std::string& path) {
  const std::optional<std::string> text = machine.read(path);
  if (!text) return std::nullopt;
  const bool hexadecimal = text->compare(0, 2, "0x") == 0;
  std::int64_t value = 0;
  const char* const first = text->data() + (hexadecimal ? 2 : 0);
  const auto [end, error] =
      std::from_chars(first, text->data() + text->size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

ServiceType service_type(const Subject& subject, const Port& port) {
  // NVIDIA's driver package can force one on every connection: "Global tclass=106".
  const std::string forced = kRdmaFolder + port.device + "/tc/" + port.number + "/traffic_class";
  const std::string text = subject.machine.read(forced).value_or("");
  if (const std::size_t at = text.find("tclass="); at != std::string::npos) {
    const int value = std::atoi(text.c_str() + at + 7);
    return {value, with_dscp(value) + " by " + forced};
  }
  std::optional<int> configured;
  for (const Pins& pins : subject.pins) {
    if (pins.provider != "verbs") continue;
    if (configured && *configured != pins.traffic_class)
      return {std::nullopt,
              "the programs' fabric.traffic_class differ: " + std::to_string(*configured) +
                  " and, in " + pins.file + ", " + std::to_string(pins.traffic_class)};
    configured = pins.traffic_class;
  }
  if (configured.value_or(0) != 0)
    return {configured, with_dscp(*configured) + " by fabric.traffic_class"};
  const std::string path = port.cm_folder() + "/default_roce_tos";
  if (const auto value = subject.machine.number(path))
    return {static_cast<int>(*value), with_dscp(static_cast<int>(*value)) + " by default_roce_tos"};
  return {std::nullopt, "not checked: " + path +
                            " is not there (it is once somebody made the folder " + port.device +
                            " with mkdir)"};
}

}  // namespace tickpath::cli::doctor
