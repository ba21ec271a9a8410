#include "tools/doctor/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/config/values.hpp"
#include "tests/support/thrown.hpp"
#include "tests/unit/doctor/fake_machine.hpp"

namespace tickpath::cli::doctor {
namespace {

class Doctor : public FakeMachine {
 protected:
  void put_cpu(int cpu, const std::string& siblings) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    put(folder + "/topology/thread_siblings_list", siblings);
    put(folder + "/cpufreq/scaling_governor", "performance");
    put(folder + "/cpuidle/state1/name", "C1");
    put(folder + "/cpuidle/state1/latency", "2");
    put(folder + "/cpuidle/state1/disable", "0");
    put(folder + "/cpuidle/state2/name", "C6");
    put(folder + "/cpuidle/state2/latency", "133");
    put(folder + "/cpuidle/state2/disable", "1");
  }
  void put_nic() {
    const std::string device = "/sys/class/infiniband/mlx5_0";
    put(device + "/device/numa_node", "0");
    put(device + "/ports/1/state", "4: ACTIVE");
    put(device + "/ports/1/rate", "100 Gb/sec (4X EDR)");
    put(device + "/ports/1/link_layer", "Ethernet");
    put(device + "/ports/1/gids/0", "fe80:0000:0000:0000:5054:00ff:fe12:3456");
    put(device + "/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a00:0001");
    put(device + "/ports/1/gid_attrs/types/0", "RoCE v2");
    put(device + "/ports/1/gid_attrs/types/1", "RoCE v2");
    put(device + "/ports/1/gid_attrs/ndevs/0", "ens1");
    put("/sys/class/net/ens1/mtu", "9000");
    put("/sys/class/net/ens1/ecn/roce_np/enable/3", "1");
    put("/sys/class/net/ens1/ecn/roce_rp/enable/3", "1");
    put("/sys/class/net/ens1/ecn/roce_np/cnp_dscp", "48");
    put("/dcb/ens1", "prio-pfc 0:off 3:on\ndscp-prio 26:3");
    put(device + "/device/vendor", "0x15b3");
    for (const char* const which : {"current", "max"}) {
      put(device + "/device/" + which + "_link_speed", "16.0 GT/s PCIe");
      put(device + "/device/" + which + "_link_width", "16");
    }
    // Configuration space: the PCI Express capability at 0x60, relaxed ordering not allowed.
    std::string configuration(256, '\0');
    configuration[0x34] = 0x60;
    configuration[0x60] = 0x10;
    put_bytes(device + "/device/config", configuration);
    put("/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos", "106");
    put("/dev/infiniband/uverbs0", "");
    put("/dev/infiniband/rdma_cm", "");
  }
  // Two nodes of four cores, everything as it should be.
  void put_good_machine() {
    put("/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units\n"
        "Max locked memory         unlimited            unlimited            bytes\n"
        "Max realtime priority     10                   10");
    put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-7");
    put("/proc/self/cgroup", "0::/trading");
    put("/sys/fs/cgroup/trading/cpu.max", "max 100000");
    put("/proc/meminfo", "MemTotal: 64 kB\nHugePages_Free:      512\nHugepagesize:       2048 kB");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    put("/proc/swaps", "Filename Type Size Used Priority");
    put("/proc/sys/kernel/numa_balancing", "0");
    put("/sys/devices/system/cpu/online", "0-7");
    put("/sys/devices/system/cpu/isolated", "2-7");
    put("/sys/devices/system/cpu/nohz_full", "2-7");
    put("/sys/devices/system/cpu/smt/active", "0");
    for (int cpu = 0; cpu < 8; ++cpu) put_cpu(cpu, std::to_string(cpu));
    put("/sys/devices/system/node/node0/cpulist", "0-3");
    put("/sys/devices/system/node/node1/cpulist", "4-7");
    put("/proc/irq/30/effective_affinity_list", "0");
    put("/proc/irq/31/smp_affinity_list", "0-1");
    put("/proc/1/comm", "systemd");
    put("/proc/700/comm", "chronyd");
    put("/clock_synchronised", "1");
    put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
    put("/proc/cpuinfo", "processor : 0\nflags : fpu constant_tsc nonstop_tsc avx2\nbugs :");
    put("/proc/sys/net/core/rmem_max", "16777216");
    put("/proc/sys/kernel/perf_event_paranoid", "1");
    put_nic();
  }
};

TEST_F(Doctor, WantsNoRoceAddressOfAnIwarpDevice) {
  put_good_machine();
  // Its one GID is the hardware address of its interface, which is no interface's "ndev".
  const std::string device = "/sys/class/infiniband/siw0";
  put(device + "/node_type", "4: RNIC");
  put(device + "/ports/1/state", "4: ACTIVE");
  put(device + "/ports/1/link_layer", "Ethernet");
  put(device + "/ports/1/gids/0", "26d2:33e7:37e3:0000:0000:0000:0000:0000");
  std::size_t seen = 0;
  for (const Finding& finding : examined({pinned("mdh", 2)})) {
    if (finding.id.find("siw0") == std::string::npos) continue;
    ++seen;
    EXPECT_NE(finding.state, State::kFail) << finding.id << ": " << finding.current;
  }
  EXPECT_GE(seen, 2u);
}

TEST_F(Doctor, FindsNothingWrongWithAMachineThatIsReady) {
  put_good_machine();
  const auto findings = examined({pinned("mdh", 2), pinned("strategy", 3)});
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.state, State::kOk) << finding.id << ": " << finding.current;
    EXPECT_FALSE(finding.current.empty()) << finding.id;
    EXPECT_FALSE(finding.needed.empty()) << finding.id;
    EXPECT_FALSE(finding.why.empty()) << finding.id;
  }
  EXPECT_EQ(exit_status(findings, true), kExitHealthy);
}

