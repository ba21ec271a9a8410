// Ports of RDMA devices, found by their sysfs entries
// (Documentation/ABI/stable/sysfs-class-infiniband).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/doctor/dcb.hpp"
#include "tools/doctor/doctor.hpp"

namespace tickpath::cli::doctor {

inline constexpr const char* kRdmaFolder = "/sys/class/infiniband/";

// kUnreliable: none that has reliable connections (Amazon's EFA).
enum class Transport : std::uint8_t { kInfiniBand, kRoce, kIwarp, kUnreliable };
// Whose tools set what the kernel's own do not.
enum class Vendor : std::uint8_t { kNvidia, kBroadcom, kIntel, kOther };

// A port of a device, and the network interface of its addresses.
struct Port {
  std::string device;
  std::string number;
  std::string name;       // "mlx5_0/1"
  std::string folder;     // ".../ports/1"
  std::string interface;  // empty: none, or not told
  std::string pci;        // folder of its PCI function; empty: software (rxe, siw)
  std::string slot;       // "0000:3b:00.0"
  Transport transport = Transport::kInfiniBand;
  Vendor vendor = Vendor::kOther;

  bool software() const { return pci.empty(); }
  bool roce() const { return transport == Transport::kRoce; }
  // rdma_cm's settings of this port (Documentation/ABI/testing/configfs-rdma_cm).
  std::string cm_folder() const {
    return "/sys/kernel/config/rdma_cm/" + device + "/ports/" + number;
  }
  std::string interface_or(const char* otherwise) const {
    return interface.empty() ? otherwise : interface;
  }
};

std::vector<Port> ports_of(const Machine& machine);

// "106", "0x6a".
std::optional<std::int64_t> number_with_base(const Machine& machine, const std::string& path);

// The type of service of the packets of this port's connections: DSCP and two bits of ECN.
struct ServiceType {
  std::optional<int> value;
  std::string text;  // "106 (DSCP 26) by default_roce_tos", or why it is not known
  int dscp() const { return *value >> 2; }
};
ServiceType service_type(const Subject& subject, const Port& port);

// Parts of check_rdma() for one port or device.
Finding check_mtu(const Machine& machine, const Port& port);
Finding check_gids(const Machine& machine, const Port& port);
std::vector<Finding> check_lossless(const Subject& subject, const Port& port);
std::vector<Finding> check_pcie(const Subject& subject, const Port& port);

}  // namespace tickpath::cli::doctor
