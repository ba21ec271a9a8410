#!/usr/bin/env python3
"""One way of a small message on every provider of tickpath beside libfabric's and UCX's own tools, in turns.

fi_pingpong (libfabric-bin) and ucx_perftest (ucx-utils) are programs that we did not write, as they come: fi_pingpong
tells a mean only, ucx_perftest a median and a mean. Client on the first CPU that is allowed, server on the second."""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
PORT = 18760


def tickpath(options, provider, device=""):
    place = f"/tmp/tickpath_peers.{os.getpid()}" if provider == "shm" else f"{options.address}:{PORT}"
    command = [options.bin / "tickpath", "lat", "send", "--provider", provider, "--endpoint", place, "--fork",
               "--size", options.size, "--iterations", options.iterations, "--perftest", "--json", "--cpus", *options.cpus]
    if device:
        command += ["--device", device]
    if provider != "shm":
        command += ["--security", "none" if options.address != "127.0.0.1" else "loopback"]
    row = json.loads(finished(command))["rows"][0]
    return row["t_typical_us"], row["t_avg_us"]


def pair(options, server, client, env=None):
    """What the client says, while the server runs."""
    env = {**os.environ, **(env or {})}
    with started(["taskset", "-c", options.cpus[1], *server], env):
        return finished(["taskset", "-c", options.cpus[0], *client], env)


@contextlib.contextmanager
def started(command, env):
    process = subprocess.Popen([str(word) for word in command], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        time.sleep(1)  # it says nothing when it listens
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def finished(command, env=None):
    done = subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}: {(done.stderr or done.stdout)[-400:]}")
    return done.stdout


def fi_pingpong(options, core, endpoint):
    command = ["fi_pingpong", "-p", core, "-e", endpoint, "-m", "msg", "-S", options.size, "-I", options.iterations]
    told = pair(options, command, [*command, options.address])
    return None, float(told.split()[-2])  # bytes #sent #ack total time MB/sec usec/xfer Mxfers/sec


def ucx_perftest(options, transports):
    server = ["ucx_perftest", "-p", PORT]
    told = pair(options, server, [*server, options.address, "-t", "tag_lat", "-s", options.size, "-n", options.iterations, "-f"],
                {"UCX_TLS": transports, "UCX_WARN_UNUSED_ENV_VARS": "n"})
    last = [line for line in told.splitlines() if re.match(r"\s*\d", line)][-1].split()
    return float(last[1]), float(last[2])  # iterations, 50th percentile, average


def rivals(network):
    """(name, tool that must be installed or None, function)"""
    ofi = {"memory": "shm", "sockets": "tcp", "rdma": "verbs"}[network]
    ours = {"memory": [("tickpath shm", None, lambda o: tickpath(o, "shm"))], "sockets": [],
            "rdma": [("tickpath verbs", None, lambda o: tickpath(o, "verbs"))]}[network]
    transports = {"memory": "posix,sysv,self", "sockets": "tcp,self", "rdma": "rc_verbs,ud_verbs,self"}[network]
    return [*ours, (f"tickpath ofi ({ofi})", None, lambda o: tickpath(o, "ofi", ofi)),
            (f"fi_pingpong ({ofi})", "fi_pingpong", lambda o: fi_pingpong(o, ofi, "rdm" if ofi == "shm" else "msg")),
            (f"ucx_perftest tag_lat ({transports})", "ucx_perftest", lambda o: ucx_perftest(o, transports))]


def main():
    cpus = sorted(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=["memory", "sockets", "rdma"], default=["memory", "sockets"],
                        help="rdma: this host's RDMA device at --address (default: memory sockets)")
    parser.add_argument("--address", default="127.0.0.1", help="of this host (default 127.0.0.1)")
    parser.add_argument("--size", default="64", help="bytes of a message (default 64)")
    parser.add_argument("--iterations", default="20000", help="messages a round (default 20000)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bin", type=pathlib.Path, default=TREE / "build/release/bin")
    options = parser.parse_args()
    if len(cpus) < 2:
        sys.exit("peers: two CPUs are needed")
    options.cpus = [str(cpu) for cpu in cpus[:2]]
    print(f"one way of {options.size} bytes, us; median of {options.rounds} rounds of {options.iterations}, in turns; busy polling\n")
    print(f"{'network':<9}{'program':<42}{'p50':>9}{'mean':>9}")
    missing, failed = set(), {}
    for network in options.networks:
        results = {}
        for _ in range(options.rounds):
            for name, tool, measure in rivals(network):
                if tool and not shutil.which(tool):
                    missing.add(tool)
                    continue
                try:
                    results.setdefault(name, []).append(measure(options))
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    failed[name] = error
        for name, rounds in results.items():
            if name in failed:
                continue
            medians = [p50 for p50, _ in rounds if p50 is not None]
            p50 = f"{statistics.median(medians):9.3f}" if medians else f"{'-':>9}"
            print(f"{network:<9}{name:<42}{p50}{statistics.median(mean for _, mean in rounds):9.3f}", flush=True)
    packages = {"fi_pingpong": "libfabric-bin", "ucx_perftest": "ucx-utils"}
    for tool in sorted(missing):
        print(f"not measured: {tool} is not installed (Debian: {packages[tool]})")
    for name, error in failed.items():
        print(f"not measured: {name}: {error}")
    return 1 if missing or failed else 0


if __name__ == "__main__":
    sys.exit(main())
