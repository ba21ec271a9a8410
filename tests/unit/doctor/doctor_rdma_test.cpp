// doctor's findings of RDMA ports, on copies of what the drivers of real adapters show in /sys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/doctor/fake_machine.hpp"

namespace tickpath::cli::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DoctorRdma : public FakeMachine {
 protected:
  DoctorRdma() {
    put("/sys/devices/system/cpu/online", "0-7");
    put("/dev/infiniband/uverbs0", "");
    put("/dev/infiniband/rdma_cm", "");
  }

  struct Adapter {
    std::string device, interface, vendor, driver, slot;
    std::string link_layer = "Ethernet";
    std::string node_type = "1: CA";
  };
  void put_port(const Adapter& adapter) {
    const std::string base = "/sys/class/infiniband/" + adapter.device;
    put(base + "/node_type", adapter.node_type);
    put(base + "/ports/1/state", "4: ACTIVE");
    put(base + "/ports/1/rate", "100 Gb/sec (4X EDR)");
    put(base + "/ports/1/link_layer", adapter.link_layer);
    if (!adapter.interface.empty()) put("/sys/class/net/" + adapter.interface + "/mtu", "9000");
    if (adapter.slot.empty()) return;
    put(base + "/device/vendor", adapter.vendor);
    put(base + "/device/uevent",
        "DRIVER=" + adapter.driver + "\nPCI_CLASS=20000\nPCI_SLOT_NAME=" + adapter.slot);
    put(base + "/device/numa_node", "-1");
    for (const char* const which : {"current", "max"}) {
      put(base + "/device/" + which + "_link_speed", "16.0 GT/s PCIe");
      put(base + "/device/" + which + "_link_width", "16");
    }
  }
  void put_gid(const std::string& device, int index, const std::string& gid,
               const std::string& type, const std::string& interface) {
    const std::string folder = "/sys/class/infiniband/" + device + "/ports/1/";
    put(folder + "gids/" + std::to_string(index), gid);
    put(folder + "gid_attrs/types/" + std::to_string(index), type);
    put(folder + "gid_attrs/ndevs/" + std::to_string(index), interface);
  }
  // As mlx5, bnxt_re and irdma fill the table: each address as RoCE v1 and v2, then empty entries.
  void put_roce_gids(const std::string& device, const std::string& interface) {
    put_gid(device, 0, "fe80:0000:0000:0000:5054:00ff:fe12:3456", "IB/RoCE v1", interface);
    put_gid(device, 1, "fe80:0000:0000:0000:5054:00ff:fe12:3456", "RoCE v2", interface);
    put_gid(device, 2, "0000:0000:0000:0000:0000:ffff:0a00:0001", "IB/RoCE v1", interface);
    put_gid(device, 3, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2", interface);
    // An entry not in use: its type cannot be read, nor its interface.
    put("/sys/class/infiniband/" + device + "/ports/1/gids/4",
        "0000:0000:0000:0000:0000:0000:0000:0000");
  }
  // ConnectX with NVIDIA's package, set up as its guide says.
  void put_mlx5() {
    put_port({"mlx5_0", "ens1", "0x15b3", "mlx5_core", "0000:3b:00.0"});
    put_roce_gids("mlx5_0", "ens1");
    for (int priority = 0; priority < 8; ++priority) {
      const std::string on = priority == 3 ? "1" : "0";
      put("/sys/class/net/ens1/ecn/roce_np/enable/" + std::to_string(priority), on);
      put("/sys/class/net/ens1/ecn/roce_rp/enable/" + std::to_string(priority), on);
    }
    put("/sys/class/net/ens1/ecn/roce_np/cnp_dscp", "48");
    put(kTos, "106");
    put("/dcb/ens1",
        "pfc-cap 8 macsec-bypass off delay 0\n"
        "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off\n"
        "requests 0:0 1:0 2:0 3:12 4:0 5:0 6:0 7:0\n"
        "indications 0:0 1:0 2:0 3:4 4:0 5:0 6:0 7:0\n"
        "dscp-prio 0:0 26:3 48:6");
  }
  // PCI configuration space with the PCI Express capability behind another one.
  static std::string configuration(bool relaxed) {
    std::string bytes(256, '\0');
    bytes[0x34] = 0x40;  // first capability: power management
    bytes[0x40] = 0x01;
    bytes[0x41] = 0x60;  // next
    bytes[0x60] = 0x10;  // PCI Express
    bytes[0x68] = static_cast<char>(relaxed ? 0x10 : 0x00);
    return bytes;
  }
  static Pins on_verbs(int traffic_class) {
    Pins pins = pinned("mdh", Pins::kUnpinned);
    pins.provider = "verbs";
    pins.traffic_class = traffic_class;
    return pins;
  }
  bool has(const std::string& id) const {
    const auto findings = examined();
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& each) { return each.id == id; });
  }

  static constexpr const char* kTos = "/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos";
};

