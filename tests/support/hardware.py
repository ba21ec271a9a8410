#!/usr/bin/env python3
"""Tries an RDMA adapter in about ten minutes, and writes down what it did: a file to send us, or to keep.

What doctor finds of the machine and its network, the fabric's promises (conformance), the patterns on it, latency and
bandwidth, unreliable connections beside reliable ones, the five programs with conservation, and programs that are
killed and stopped. As root it reads more: PCIe's registers, the kernel's debugging files. Without --peer everything
goes through the adapter of this host and back (its own loopback); with --peer the conformance suite, datagrams,
latency, bandwidth and unreliable connections have their other end on another host, where `tests/hardware.sh --serve` runs.
That one serves whoever asks, without a password: on a network of your own only, and not longer than it takes.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/soft_roce"))
import gtest  # noqa: E402
from datagram_sets import TESTS as DATAGRAMS  # noqa: E402
from fabric_sets import BINARY, ONE_MACHINE_ONLY, RUNNER_PORT, SHM_ONLY, TESTS  # noqa: E402
from lat_set import PORT as PERF_PORT  # noqa: E402
from pipeline_sets import SMALL, on_fabric, on_network, orders_sent, small  # noqa: E402
from report import Failed  # noqa: E402

INFINIBAND = pathlib.Path(os.environ.get("TICKPATH_SYS_INFINIBAND", "/sys/class/infiniband"))
NETWORK = pathlib.Path(os.environ.get("TICKPATH_SYS_NET", "/sys/class/net"))
NOTHING_TO_TRY = 77
UC_PORT = 18520
# What the adapter and its network say of themselves, for whoever reads the file; doctor judges it.
ASKED = ("ibv_devinfo -v -d {device}", "rdma -d dev show {device}", "ip -d link show dev {interface}", "ethtool -i {interface}",
         "ethtool -a {interface}", "dcb -N -s pfc show dev {interface}", "dcb -N app show dev {interface}",
         "mlnx_qos -i {interface}", "cma_roce_tos -d {device}", "lspci -vv -s {slot}", "mstconfig -d {slot} query")


def arguments(words=None):
    parser = argparse.ArgumentParser(prog="tests/hardware.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="of the adapter's interface (default: the first active port that has one)")
    parser.add_argument("--peer", metavar="ADDRESS", help="of the other host's adapter, where --serve runs")
    parser.add_argument("--serve", action="store_true", help="be the other host, until Ctrl-C")
    parser.add_argument("--only", nargs="+", choices=[step.__name__ for step in STEPS], metavar="STEP",
                        help=f"these steps: {' '.join(step.__name__ for step in STEPS)}")
    parser.add_argument("--output", type=pathlib.Path, help="the file (default: hardware-DATE.json here)")
    parser.add_argument("--no-build", action="store_true", help="everything is built")
    parser.add_argument("--dry-run", action="store_true", help="say which port and commands it would be, and run nothing")
    parser.add_argument("--emulated", action="store_true",
                        help="the adapter is emulated (rxe in a virtual machine): fewer messages, more patience")
    return parser.parse_args(words)


# ------------------------------------------------------------------------------------ the adapter

def read(path):
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def slot_of(device):
    found = re.search(r"^PCI_SLOT_NAME=(\S+)$", read(device / "device/uevent"), re.M)
    return found[1] if found else ""


def interfaces_of(gids):
    """Interfaces of a port: those that its GIDs name (RoCE), and those whose hardware address a GID has (IPoIB's ends
    with it, behind four bytes; iWARP's GID begins with it)."""
    named = [gid["interface"] for gid in gids if gid["interface"]]
    for net in sorted(NETWORK.glob("*")):
        hardware = read(net / "address").replace(":", "")
        whole = [gid["gid"].replace(":", "") for gid in gids]
        if (len(hardware) == 40 and hardware[8:] in whole) or (
                len(hardware) == 12 and any(gid.startswith(hardware) and not gid[12:].strip("0") for gid in whole)):
            named.append(net.name)
    return list(dict.fromkeys(named))


def ipv4_of(interface):
    shown = subprocess.run(["ip", "-j", "-4", "addr", "show", "dev", interface], capture_output=True, text=True, check=False)
    return [info["local"] for each in json.loads(shown.stdout or "[]") for info in each.get("addr_info", [])]


def port_of(device, port):
    gids = []
    for entry in sorted((port / "gids").glob("*"), key=lambda each: int(each.name)):
        if re.search(r"[1-9a-f]", gid := read(entry)):
            attributes = port / "gid_attrs"
            gids.append({"index": int(entry.name), "gid": gid, "type": read(attributes / "types" / entry.name),
                         "interface": read(attributes / "ndevs" / entry.name)})
    interfaces = interfaces_of(gids)
    return {"device": device.name, "port": int(port.name), "state": read(port / "state"), "interfaces": interfaces,
            "addresses": [address for interface in interfaces for address in ipv4_of(interface)],
            "node_type": read(device / "node_type"), "link_layer": read(port / "link_layer"), "rate": read(port / "rate"), "gids": gids,
            "firmware": read(device / "fw_ver"), "board": read(device / "board_id"),
            "vendor": read(device / "device/vendor"), "device_id": read(device / "device/device"),
            "numa_node": read(device / "device/numa_node"), "slot": slot_of(device)}


def ports():
    return [port_of(device, port) for device in sorted(INFINIBAND.glob("*")) for port in sorted((device / "ports").glob("*"))]


def usable(found):
    """Ports of devices that have reliable connections. The kernel calls the others, such as Amazon's EFA, "unspecified"."""
    return [port for port in found if "unspecified" not in port["node_type"]]


def address_of(found):
    """An IPv4 address of the first active port that has one."""
    return next((address for port in found if "ACTIVE" in port["state"] for address in port["addresses"]), None)


def device_at(found, address):
    """(device, its port) that have this address, else the first that is active."""
    having = [port for port in found if address in port["addresses"]]
    active = [port for port in found if "ACTIVE" in port["state"]]
    return next(((port["device"], port["port"]) for port in having + active), ("", 1))


def cpu_model():
    found = re.search(r"^model name\s*:\s*(.*)$", read(pathlib.Path("/proc/cpuinfo")), re.M)
    return found[1] if found else platform.machine()


# -------------------------------------------------------------------------------------- the steps

class Trial:
    """One run; `report` is what the file will have."""

    def __init__(self, options, found, address):
        self.options, self.address = options, address
        self.device, self.port = device_at(found, address)
        self.build = TREE / "build/release"
        self.bin, self.tests = self.build / "bin", self.build / "tests"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tickpath_hardware_"))
        self.report = {"when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                       "tickpath": "" if options.dry_run else self.run([self.bin / "tickpath", "--version"])[1].strip(),
                       "system": f"{platform.system()} {platform.release()}", "cpu": cpu_model(),
                       "cpus": os.cpu_count(), "address": address, "peer": options.peer,
                       "emulated": options.emulated, "ports": found, "steps": []}

    def by_device(self):
        """Options of programs that take a device and a port of it by name."""
        return ["--device", self.device, "--device-port", str(self.port)] if self.device else []

    def environment(self):
        # By its address every test opens the device and port that have it, however many there are.
        env = {**os.environ, "TICKPATH_PROVIDER": "verbs", "TICKPATH_VERBS_ADDRESS": self.address, "TICKPATH_DEVICE": self.address,
               "TICKPATH_BIN": str(self.bin), "TICKPATH_SOURCE": str(TREE)}
        if self.options.emulated:
            env.setdefault("TICKPATH_TIME_SCALE", "5")
        return env

    def run(self, command, limit=300, more=None):
        """(exit status, output with errors). Nothing of it is left behind. Failed: it did not end."""
        if self.options.dry_run:
            print("   " + " ".join(str(word) for word in command))
            return 0, ""
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = subprocess.Popen([str(word) for word in command], cwd=self.folder, env={**self.environment(), **(more or {})},
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired as error:
                raise Failed(f"{pathlib.Path(command[0]).name} did not end within {limit} s") from error
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)
                process.wait()
            output.seek(0)
            return status, output.read()

    def must(self, command, limit=300, more=None):
        """Its output; Failed with the end of that where its status is not 0."""
        status, output = self.run(command, limit, more)
        if status != 0:
            raise Failed(f"{pathlib.Path(command[0]).name} ended with {status}:\n{output[-3000:]}")
        return output

    def step(self, function):
        print(f"-- {function.__name__}: {function.__doc__}", flush=True)
        began = time.monotonic()
        entry = {"step": function.__name__, "passed": False}
        self.report["steps"].append(entry)
        try:
            entry["result"] = function(self)
            entry["passed"] = True
        except Failed as error:
            if self.options.dry_run:
                return
            entry["why"] = str(error)
            print("   " + str(error).replace("\n", "\n   "))
        except (OSError, ValueError, KeyError) as error:  # of a tool that is not there, an output that is another
            if self.options.dry_run:
                return
            entry["why"] = f"{type(error).__name__}: {error}"
            print("   " + entry["why"])
        if self.options.dry_run:
            return
        entry["seconds"] = round(time.monotonic() - began, 1)
        print(f"   {'passed' if entry['passed'] else 'FAILED'} ({entry['seconds']:.0f} s)", flush=True)


def tests_of(trial, binary, filter_text, more=None):
    """{test name: "passed" | "skipped"}; Failed where one failed, or none ran."""
    result = trial.folder / f"{binary}.json"
    output = trial.run([trial.tests / binary, f"--gtest_filter={filter_text}", f"--gtest_output=json:{result}"], 600, more)[1]
    found = gtest.results(result, output)
    gtest.all_passed(found, output[-3000:])
    print(f"   {gtest.count(found, 'passed')} tests of {binary}, {gtest.count(found, 'skipped')} skipped")
    return found


def doctor(trial):
    """is the machine ready (a finding is no failure: it is written down)"""
    status, output = trial.run([trial.bin / "tickpath", "doctor", "--json"])
    if status not in (0, 1):
        raise Failed(f"tickpath doctor ended with {status}:\n{output}")
    findings = json.loads(output)["findings"]
    for finding in findings:
        if finding["state"] in ("fail", "warn"):
            print(f"   {finding['state'].upper():<5} {finding['id']}: {finding['current']}")
    print(f"   {sum(finding['state'] == 'unknown' for finding in findings)} not checked; why is in the file")
    return findings


def network(trial):
    """what the adapter and its network say of themselves (a tool that is not there is left out)"""
    told = {}
    for port in trial.report["ports"]:
        names = {"device": port["device"], "slot": port["slot"],
                 "interface": next(iter(port["interfaces"]), "")}
        for line in ASKED:
            words = line.split()
            if not all(names[key] for key in names if "{" + key + "}" in line) or not shutil.which(words[0]):
                continue
            command = line.format(**names)
            told[command] = trial.run(command.split(), 30)[1]
    print(f"   {len(told)} answers")
    return told


def where_peers_run(trial):
    if not trial.options.peer:
        return {}
    return {"TICKPATH_PEER_ADDRESS": trial.options.peer, "TICKPATH_PEER_RUNNER": f"{trial.options.peer}:{RUNNER_PORT}"}


def conformance(trial):
    """the fabric's promises"""
    tests = TESTS.format("verbs")
    if trial.options.peer:
        tests += "-" + ":".join(f"*.{name}/*" for name in ONE_MACHINE_ONLY)
    return tests_of(trial, BINARY, tests, where_peers_run(trial))


def relaxed(trial):
    """what is written, read and sent, with relaxed ordering of PCIe asked for (fabric.relaxed_ordering)"""
    tests = ":".join(f"*.{name}/verbs" for name in ("*Write*", "*Read*", "*Send*", "Places*"))
    return tests_of(trial, BINARY, tests, {**where_peers_run(trial), "TICKPATH_RELAXED_ORDERING": "1"})


def datagrams(trial):
    """datagrams and multicast, which IGMP snooping of a switch on the way may hold up"""
    return tests_of(trial, BINARY, DATAGRAMS.format("verbs"), where_peers_run(trial))


def patterns(trial):
    """publisher and subscribers, channels, tables, logs, shared records"""
    return tests_of(trial, "unit_link", "*-" + ":".join(SHM_ONLY))


def perf(trial, tool, sizes, iterations):
    command = [trial.bin / "tickpath", tool, "--provider", "verbs", "--device", trial.address, "--json", "--size", ",".join(map(str, sizes))]
    if trial.options.peer:
        command += ["--endpoint", f"{trial.options.peer}:{PERF_PORT}", "--security", "none"]
    else:
        command += ["--endpoint", f"{trial.address}:{PERF_PORT}", "--fork"]
    if tool == "lat":
        command.append("--perftest")
    if trial.options.emulated:
        command += ["--iterations", str(iterations)]
    output = trial.must(command, 600)
    result = json.loads(output[output.index("{"):])
    if result["provider"] != "verbs" or not result["rows"]:
        raise Failed(f"measured on {result['provider']}: {len(result['rows'])} rows")
    return result


def lat(trial):
    """latency, in perftest's columns"""
    result = perf(trial, "lat", (8, 64, 256, 4096), 100)
    for row in result["rows"]:
        print(f"   {row['operation']:<15}{row['size_bytes']:>6} bytes  typical {row['t_typical_us']:9.2f} us  p99 {row['p99_us']:9.2f} us")
    return result


def bw(trial):
    """bandwidth and message rate"""
    return perf(trial, "bw", (64, 4096, 65536), 200)


def unreliable(trial):
    """unreliable connections (UC) beside reliable ones: cost, packets, and what a lost packet does"""
    command = [trial.build / "bench/uc_write", "--json", *trial.by_device()]
    if trial.options.peer:
        command += ["--peer", trial.options.peer, "--port", str(UC_PORT)]
    if trial.options.emulated:  # a message takes longer, and so does an acknowledgement
        command += ["--messages", "1000", "--pace-us", "2000", "--timeout", "14"]
    output = trial.must(command)
    if "{" not in output:
        raise Failed(f"uc_write measured nothing: {output}")
    result = json.loads(output[output.index("{"):])
    for row in result["rows"]:
        print(f"   {row['type']}  half a round trip {row['half_round_trip_us']:8.2f} us, CPU {row['message_cpu_us']:6.3f} us, "
              f"{row['packets_a_message']:.2f} packets, p99 late {row['paced']['late_us_p99']:8.1f} us, lost {row['paced']['lost']}")
    return result


def device(trial):
    """memory on the device, its time stamps, relaxed ordering: what it has, and what that would give"""
    command = [trial.build / "bench/device_paths", "--json", *trial.by_device()]
    if trial.options.emulated:
        command += ["--iterations", "200"]
    output = trial.must(command)
    if "{" not in output:
        raise Failed(f"device_paths measured nothing: {output}")
    result = json.loads(output[output.index("{"):])
    print(f"   {result['features']}")
    for row in result["rows"]:
        print(f"   {row['operation']:<10} to memory of the {row['memory']:<7} {row['total_us']:9.2f} us")
    return result


# Defaults (common/link/heartbeat.hpp): silence until a peer is dead, of which so much was nobody's loss.
DEAD_AFTER_MS, BEAT_AND_READ_MS, REPEATS_WANTED = 35, 6, 3


def judge_silence(silence_ms):
    """silence_ms: when a READ is given up, by the number of tries. (how often a lost one is repeated before its peer is dead,
    the dead_after in ms that holds REPEATS_WANTED repetitions)"""
    if len(silence_ms) < REPEATS_WANTED + 1 or 0 in silence_ms:
        raise Failed(f"a READ of a queue pair that is gone does not end as it should: {silence_ms}")
    repeats = sum(ms <= DEAD_AFTER_MS - BEAT_AND_READ_MS for ms in silence_ms)
    return repeats, round(silence_ms[REPEATS_WANTED - 1] + BEAT_AND_READ_MS + 1)


def detection(trial):
    """how long a lost packet is out, and whether heartbeat.dead_after holds its repetitions"""
    command = [trial.build / "bench/device_paths", "--json", "--iterations", "8", *trial.by_device()]
    output = trial.must(command)
    if "{" not in output:
        raise Failed(f"device_paths measured nothing: {output}")
    silence_ms = json.loads(output[output.index("{"):])["silence_ms"]
    repeats, wanted_ms = judge_silence(silence_ms)
    print(f"   given up after {', '.join(f'{ms:.1f}' for ms in silence_ms)} ms; {repeats} repetitions within {DEAD_AFTER_MS} ms")
    if repeats < REPEATS_WANTED and not trial.options.emulated:
        raise Failed(f"a lost READ is repeated after {silence_ms[0]:.1f} ms, {repeats} times within heartbeat.dead_after ({DEAD_AFTER_MS} ms): a few "
                     f"lost packets are a dead peer. Set heartbeat.dead_after of all programs to {wanted_ms}ms or more, or have the adapter "
                     "go by fabric.timeout (NVIDIA: mlxreg --reg_name ROCE_ACCL, roce_adp_retrans_en)")
    return {"silence_ms": silence_ms, "repeats": repeats, "dead_after_ms": wanted_ms}


def pipeline(trial):
    """five programs trade a recording, and conserve everything"""
    emulated = trial.options.emulated
    recording, run_dir = trial.folder / "recording.itch50", trial.folder / "run"
    messages, seconds = (3000, 10) if emulated else (200_000, 20)
    trial.must([trial.bin / "tickpath", "generate", recording, "--messages", str(messages), "--symbols", "10", "--seed", "1",
                "--duration", str(seconds)])
    places = {"mdh": f"{trial.address}:18501", "oeg": f"{trial.address}:18502"}
    settings = [f"sim:replay.file={recording}", *on_network(places), *on_fabric(SMALL, "verbs", trial.address)]
    if emulated:
        settings = small(SMALL) + settings
    words = [word for each in settings for word in ("--set", each)]
    output = trial.must([trial.bin / "tickpath", "up", TREE / "config/demo", "--run-dir", run_dir, "--until-end",
                         "--ready-timeout", "300", "--stop-timeout", "60", *words], 500)
    sent = orders_sent(output)
    if sent == 0:
        raise Failed(f"nothing was traded:\n{output[-3000:]}")
    print(f"   {sent} orders")
    trace = json.loads(trial.must([trial.bin / "tickpath", "trace", run_dir, "--json"]))
    return {"orders": sent, "conservation": output[-8000:], "trace": trace}


def faults(trial):
    """programs that are killed and stopped while they trade"""
    output = trial.must(["bash", TREE / "tests/fault/table.sh", "--provider", "verbs"], 600)
    table = re.findall(r"^\| .*\|$", output, re.M)
    print("   " + "\n   ".join(table))
    return table


STEPS = (doctor, network, conformance, relaxed, datagrams, patterns, lat, bw, unreliable, device, detection, pipeline, faults)


def serve(trial):
    """Until Ctrl-C, or until one of the two ends."""
    servers = [subprocess.Popen(command, env=trial.environment()) for command in (
        [sys.executable, str(TREE / "tests/soft_roce/guest/peer_runner.py"), str(RUNNER_PORT), str(trial.tests / "conformance_peer")],
        [str(trial.bin / "tickpath"), "lat", "--provider", "verbs", "--device", trial.address, "--server", "--forever", "--security", "none",
         "--endpoint", f"{trial.address}:{PERF_PORT}"],
        [str(trial.build / "bench/uc_write"), "--listen", str(UC_PORT), "--forever", *trial.by_device()])]
    print(f"serving at {trial.address}: there, tests/hardware.sh --peer {trial.address}", flush=True)
    try:
        while all(server.poll() is None for server in servers):
            time.sleep(0.2)
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        for server in servers:
            server.terminate()
            server.wait()


def main():
    options = arguments()
    found = ports()
    if not found:
        print(f"hardware: no RDMA device in {INFINIBAND}: is the adapter's driver loaded (lspci, dmesg)?", file=sys.stderr)
        return NOTHING_TO_TRY
    if not usable(found):
        told = ", ".join(sorted({port["device"] for port in found}))
        print(f"hardware: {told}: no reliable connections, which provider verbs needs; try provider ofi with its device \"efa\"", file=sys.stderr)
        return NOTHING_TO_TRY
    found = usable(found)
    address = options.address or address_of(found)
    if address is None:
        told = ", ".join(f"{port['device']} port {port['port']}: {port['state']}" for port in found)
        print(f"hardware: no active port with an IPv4 address ({told}): give the interface one, or --address", file=sys.stderr)
        return NOTHING_TO_TRY
    missing = [name for name in ("tests/conformance_fabric", "tests/unit_link", "bin/tickpath", "bench/uc_write",
                            "bench/device_paths") if not (TREE / "build/release" / name).exists()]
    if missing and not options.dry_run:
        print(f"hardware: not built: {', '.join(missing)}; run it without --no-build", file=sys.stderr)
        return 2
    trial = Trial(options, found, address)
    print(f"trying {trial.device} at {address}", flush=True)
    try:
        if options.serve:
            return serve(trial)
        for step in STEPS:
            if options.only is None or step.__name__ in options.only:
                trial.step(step)
    finally:
        shutil.rmtree(trial.folder, ignore_errors=True)
    if options.dry_run:
        return 0
    output = options.output or pathlib.Path(f"hardware-{datetime.date.today()}.json")
    output.write_text(json.dumps(trial.report, indent=1) + "\n")
    failed = [entry["step"] for entry in trial.report["steps"] if not entry["passed"]]
    print(f"{len(trial.report['steps']) - len(failed)} steps passed, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}; "
          f"all of it in {output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