TEST_F(Doctor, SaysUnknownAndWhyOnAMachineThatTellsNothing) {
  const auto findings = examined();
  for (const Finding& finding : findings) {
    EXPECT_NE(finding.state, State::kFail) << finding.id << ": " << finding.current;
    if (finding.state == State::kUnknown) {
      EXPECT_FALSE(finding.current.empty()) << finding.id;
    }
  }
  EXPECT_EQ(find(findings, "memory.memlock").state, State::kUnknown);
  EXPECT_EQ(find(findings, "cpu.governor").state, State::kUnknown);
  EXPECT_EQ(find(findings, "clock.tsc").state, State::kUnknown);
  EXPECT_EQ(find(findings, "cpu.quota").state, State::kUnknown);
  EXPECT_EQ(exit_status(findings, false), kExitHealthy);
}

TEST_F(Doctor, NamesWhatIsWrongAndTheCommandForIt) {
  put_good_machine();
  put("/proc/self/limits",
      "Max locked memory         65536                65536                bytes\n"
      "Max realtime priority     0                    0");
  put("/proc/meminfo", "HugePages_Free:      0\nHugepagesize:       2048 kB");
  put("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never");
  put("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1000 0 -2");
  put("/proc/sys/kernel/numa_balancing", "1");
  put("/sys/devices/system/cpu/isolated", "");
  put("/sys/devices/system/cpu/nohz_full", "(null)");
  put("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave");
  put("/sys/devices/system/cpu/cpu2/cpuidle/state2/disable", "0");
  put("/proc/900/comm", "irqbalance");
  put("/clock_synchronised", "0");
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet");
  put("/proc/sys/net/core/rmem_max", "212992");
  put("/proc/sys/kernel/perf_event_paranoid", "4");
  const auto findings = examined();
  for (const char* const id :
       {"memory.memlock", "memory.huge_pages", "memory.transparent_huge_pages", "memory.swap",
        "memory.numa_balancing", "cpu.isolated", "cpu.nohz_full", "cpu.governor", "cpu.c_states",
        "irq.irqbalance", "clock.synchronised", "clock.source", "net.rmem_max", "limits.real_time",
        "limits.perf"}) {
    const Finding finding = find(findings, id);
    EXPECT_EQ(finding.state, State::kWarn) << id << ": " << finding.current;
    EXPECT_FALSE(finding.command.empty()) << id;
  }
  EXPECT_NE(find(findings, "cpu.governor").current.find("powersave on cpus 3"), std::string::npos);
  EXPECT_NE(find(findings, "cpu.c_states").current.find("C6 (133 us) on cpus 2"),
            std::string::npos);
  EXPECT_NE(find(findings, "memory.huge_pages").command.find("nr_hugepages=128"),
            std::string::npos);
  EXPECT_NE(find(findings, "cpu.isolated").command.find("nohz_full=1-7"), std::string::npos);
  EXPECT_EQ(exit_status(findings, false), kExitHealthy);
  EXPECT_EQ(exit_status(findings, true), kExitWarnings);
}

TEST_F(Doctor, FailsACounterThatStopsInSleep) {
  put_good_machine();
  put("/proc/cpuinfo", "flags : fpu constant_tsc");
  EXPECT_EQ(one("clock.tsc").state, State::kFail);
  EXPECT_EQ(exit_status(examined(), false), kExitFailed);
}

TEST_F(Doctor, TakesARightInsteadOfALimit) {
  put_good_machine();
  put("/proc/self/limits", "Max locked memory  65536 65536 bytes\nMax realtime priority 0 0");
  put("/proc/self/status", "CapEff:\t0000000000804000");  // CAP_IPC_LOCK and CAP_SYS_NICE
  EXPECT_EQ(one("memory.memlock").state, State::kOk);
  EXPECT_EQ(one("limits.real_time").state, State::kOk);
}