TEST_F(DoctorRdma, IsContentWithAnAdapterThatIsSetUpAsItsGuideSays) {
  put_mlx5();
  const auto findings = examined();
  for (const char* const id : {"rdma.port", "rdma.gid", "rdma.mtu", "rdma.dscp", "rdma.trust",
                               "rdma.pfc", "rdma.ecn", "rdma.cnp"}) {
    const Finding finding = find(findings, std::string(id) + ".mlx5_0/1");
    EXPECT_EQ(finding.state, State::kOk) << finding.id << ": " << finding.current;
  }
  EXPECT_EQ(find(findings, "rdma.pcie.mlx5_0").state, State::kOk);
  EXPECT_EQ(find(findings, "rdma.gid.mlx5_0/1").current,
            "index 3, 10.0.0.1, RoCE v2; 4 GIDs, 2 of them RoCE v1");
  EXPECT_THAT(find(findings, "rdma.pfc.mlx5_0/1").current, HasSubstr("12 pauses sent, 4 received"));
}

TEST_F(DoctorRdma, SaysNotCheckedWhereNothingCanBeRead) {
  put_port({"mlx5_0", "ens1", "0x15b3", "mlx5_core", "0000:3b:00.0"});
  put_roce_gids("mlx5_0", "ens1");
  const auto findings = examined();
  for (const char* const id :
       {"rdma.dscp.mlx5_0/1", "rdma.trust.mlx5_0/1", "rdma.pfc.mlx5_0/1", "rdma.ecn.mlx5_0/1",
        "rdma.cnp.mlx5_0/1", "rdma.write_order.mlx5_0"}) {
    const Finding finding = find(findings, id);
    EXPECT_EQ(finding.state, State::kUnknown) << id << ": " << finding.current;
    EXPECT_THAT(finding.current, HasSubstr("not checked: ")) << id;
    EXPECT_FALSE(finding.command.empty()) << id;
  }
}

TEST_F(DoctorRdma, TakesTheSizeOfPacketsAsTheKernelDoes) {
  put_mlx5();
  const auto mtu = [this](int interface) {
    put("/sys/class/net/ens1/mtu", std::to_string(interface));
    return one("rdma.mtu.mlx5_0/1");
  };
  EXPECT_THAT(mtu(1500).current, HasSubstr("up to 1024 bytes"));
  EXPECT_EQ(mtu(1500).state, State::kWarn);
  EXPECT_THAT(mtu(1500).command, HasSubstr("ip link set dev ens1 mtu 9000"));
  EXPECT_EQ(mtu(4191).state, State::kWarn) << "a byte short of 4096 and 96 of headers";
  EXPECT_EQ(mtu(4192).state, State::kOk);
  EXPECT_THAT(mtu(576).current, HasSubstr("up to 256 bytes"));
}

