#!/usr/bin/env python3
"""`tickpath up` over several hosts by ssh, with programs that stand in for the real ones.

  tests/integration/hosts.py --bin build/release/bin --stand-in build/release/tests/stand_in [--keep]

An OpenSSH server of this user on a loopback port is two hosts, each with a folder of its own. Exit 77: there can be
no such server here.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import ssh_server  # noqa: E402, beside the other helpers of tests

SECONDS_MAX = 60  # of one wait, on a machine that has other things to do
PROGRAMS = ("sim", "mdh", "oeg", "risk", "strategy")


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def await_(condition, what):
    end = time.monotonic() + SECONDS_MAX
    while not condition():
        expect(time.monotonic() < end, f"{what} does not happen")
        time.sleep(0.02)


class Up:
    """A running `tickpath up`, its output as it comes."""

    def __init__(self, hosts, *arguments):
        self.process = subprocess.Popen([hosts.tickpath, "up", "config", "--bin-dir", "bin", *arguments], cwd=hosts.folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True)
        self.reader.start()

    def output(self):
        return "".join(self.lines)

    def says(self, text, times=1):
        try:
            await_(lambda: self.output().count(text) >= times or self.process.poll() is not None, text)
        finally:
            if self.output().count(text) < times:
                print(self.output())
        expect(self.output().count(text) >= times, f"'{text}' was not said")

    def end(self, status, *texts):
        try:
            code = self.process.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            code = "none in time"
        self.reader.join(SECONDS_MAX)
        expect(code == status, f"exit {code}, not {status}\n{self.output()}")
        for text in texts:
            expect(text in self.output(), f"'{text}' is not in\n{self.output()}")


class Hosts:
    def __init__(self, tickpath, stand_in, folder, server=True):
        self.tickpath, self.folder = tickpath, folder
        self.server = ssh_server.SshServer(folder / "ssh") if server else None
        self.user = self.server.user if server else "trader"
        if server:
            self.server.know("order", "market")
            self.server.start()
        for place in (folder, folder / "order", folder / "market"):
            (place / "bin").mkdir(parents=True)
            (place / "bin/tickpath").symlink_to(tickpath)
            for name in PROGRAMS:
                (place / "bin" / name).symlink_to(stand_in)
        (folder / "config").mkdir()
        for name in PROGRAMS:
            self.configure(name)

    def configure(self, name, text=""):
        (self.folder / f"config/{name}.toml").write_text(
            text + '\n[datapath]\nwait = "park"\n[trace]\ncapacity = 1024\n')

    def write(self, *hosts, options=None, folder=None, patience="20s"):
        text = ""
        for name, programs in hosts:
            listed = options if options is not None else self.server.options(name)
            text += (f'[[host]]\nname = "{name}"\nssh = "{self.user}@127.0.0.1"\nbinaries = "bin"\n'
                     f'folder = "{folder or self.folder / name}"\npatience = "{patience}"\n'
                     f'programs = {json.dumps(programs)}\noptions = {json.dumps(listed)}\n')
        (self.folder / "config/hosts.toml").write_text(text)

    def command(self, *arguments, status=0):
        done = subprocess.run([self.tickpath, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=SECONDS_MAX)
        expect(done.returncode == status,
               f"tickpath {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def status(self, name):
        return next(each for each in json.loads(self.command("status", "--json")) if each["name"] == name)

    def runs_there(self, name, host="order"):
        """Its process, 0 where it has ended."""
        holder = self.folder / host / f"run/{name}.pid"
        words = holder.read_text().split() if holder.exists() else []
        return int(words[0]) if words and pathlib.Path(f"/proc/{words[0]}").exists() else 0


def check_run(hosts):
    """Two hosts and this one: order, output, a program that dies and is started again, a connection that is cut."""
    hosts.write(("order", ["oeg", "risk"]), ("market", ["sim"]), patience="20s")
    hosts.configure("sim", "replay = 60000")
    up = Up(hosts, "--on-failure", "restart")
    up.says("strategy   ready")
    ready = [line.split()[0] for line in up.lines if " ready after " in line]
    expect(ready == list(PROGRAMS), f"started in the order {ready}")
    expect((hosts.folder / "order/run/oeg.toml").read_text() == (hosts.folder / "config/oeg.toml").read_text(), "oeg.toml")
    status = hosts.status("oeg")
    expect(status["host"] == "order" and status["pid"] == hosts.runs_there("oeg"), str(status))
    expect("on market" in hosts.command("status"), "status does not say where sim runs")
    os.kill(hosts.runs_there("oeg"), signal.SIGKILL)
    up.says("oeg on order killed by signal 9 (Killed), is started again")
    await_(lambda: hosts.runs_there("oeg") not in (0, status["pid"]), "a new oeg")
    risk = hosts.runs_there("risk")
    hosts.server.cut()
    up.says("connected again", times=3)
    expect(hosts.runs_there("risk") == risk, "the cut ended risk")
    up.process.send_signal(signal.SIGINT)
    up.end(0, "stopping in order", "order: risk: the connection has ended", "everything is accounted for")
    for name in PROGRAMS:
        expect((hosts.folder / f"run/{name}.summary.json").exists(), f"{name}'s summary is not here\n{up.output()}")
        expect(not (hosts.folder / f"run/{name}.remote").exists(), f"{name} is still said to run")
    for name, host in (("oeg", "order"), ("risk", "order"), ("sim", "market")):
        expect(hosts.runs_there(name, host) == 0, f"{name} runs on")


def check_death(hosts):
    hosts.write(("order", ["oeg"]))
    up = Up(hosts, "--no-replay")
    up.says("strategy   ready")
    os.kill(hosts.runs_there("oeg"), signal.SIGSEGV)
    up.end(1, "oeg on order killed by signal 11 (Segmentation fault)", f"log: order:{hosts.folder}/order/run/oeg.log")
    expect(hosts.command("down").startswith("nothing runs"), "something was left")


def check_unreachable(hosts):
    """The connection is cut, and cannot be had again: told in time, and what runs there ends by itself."""
    hosts.write(("order", ["oeg"]), patience="1s")
    up = Up(hosts, "--no-replay")
    up.says("strategy   ready")
    hosts.server.cut(go=True)
    cut = time.monotonic()
    up.end(1, "order: oeg: the connection has ended", "order: cannot be reached", "order: oeg (process",
           "may still run there, and is ended there after 1 s without us")
    await_(lambda: hosts.runs_there("oeg") == 0, "oeg's end")
    print(f"    told and ended {time.monotonic() - cut:.1f} s after the cut")
    expect("may still run, and cannot be reached: oeg (on order)" in hosts.command("down", status=1), "down is content")
    hosts.server.start()
    expect("oeg        has ended there" in hosts.command("attach"), "attach")


def check_control_gone(hosts):
    """With --detach programs of other hosts go on without this one; attach gives them back."""
    hosts.write(("order", ["oeg"]), patience="1s")
    hosts.command("up", "config", "--bin-dir", "bin", "--no-replay", "--detach")
    oeg = hosts.runs_there("oeg")
    proxy = int((hosts.folder / "run/oeg.pid").read_text().split()[0])
    up = int(pathlib.Path(f"/proc/{proxy}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(up, signal.SIGSTOP)  # what it would do is not what a host does that is gone
    os.kill(proxy, signal.SIGKILL)
    os.kill(up, signal.SIGKILL)
    expect("no connection to it from here: tickpath attach" in hosts.command("status"), "status")
    time.sleep(2)  # twice the patience: only without --detach it counts
    expect(hosts.runs_there("oeg") == oeg, "oeg has ended")
    refused = hosts.command("up", "config", "--bin-dir", "bin", status=2)
    expect("order: 'oeg' already runs" in refused and "nothing was started" in refused, refused)
    hosts.command("attach")
    expect(hosts.status("oeg")["pid"] == oeg, "another oeg")
    down = hosts.command("down")
    expect("oeg        stopped" in down and hosts.runs_there("oeg") == 0, down)
    expect((hosts.folder / "run/oeg.summary.json").exists(), "its summary is not here")


def check_errors(hosts):
    """Each names the host, in bounded time, and nothing is started."""
    server = hosts.server

    def refused(*texts, **how):
        hosts.write(("order", ["oeg"]), **how)
        started = time.monotonic()
        said = hosts.command("up", "config", "--bin-dir", "bin", status=2)
        expect(time.monotonic() - started < 15, "not in bounded time")
        for text in ("nothing was started", "order: ", *texts):
            expect(text in said, f"'{text}' is not in: {said}")

    refused("there is no /nowhere/bin/tickpath", folder="/nowhere")
    refused("does not know its host key", options=[*server.options("order")[:1], "HostKeyAlias=stranger",
                                                   *server.options("order")[2:]])
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", server.folder / "other"], check=True)
    server.know("impostor", key=server.folder / "other.pub")
    refused("ANOTHER HOST KEY", options=[*server.options("order")[:1], "HostKeyAlias=impostor", *server.options("order")[2:]])
    refused("ssh is not let in", options=[each.replace("/user", "/other") for each in server.options("order")])
    refused("cannot be reached (ssh: connect to host 127.0.0.1 port 1: Connection refused)",
            options=["Port=1", *server.options("order")[1:]])
    for name, text, what in (("old", 'echo \'{"agent": 1, "version": "0.0.9", "machine": "m"}\'', "is version 0.0.9 (agent 1)"),
                             ("chatty", "echo Welcome", "'Welcome' came instead of an answer"),
                             ("other", "echo no such command >&2; exit 106", "is it another version?")):
        (hosts.folder / name / "bin").mkdir(parents=True)
        script = hosts.folder / name / "bin/tickpath"
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
        refused(what, folder=hosts.folder / name)
    (hosts.folder / "order/bin/oeg").unlink()
    refused("cannot execute '" + "bin/oeg'")
    (hosts.folder / "order/bin/oeg").symlink_to(hosts.folder.joinpath("bin/oeg").readlink())
    hosts.configure("oeg", "ready_aftr = 1")
    hosts.write(("order", ["oeg"]))
    said = hosts.command("up", "config", "--bin-dir", "bin", status=2)
    expect("order:\n" in said and "run/oeg.toml:1" in said and "ready_aftr" in said, said)
    hosts.configure("oeg")
    expect(not list((hosts.folder / "run").glob("*.remote")), "something is said to run")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--stand-in", type=pathlib.Path, required=True)
    parser.add_argument("--keep", action="store_true", help="leave the folder, and print where it is")
    arguments = parser.parse_args()
    if reason := ssh_server.unavailable():
        print(f"[  SKIPPED ] hosts: {reason}")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hosts-"))
    hosts = Hosts((arguments.bin / "tickpath").resolve(), arguments.stand_in.resolve(), folder)
    start = time.monotonic()
    try:
        for name, step in (("what is wrong with a host", check_errors), ("two hosts and this one", check_run),
                           ("a program that dies there", check_death), ("a host that is gone", check_unreachable),
                           ("this host is gone", check_control_gone)):
            step(hosts)
            print(f"ok: {name} ({time.monotonic() - start:.1f} s)", flush=True)
    except AssertionError as wrong:
        print(f"FAILED: {wrong}", file=sys.stderr)
        return 1
    finally:
        subprocess.run([hosts.tickpath, "down", "--kill", "--timeout", "5"], cwd=folder, capture_output=True)
        hosts.server.stop()
        if arguments.keep:
            print(folder)
        else:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
