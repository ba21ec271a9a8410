// An adapter's way into memory: the PCIe link, and whether writes may overtake each other on it.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "common/base/format.hpp"
#include "tools/doctor/rdma_ports.hpp"

namespace tickpath::cli::doctor {
namespace {

// "8.0 GT/s PCIe" -> 8.0; nullopt: "Unknown", as virtual functions say.
std::optional<double> first_number(const std::optional<std::string>& text) {
  double value = 0;
  if (!text || std::sscanf(text->c_str(), "%lf", &value) != 1 || value <= 0) return std::nullopt;
  return value;
}

struct Link {
  double speed = 0;  // GT/s a lane
  double lanes = 0;

  // Gbit/s: 8 of 10 bits carry data up to 5 GT/s, 128 of 130 above (PCI Express Base
  // Specification).
  double rate() const { return speed * lanes * (speed > 5.0 ? 128.0 / 130.0 : 0.8); }
  std::string text() const { return formatted("x%.0f at %.1f GT/s", lanes, speed); }
};

std::optional<Link> link_of(const Machine& machine, const std::string& pci,
                            const std::string& which) {
  const auto speed = first_number(machine.read(pci + "/" + which + "_link_speed"));
  const auto lanes = first_number(machine.read(pci + "/" + which + "_link_width"));
  if (!speed || !lanes) return std::nullopt;
  return Link{*speed, *lanes};
}

Finding link(const Machine& machine, const Port& port) {
  Finding finding{
      "rdma.pcie." + port.device,
      State::kUnknown,
      "not checked: " + port.pci +
          "/current_link_speed and _width tell nothing (as for virtual functions)",
      "the adapter's own width and speed, and more than its port carries",
      "a narrow or slow slot delays every message's way through PCIe, and caps the rate",
      "sudo lspci -s " + port.slot +
          " -vv | grep -E 'LnkCap:|LnkSta:'   # can and does; then another slot, its setting in "
          "the BIOS, or the riser"};
  const auto now = link_of(machine, port.pci, "current");
  const auto best = link_of(machine, port.pci, "max");
  if (!now || !best) return finding;
  std::string text = now->text();
  const bool full = now->speed >= best->speed && now->lanes >= best->lanes;
  if (!full) text += ", the adapter can " + best->text();
  // "100 Gb/sec (4X EDR)"
  const auto port_rate = first_number(machine.read(port.folder + "/rate"));
  const bool wide = !port_rate || now->rate() >= *port_rate;
  if (!wide) text += formatted(": %.0f Gbit/s, less than the port's %.0f", now->rate(), *port_rate);
  return judged(finding, full && wide, text);
}

// PCI configuration space, as the kernel shows it: 64 bytes to everybody, all of it to root.
class Configuration {
 public:
  explicit Configuration(std::string bytes) : bytes_(std::move(bytes)) {}

  // Device Control of the PCI Express capability (id 0x10, offset 8). nullopt: not shown, or none.
  std::optional<unsigned> device_control() const {
    constexpr unsigned kPointer = 0x34, kExpress = 0x10, kLast = 0xfc;
    if (bytes_.size() <= 64) return std::nullopt;
    unsigned at = byte(kPointer) & kLast;
    for (int steps = 0; at >= 64 && steps < 48; ++steps) {  // no more fit; a loop would be damage
      if (byte(at) == kExpress) return byte(at + 8) | byte(at + 9) << 8;
      at = byte(at + 1) & kLast;
    }
    return std::nullopt;
  }

 private:
  unsigned byte(std::size_t at) const {
    return at < bytes_.size() ? static_cast<unsigned char>(bytes_[at]) : 0;
  }
  std::string bytes_;
};

bool wants_relaxed_ordering(const Subject& subject) {
  for (const Pins& pins : subject.pins)
    if (pins.provider == "verbs" && pins.relaxed_ordering) return true;
  return false;
}

// Where PCIe may reorder writes, memory that is polled sees a sequence number before its payload.
Finding write_order(const Subject& subject, const Port& port) {
  constexpr unsigned kRelaxedOrderingEnabled = 1u << 4;  // of Device Control
  Finding finding{
      "rdma.write_order." + port.device,
      State::kUnknown,
      "",
      "writes in order, but into memory that was registered otherwise",
      "a ring's reader polls the last word of a slot: it must not become visible before the "
      "rest (common/rdma/DESIGN.md)",
      ""};
  if (port.vendor == Vendor::kNvidia) {
    finding.command =
        "sudo mstconfig -d " + port.slot +
        " query | grep -E 'PCI_WR_ORDERING|ROCE_ADAPTIVE_ROUTING_EN'   # the firmware's\n"
        "sudo mstconfig -d " +
        port.slot + " set PCI_WR_ORDERING=0   # per_mkey: if it is force_relax(1); then reboot";
  } else {
    finding.command =
        "tests/hardware.sh --only conformance   # PlacesTheLastWordOfASlotLast tries it";
  }
  const auto control =
      Configuration(subject.machine.bytes(port.pci + "/config").value_or("")).device_control();
  if (!control) {
    finding.current =
        "not checked: root alone may read PCI's device control in " + port.pci + "/config";
    return finding;
  }
  const bool allowed = (*control & kRelaxedOrderingEnabled) != 0;
  if (!allowed) {
    const bool wanted = wants_relaxed_ordering(subject);
    if (wanted)
      finding.command =
          "sudo setpci -s " + port.slot +
          " CAP_EXP+8.w=0010:0010   # allows it again, if no erratum of the CPU forbids it";
    return judged(finding, !wanted,
                  wanted ? "in order: PCIe forbids what fabric.relaxed_ordering asks for"
                         : "in order, by PCIe");
  }
  finding.current =
      port.vendor == Vendor::kNvidia
          ? "PCIe allows relaxed ordering; not checked: the firmware's own setting"
          : "PCIe allows relaxed ordering; not checked: what the firmware makes of it";
  return finding;
}

}  // namespace

std::vector<Finding> check_pcie(const Subject& subject, const Port& port) {
  return {link(subject.machine, port), write_order(subject, port)};
}

}  // namespace tickpath::cli::doctor