TEST_F(DoctorRdma, WarnsOfPacketsWithoutAMarkAndWithoutEcn) {
  put_mlx5();
  put(kTos, "0");
  EXPECT_THAT(one("rdma.dscp.mlx5_0/1").current, HasSubstr("unmarked"));
  EXPECT_EQ(one("rdma.dscp.mlx5_0/1").state, State::kWarn);
  put(kTos, "104");
  EXPECT_EQ(one("rdma.dscp.mlx5_0/1").state, State::kWarn);
  EXPECT_THAT(one("rdma.dscp.mlx5_0/1").current, HasSubstr("not ECN capable"));
  EXPECT_EQ(one("rdma.pfc.mlx5_0/1").state, State::kOk) << "DSCP 26 all the same";
  put(kTos, "107");
  EXPECT_THAT(one("rdma.dscp.mlx5_0/1").current, HasSubstr("congested from the start"));
}

TEST_F(DoctorRdma, TakesTheClassThatIsInEffect) {
  put_mlx5();
  put(kTos, "0");
  EXPECT_THAT(one("rdma.dscp.mlx5_0/1", {on_verbs(106)}).current,
              HasSubstr("by fabric.traffic_class"));
  EXPECT_EQ(one("rdma.dscp.mlx5_0/1", {on_verbs(106)}).state, State::kOk);
  const Finding both = one("rdma.dscp.mlx5_0/1", {on_verbs(106), on_verbs(0)});
  EXPECT_EQ(both.state, State::kUnknown);
  EXPECT_THAT(both.current, HasSubstr("differ: 106 and, in mdh.toml, 0"));
  put("/sys/class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=96");
  EXPECT_THAT(one("rdma.dscp.mlx5_0/1", {on_verbs(106)}).current, HasSubstr("96 (DSCP 24)"));
}

TEST_F(DoctorRdma, HoldsFlowControlAndEcnAgainstThePriorityOfThePackets) {
  put_mlx5();
  put(kTos, "194");  // DSCP 48: priority 6 here
  EXPECT_EQ(one("rdma.pfc.mlx5_0/1").state, State::kWarn);
  EXPECT_THAT(one("rdma.pfc.mlx5_0/1").command, HasSubstr("prio-pfc all:off 6:on"));
  EXPECT_THAT(one("rdma.pfc.mlx5_0/1").command, HasSubstr("--pfc 0,0,0,0,0,0,1,0"));
  EXPECT_EQ(one("rdma.ecn.mlx5_0/1").state, State::kWarn);
  EXPECT_EQ(one("rdma.cnp.mlx5_0/1").state, State::kWarn)
      << "notifications have the DSCP of the data";
  put(kTos, "40");  // DSCP 10 has no entry: priority 0
  EXPECT_EQ(one("rdma.trust.mlx5_0/1").state, State::kWarn);
  EXPECT_EQ(one("rdma.pfc.mlx5_0/1").state, State::kWarn);
  EXPECT_THAT(one("rdma.pfc.mlx5_0/1").current, HasSubstr("RoCE's packets have priority 0"));
  EXPECT_THAT(one("rdma.pfc.mlx5_0/1").command, HasSubstr("prio-pfc all:off 3:on"))
      << "nobody is told to pause what is not sorted";
}

TEST_F(DoctorRdma, WarnsOfFlowControlForNothingAndForEverything) {
  put_mlx5();
  put("/dcb/ens1", "prio-pfc 0:off 3:off\ndscp-prio 26:3");
  EXPECT_EQ(one("rdma.pfc.mlx5_0/1").state, State::kWarn);
  EXPECT_THAT(one("rdma.pfc.mlx5_0/1").current, HasSubstr("off"));
  put("/dcb/ens1", "prio-pfc 0:on 3:on\ndscp-prio 26:3");
  EXPECT_EQ(one("rdma.pfc.mlx5_0/1").state, State::kWarn);
  put("/dcb/ens1", "prio-pfc 3:on");
  EXPECT_EQ(one("rdma.trust.mlx5_0/1").state, State::kWarn) << "sorted by VLAN tag";
  EXPECT_EQ(one("rdma.pfc.mlx5_0/1").state, State::kUnknown)
      << "which priority RoCE has is not known";
  put("/dcb/ens1", "prio-pfc 3:on\ndscp-prio 26:2 26:3");
  EXPECT_EQ(one("rdma.trust.mlx5_0/1").state, State::kWarn) << "two priorities";
}