TEST_F(Doctor, LooksForTheTightestQuotaOfBothKindsOfGroups) {
  put_good_machine();
  put("/sys/fs/cgroup/trading/cpu.max", "150000 100000");
  const Finding second = one("cpu.quota");
  EXPECT_EQ(second.state, State::kFail);
  EXPECT_THAT(second.current, ::testing::HasSubstr("1.5 cpus"));
  put("/sys/fs/cgroup/trading/cpu.max", "max 100000");
  put("/proc/self/cgroup", "4:cpu,cpuacct:/a/b\n0::/trading");
  put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000");
  put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
  put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1");
  const Finding first = one("cpu.quota");
  EXPECT_EQ(first.state, State::kFail);
  EXPECT_THAT(first.current, ::testing::HasSubstr("0.5 cpus by /sys/fs/cgroup/cpu/a"));
}

TEST_F(Doctor, SeesInterruptsOnPinnedCoresOnly) {
  put_good_machine();
  put("/proc/irq/44/effective_affinity_list", "5");
  EXPECT_EQ(one("irq.affinity", {pinned("mdh", 2)}).state, State::kOk);
  const Finding hit = one("irq.affinity", {pinned("mdh", 5)});
  EXPECT_EQ(hit.state, State::kWarn);
  EXPECT_EQ(hit.current, "interrupts 44");
  EXPECT_THAT(hit.command, ::testing::HasSubstr("for irq in 44; do echo 0-4,6-7"));
}

TEST_F(Doctor, SeesTwoPinnedThreadsOnOneCore) {
  put_good_machine();
  put("/sys/devices/system/cpu/smt/active", "1");
  put_cpu(2, "2,6");
  put_cpu(6, "2,6");
  EXPECT_EQ(one("cpu.smt", {pinned("mdh", 3)}).state, State::kOk);
  EXPECT_EQ(one("cpu.smt", {pinned("mdh", 2)}).state, State::kOk) << "6 is isolated";
  const Finding both = one("cpu.smt", {pinned("mdh", 2), pinned("oeg", 6)});
  EXPECT_EQ(both.state, State::kFail);
  EXPECT_NE(both.current.find("2 and 6"), std::string::npos);
  put("/sys/devices/system/cpu/isolated", "2");
  EXPECT_EQ(one("cpu.smt", {pinned("mdh", 2)}).state, State::kWarn) << "6 is open to anyone";
}