TEST_F(DoctorRdma, WantsBothSidesOfEcn) {
  put_mlx5();
  put("/sys/class/net/ens1/ecn/roce_np/enable/3", "0");
  const Finding finding = one("rdma.ecn.mlx5_0/1");
  EXPECT_EQ(finding.state, State::kWarn);
  EXPECT_EQ(finding.current, "marks are told for no priority");
  EXPECT_THAT(finding.command, HasSubstr("roce_np/enable/3"));
  EXPECT_THAT(finding.command, HasSubstr("roce_rp/enable/3"));
}

TEST_F(DoctorRdma, FailsAPortWithoutARoutableAddressAndWarnsOfRoceV1) {
  put_mlx5();
  put("/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode", "IB/RoCE v1");
  const Finding mode = one("rdma.gid.mlx5_0/1");
  EXPECT_EQ(mode.state, State::kWarn);
  EXPECT_THAT(mode.command, HasSubstr("cma_roce_mode -d mlx5_0 -p 1 -m 2"));
  put("/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode", "RoCE v2");
  EXPECT_EQ(one("rdma.gid.mlx5_0/1").state, State::kOk);
  take_away("/sys/class/infiniband/mlx5_0/ports/1/gids/3");
  const Finding none = one("rdma.gid.mlx5_0/1");
  EXPECT_EQ(none.state, State::kFail) << none.current;
  put_gid("mlx5_0", 3, "2001:0db8:0000:0000:0000:0000:0000:0001", "RoCE v2", "ens1");
  EXPECT_THAT(one("rdma.gid.mlx5_0/1").current, HasSubstr("2001:db8::1, RoCE v2, no IPv4 address"));
}

TEST_F(DoctorRdma, SeesASlotThatIsTooSmall) {
  put_mlx5();
  const std::string pci = "/sys/class/infiniband/mlx5_0/device/";
  put(pci + "current_link_width", "8");
  const Finding narrow = one("rdma.pcie.mlx5_0");
  EXPECT_EQ(narrow.state, State::kWarn);
  EXPECT_EQ(narrow.current, "x8 at 16.0 GT/s, the adapter can x16 at 16.0 GT/s");
  EXPECT_THAT(narrow.command, HasSubstr("lspci -s 0000:3b:00.0"));
  put(pci + "current_link_speed", "8.0 GT/s PCIe");
  EXPECT_THAT(one("rdma.pcie.mlx5_0").current, HasSubstr("63 Gbit/s, less than the port's 100"));
  put(pci + "current_link_speed", "Unknown");
  EXPECT_EQ(one("rdma.pcie.mlx5_0").state, State::kUnknown);
}

TEST_F(DoctorRdma, ReadsRelaxedOrderingFromPcisOwnRegisters) {
  put_mlx5();
  const std::string file = "/sys/class/infiniband/mlx5_0/device/config";
  Pins asks = on_verbs(106);
  asks.relaxed_ordering = true;
  put_bytes(file, configuration(false));
  EXPECT_EQ(one("rdma.write_order.mlx5_0").state, State::kOk);
  EXPECT_EQ(one("rdma.write_order.mlx5_0", {asks}).state, State::kWarn);
  EXPECT_THAT(one("rdma.write_order.mlx5_0", {asks}).command, HasSubstr("setpci -s 0000:3b:00.0"));
  put_bytes(file, configuration(true));
  const Finding allowed = one("rdma.write_order.mlx5_0");
  EXPECT_EQ(allowed.state, State::kUnknown);
  EXPECT_THAT(allowed.current, HasSubstr("not checked: the firmware's own setting"));
  EXPECT_THAT(allowed.command, HasSubstr("PCI_WR_ORDERING"));
  // What anybody may read, and a list of capabilities that runs in a circle.
  put_bytes(file, configuration(true).substr(0, 64));
  EXPECT_THAT(one("rdma.write_order.mlx5_0").current, HasSubstr("root alone"));
  std::string circle = configuration(true);
  circle[0x60] = 0x05;
  circle[0x61] = 0x40;
  put_bytes(file, circle);
  EXPECT_EQ(one("rdma.write_order.mlx5_0").state, State::kUnknown);
}