TEST_F(Doctor, KnowsWhatIsWrongWithAnRdmaPort) {
  put_good_machine();
  put("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  put("/sys/class/infiniband/mlx5_0/ports/1/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
  put("/sys/class/net/ens1/mtu", "1500");
  put("/sys/class/net/ens1/ecn/roce_rp/enable/3", "0");
  const auto findings = examined({pinned("mdh", 5)});
  EXPECT_EQ(find(findings, "rdma.port.mlx5_0/1").state, State::kFail);
  EXPECT_EQ(find(findings, "rdma.gid.mlx5_0/1").state, State::kFail);
  EXPECT_EQ(find(findings, "rdma.mtu.mlx5_0/1").state, State::kWarn);
  EXPECT_EQ(find(findings, "rdma.ecn.mlx5_0/1").state, State::kWarn);
  const Finding numa = find(findings, "rdma.numa.mlx5_0");
  EXPECT_EQ(numa.state, State::kWarn);
  EXPECT_THAT(numa.command, ::testing::HasSubstr("0-3"));
}

TEST_F(Doctor, FailsAVerbsConfigurationWithoutItsDevice) {
  put_good_machine();
  Pins pins = pinned("mdh", 2);
  pins.provider = "verbs";
  pins.device = "mlx5_7";
  const Finding other = one("rdma.devices", {pins});
  EXPECT_EQ(other.state, State::kFail);
  EXPECT_NE(other.current.find("mlx5_7"), std::string::npos);
  pins.device = "10.0.0.1";
  EXPECT_EQ(one("rdma.devices", {pins}).state, State::kOk) << "an address names no device";
}

TEST_F(Doctor, DoesNotAskForANicThatNobodyUses) {
  put("/sys/devices/system/cpu/online", "0-3");
  EXPECT_EQ(one("rdma.devices").state, State::kWarn);
  EXPECT_EQ(one("rdma.devices", {pinned("mdh", 1)}).state, State::kOk);
  Pins pins = pinned("mdh", 1);
  pins.provider = "verbs";
  EXPECT_EQ(one("rdma.devices", {pins}).state, State::kFail);
}

TEST_F(Doctor, HoldsThePinsOfAConfigurationAgainstTheMachine) {
  put_good_machine();
  const auto findings = examined({pinned("mdh", 2, "spin"), pinned("oeg", 2, "spin"),
                                  pinned("risk", 9), pinned("sim", 0), pinned("strategy", 3)});
  const Finding mdh = find(findings, "config.mdh");
  EXPECT_EQ(mdh.state, State::kFail);
  EXPECT_NE(mdh.current.find("shared with oeg"), std::string::npos);
  EXPECT_EQ(find(findings, "config.oeg").state, State::kFail);
  const Finding risk = find(findings, "config.risk");
  EXPECT_EQ(risk.state, State::kFail);
  EXPECT_THAT(risk.current, ::testing::HasSubstr("0-7 only"));
  EXPECT_EQ(find(findings, "config.sim").state, State::kWarn);
  EXPECT_EQ(find(findings, "config.strategy").state, State::kOk);
  EXPECT_EQ(find(findings, "config.cores").state, State::kOk);
}

TEST_F(Doctor, CountsPollingThreadsAgainstCores) {
  put_good_machine();
  put("/proc/self/status", "Cpus_allowed_list:\t0-1");
  const int any = Pins::kUnpinned;
  EXPECT_EQ(one("config.cores", {pinned("a", any), pinned("b", any)}).state, State::kWarn);
  EXPECT_EQ(one("config.cores", {pinned("a", any, "spin"), pinned("b", any, "spin")}).state,
            State::kFail);
  EXPECT_EQ(one("config.cores", {pinned("a", any), pinned("b", any, "park")}).state, State::kOk);
}

TEST_F(Doctor, ReadsThePinsOfAPipelinesFolder) {
  config("mdh",
         "[feed]\nreceive_buffer = \"32MiB\"\n[datapath]\ncpu = 3\nwait = \"spin\"\n"
         "[fabric]\nprovider = \"verbs\"\ndevice = \"mlx5_0\"");
  const std::string folder = config("oeg", "[datapath]\ncpu = \"auto\"");
  const auto pins = read_pins(folder);
  ASSERT_EQ(pins.size(), 2u);
  EXPECT_EQ(pins[0].program, "mdh");
  EXPECT_EQ(pins[0].cpu, 3);
  EXPECT_EQ(pins[0].wait, "spin");
  EXPECT_EQ(pins[0].provider, "verbs");
  EXPECT_EQ(pins[0].device, "mlx5_0");
  EXPECT_EQ(pins[0].receive_buffer_bytes, 32 << 20);
  EXPECT_EQ(pins[1].cpu, Pins::kAuto);
  put("/proc/sys/net/core/rmem_max", "16777216");
  EXPECT_EQ(one("net.rmem_max").state, State::kOk);
  EXPECT_EQ(one("net.rmem_max", pins).state, State::kWarn) << "mdh wants 32 MiB";
}

TEST_F(Doctor, NamesFileAndLineOfAWrongConfiguration) {
  const std::string folder = config("mdh", "[datapath]\n\ncpu = \"fast\"");
  EXPECT_THAT(test_support::error_of<config::ConfigError>([&] { (void)read_pins(folder); }),
              ::testing::HasSubstr("mdh.toml:3: datapath.cpu"));
  EXPECT_THROW((void)read_pins(folder + "/nothing"), config::ConfigError);
}

TEST_F(Doctor, PrintsTheSameAsTextAndAsJson) {
  put_good_machine();
  put("/proc/swaps", "Filename Type\n/dev/sda2 partition");
  const auto findings = examined();
  const auto json = nlohmann::json::parse(to_json(findings));
  EXPECT_EQ(json["findings"].size(), findings.size());
  EXPECT_EQ(json["warn"], 1);
  const std::string text = to_text(findings, false);
  EXPECT_THAT(text, ::testing::HasSubstr("WARN    memory.swap"));
  EXPECT_NE(text.find("swapoff"), std::string::npos);
  EXPECT_EQ(text.find("nr_hugepages"), std::string::npos) << "no advice where all is well";
  EXPECT_GT(to_text(findings, true).size(), text.size());
}

TEST(DoctorCpuLists, AreReadAndWrittenAsTheKernelDoes) {
  EXPECT_EQ(parse_cpus("0-3,8"), (CpuSet{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpus(""), CpuSet{});
  EXPECT_EQ(parse_cpus("(null)"), CpuSet{});
  EXPECT_EQ(parse_cpus("5-,x,7"), CpuSet{7});
  EXPECT_EQ(parse_cpus("0-99999999999999999999"), CpuSet{});
  EXPECT_EQ(to_text(CpuSet{0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(to_text(CpuSet{}), "");
}

}  // namespace
}  // namespace tickpath::cli::doctor