TEST_F(DoctorRdma, KnowsBroadcomsSettings) {
  put_port({"bnxt_re0", "ens2", "0x14e4", "bnxt_en", "0000:5e:00.0"});
  put_roce_gids("bnxt_re0", "ens2");
  put("/dcb/ens2", "prio-pfc 0:off 3:off");
  EXPECT_THAT(one("rdma.ecn.bnxt_re0/1").current, HasSubstr("/sys/kernel/config/bnxt_re/bnxt_re0"));
  EXPECT_EQ(one("rdma.ecn.bnxt_re0/1").state, State::kUnknown);
  const std::string folder = "/sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/";
  put(folder + "ecn_enable", "0x1");
  put(folder + "cnp_dscp", "0x30");
  put("/sys/kernel/config/rdma_cm/bnxt_re0/ports/1/default_roce_tos", "106");
  EXPECT_EQ(one("rdma.ecn.bnxt_re0/1").state, State::kOk);
  EXPECT_EQ(one("rdma.cnp.bnxt_re0/1").state, State::kOk);
  EXPECT_THAT(one("rdma.cnp.bnxt_re0/1").current, HasSubstr("DSCP 48"));
  put(folder + "ecn_enable", "0x0");
  EXPECT_EQ(one("rdma.ecn.bnxt_re0/1").state, State::kWarn);
  EXPECT_THAT(one("rdma.pfc.bnxt_re0/1").command,
              HasSubstr("bnxt_setupcc.sh -d bnxt_re0 -i ens2 -m 3 -s 26"));
  EXPECT_THAT(one("rdma.pfc.bnxt_re0/1").command, Not(HasSubstr("mlnx_qos")));
}

TEST_F(DoctorRdma, KnowsIntelsSettingsAndItsTwoTransports) {
  put_port({"irdma0", "ens3", "0x8086", "ice", "0000:af:00.0"});
  put_roce_gids("irdma0", "ens3");
  put("/dcb/ens3", "prio-pfc 0:off");
  put("/sys/kernel/config/irdma/irdma0/roce_dcqcn_enable", "1");
  EXPECT_EQ(one("rdma.ecn.irdma0/1").state, State::kOk);
  EXPECT_THAT(one("rdma.pfc.irdma0/1").command, HasSubstr("fw-lldp-agent off"));
  EXPECT_FALSE(has("rdma.kind.irdma0"));
  // Switched to iWARP: one GID, its MAC, without an interface; that is the PCI function's.
  take_away("/sys/class/infiniband/irdma0/ports");
  put_port({"irdma0", "ens3", "0x8086", "ice", "0000:af:00.0", "Ethernet", "4: RNIC"});
  put("/sys/class/infiniband/irdma0/ports/1/gids/0", "b496:91a5:c8d8:0000:0000:0000:0000:0000");
  put("/sys/class/infiniband/irdma0/device/net/ens3/mtu", "9000");
  const Finding kind = one("rdma.kind.irdma0");
  EXPECT_EQ(kind.state, State::kOk);
  EXPECT_THAT(kind.needed, HasSubstr("devlink dev param set pci/0000:af:00.0 name enable_iwarp"));
  EXPECT_EQ(one("rdma.gid.irdma0/1").state, State::kUnknown);
  EXPECT_THAT(one("rdma.gid.irdma0/1").command, HasSubstr("ip addr show dev ens3"));
  EXPECT_EQ(one("rdma.mtu.irdma0/1").state, State::kOk);
  EXPECT_FALSE(has("rdma.pfc.irdma0/1")) << "TCP repeats what is lost";
}

TEST_F(DoctorRdma, TellsSoftwareFromAdapters) {
  put_port({"rxe0", "eth0", "", "", ""});
  put_gid("rxe0", 0, "fe80:0000:0000:0000:5054:00ff:fe12:3456", "RoCE v2", "eth0");
  put_gid("rxe0", 1, "0000:0000:0000:0000:0000:ffff:0a4d:0001", "RoCE v2", "eth0");
  put_port({"siw0", "eth0", "", "", "", "Ethernet", "4: RNIC"});
  put("/sys/class/infiniband/siw0/ports/1/gids/0", "5054:0012:3456:0000:0000:0000:0000:0000");
  EXPECT_THAT(one("rdma.kind.rxe0").current, HasSubstr("(rxe)"));
  EXPECT_THAT(one("rdma.kind.siw0").current, HasSubstr("(siw)"));
  EXPECT_EQ(one("rdma.kind.rxe0").state, State::kWarn);
  EXPECT_EQ(one("rdma.gid.rxe0/1").current,
            "index 1, 10.77.0.1, RoCE v2; 2 GIDs, 0 of them RoCE v1");
  for (const char* const id :
       {"rdma.pfc.rxe0/1", "rdma.pcie.rxe0", "rdma.pfc.siw0/1", "rdma.numa.siw0"})
    EXPECT_FALSE(has(id)) << id;
  const Finding mtu = one("rdma.mtu.siw0/1");
  EXPECT_EQ(mtu.state, State::kUnknown);
  EXPECT_EQ(mtu.current, "not checked: files do not tell its network interface");
  EXPECT_THAT(mtu.command, HasSubstr("rdma link show siw0/1"));
}

// Amazon's EFA, whose port is up and has a GID.
TEST_F(DoctorRdma, FailsADeviceWithoutReliableConnections) {
  put_port({"efa_0", "", "0x1d0f", "efa", "0000:00:06.0", "Unknown", "7: unspecified"});
  put_gid("efa_0", 0, "fe80:0000:0000:0000:0cff:00ff:fe12:3456", "IB/RoCE v1", "");
  const Finding kind = one("rdma.kind.efa_0");
  EXPECT_EQ(kind.state, State::kFail);
  EXPECT_EQ(kind.current, "no reliable connections");
  EXPECT_THAT(kind.command, HasSubstr("fabric.device = \"efa\""));
  EXPECT_EQ(one("rdma.kind.efa_0", {Pins{.provider = "ofi", .device = "efa"}}).state, State::kWarn);
  for (const char* const id : {"rdma.gid.efa_0/1", "rdma.mtu.efa_0/1", "rdma.pcie.efa_0"})
    EXPECT_FALSE(has(id)) << id;
}

// A virtual function has a port and addresses of its own; its slot is the physical function's.
TEST_F(DoctorRdma, TakesAVirtualFunctionAsAnAdapterWhoseSlotIsNotTold) {
  put_port({"mlx5_2", "ens1v0", "0x15b3", "mlx5_core", "0000:3b:00.2"});
  put_roce_gids("mlx5_2", "ens1v0");
  for (const char* const which : {"current", "max"}) {
    put("/sys/class/infiniband/mlx5_2/device/" + std::string(which) + "_link_speed", "Unknown");
    put("/sys/class/infiniband/mlx5_2/device/" + std::string(which) + "_link_width", "0");
  }
  EXPECT_FALSE(has("rdma.kind.mlx5_2"));
  EXPECT_EQ(one("rdma.port.mlx5_2/1").state, State::kOk);
  EXPECT_EQ(one("rdma.gid.mlx5_2/1").state, State::kOk);
  EXPECT_EQ(one("rdma.pcie.mlx5_2").state, State::kUnknown);
  EXPECT_THAT(one("rdma.pcie.mlx5_2").current, HasSubstr("virtual functions"));
}

TEST_F(DoctorRdma, AsksForASubnetManagerOnInfiniBand) {
  put_port({"mlx5_0", "ib0", "0x15b3", "mlx5_core", "0000:3b:00.0", "InfiniBand"});
  put_gid("mlx5_0", 0, "fe80:0000:0000:0000:506b:4b03:0012:3456", "IB/RoCE v1", "ib0");
  put("/sys/class/infiniband/mlx5_0/ports/1/state", "2: INIT");
  const Finding port = one("rdma.port.mlx5_0/1");
  EXPECT_EQ(port.state, State::kFail);
  EXPECT_THAT(port.command, HasSubstr("opensm"));
  EXPECT_EQ(one("rdma.mtu.mlx5_0/1").state, State::kUnknown);
  EXPECT_THAT(one("rdma.mtu.mlx5_0/1").command, HasSubstr("ibv_devinfo -d mlx5_0 -i 1"));
  EXPECT_FALSE(has("rdma.pfc.mlx5_0/1")) << "InfiniBand has credits of its own";
}

// Its GIDs are never IP addresses.
TEST_F(DoctorRdma, LooksForIpoibOnInfiniBand) {
  put_port({"mlx5_0", "ib0", "0x15b3", "mlx5_core", "0000:3b:00.0", "InfiniBand"});
  put_gid("mlx5_0", 0, "fe80:0000:0000:0000:506b:4b03:0012:3456", "IB/RoCE v1", "");
  put("/sys/class/net/eth0/address", "02:00:00:00:00:01");
  EXPECT_EQ(one("rdma.gid.mlx5_0/1").state, State::kFail);
  EXPECT_THAT(one("rdma.gid.mlx5_0/1").command, HasSubstr("modprobe ib_ipoib"));
  put("/sys/class/net/ib0/address", "80:00:00:48:fe:80:00:00:00:00:00:00:50:6b:4b:03:00:12:34:56");
  EXPECT_EQ(one("rdma.gid.mlx5_0/1").state, State::kUnknown);
  EXPECT_THAT(one("rdma.gid.mlx5_0/1").command, HasSubstr("ip addr show dev ib0"));
}

TEST_F(DoctorRdma, SaysHowToMeasureWhatALostPacketCosts) {
  put_mlx5();
  EXPECT_FALSE(has("rdma.repeat.mlx5_0")) << "nobody uses it";
  const Finding finding = one("rdma.repeat.mlx5_0", {on_verbs(106)});
  EXPECT_EQ(finding.state, State::kUnknown);
  EXPECT_THAT(finding.command, HasSubstr("--only detection"));
  EXPECT_THAT(finding.command, HasSubstr("roce_adp_retrans_en"));
}

TEST_F(DoctorRdma, SaysWhereToLookForLibfabric) {
  EXPECT_FALSE(has("rdma.ofi"));
  Pins pins = pinned("mdh", Pins::kUnpinned);
  pins.provider = "ofi";
  EXPECT_EQ(one("rdma.ofi", {pins}).state, State::kUnknown);
  EXPECT_THAT(one("rdma.ofi", {pins}).command, HasSubstr("fi_info -l"));
  EXPECT_EQ(one("rdma.devices", {pins}).state, State::kOk) << "it needs none of the kernel's";
}

TEST_F(DoctorRdma, FailsADeviceThatLibfabricHasNot) {
  Pins pins = pinned("mdh", Pins::kUnpinned);
  pins.provider = "ofi";
  pins.device = "nosuch";
  const Machine here = machine();
  const auto asked = [&](const std::string& problem) {
    const std::vector<Finding> findings =
        check_rdma({here, {pins}, [&](const std::string& device) {
                      return device == "nosuch" ? problem : "another device";
                    }});
    return *std::ranges::find(findings, "rdma.ofi", &Finding::id);
  };
  EXPECT_EQ(asked("").state, State::kOk);
  EXPECT_EQ(asked("libfabric has no provider").state, State::kFail);
  EXPECT_EQ(asked("libfabric has no provider").current, "libfabric has no provider");
}

TEST_F(DoctorRdma, ReadsTheKeysThatConcernTheNetwork) {
  const std::string folder =
      config("mdh", "[fabric]\nprovider = \"verbs\"\ntraffic_class = 106\nrelaxed_ordering = true");
  const auto pins = read_pins(folder);
  ASSERT_EQ(pins.size(), 1u);
  EXPECT_EQ(pins[0].traffic_class, 106);
  EXPECT_TRUE(pins[0].relaxed_ordering);
}

}  // namespace
}  // namespace tickpath::cli::doctor
